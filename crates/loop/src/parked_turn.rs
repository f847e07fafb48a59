//! A turn whose answer was that it waits for a yes, kept until its asker comes back for the rest.
//!
//! Called by `act` when such a turn ends and when something that it wanted has an outcome, and by
//! `think` when the asker is back. Only for askers that say that they come back (`:returns`): the
//! session does not wait meanwhile, and whoever answers the question, the outcome is noted here.
//! Nothing is judged here.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::act;
use crate::approve;
use crate::effect::{Addressee, Deed, Effects, RefusalCode};
use crate::event::{Signal, SignalKind, WithdrawalReason};
use crate::ids::{EffectId, Seq, TurnId, UnixMillis};
use crate::perceive;
use crate::state::{OutcomeReturn, QueuedSignal, RunningTurn, SessionState, TurnContinuation};
use crate::think;
use crate::value_size::weight;

/// The sensor of a signal that takes a kept turn up again.
pub(crate) const CONTINUE: &str = "continue";

/// Turns that a session keeps; the oldest gives way, and is answered like one that is not known.
const MAX_PARKED_TURNS: usize = 8;

/// Weight in bytes of what was asked and done in a turn that is kept: a heavier one is not.
const MAX_PARKED_BYTES: usize = 256 << 10;

/// A turn that was answered and may go on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParkedTurn {
    pub(crate) turn: RunningTurn,
    /// Time at which the last of its questions ends.
    pub(crate) until: UnixMillis,
}

/// Whether the sender of a signal comes back for what waits for a yes.
pub(crate) fn returns(signal: &Signal) -> bool {
    let says = |key| signal.payload.get(key).is_some_and(|flag: &Value| !flag.is_nil());
    !signal.patient && signal.kind == SignalKind::Event && says("returns")
}

/// Whether a signal takes a kept turn up again.
pub(crate) fn is_continuing(signal: &Signal) -> bool {
    signal.kind == SignalKind::Event
        && signal.payload.get("sensor").is_some_and(|sensor| sensor.is_keyword(CONTINUE))
}

/// Keeps a turn that has just been answered, if its asker comes back.
pub(crate) fn park(state: &mut SessionState, turn: &RunningTurn) {
    let Some(seq) = turn.seq.filter(|_| returns(&turn.signal)) else { return };
    let results: usize = turn.results.iter().map(|deed| weight(&deed.to_value())).sum();
    if weight(&turn.signal.payload).saturating_add(results) > MAX_PARKED_BYTES {
        return;
    }
    let open = turn.pending.iter().filter_map(|id| state.questions.get(id));
    let Some(until) = open.map(|open| open.question.expires).max() else { return };
    let turn = RunningTurn { is_beside: false, ..turn.clone() };
    state.parked.insert(seq, ParkedTurn { turn, until });
    while state.parked.len() > MAX_PARKED_TURNS {
        state.parked.pop_first();
    }
}

/// Forgets the turns whose questions are over for good.
pub(crate) fn expire(state: &mut SessionState) {
    let now = state.now;
    state.parked.retain(|_, parked| parked.until > now);
}

/// Notes the outcome of something that was asked for in the turns that wanted it.
pub(crate) fn note(
    state: &mut SessionState,
    approval: EffectId,
    deed: &Deed,
    back: &OutcomeReturn,
) {
    let SessionState { parked, limits, .. } = state;
    let wanted = parked.values_mut().filter(|kept| kept.turn.pending.contains(&approval));
    for kept in wanted {
        act::note(&mut kept.turn, deed.clone(), back, limits);
    }
}

/// Goes on with a kept turn: its asker is back. What became of its questions meanwhile was noted.
pub(crate) fn resume(
    state: &mut SessionState,
    back: QueuedSignal,
    is_beside: bool,
    out: &mut Effects,
) {
    expire(state);
    let mut turn = match take(state, &back.signal) {
        Some(kept) => hand_over(state, kept, &back),
        None => unknown(state, &back),
    };
    turn.began = state.now;
    turn.resumed = state.now;
    turn.is_beside = is_beside;
    if says_something(&back.signal) {
        turn.signal = back.signal;
        return think::consult(state, turn, out);
    }
    act::settle(state, turn, out);
}

/// Calls off what a kept turn wanted, as far as nobody else wants it.
pub(crate) fn withdraw(state: &mut SessionState, seq: Seq, out: &mut Effects) {
    let Some(kept) = state.parked.remove(&seq) else { return };
    let to = Some(act::addressee(&kept.turn.signal));
    for id in &kept.turn.pending {
        if let Some(open) = state.questions.get_mut(id) {
            open.tell.retain(|told| *told != to);
        }
    }
    approve::withdraw(state, &kept.turn, out);
}

/// Gives up whatever was begun for the signal of this number: a turn that runs, one that waits, or
/// one that is kept.
pub(crate) fn withdrawn(
    state: &mut SessionState,
    seq: Seq,
    how: WithdrawalReason,
    out: &mut Effects,
) {
    let (code, why) = match how {
        WithdrawalReason::Cancelled => (RefusalCode::Cancelled, "called off"),
        WithdrawalReason::Expired => (RefusalCode::Expired, "the time that the asker gave is over"),
    };
    if let Some(turn) = state.take_turn(|turn| turn.seq == Some(seq)) {
        return act::give_up(state, &turn, code, why, out);
    }
    if let Some(place) = state.queue.iter().position(|waiting| waiting.seq == Some(seq)) {
        if let Some(waiting) = state.queue.remove(place) {
            perceive::answer(state, seq, &waiting.signal, act::error(code, why).done(), out);
        }
        return;
    }
    withdraw(state, seq, out);
}

/// Makes a kept turn that of the signal which takes it up: who is answered and told is whoever is
/// back, and what was allowed while nobody ran is this turn's from now on.
fn hand_over(state: &mut SessionState, kept: RunningTurn, back: &QueuedSignal) -> RunningTurn {
    let (before, now) = (act::addressee(&kept.signal), act::addressee(&back.signal));
    let readdress = |to: &mut Option<Addressee>| {
        if to.as_ref() == Some(&before) {
            *to = Some(now.clone());
        }
    };
    for id in &kept.pending {
        let open = state.questions.get_mut(id);
        open.into_iter().flat_map(|open| &mut open.tell).for_each(readdress);
    }
    for act in state.acts.values_mut() {
        if act.tell.iter().any(|told| kept.pending.contains(&told.approval)) {
            act.turn = kept.id;
            act.tell.iter_mut().for_each(|told| readdress(&mut told.to));
        }
    }
    let (from, id) = (back.signal.from.clone(), back.signal.id.clone());
    let signal = Arc::new(Signal { from, id, ..Signal::clone(&kept.signal) });
    RunningTurn { seq: back.seq, signal, said: Vec::new(), directives: Vec::new(), ..kept }
}

/// The kept turn that a signal names, if it is of the same principal.
fn take(state: &mut SessionState, signal: &Signal) -> Option<RunningTurn> {
    let run = signal.payload.get("run").and_then(Value::as_i64);
    let seq = Seq(run.and_then(|run| u64::try_from(run).ok())?);
    let kept = state.parked.get(&seq)?;
    let is_same = kept.turn.signal.from.principal == signal.from.principal
        && kept.turn.signal.from.owner == signal.from.owner;
    if !is_same {
        return None;
    }
    state.parked.remove(&seq).map(|kept| kept.turn)
}

/// A turn for somebody who comes back for what is not kept: it can only say what is still asked.
fn unknown(state: &mut SessionState, back: &QueuedSignal) -> RunningTurn {
    state.turns = state.turns.saturating_add(1);
    let mut turn = RunningTurn::new(TurnId(state.turns), back.clone(), state.now);
    let named = back.signal.payload.get("approvals").and_then(Value::elements);
    let named = named.unwrap_or_default().iter().filter_map(Value::as_i64);
    let named = named.filter_map(|id| u64::try_from(id).ok()).map(EffectId);
    let is_own = |id: &EffectId| {
        let open = state.questions.get(id);
        open.is_some_and(|open| open.question.asker.principal == back.signal.from.principal)
    };
    turn.pending = named.filter(is_own).collect();
    turn.pending.sort_unstable();
    turn.pending.dedup();
    turn.next = TurnContinuation::Answer;
    turn
}

fn says_something(signal: &Signal) -> bool {
    let text = signal.payload.get("text").and_then(Value::as_str);
    text.is_some_and(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
