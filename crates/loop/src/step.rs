//! The dispatch: one event in, effects out.
//!
//! Called by the daemon for everything that happens to a session, and by replay for everything that
//! ever happened. The four stages are in files of their own; this one only says which of them an
//! event is for, and starts the next turns when there is room for them.

use crate::effect::Effects;
use crate::event::{Event, TimerTick};
use crate::ids::UnixMillis;
use crate::state::SessionState;
use crate::{act, approve, parked_turn, perceive, schedule, side_turn, think, upgrade};

/// Takes one event into the state and says what is to happen now.
///
/// Total: nothing that is fed to it makes it panic, and an answer to an effect that is not awaited
/// changes nothing. Deterministic: the same events give the same effects and the same state.
pub fn step(state: &mut SessionState, at: UnixMillis, event: Event) -> Effects {
    let mut out = Vec::new();
    // A clock that was set back does not make deadlines of the past.
    state.now = state.now.max(at);
    match event {
        Event::Began(began) => perceive::began(state, began),
        Event::Signal(signal) => perceive::signal(state, signal, &mut out),
        Event::Registered(actuators) => {
            state.actuators = actuators.into();
            state.reach.reset();
        }
        Event::ConsultantsChanged(consultants) => {
            state.consultants = consultants.into();
            state.reach.reset();
        }
        Event::Consulted { effect, advice } => think::consulted(state, effect, advice, &mut out),
        Event::Drafted { effect, draft } => think::drafted(state, effect, draft, &mut out),
        Event::Acted { effect, outcome } => act::acted(state, effect, outcome, &mut out),
        Event::Answered(answered) => approve::answered(state, &answered, &mut out),
        Event::PolicyInstalled(installed) => {
            state.policy = Some(installed);
            state.judged.reset();
        }
        Event::Counted(counted) => state.budget.learn(state.now, &counted),
        Event::Tick(TimerTick::Deadline) => {
            act::deadlines(state, &mut out);
            schedule::fire_due(state);
        }
        Event::Tick(TimerTick::Heartbeat) => perceive::heartbeat(state),
        Event::Cancelled { turn, reason } => act::cancelled(state, turn, &reason, &mut out),
        Event::Withdrawn { seq, how } => parked_turn::withdrawn(state, seq, how, &mut out),
        Event::Upgraded(upgrade) => upgrade::upgraded(state, *upgrade),
    }
    side_turn::begin_waiting(state, &mut out);
    out
}
