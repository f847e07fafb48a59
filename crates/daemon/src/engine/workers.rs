//! Work that runs outside of a session.

/// A worker that can be told to stop.
#[derive(Debug)]
pub(super) struct Worker;
