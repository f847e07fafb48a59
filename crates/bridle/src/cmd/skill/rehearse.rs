//! `bridle skill rehearse`: what a changed skill would have done otherwise in the turns of the record.

use std::path::Path;

use bridle_history::thoughts::PastThought;
use bridle_sexp::Value;
use bridle_shell::screen::neutral_block;
use bridle_skill_host::{PastSkillTurn, TurnDifference, rehearse_turn};

use super::{home, load, trace};
use crate::args::record::RecordPlace;
use crate::cmd::output::print;
use crate::cmd::record::{failure, open};
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

/// Turns that were run again, and those that could not be.
#[derive(Default)]
struct RehearsalCount {
    turns: u64,
    cut: u64,
    different: u64,
}

pub(super) fn run(
    file: &Path,
    session: Option<&str>,
    as_json: bool,
    place: &RecordPlace,
) -> Result<BridleExit, CommandFailure> {
    let candidate = load(file)?.map_err(|fault| {
        CommandFailure::new(BridleExit::Data, &fault)
            .hint("put it in order: bridle skill check FILE")
    })?;
    let table = home::registry(place.dir.given())?.table();
    let history = open(place)?;
    let (mut out, mut count) = (String::new(), RehearsalCount::default());
    let id = candidate.manifest().id.as_str();
    let visited = history.thoughts(session, |thought| {
        let past = PastSkillTurn::of(thought.prompt, thought.draft);
        let past = past.filter(|turn| turn.skill == id);
        // Of a turn of somebody else the first thought tells whether the skill would have been woken.
        if past.is_none() && !is_first(&thought) {
            return;
        }
        if past.as_ref().is_some_and(|turn| turn.is_cut) {
            count.cut += 1;
            return;
        }
        count.turns += u64::from(past.is_some());
        if let Some(found) = rehearse_turn(&candidate, &table, thought.prompt, past.as_ref()) {
            count.different += 1;
            out.push_str(&if as_json { line(&thought, &found) } else { told(&thought, &found) });
        }
    });
    visited.map_err(|error| failure(&error))?;
    if as_json {
        print(&out)?;
    } else {
        let RehearsalCount { turns, cut, different } = count;
        let left_out = match cut {
            0 => String::new(),
            cut => format!("; {cut} with long results were left out"),
        };
        print(&neutral_block(&out))?;
        print(&format!("{turns} turns of {id} run again, {different} differ{left_out}\n"))?;
    }
    Ok(if count.different == 0 { BridleExit::Ok } else { BridleExit::Answered })
}

/// Whether it is the first thought of its turn, and no skill's that asks for something.
fn is_first(thought: &PastThought<'_>) -> bool {
    let author = thought.draft.model.as_ref().map(|model| &*model.name);
    let is_skills = author.is_some_and(|name| name.starts_with("skill:"));
    thought.prompt.rounds.is_empty() && !is_skills
}

fn words(difference: &TurnDifference) -> (&'static str, String, String) {
    let shown = |value: &Option<Value>| {
        value.as_ref().map_or_else(|| "the end".to_owned(), ToString::to_string)
    };
    match difference {
        TurnDifference::Asks { before, now, .. } => ("asks", shown(before), shown(now)),
        TurnDifference::Answers { before, now } => ("answers", before.clone(), now.clone()),
        TurnDifference::Fails(reason) => ("fails", "an answer".to_owned(), reason.clone()),
        TurnDifference::Wakes => ("wakes", "not woken".to_owned(), "woken".to_owned()),
        TurnDifference::Sleeps => ("sleeps", "woken".to_owned(), "not woken".to_owned()),
    }
}

fn told(thought: &PastThought<'_>, difference: &TurnDifference) -> String {
    let (_, before, now) = words(difference);
    let head = format!(
        "record {} of {}: {}\n",
        thought.record,
        thought.prompt.context.session.as_str(),
        trace::stimulus(thought)
    );
    let lines = |mark: char, text: &str| {
        text.lines().map(|line| format!("{mark} {line}\n")).collect::<String>()
    };
    format!("{head}{}{}", lines('-', &before), lines('+', &now))
}

fn line(thought: &PastThought<'_>, difference: &TurnDifference) -> String {
    let (kind, before, now) = words(difference);
    let line = object(&[
        ("session", quoted(thought.prompt.context.session.as_str())),
        ("record", thought.record.to_string()),
        ("woken-by", quoted(&trace::stimulus(thought))),
        ("difference", quoted(kind)),
        ("before", quoted(&before)),
        ("now", quoted(&now)),
    ]);
    format!("{line}\n")
}
