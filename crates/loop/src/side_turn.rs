//! Turns beside the one that may think, and which signal begins next.
//!
//! Called by `step` when an event was taken, and by `perceive` and `failed_turn`, which ask what has room.
//! A session has one turn that may think and a few beside it: a request, a word that the reflexes answer
//! and a prompt that is only looked at need no thinker, so they do not wait for one. A prompt that turns out
//! to need it waits beside, until the turn that may think ends or waits for somebody's yes: then that one
//! steps aside, and goes on by itself when the answer has come and the thinker is free.
//!
//! Turns think in the order in which they began. Requests of one asker to one target begin in the order in
//! which they came, unless both only read; one that waits for a yes holds up no other.

use crate::action::{Action, RiskLevel};
use crate::effect::Effects;
use crate::event::{Signal, SignalKind};
use crate::failed_turn;
use crate::state::{QueuedSignal, RunningTurn, SessionState, TurnStage};
use crate::think;
use crate::value_size::weight;

/// Weight in bytes of the outcomes in all turns that wait for somebody's yes beside another: with more, the
/// next one keeps its place, and others wait for it.
const MAX_ASIDE_BYTES: usize = 64 << 20;

/// Number of turns and signals of a session, by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionWorkload {
    /// Turns that think, act or look.
    pub running: usize,
    /// Signals and turns that wait for room, or until they may think.
    pub waiting: usize,
    /// Turns that wait for somebody's yes.
    pub parked: usize,
}

/// Counts what a session has to do.
pub(crate) fn workload(state: &SessionState) -> SessionWorkload {
    let mut load = SessionWorkload { waiting: state.queue.len(), ..SessionWorkload::default() };
    for turn in state.running() {
        match turn.stage {
            TurnStage::Consulting(_) | TurnStage::Thinking(_) | TurnStage::Acting => {
                load.running += 1;
            }
            TurnStage::Ready => load.waiting += 1,
            TurnStage::Asking => load.parked += 1,
        }
    }
    load.parked += state.parked.len();
    load
}

/// Begins and goes on with what waits, as far as there is room.
pub(crate) fn begin_waiting(state: &mut SessionState, out: &mut Effects) {
    loop {
        let is_free = state.turn.is_none();
        if is_free && let Some(turn) = take_ready(state) {
            think::ask(state, turn, out);
        } else if (is_free || has_room(state))
            && let Some(waiting) = failed_turn::next(state)
        {
            think::begin(state, waiting, !is_free, out);
        } else if !step_aside(state) {
            return;
        }
    }
}

/// Whether one more turn may begin beside the one that may think.
pub(crate) fn has_room(state: &SessionState) -> bool {
    busy(state) < state.limits.side_turns
}

/// Turns that wait until they may think: they count like signals that wait.
pub(crate) fn ready(state: &SessionState) -> usize {
    state.side.values().filter(|turn| turn.stage == TurnStage::Ready).count()
}

/// Whether a signal waits for one that came before: of those that run, and of these that wait.
pub(crate) fn is_behind<'a>(
    state: &SessionState,
    signal: &Signal,
    waiting: impl Iterator<Item = &'a QueuedSignal>,
) -> bool {
    if state.limits.side_turns == 0 || signal.kind != SignalKind::Request {
        return false;
    }
    let runs = |turn: &&RunningTurn| turn.stage != TurnStage::Asking;
    let running = state.running().filter(runs).map(|turn| &*turn.signal);
    let earlier = running.chain(waiting.map(|waiting| &*waiting.signal));
    let mut related = earlier.filter(|earlier| is_related(earlier, signal)).peekable();
    related.peek().is_some() && (!only_reads(signal) || related.any(|one| !only_reads(one)))
}

fn is_related(earlier: &Signal, later: &Signal) -> bool {
    earlier.kind == SignalKind::Request
        && earlier.from.principal == later.from.principal
        && earlier.from.client == later.from.client
        && earlier.target == later.target
}

fn only_reads(signal: &Signal) -> bool {
    Action::from_payload(&signal.payload).is_ok_and(|action| action.risk() == RiskLevel::Safe)
}

/// Turns beside that take up room. Those that wait for a yes have room of their own, as far as it goes.
fn busy(state: &SessionState) -> usize {
    let (mut acting, mut asking) = (0_usize, 0_usize);
    for turn in state.side.values() {
        match turn.stage {
            TurnStage::Consulting(_) | TurnStage::Thinking(_) | TurnStage::Acting => acting += 1,
            TurnStage::Asking => asking += 1,
            TurnStage::Ready => {}
        }
    }
    acting + asking.saturating_sub(state.limits.parked_turns)
}

/// Takes the turn that may think next: the one that began first.
fn take_ready(state: &mut SessionState) -> Option<RunningTurn> {
    let id = state.side.values().find(|turn| turn.stage == TurnStage::Ready)?.id;
    let turn = state.side.remove(&id)?;
    Some(RunningTurn { is_beside: false, resumed: state.now, ..turn })
}

/// Has the turn that may think make room, if it does not think now and another one wants to begin or to
/// think; false if nothing changed.
fn step_aside(state: &mut SessionState) -> bool {
    let Some(turn) = &state.turn else { return false };
    let is_wanted = ready(state) > 0 || failed_turn::place_of_next(state).is_some();
    if !is_wanted || !may_step_aside(state, turn) {
        return false;
    }
    let Some(turn) = state.turn.take() else { return false };
    state.side.insert(turn.id, RunningTurn { is_beside: true, ..turn });
    true
}

fn may_step_aside(state: &SessionState, turn: &RunningTurn) -> bool {
    match turn.stage {
        TurnStage::Asking => {
            let is_asking = |turn: &&RunningTurn| turn.stage == TurnStage::Asking;
            let aside = state.side.values().filter(is_asking);
            let acts = state.acts.values().any(|act| act.is_awaited_by(turn.id));
            !acts
                && aside.clone().count() < state.limits.parked_turns
                && aside.chain([turn]).map(outcomes).fold(0, usize::saturating_add)
                    <= MAX_ASIDE_BYTES
        }
        // A request never thinks.
        TurnStage::Acting => turn.signal.kind == SignalKind::Request && has_room(state),
        TurnStage::Consulting(_) | TurnStage::Thinking(_) | TurnStage::Ready => false,
    }
}

/// Weight of the outcomes that a turn holds.
fn outcomes(turn: &RunningTurn) -> usize {
    turn.results.iter().map(|deed| weight(&deed.to_value())).sum()
}
