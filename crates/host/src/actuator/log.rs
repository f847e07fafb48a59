//! `:log`: a note for whoever reads the record or the daemon's log. Touches nothing else.

use bridle_loop::{Action, Order, Outcome};
use bridle_sexp::Value;

use super::{Actuator, refuse_foreign_action};
use crate::io::{ActIo, HostFuture};

const ACTIONS: &[&str] = &["log"];

/// Hands the text of the order to the daemon.
pub(super) struct LogActuator;

impl Actuator for LogActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let Action::Log { text } = order.action() else {
                return refuse_foreign_action(order, ACTIONS);
            };
            io.note(text);
            Outcome::Done(Value::Nil)
        })
    }
}
