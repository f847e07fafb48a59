//! The place of a run: its session and the number of its signal in it.
//!
//! Idempotency, cancellation and continuation tokens refer to runs by it, and shells see its name.

use bridle_loop::SessionId;

use crate::numbered_names::numbered;

/// Session of a run and the number of its signal there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RunLocation {
    pub(super) session: SessionId,
    /// Number of the signal that began the run.
    pub(super) seq: u64,
}

impl RunLocation {
    /// Returns the `run_id`: the session's name and the signal's number.
    pub(super) fn name(&self) -> String {
        run_name(&self.session, self.seq)
    }
}

/// Returns the `run_id` of a run whose parts are borrowed.
pub(super) fn run_name(session: &SessionId, seq: u64) -> String {
    numbered(&[session.as_str(), "-"], seq)
}
