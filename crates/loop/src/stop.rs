//! Acts that are told to stop: because their turn is given up, or because their time is over.
//!
//! Called by `act`. To be told is no outcome: the act stays awaited, its actuator says what had happened by
//! then, and only if it says nothing for long its outcome is unknown. Shells are not told; a request to one
//! expires.

use bridle_sexp::Value;

use crate::decide::Order;
use crate::effect::{Effect, Effects};
use crate::event::ActuatorLocation;
use crate::ids::{EffectId, TurnId};
use crate::limits::SessionLimits;
use crate::plist_codec::{FieldSink, PlistBuilder};
use crate::state::{PendingAct, RunningTurn, SessionState};

/// Milliseconds that an order has.
pub(crate) fn time_of(order: &Order, limits: &SessionLimits) -> i64 {
    match (order.place(), limits.host_act_ms) {
        (ActuatorLocation::Shell, _) | (_, 0) => limits.request_deadline_ms,
        (ActuatorLocation::Host, time) => time,
    }
}

/// Tells the acts of a turn that is given up to stop, unless another turn waits for them, and lists them.
pub(crate) fn acts_of(
    state: &mut SessionState,
    turn: &RunningTurn,
    out: &mut Effects,
) -> Vec<Value> {
    let others: Vec<TurnId> = state.running().map(|other| other.id).collect();
    let is_wanted = |act: &PendingAct| {
        !act.tell.is_empty()
            || others.iter().any(|other| *other != turn.id && act.is_awaited_by(*other))
    };
    let own = state.acts.iter().filter(|(_, act)| act.is_awaited_by(turn.id) && !is_wanted(act));
    let own: Vec<EffectId> = own.map(|(id, _)| *id).collect();
    own.into_iter().filter_map(|id| tell(state, id, out)).collect()
}

/// Tells an act whose time is over to stop; false if it must end here.
pub(crate) fn overdue(state: &mut SessionState, id: EffectId, out: &mut Effects) -> bool {
    tell(state, id, out).is_some()
}

/// Tells an act to stop, if it is one of the daemon and was not told before; how it is named.
fn tell(state: &mut SessionState, id: EffectId, out: &mut Effects) -> Option<Value> {
    let (grace, now) = (state.limits.stop_grace_ms, state.now);
    let act = state.acts.get_mut(&id)?;
    if grace == 0 || act.is_stopping || act.order.place() != ActuatorLocation::Host {
        return None;
    }
    act.is_stopping = true;
    act.deadline = now.after(grace);
    out.push(Effect::Stop { id });
    let name = PlistBuilder::new()
        .put("target", act.order.target().to_value())
        .put("action", act.order.action().name().to_value());
    Some(name.done())
}
