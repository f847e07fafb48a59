//! `bridle replay --with-model`: recorded thoughts asked of another model, and where the decisions would differ. Nothing is
//! carried out and nothing recorded; a replay without this flag reaches no network.

use std::fmt::Write as _;
use std::sync::Arc;

use bridle_history::replay::ReplayRange;
use bridle_history::rethink::{RethoughtDraft, ThoughtOutline};
use bridle_loop::ThinkerFault;
use bridle_model_host::{ProviderRegistry, RecordedPrompt, ask_again};
use bridle_shell::screen::neutral_line;

use super::model::{ModelPlace, block_on, exchanger, unknown};
use super::output::print;
use super::record::{failure, open};
use crate::args::record::ReplayArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

/// Characters of a text that are shown.
const SHOWN_CHARS: usize = 72;

pub(crate) fn run(args: &ReplayArgs, model: &str) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state.dir)?;
    let registry = Arc::new(ProviderRegistry::new(Some(&place.folder), place.approvals.clone()));
    registry.refresh();
    let seats = registry.seats_named(Some(model));
    let seat = seats.first().ok_or_else(|| unknown(model))?;
    let name = seat.name();
    let history = open(&args.state)?;
    if let Some(session) = &args.session {
        history.expect_session(session).map_err(|error| failure(&error))?;
    }
    let session = args.session.as_deref().map(Into::into);
    let range = ReplayRange { from: args.from, to: args.to, session };
    let (mut out, mut all, mut others) = (String::new(), 0_u64, 0_u64);
    let mut told = |thought: RethoughtDraft| {
        all += 1;
        others += u64::from(!thought.is_same());
        out.push_str(&if args.json { as_json(&thought) } else { in_words(&thought) });
    };
    let exchanger = || {
        exchanger(&place.settings)
            .map_err(|error| ThinkerFault { reason: error.to_string().into(), retryable: false })
    };
    history
        .rethink(
            &range,
            &mut |prompt, offered| {
                let prompt = RecordedPrompt { prompt, offered, model: &name };
                let asked = block_on(ask_again(&registry, exchanger()?, prompt));
                asked.unwrap_or_else(|error| {
                    Err(ThinkerFault { reason: error.to_string().into(), retryable: false })
                })
            },
            &mut told,
        )
        .map_err(|error| failure(&error))?;
    if !args.json {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{all} thoughts asked of {name}: {others} lead to other decisions");
    }
    print(&out)?;
    Ok(if others > 0 { BridleExit::Answered } else { BridleExit::Ok })
}

fn in_words(thought: &RethoughtDraft) -> String {
    let mark = if thought.is_same() { "same" } else { "differs" };
    let mut out = format!(
        "{mark}: record {} of session {}\n",
        thought.record,
        neutral_line(&thought.session)
    );
    let recorded = thought.recorded.as_ref().ok_or("the thought failed");
    let asked = thought.asked.as_ref().map_err(|reason| &**reason);
    for (name, outline) in [("recorded", recorded), ("asked", asked)] {
        // Writing to a string cannot fail.
        let _ = match outline {
            Ok(ThoughtOutline { text, verdicts }) => {
                let decided = if verdicts.is_empty() {
                    "no proposal".to_owned()
                } else {
                    verdicts.join("; ")
                };
                let begin: String = text.chars().take(SHOWN_CHARS).collect();
                let more = if text.chars().nth(SHOWN_CHARS).is_some() { "…" } else { "" };
                writeln!(
                    out,
                    "  {name:<8} {} | {}{more}",
                    neutral_line(&decided),
                    neutral_line(&begin)
                )
            }
            Err(reason) => writeln!(out, "  {name:<8} {}", neutral_line(reason)),
        };
    }
    out
}

fn as_json(thought: &RethoughtDraft) -> String {
    let outline = |outline: &ThoughtOutline| {
        let verdicts: Vec<String> = outline.verdicts.iter().map(|it| quoted(it)).collect();
        let verdicts = format!("[{}]", verdicts.join(","));
        object(&[("text", quoted(&outline.text)), ("verdicts", verdicts)])
    };
    let error = thought.asked.as_ref().err().map_or("null".to_owned(), |it| quoted(it));
    let asked = thought.asked.as_ref().map_or("null".to_owned(), outline);
    let line = object(&[
        ("record", thought.record.to_string()),
        ("session", quoted(&thought.session)),
        ("same", thought.is_same().to_string()),
        ("recorded", thought.recorded.as_ref().map_or("null".to_owned(), outline)),
        ("asked", asked),
        ("error", error),
    ]);
    line + "\n"
}
