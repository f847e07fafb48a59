//! Turns of the past in which a skill thought, read from their prompts and drafts; and what another version of the skill
//! would have done in them.
//!
//! Called by `bridle skill trace` and `rehearse`, which read the record. Nothing is asked of anybody: what the turn was
//! answered is answered again.

use std::sync::Arc;

use bridle_loop::{CallEnd, Deed, Draft, ThinkerPrompt};
use bridle_sexp::Value;
use bridle_skill::{
    LoggedRequest, RunProgress, Skill, SkillAnswer, SkillCall, SkillRequest, SkillRun,
};

use crate::registry::SkillTable;
use crate::stimulus::awakened;
use crate::thinker::{NAME_PREFIX, answer_parts};
use crate::turn_log;

/// A turn in which a skill thought, to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSkillTurn {
    /// Name of the skill.
    pub skill: String,
    /// Hash of the version that thought.
    pub hash: String,
    /// Requests and answers, in order.
    pub log: Vec<LoggedRequest>,
    /// Text of its answer.
    pub text: String,
    /// Actions of its answer: target and payload.
    pub actions: Vec<(Option<String>, Value)>,
    /// Whether long results stand in the log by their place alone.
    pub is_cut: bool,
}

/// Difference between a turn and what another version of its skill would do.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnDifference {
    /// Another request, or one earlier or later.
    Asks {
        /// Number of the request, from 1.
        number: usize,
        /// Request of the past; `None` where it ended.
        before: Option<Value>,
        /// Request of now; `None` where it ends.
        now: Option<Value>,
    },
    /// Another answer.
    Answers {
        /// Answer of the past.
        before: String,
        /// Answer of now.
        now: String,
    },
    /// Failure.
    Fails(String),
    /// Skill that is woken, and was not.
    Wakes,
    /// Skill that was woken, and is not.
    Sleeps,
}

impl PastSkillTurn {
    /// The turn that ended with this draft; `None` if no skill thought, or the draft asks for something and waits.
    pub fn of(prompt: &ThinkerPrompt, draft: &Draft) -> Option<Self> {
        let author = draft.model.as_ref()?;
        let skill = author.name.strip_prefix(NAME_PREFIX)?.to_owned();
        if turn_log::asks(draft)? {
            return None;
        }
        let rounds = prompt.rounds.iter().map(|round| &**round);
        let mut log = turn_log::read(rounds)?;
        log.extend(turn_log::read_state(draft.opaque.as_ref()?)?);
        let is_stored = |deed: &Deed| deed.stored.is_some();
        let calls = prompt.rounds.iter().flat_map(|round| &round.calls);
        let is_cut = prompt.forgotten > 0
            || calls
                .into_iter()
                .any(|call| matches!(&call.end, CallEnd::Deed(deed) if is_stored(deed)));
        let (text, actions) = answer_parts(draft);
        let hash = author.digest.as_deref().unwrap_or_default().to_owned();
        Some(Self { skill, hash, log, text, actions, is_cut })
    }
}

/// Compares a turn with what a version of a skill would have done: `past` is the end of the turn, `None` where no skill of
/// this name thought. Blocks.
pub fn rehearse_turn(
    candidate: &Arc<Skill>,
    others: &SkillTable,
    prompt: &ThinkerPrompt,
    past: Option<&PastSkillTurn>,
) -> Option<TurnDifference> {
    let table = others.with(candidate);
    let woken = awakened(&table, &prompt.context);
    let id = &candidate.manifest().id;
    let own = woken.filter(|(skill, _)| skill.manifest().id == *id);
    match (own, past) {
        (None, None) => None,
        (None, Some(_)) => Some(TurnDifference::Sleeps),
        (Some(_), None) => Some(TurnDifference::Wakes),
        (Some((_, call)), Some(past)) => difference(candidate, &call, past),
    }
}

fn difference(
    candidate: &Arc<Skill>,
    call: &SkillCall,
    past: &PastSkillTurn,
) -> Option<TurnDifference> {
    let fails = |fault: bridle_skill::SkillFault| Some(TurnDifference::Fails(fault.to_string()));
    let (mut run, mut progress) = match SkillRun::start(candidate, call) {
        Ok(begun) => begun,
        Err(fault) => return fails(fault),
    };
    let mut left = past.log.iter();
    let mut number = 0;
    let value = loop {
        number += 1;
        let before = left.next();
        let asked = match progress {
            RunProgress::Ends(value) if before.is_none() => break value,
            RunProgress::Ends(_) => None,
            RunProgress::Asks(request) => Some(request),
        };
        let Some(logged) = before.filter(|it| asked.as_ref() == Some(&it.request)) else {
            let before = before.map(|it| it.request.to_value());
            let now = asked.as_ref().map(SkillRequest::to_value);
            return Some(TurnDifference::Asks { number, before, now });
        };
        progress = match run.answer(logged.answer.clone()) {
            Ok(next) => next,
            Err(fault) => return fails(fault),
        };
    };
    let answer = match SkillAnswer::read(&value) {
        Ok(answer) => answer,
        Err(fault) => return fails(fault),
    };
    let before = shown(&past.text, &past.actions);
    let now = shown(&answer.text, &answer.actions);
    (before != now).then_some(TurnDifference::Answers { before, now })
}

/// An answer for comparing and for people.
fn shown(text: &str, actions: &[(Option<String>, Value)]) -> String {
    let action = |(target, payload): &(Option<String>, Value)| match target {
        Some(target) => format!("{target}: {payload}"),
        None => payload.to_string(),
    };
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    text.into_iter().chain(actions.iter().map(action)).collect::<Vec<_>>().join("\n")
}
