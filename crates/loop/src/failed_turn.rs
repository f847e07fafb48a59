//! What follows when a turn fails after it changed files of the memory: they are taken back, or it is
//! said that they stay.
//!
//! Called by `act` when a turn ends and by `step` when the next one begins. What is to be taken back is
//! proposed by whoever keeps the files ([`SignalKind::Failed`] is shown to the reflexes alone) and judged
//! like any other proposal, in a turn of its own: so it is recorded with its cause, policies may forbid
//! it, and after a crash it is known how far it came. Nothing is judged or done here.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::action::{Action, EDITS, UNDOS};
use crate::decide::Order;
use crate::effect::{Deed, TurnEnd};
use crate::event::{ActuatorLocation, Outcome, Signal, SignalKind};
use crate::ids::TurnId;
use crate::plist_codec::{FieldSink, PlistBuilder};
use crate::side_turn;
use crate::state::{QueuedSignal, RunningTurn, SessionState};

/// The actuator of the memory.
const MEMORY: &str = "memory";

/// Files that an answer names: the record has all of them.
const MAX_NAMED_CHANGES: usize = 16;

/// Sees to it that what a failed turn changed is looked at next.
pub(crate) fn follow(state: &mut SessionState, turn: &RunningTurn, reason: TurnEnd) {
    let is_own = turn.signal.kind == SignalKind::Failed;
    let has_written = turn.results.iter().any(|deed| is_change(deed)) || writes(state, turn.id);
    if is_own || !is_failure(reason) || !has_written {
        return;
    }
    let payload = PlistBuilder::new()
        .put("session", state.session.as_str())
        .put_number("turn", turn.id.0)
        .put("reason", Value::keyword(reason.word()));
    let signal = Signal {
        kind: SignalKind::Failed,
        from: turn.signal.from.clone(),
        id: None,
        target: None,
        payload: payload.done(),
        dropped: Vec::new(),
        // A session is not held up by a question that comes after the answer.
        patient: false,
    };
    // Before anything else changes the same files.
    state.queue.push_front(QueuedSignal::new(None, Arc::new(signal)));
}

/// Takes the next signal that can have its turn: what follows a failed turn waits for the changes that
/// were under way when it ended.
pub(crate) fn next(state: &mut SessionState) -> Option<QueuedSignal> {
    let place = place_of_next(state)?;
    state.queue.remove(place)
}

/// The place in the queue of the signal that [`next`] takes.
pub(crate) fn place_of_next(state: &SessionState) -> Option<usize> {
    let is_ready = |(place, waiting): (usize, &QueuedSignal)| match failed(&waiting.signal) {
        Some(turn) => !writes(state, turn),
        None => !side_turn::is_behind(state, &waiting.signal, state.queue.iter().take(place)),
    };
    state.queue.iter().enumerate().position(is_ready)
}

/// The turn that failed, if a signal is about one.
pub(crate) fn failed(signal: &Signal) -> Option<TurnId> {
    let turn = signal.payload.get("turn").filter(|_| signal.kind == SignalKind::Failed)?;
    turn.as_i64().and_then(|turn| u64::try_from(turn).ok()).map(TurnId)
}

/// The answer of a turn, with what it left behind if it failed, and what became of that if it came after
/// one that did.
pub(crate) fn told(
    state: &SessionState,
    turn: &RunningTurn,
    reason: TurnEnd,
    payload: Value,
) -> Value {
    if reason == TurnEnd::Answered && turn.signal.kind != SignalKind::Failed {
        return payload;
    }
    let said = payload.get("message").and_then(Value::as_str).unwrap_or_default();
    if let Some(before) = failed(&turn.signal) {
        let (number, session) = (before.0, &state.session);
        let by_hand = format!("`bridle memory rollback {session} {number}`");
        let message = match reason {
            TurnEnd::Answered if payload.get("text").is_some() => return payload,
            TurnEnd::Answered => format!("turn {number} failed; what it changed is taken back"),
            TurnEnd::Pending => format!("turn {number} failed; taking back what it changed {said}"),
            _ => format!("turn {number} failed; what it changed stays: {said}; see {by_hand}"),
        };
        return with(&payload, &message, PlistBuilder::new().put_number("turn", number));
    }
    let files = files(turn);
    if !is_failure(reason) || files.is_empty() {
        return payload;
    }
    let message = format!("{said}; before that it changed `{}`", files.join("`, `"));
    let more = PlistBuilder::new().put_number("turn", turn.id.0);
    with(&payload, &message, more.put_list("wrote", files.into_iter().map(Value::from)))
}

/// Gives an answer another message, and more keys.
fn with(payload: &Value, message: &str, more: PlistBuilder) -> Value {
    let mut all = Vec::new();
    let mut has_message = false;
    for (key, value) in payload.pairs().into_iter().flatten() {
        let is_message = key.is_keyword("message");
        has_message |= is_message;
        all.extend([key.clone(), if is_message { Value::str(message) } else { value.clone() }]);
    }
    if !has_message {
        all.extend([Value::keyword("message"), Value::str(message)]);
    }
    all.extend(more.done().elements().unwrap_or_default().iter().cloned());
    Value::list(all)
}

fn is_failure(reason: TurnEnd) -> bool {
    match reason {
        TurnEnd::Refused | TurnEnd::Failed | TurnEnd::Cancelled | TurnEnd::Expired => true,
        TurnEnd::Answered | TurnEnd::Superseded | TurnEnd::Pending => false,
    }
}

/// Whether an act changed files of the memory.
fn is_change(deed: &Deed) -> bool {
    let action = deed.action.as_str();
    deed.target.as_str() == MEMORY
        && matches!(deed.outcome, Outcome::Done(_))
        && (EDITS.contains(&action) || UNDOS.contains(&action))
}

/// Whether a change of a turn is under way.
fn writes(state: &SessionState, turn: TurnId) -> bool {
    let is_change = |order: &Order| {
        order.place() == ActuatorLocation::Host
            && matches!(order.action(), Action::Edit(_) | Action::Undo(_))
    };
    state.acts.values().any(|act| act.turn == turn && is_change(&act.order))
}

/// The files that a turn changed, as their actuator named them.
fn files(turn: &RunningTurn) -> Vec<&str> {
    let mut files = Vec::new();
    for deed in turn.results.iter().filter(|deed| is_change(deed)) {
        let Outcome::Done(result) = &deed.outcome else { continue };
        let named = result.get("files").and_then(Value::elements).unwrap_or_default();
        for file in named.iter().filter_map(Value::as_str) {
            if !files.contains(&file) && files.len() < MAX_NAMED_CHANGES {
                files.push(file);
            }
        }
    }
    files
}
