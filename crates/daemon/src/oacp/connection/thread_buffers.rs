//! Buffers that belong to a worker thread and are lent to the connection it is polling.
//!
//! A poll never waits, so one set per thread serves every connection on it: an idle connection
//! holds no buffer at all, and a busy one pays no allocation per batch.

use std::cell::RefCell;

/// Bytes read at once between frames. Six hundred health checks: enough to make the system
/// call cheap, little enough that the next connection's turn comes in well under a millisecond.
pub(super) const READ_WINDOW: usize = 16 << 10;

/// Bytes read at once inside a frame that is longer than [`READ_WINDOW`].
pub(super) const BULK_WINDOW: usize = 64 << 10;

/// A lent output buffer that grew beyond this many bytes is not kept.
const MAX_KEPT_OUTPUT_BYTES: usize = 256 << 10;

/// The buffers of one thread.
pub(super) struct ThreadBuffers {
    /// Always [`BULK_WINDOW`] bytes.
    pub(super) input: Vec<u8>,
    /// Answers of the batch in hand; empty between polls.
    pub(super) output: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<ThreadBuffers> =
        RefCell::new(ThreadBuffers { input: vec![0; BULK_WINDOW], output: Vec::new() });
}

/// Lends the buffers of this thread to `work`.
pub(super) fn lend<T>(work: impl FnOnce(&mut ThreadBuffers) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        let result = work(scratch);
        if scratch.output.capacity() > MAX_KEPT_OUTPUT_BYTES {
            scratch.output = Vec::new();
        }
        scratch.output.clear();
        result
    })
}
