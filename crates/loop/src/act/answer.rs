//! Answers: how a turn's end is told to the one who asked.
//!
//! Payloads of `:RESPONSE`s, `:status` first. An answer always names a cause: there is no "no
//! response".

use bridle_sexp::Value;

use crate::effect::{Addressee, Code, Deed, Reason};
use crate::event::{Outcome, Signal, SignalKind};
use crate::field::{Fields, Plist};
use crate::ids::EffectId;
use crate::park;
use crate::perceive;
use crate::state::{State, Turn};

/// Bytes of what is wanted that are shown to somebody who comes back: a screen or two. The hash
/// stands for the rest.
const MAX_SHOWN: usize = 4 << 10;

/// What was perceived and needs no words.
pub(crate) fn noted() -> Value {
    Plist::new()
        .put("status", Value::keyword("success"))
        .put("action", Value::keyword("noted"))
        .done()
}

/// A request whose place a later one took.
pub(crate) fn superseded() -> Value {
    error(Code::Cancelled, "a later request took its place")
        .put("outcome", Value::keyword(Outcome::Superseded.word()))
        .done()
}

/// An error, to be continued.
pub(crate) fn error(code: Code, message: &str) -> Plist {
    failure(code, message, code == Code::Overloaded)
}

pub(super) fn failure(code: Code, message: &str, retryable: bool) -> Plist {
    Plist::new()
        .put("status", Value::keyword("error"))
        .put("code", Value::keyword(code.word()))
        .put("message", message)
        .put("retryable", retryable)
}

/// Adds what the turn said and did before it ended.
pub(super) fn with_parts(plist: Plist, turn: &Turn) -> Plist {
    plist
        .put_some("text", (!turn.said.is_empty()).then(|| text(turn)))
        .put_list("acts", turn.results.iter().map(|deed| deed.summary()))
}

/// The answer to an event: what was said, or why nothing was.
pub(super) fn to_event(turn: &Turn) -> (Reason, Option<Value>) {
    if !turn.said.is_empty() {
        let plist = Plist::new()
            .put("status", Value::keyword("success"))
            .put("action", Value::keyword("message"));
        return (Reason::Answered, Some(with_parts(plist, turn).done()));
    }
    let failed = turn.results.iter().rev().find(|deed| cause(&deed.outcome).is_some());
    if let Some((deed, (code, why))) = failed.and_then(|deed| Some((deed, cause(&deed.outcome)?))) {
        let message = format!("`{}` of `{}`: {why}", deed.action, deed.target);
        return (reason(code), Some(with_parts(error(code, &message), turn).done()));
    }
    if turn.results.is_empty() && perceive::is_prompt(&turn.signal) {
        let message = "the thinker had nothing to propose";
        return (Reason::Failed, Some(error(Code::EngineFailed, message).done()));
    }
    if let Some(done) = turn.results.last().filter(|_| turn.signal.kind == SignalKind::Failed) {
        let (reason, payload) = of_deed(done);
        return (reason, Some(payload.done()));
    }
    if turn.seq.is_none() {
        return (Reason::Answered, None);
    }
    let plist = Plist::new()
        .put("status", Value::keyword("success"))
        .put("action", Value::keyword("noted"));
    (Reason::Answered, Some(with_parts(plist, turn).done()))
}

/// The answer to a request: the outcome of what was asked for.
pub(super) fn to_request(turn: &Turn) -> (Reason, Option<Value>) {
    let Some(deed) = turn.results.last() else { return to_event(turn) };
    let (reason, payload) = of_deed(deed);
    (reason, Some(payload.done()))
}

/// How an act ended.
pub(super) fn of_deed(deed: &Deed) -> (Reason, Plist) {
    if let Some((code, why)) = cause(&deed.outcome) {
        let plist = error(code, &why).put("outcome", Value::keyword(deed.outcome.word()));
        return (reason(code), plist);
    }
    let plist =
        Plist::new().put("status", Value::keyword("success")).put("action", deed.action.to_value());
    (Reason::Answered, deed.outcome.put(plist))
}

/// The answer to somebody who does not wait for a yes.
pub(super) fn pending(
    state: &State,
    turn: &Turn,
    questions: &[EffectId],
) -> (Reason, Option<Value>) {
    let names: Vec<String> = questions.iter().map(|id| state.name_of(*id)).collect();
    let message = format!("waits for a yes to question `{}`", names.join("`, `"));
    let plist = Plist::new()
        .put("status", Value::keyword("pending-approval"))
        .put("message", message)
        .put_some("approval", names.first().map(|id| Value::from(&**id)))
        .put_list("approvals", names.iter().map(|id| Value::from(&**id)));
    // Who comes back shows the questions to somebody, and has nothing else to know them from.
    let shown = questions.iter().filter(|_| park::returns(&turn.signal));
    let plist = plist.put_list("questions", shown.filter_map(|id| question(state, *id)));
    (Reason::Pending, Some(with_parts(plist, turn).done()))
}

/// A question for somebody who sees nothing but this.
fn question(state: &State, id: EffectId) -> Option<Value> {
    let question = &state.questions.get(&id)?.question;
    let intent = &question.intent;
    let wanted = intent.payload().to_string();
    let shown = cut(&wanted, MAX_SHOWN);
    let plist = Plist::new()
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

/// Who is to be answered.
pub(crate) fn addressee(signal: &Signal) -> Addressee {
    Addressee { client: signal.from.client.clone(), id: signal.id.clone() }
}

/// The beginning of a text, at most `limit` bytes, never half a character.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// How a turn ended that ends with this error.
pub(super) fn reason(code: Code) -> Reason {
    match code {
        Code::Cancelled => Reason::Cancelled,
        Code::Expired => Reason::Expired,
        Code::Refused => Reason::Refused,
        _ => Reason::Failed,
    }
}

/// The messages of a turn as one text.
fn text(turn: &Turn) -> Value {
    match &*turn.said {
        [one] => Value::Str(one.clone()),
        more => Value::from(more.join("\n\n")),
    }
}

/// Why an act was not done; `None` if it was.
fn cause(outcome: &Outcome) -> Option<(Code, String)> {
    Some(match outcome {
        Outcome::Done(_) => return None,
        Outcome::Denied(reason) => (Code::Refused, reason.to_string()),
        Outcome::Expired => (Code::Expired, "nobody answered in time".into()),
        Outcome::Superseded => (Code::Cancelled, "a later request took its place".into()),
        Outcome::Failed(reason) => (Code::EngineFailed, reason.to_string()),
        Outcome::UnknownOutcome => {
            (Code::UnknownOutcome, "begun, and nobody knows how it ended".into())
        }
    })
}
