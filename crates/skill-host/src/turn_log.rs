//! Requests and answers of a turn, as its drafts carry them: the opaque state of a draft has what was asked since the one
//! before, and the outcome of its call is the answer to the last of them.

use bridle_loop::{CallEnd, Draft, OpaqueText, Outcome, ThoughtRound};
use bridle_sexp::{Value, read_one};
use bridle_skill::{LoggedRequest, SkillRequest};

/// The state of a draft: answered requests, and the one that its call asks for.
pub(crate) fn written(answered: &[LoggedRequest], asked: Option<&SkillRequest>) -> OpaqueText {
    let pair = |logged: &LoggedRequest| {
        Value::list([logged.request.to_value(), Value::vector([logged.answer.clone()])])
    };
    let log = Value::list(answered.iter().map(pair));
    let asked = asked.map_or(Value::Nil, SkillRequest::to_value);
    OpaqueText(Value::plist([("log", log), ("asked", asked)]).to_string().into())
}

/// Requests of the rounds so far, each with its answer; `None` when a round is no skill's.
pub(crate) fn read<'r>(
    rounds: impl Iterator<Item = &'r ThoughtRound>,
) -> Option<Vec<LoggedRequest>> {
    let mut all = Vec::new();
    for round in rounds {
        let text = round.opaque.as_ref()?;
        let state = read_one(&text.0).ok()?.root().to_value();
        all.extend(answered(&state)?);
        let asked = state.get("asked").filter(|asked| !asked.is_nil());
        if let Some(asked) = asked {
            let answer = outcome(round);
            all.push(LoggedRequest { request: SkillRequest::read(asked)?, answer });
        }
    }
    Some(all)
}

/// Requests that the state of a draft has with their answers.
pub(crate) fn read_state(text: &OpaqueText) -> Option<Vec<LoggedRequest>> {
    answered(&read_one(&text.0).ok()?.root().to_value())
}

/// Whether a draft asks for something and waits; `None` when it is no skill's.
pub(crate) fn asks(draft: &Draft) -> Option<bool> {
    let state = read_one(&draft.opaque.as_ref()?.0).ok()?.root().to_value();
    Some(state.get("asked").is_some_and(|asked| !asked.is_nil()))
}

fn answered(state: &Value) -> Option<Vec<LoggedRequest>> {
    let pairs = state.get("log").and_then(Value::elements).unwrap_or_default();
    let read = |pair: &Value| {
        let [request, answer] = pair.elements()? else { return None };
        let answer = answer.elements()?.first()?.clone();
        Some(LoggedRequest { request: SkillRequest::read(request)?, answer })
    };
    pairs.iter().map(read).collect()
}

/// The end of the one call of a round, as a skill sees it.
fn outcome(round: &ThoughtRound) -> Value {
    match round.calls.first().map(|call| &call.end) {
        Some(CallEnd::Deed(deed)) => told(&deed.outcome),
        Some(CallEnd::Rejected(rejection)) => told(&Outcome::Denied(rejection.reason.clone())),
        Some(CallEnd::Said) => told(&Outcome::Done(Value::Nil)),
        Some(CallEnd::Open) | None => told(&Outcome::UnknownOutcome),
    }
}

/// An outcome, as a skill sees it.
pub(crate) fn told(outcome: &Outcome) -> Value {
    let word = ("outcome", Value::keyword(outcome.word()));
    match outcome {
        Outcome::Done(value) => Value::plist([word, ("value", value.clone())]),
        Outcome::Denied(why) | Outcome::Failed(why) => {
            Value::plist([word, ("reason", Value::str(&**why))])
        }
        _ => Value::plist([word]),
    }
}
