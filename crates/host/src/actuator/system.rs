//! `:system`: the daemon itself. It is listed here so that every session knows it; the daemon
//! carries its orders out, because sessions and the record are the daemon's.

use bridle_loop::{Order, Outcome};

use super::Actuator;
use crate::io::{ActIo, HostFuture};

/// Administration, skills, and the plans of a session.
pub const SYSTEM_ACTIONS: &[&str] = &[
    "compact",
    "create-skill",
    "forget",
    "fork",
    "go-on",
    "pause-schedule",
    "release",
    "resume-schedule",
    "schedule",
    "set-limits",
    "unschedule",
];

/// A name without hands.
pub(super) struct SystemActuator;

impl Actuator for SystemActuator {
    fn actions(&self) -> &'static [&'static str] {
        SYSTEM_ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, _: &'a ActIo) -> HostFuture<'a, Outcome> {
        let action = order.action().name();
        let text = format!("`{action}` reached the host, expected the daemon to do it");
        Box::pin(async move { Outcome::Failed(text.into()) })
    }
}
