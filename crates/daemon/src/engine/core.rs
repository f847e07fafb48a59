//! The State of a session with what the daemon must know beside it.

/// A loaded session.
#[derive(Debug)]
pub(super) struct Core;
