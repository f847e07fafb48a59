//! The answer without a model: what the memory has to a question, each hit with its link.

use std::sync::Arc;

use bridle_host::{ThoughtChannel, ThoughtIo};
use bridle_loop::{Draft, Privacy, ThinkerFault, ThinkerPrompt};
use bridle_sexp::Value;

use crate::prompt::{PromptGatherer, RecalledNote, question_of};
use crate::recall::MemoryRecall;

/// Notes in an answer.
const MAX_SHOWN_NOTES: usize = 5;

/// Lines and bytes of a note that are shown.
const MAX_SHOWN_LINES: usize = 4;
const MAX_SHOWN_BYTES: usize = 320;

/// Words when nothing is found.
const NOTHING_FOUND: &str = "\
Nothing in your notes fits, and there is no language model to ask.

`bridle model add` names one (docs/models.md); `/help` says what works without.";

/// The draft for a prompt.
pub(super) async fn draft(
    gatherer: &PromptGatherer,
    recall: &dyn MemoryRecall,
    prompt: &ThinkerPrompt,
    io: &ThoughtIo,
) -> Result<Draft, ThinkerFault> {
    let question = question_of(&prompt.context.signal.payload).unwrap_or_default();
    let notes = match recall.reach(&prompt.context).await {
        Some(reach) => gatherer.notes(question, reach).await,
        None => Vec::new(),
    };
    if io.is_canceled() {
        return Err(ThinkerFault { reason: "canceled".into(), retryable: false });
    }
    let shown: Vec<&RecalledNote> = notes.iter().take(MAX_SHOWN_NOTES).collect();
    if shown.is_empty() {
        return Ok(Draft::of_text(NOTHING_FOUND));
    }
    let mut text = "From your notes (no language model is set up):\n".to_owned();
    for note in &shown {
        text.push_str(&format!("\n- {}\n{}", note.link, excerpt(&note.text)));
    }
    let is_open = |note: &&RecalledNote| note.open.as_ref() == Some(&note.text);
    let privacy = if shown.iter().all(is_open) { Privacy::default() } else { Privacy::Secret };
    io.show(ThoughtChannel::Text, &text);
    let citations = shown.iter().map(|note| {
        let mut pairs = vec![("target", Value::str(note.link.as_str()))];
        pairs.extend(note.hash.as_deref().map(|hash| ("hash", Value::str(hash))));
        pairs.push(("given", Value::T));
        Value::plist(pairs)
    });
    let manifest = Value::plist([
        ("because", Value::str("no model is in `models.org`")),
        ("citations", Value::list(citations)),
    ]);
    Ok(Draft { privacy, manifest: Some(Arc::new(manifest)), ..Draft::of_text(text) })
}

/// The first lines of a note behind its heading, indented.
fn excerpt(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_SHOWN_BYTES)];
    let is_told = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('*') && !line.starts_with(':')
    };
    let lines = text.lines().filter(is_told).take(MAX_SHOWN_LINES);
    lines.map(|line| format!("  {}\n", line.trim())).collect()
}
