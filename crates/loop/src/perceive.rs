//! First stage: what a signal is, and whether it needs a turn.
//!
//! Called by `step`. What only informs is noted and answered at once, also while a turn runs;
//! an interrupt ends the turns that run; everything else gets a turn when there is room for one. Nothing that a client
//! says is believed about the engine: a tool's output comes from an actuator, not from a message.

use std::collections::VecDeque;
use std::sync::Arc;

use bridle_sexp::Value;

use crate::act;
use crate::action::Action;
use crate::approve;
use crate::effect::{Effect, Effects, RefusalCode, Utterance};
use crate::event::{SessionStart, Signal, SignalKind, SignalSender};
use crate::ids::Seq;
use crate::limits::SessionLimits;
use crate::plist_codec::{FieldSink, PlistBuilder};
use crate::sensor::SensorClass;
use crate::side_turn;
use crate::state::{QueuedSignal, RunningTurn, SessionState, TurnStage};
use crate::value_size::weight;

/// The principal of the regular beat.
const HEARTBEAT: &str = "heartbeat";

/// Keys that are kept of a user's place: enough to name it, never the text.
const FOCUS_KEYS: [&str; 6] = ["sensor", "file", "buffer", "line", "column", "state"];

/// Takes the first event of a session; a second one changes nothing.
pub(crate) fn began(state: &mut SessionState, began: SessionStart) {
    if state.owner.is_some() {
        return;
    }
    state.owner = Some(began.owner);
    state.limits = began.limits;
    state.version = began.version;
    state.front.reset();
    let Some(fork) = began.fork else { return };
    state.origin = Some((fork.session, fork.record));
    // What was said and decided comes along. What was awaited or planned belongs to the other
    // session: here it would happen a second time.
    if let Ok(past) = SessionState::from_value(&fork.state) {
        state.focus = past.focus;
        state.history = past.history;
        state.summaries = past.summaries;
        state.summed.reset();
        state.decisions = past.decisions;
        trim(state);
    }
}

/// Takes what a shell said.
pub(crate) fn signal(state: &mut SessionState, signal: Arc<Signal>, out: &mut Effects) {
    let seq = state.take_seq();
    match signal.kind {
        // Nobody but the session itself says that a turn failed.
        SignalKind::Log | SignalKind::Failed => noted(state, seq, &signal, out),
        SignalKind::Request => {
            supersede(state, &signal, out);
            wait(state, seq, signal, out);
        }
        SignalKind::Event => match sensor_class(&signal) {
            Some(SensorClass::Place | SensorClass::Buffer) => {
                state.focus = focus(&signal.payload, &state.limits);
                noted(state, seq, &signal, out);
            }
            Some(SensorClass::Interrupt) => interrupt(state, seq, &signal, out),
            Some(SensorClass::ToolReport) => noted(state, seq, &signal, out),
            Some(SensorClass::Prompt | SensorClass::Command | SensorClass::Other) => {
                wait(state, seq, signal, out);
            }
            None => {
                let message = "an event needs a `:sensor`; what is to be done is asked for with a \
                               `:REQUEST`";
                answer(
                    state,
                    seq,
                    &signal,
                    act::error(RefusalCode::Unsupported, message).done(),
                    out,
                );
            }
        },
    }
}

/// Tells whether a signal would find its place: it needs no turn, or one more may wait.
pub(crate) fn has_room_for(state: &SessionState, signal: &Signal) -> bool {
    let is_gone = |older: &Signal| is_later_edition(signal, older);
    let begins = || state.turn.as_ref().is_none_or(|turn| is_gone(&turn.signal));
    if !needs_turn(signal) || begins_at_once(state, signal) || state.side.is_empty() && begins() {
        return true;
    }
    let stays = state.queue.iter().filter(|waiting| !is_gone(&waiting.signal));
    let (count, bytes) =
        stays.fold((0, 0_usize), |(n, sum), one| (n + 1, sum.saturating_add(one.bytes())));
    count + side_turn::ready(state) < state.limits.queue
        && bytes.saturating_add(weight(&signal.payload)) <= state.limits.queue_bytes
}

/// Tells whether a signal waits for a turn of its session.
fn needs_turn(signal: &Signal) -> bool {
    match signal.kind {
        SignalKind::Log | SignalKind::Failed => false,
        SignalKind::Request => true,
        SignalKind::Event => sensor_class(signal).is_some_and(SensorClass::makes_turn),
    }
}

/// The regular beat; one that is still waiting or running is not doubled.
pub(crate) fn heartbeat(state: &mut SessionState) {
    let payload = Value::plist([
        ("sensor", Value::keyword("heartbeat")),
        ("unix-time", Value::int(state.now.0.div_euclid(1_000))),
    ]);
    from_time(state, SignalSender::new(HEARTBEAT), payload);
}

/// Returns the class of the sensor that a signal names; `None` if it names none.
fn sensor_class(signal: &Signal) -> Option<SensorClass> {
    let sensor = signal.payload.get("sensor").filter(|sensor| sensor.as_keyword().is_some())?;
    Some(SensorClass::matching(|name| sensor.is_keyword(name)))
}

/// Whether somebody said something and expects words.
pub(crate) fn is_prompt(signal: &Signal) -> bool {
    signal.kind == SignalKind::Event && sensor_class(signal).is_some_and(SensorClass::expects_words)
}

/// Whether a turn is the regular beat, which has nobody to complain to.
pub(crate) fn is_beat(turn: &RunningTurn) -> bool {
    turn.seq.is_none()
        && turn.signal.kind == SignalKind::Event
        && &*turn.signal.from.principal == HEARTBEAT
}

/// Puts histories back within their limits.
pub(crate) fn trim(state: &mut SessionState) {
    state.history.trim(state.limits.history);
    state.decisions.trim(state.limits.decisions);
}

/// Whether a signal of time has found its place.
pub(crate) enum TickRouting {
    Waits,
    NoRoom,
}

/// Has a signal of time wait for its turn, unless the same one does already.
pub(crate) fn from_time(
    state: &mut SessionState,
    from: SignalSender,
    payload: Value,
) -> TickRouting {
    let is_same = |seq: Option<Seq>, other: &Signal| {
        seq.is_none() && other.kind == SignalKind::Event && other.from == from
    };
    let runs = state.running().any(|turn| is_same(turn.seq, &turn.signal));
    if runs || state.queue.iter().any(|waiting| is_same(waiting.seq, &waiting.signal)) {
        return TickRouting::Waits;
    }
    let signal = Signal {
        kind: SignalKind::Event,
        from,
        id: None,
        target: None,
        payload,
        dropped: Vec::new(),
        // Nobody waits, and a session is not held up by what nobody waits for.
        patient: false,
    };
    let waiting = QueuedSignal::new(None, Arc::new(signal));
    if !has_room(state, &waiting) {
        return TickRouting::NoRoom;
    }
    state.queue.push_back(waiting);
    TickRouting::Waits
}

fn wait(state: &mut SessionState, seq: Seq, signal: Arc<Signal>, out: &mut Effects) {
    let waiting = QueuedSignal::new(Some(seq), signal);
    if has_room(state, &waiting) {
        state.queue.push_back(waiting);
        return;
    }
    let count = state.queue.len() + side_turn::ready(state);
    let message = format!("no room for one more signal: {count} wait");
    let payload = act::error(RefusalCode::Overloaded, &message);
    let payload = match state.limits.side_turns {
        0 => payload.done(),
        _ => payload.put_number("waiting", count).put_number("limit", state.limits.queue).done(),
    };
    answer(state, seq, &waiting.signal, payload, out);
}

fn has_room(state: &SessionState, waiting: &QueuedSignal) -> bool {
    let bytes: usize = state.queue.iter().map(QueuedSignal::bytes).sum();
    begins_at_once(state, &waiting.signal)
        || (state.queue.len() + side_turn::ready(state) < state.limits.queue
            && bytes.saturating_add(waiting.bytes()) <= state.limits.queue_bytes)
}

/// Whether a signal would not wait at all. An event may turn out to need the thinker and wait for it, so it
/// begins beside another turn only while there is room for one more that waits.
fn begins_at_once(state: &SessionState, signal: &Signal) -> bool {
    let has_room_to_wait = || {
        signal.kind == SignalKind::Request
            || state.queue.len() + side_turn::ready(state) < state.limits.queue
    };
    (state.turn.is_none() || side_turn::has_room(state) && has_room_to_wait())
        && !side_turn::is_behind(state, signal, state.queue.iter())
}

fn interrupt(state: &mut SessionState, seq: Seq, signal: &Signal, out: &mut Effects) {
    // What waits until it may think has not begun, as far as its asker can tell.
    let runs = |turn: &RunningTurn| turn.stage != TurnStage::Ready;
    let number = state.running().find(|turn| runs(turn)).map(|turn| turn.id.0);
    while let Some(turn) = state.take_turn(runs) {
        act::give_up(state, &turn, RefusalCode::Cancelled, "interrupted", out);
    }
    approve::withdraw_all(state, out);
    let payload = PlistBuilder::new()
        .put("status", Value::keyword("success"))
        .put("action", Value::keyword("interrupted"));
    let payload = match number {
        Some(number) => payload.put_number("turn", number),
        None => payload.put("turn", Value::Nil),
    };
    answer(state, seq, signal, payload.done(), out);
}

/// Ends requests of which this one is the newer edition: nobody waits for the completions of a
/// prefix that was typed on.
fn supersede(state: &mut SessionState, newer: &Signal, out: &mut Effects) {
    if !is_completion(newer) {
        return;
    }
    let is_older = |older: &Signal| is_later_edition(newer, older);
    let waiting = std::mem::take(&mut state.queue).into_iter();
    let (gone, stays): (VecDeque<_>, _) = waiting.partition(|waiting| is_older(&waiting.signal));
    state.queue = stays;
    while let Some(turn) = state.take_turn(|turn| is_older(&turn.signal)) {
        act::supersede(state, &turn, out);
    }
    for waiting in gone {
        let Some(seq) = waiting.seq else { continue };
        answer(state, seq, &waiting.signal, act::superseded(), out);
    }
}

/// Tells whether a request takes the place of an earlier one.
fn is_later_edition(newer: &Signal, older: &Signal) -> bool {
    older.kind == SignalKind::Request
        && older.from == newer.from
        && older.target == newer.target
        && is_completion(newer)
        && is_completion(older)
}

fn is_completion(signal: &Signal) -> bool {
    signal.kind == SignalKind::Request
        && matches!(Action::from_payload(&signal.payload), Ok(Action::Complete { .. }))
}

/// Picks the keys of a payload that name the user's place.
fn focus(payload: &Value, limits: &SessionLimits) -> Option<Arc<Value>> {
    let kept = FOCUS_KEYS.iter().filter_map(|key| {
        let value = match payload.get(key)? {
            Value::Str(text) => Value::from(act::cut(text, limits.history_text)),
            value @ (Value::Int(_) | Value::Keyword(_)) => value.clone(),
            _ => return None,
        };
        Some((*key, value))
    });
    Some(Arc::new(Value::plist(kept)))
}

fn noted(state: &mut SessionState, seq: Seq, signal: &Signal, out: &mut Effects) {
    answer(state, seq, signal, act::noted(), out);
}

/// Answers a signal that gets no turn.
pub(crate) fn answer(
    state: &mut SessionState,
    seq: Seq,
    signal: &Signal,
    payload: Value,
    out: &mut Effects,
) {
    let to = Some(act::addressee(signal));
    out.push(Effect::Say(Utterance { seq: state.take_seq(), answers: Some(seq), to, payload }));
}
