//! `bridle skill trace`: the turns of a skill, from the record.

use std::fmt::Write as _;

use bridle_history::thoughts::PastThought;
use bridle_sexp::Value;
use bridle_shell::screen::{local_minute, neutral_block};
use bridle_skill::SkillId;
use bridle_skill_host::PastSkillTurn;

use crate::args::record::RecordPlace;
use crate::cmd::output::print;
use crate::cmd::record::{failure, open};
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(super) fn run(
    name: &str,
    session: Option<&str>,
    as_json: bool,
    place: &RecordPlace,
) -> Result<BridleExit, CommandFailure> {
    let id = SkillId::new(name).map_err(|error| {
        CommandFailure::because(BridleExit::Usage, format!("`{name}`"), &error)
            .hint("names of skills: bridle skill list")
    })?;
    let history = open(place)?;
    let mut out = String::new();
    let visited = history.thoughts(session, |thought| {
        let turn = PastSkillTurn::of(thought.prompt, thought.draft);
        if let Some(turn) = turn.filter(|turn| turn.skill == id.as_str()) {
            out.push_str(&if as_json { line(&thought, &turn) } else { told(&thought, &turn) });
        }
    });
    visited.map_err(|error| failure(&error))?;
    if out.is_empty() && !as_json {
        out = format!("no turn of `{id}` is in the record\n");
    }
    print(&if as_json { out } else { neutral_block(&out).into_owned() })
}

/// Prompt, or sensor, of a turn.
pub(super) fn stimulus(thought: &PastThought<'_>) -> String {
    let payload = &thought.prompt.context.signal.payload;
    let text = payload.get("text").and_then(Value::as_str);
    text.map_or_else(|| payload.to_string(), str::to_owned)
}

fn told(thought: &PastThought<'_>, turn: &PastSkillTurn) -> String {
    let session = thought.prompt.context.session.as_str();
    let mut text = format!("{} {session}, record {}\n", local_minute(thought.at), thought.record);
    let _ = writeln!(text, "  woken by  {}", stimulus(thought));
    for logged in &turn.log {
        let _ = writeln!(text, "  asks      {}", logged.request.to_value());
        let _ = writeln!(text, "  gets      {}", logged.answer);
    }
    if turn.is_cut {
        text.push_str("  long results stand here by their place alone\n");
    }
    for part in turn.text.lines() {
        let _ = writeln!(text, "  says      {part}");
    }
    for (target, payload) in &turn.actions {
        let _ = writeln!(text, "  proposes  {} {payload}", target.as_deref().unwrap_or("asker"));
    }
    let _ = writeln!(text, "  version   {}", turn.hash);
    text
}

fn line(thought: &PastThought<'_>, turn: &PastSkillTurn) -> String {
    let log = turn.log.iter().map(|logged| {
        let request = quoted(&logged.request.to_value().to_string());
        object(&[("request", request), ("answer", quoted(&logged.answer.to_string()))])
    });
    let actions = turn.actions.iter().map(|(target, payload)| {
        let target = target.as_ref().map_or_else(|| "null".to_owned(), |name| quoted(name));
        object(&[("target", target), ("action", quoted(&payload.to_string()))])
    });
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    let fields = object(&[
        ("skill", quoted(&turn.skill)),
        ("hash", quoted(&turn.hash)),
        ("session", quoted(thought.prompt.context.session.as_str())),
        ("record", thought.record.to_string()),
        ("at", thought.at.to_string()),
        ("woken-by", quoted(&stimulus(thought))),
        ("log", list(log.collect())),
        ("text", quoted(&turn.text)),
        ("actions", list(actions.collect())),
    ]);
    format!("{fields}\n")
}
