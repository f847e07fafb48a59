//! `:log`: a note for whoever reads the record or the daemon's log. Touches nothing else.

use bridle_loop::{Action, Order, Outcome};
use bridle_sexp::Value;

use super::{ActContext, Actuator, not_mine};

const ACTIONS: &[&str] = &["log"];

/// Hands the text of the order to the daemon.
pub(super) struct LogActuator;

impl Actuator for LogActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act(&self, order: &Order, around: &mut ActContext<'_>) -> Outcome {
        let Action::Log { text } = order.action() else { return not_mine(order, ACTIONS) };
        (around.note)(text);
        Outcome::Done(Value::Nil)
    }
}
