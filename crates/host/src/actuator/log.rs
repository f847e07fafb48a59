//! `:log`: a note for whoever reads the record or the daemon's log. Touches nothing else.

use bridle_loop::{Action, Order, Outcome};
use bridle_sexp::Value;

use super::{Act, Surroundings, not_mine};

const ACTIONS: &[&str] = &["log"];

/// Hands the text of the order to the daemon.
pub(super) struct Log;

impl Act for Log {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act(&self, order: &Order, around: &mut Surroundings<'_>) -> Outcome {
        let Action::Log { text } = order.action() else { return not_mine(order, ACTIONS) };
        (around.note)(text);
        Outcome::Done(Value::Nil)
    }
}
