//! Answers: how a turn's end is told to the one who asked.
//!
//! Payloads of `:RESPONSE`s, `:status` first. An answer always names a cause: there is no "no
//! response".

use bridle_sexp::Value;

use crate::action::Action;
use crate::decide::Order;
use crate::effect::{Addressee, Deed, RefusalCode, TurnEnd};
use crate::event::{ActuatorLocation, Outcome, Signal, SignalKind};
use crate::ids::EffectId;
use crate::parked_turn;
use crate::perceive;
use crate::plist_codec::{FieldSink, PlistBuilder};
use crate::privacy::Privacy;
use crate::state::{RunningTurn, SessionState};

/// Bytes of what is wanted that are shown to somebody who comes back: a screen or two. The hash
/// stands for the rest.
const MAX_SHOWN_BYTES: usize = 4 << 10;

/// Payload for a signal that was perceived and needs no words.
pub(crate) fn noted() -> Value {
    PlistBuilder::new()
        .put("status", Value::keyword("success"))
        .put("action", Value::keyword("noted"))
        .done()
}

/// A request whose place a later one took.
pub(crate) fn superseded() -> Value {
    error(RefusalCode::Cancelled, "a later request took its place")
        .put("outcome", Value::keyword(Outcome::Superseded.word()))
        .done()
}

/// An error, to be continued.
pub(crate) fn error(code: RefusalCode, message: &str) -> PlistBuilder {
    failure(code, message, code == RefusalCode::Overloaded)
}

pub(super) fn failure(code: RefusalCode, message: &str, retryable: bool) -> PlistBuilder {
    PlistBuilder::new()
        .put("status", Value::keyword("error"))
        .put("code", Value::keyword(code.word()))
        .put("message", message)
        .put("retryable", retryable)
}

/// Adds what the turn said and did before it ended.
pub(super) fn with_parts(plist: PlistBuilder, turn: &RunningTurn) -> PlistBuilder {
    plist
        .put_some("text", (!turn.said.is_empty()).then(|| text(turn)))
        .put_list("directives", turn.directives.iter().map(|one| Value::clone(one)))
        .put_list("acts", turn.results.iter().map(|deed| deed.summary()))
}

/// The answer to an event: what was said, or why nothing was.
pub(super) fn to_event(turn: &RunningTurn) -> (TurnEnd, Option<Value>) {
    if !turn.said.is_empty() || !turn.directives.is_empty() {
        let plist = PlistBuilder::new()
            .put("status", Value::keyword("success"))
            .put("action", Value::keyword("message"));
        return (TurnEnd::Answered, Some(with_parts(plist, turn).done()));
    }
    let failed = turn.results.iter().rev().find(|deed| cause(&deed.outcome).is_some());
    if let Some((deed, (code, why))) = failed.and_then(|deed| Some((deed, cause(&deed.outcome)?))) {
        let message = format!("`{}` of `{}`: {why}", deed.action, deed.target);
        return (reason(code), Some(with_parts(error(code, &message), turn).done()));
    }
    if turn.results.is_empty() && perceive::is_prompt(&turn.signal) {
        let message = "the thinker had nothing to propose";
        return (TurnEnd::Failed, Some(error(RefusalCode::EngineFailed, message).done()));
    }
    if let Some(done) = turn.results.last().filter(|_| turn.signal.kind == SignalKind::Failed) {
        let (reason, payload) = of_deed(done);
        return (reason, Some(payload.done()));
    }
    if turn.seq.is_none() {
        return (TurnEnd::Answered, None);
    }
    let plist = PlistBuilder::new()
        .put("status", Value::keyword("success"))
        .put("action", Value::keyword("noted"));
    (TurnEnd::Answered, Some(with_parts(plist, turn).done()))
}

/// The answer to a request: the outcome of what was asked for.
pub(super) fn to_request(turn: &RunningTurn) -> (TurnEnd, Option<Value>) {
    let Some(deed) = turn.results.last() else { return to_event(turn) };
    let (reason, payload) = of_deed(deed);
    (reason, Some(payload.done()))
}

/// End of the turn after an act, and the payload that tells its outcome.
pub(super) fn of_deed(deed: &Deed) -> (TurnEnd, PlistBuilder) {
    if let Some((code, why)) = cause(&deed.outcome) {
        let plist = error(code, &why).put("outcome", Value::keyword(deed.outcome.word()));
        return (reason(code), plist);
    }
    let plist = PlistBuilder::new()
        .put("status", Value::keyword("success"))
        .put("action", deed.action.to_value());
    (TurnEnd::Answered, deed.outcome.put(plist))
}

/// The answer to somebody who does not wait for a yes.
pub(super) fn pending(
    state: &SessionState,
    turn: &RunningTurn,
    questions: &[EffectId],
) -> (TurnEnd, Option<Value>) {
    let names: Vec<String> = questions.iter().map(|id| state.name_of(*id)).collect();
    let message = format!("waits for a yes to question `{}`", names.join("`, `"));
    let plist = PlistBuilder::new()
        .put("status", Value::keyword("pending-approval"))
        .put("message", message)
        .put_some("approval", names.first().map(|id| Value::from(&**id)))
        .put_list("approvals", names.iter().map(|id| Value::from(&**id)));
    // Who comes back shows the questions to somebody, and has nothing else to know them from.
    let shown = questions.iter().filter(|_| parked_turn::returns(&turn.signal));
    let plist = plist.put_list("questions", shown.filter_map(|id| question(state, *id)));
    (TurnEnd::Pending, Some(with_parts(plist, turn).done()))
}

/// A question for somebody who sees nothing but this.
fn question(state: &SessionState, id: EffectId) -> Option<Value> {
    let question = &state.questions.get(&id)?.question;
    let intent = &question.intent;
    let wanted = intent.payload().to_string();
    let shown = cut(&wanted, MAX_SHOWN_BYTES);
    let plist = PlistBuilder::new()
        .put("approval", state.name_of(id))
        .put_number("effect", id.0)
        .put("question", &*question.text)
        .put("risk", Value::keyword(intent.action().risk().word()))
        .put("action", intent.action().name().to_value())
        .put("hash", intent.hash().to_string())
        .put("wanted", shown)
        .put_some("bytes", (shown.len() < wanted.len()).then(|| Value::from(size(&wanted))))
        .put_list("who", question.who.iter().map(|who| Value::from(&**who)))
        .put("expires", question.expires.0);
    Some(plist.done())
}

fn size(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// Addressee of an answer.
pub(crate) fn addressee(signal: &Signal) -> Addressee {
    Addressee { client: signal.from.client.clone(), id: signal.id.clone() }
}

/// The beginning of a text, at most `limit` bytes, never half a character.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// End of a turn that fails with this code.
pub(super) fn reason(code: RefusalCode) -> TurnEnd {
    match code {
        RefusalCode::Cancelled => TurnEnd::Cancelled,
        RefusalCode::Expired => TurnEnd::Expired,
        RefusalCode::Refused => TurnEnd::Refused,
        _ => TurnEnd::Failed,
    }
}

/// The messages of a turn as one text.
fn text(turn: &RunningTurn) -> Value {
    match &*turn.said {
        [one] => Value::Str(one.clone()),
        more => Value::from(more.join("\n\n")),
    }
}

/// Code and reason of an act that was not done; `None` if it was.
fn cause(outcome: &Outcome) -> Option<(RefusalCode, String)> {
    Some(match outcome {
        Outcome::Done(_) => return None,
        Outcome::Denied(reason) => (RefusalCode::Refused, reason.to_string()),
        Outcome::Expired => (RefusalCode::Expired, "nobody answered in time".into()),
        Outcome::Superseded => (RefusalCode::Cancelled, "a later request took its place".into()),
        Outcome::Failed(reason) => (RefusalCode::EngineFailed, reason.to_string()),
        Outcome::UnknownOutcome => {
            (RefusalCode::UnknownOutcome, "begun, and nobody knows how it ended".into())
        }
    })
}

/// The label of an outcome: a read of the daemon says how far its answer may travel, and so do runs, files and answers
/// of hosts in which something looks like a secret; everything else is private.
pub(super) fn label(order: &Order, outcome: &Outcome) -> Privacy {
    match (order.action(), outcome) {
        (Action::Context(_), Outcome::Done(result)) => {
            Privacy::from_value(result).unwrap_or(Privacy::Secret)
        }
        (Action::Exec(_) | Action::File(_) | Action::Http(_), Outcome::Done(result))
            if order.place() == ActuatorLocation::Host =>
        {
            Privacy::from_value(result).unwrap_or(Privacy::Secret)
        }
        _ => Privacy::default(),
    }
}
