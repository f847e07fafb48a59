//! `:system`: the daemon itself. It is listed here so that every session knows it; the daemon
//! carries its orders out, because sessions and the record are the daemon's.

use bridle_loop::{Order, Outcome};

use super::{ActContext, Actuator};

/// Administration, and the plans of a session.
const ACTIONS: &[&str] = &["forget", "fork", "schedule", "unschedule"];

/// A name without hands.
pub(super) struct SystemActuator;

impl Actuator for SystemActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act(&self, order: &Order, _: &mut ActContext<'_>) -> Outcome {
        let action = order.action().name();
        Outcome::Failed(format!("`{action}` reached the host, expected the daemon to do it").into())
    }
}
