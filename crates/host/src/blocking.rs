//! Threads for work that blocks: a few at a time, for everything that a host does.
//!
//! A thought or an act that waits for somebody else holds no such thread; only reading and writing
//! files, and long computing, belong here.

use std::sync::Arc;

use thiserror::Error;
use tokio::sync::Semaphore;

/// Blocking calls at once, unless the daemon says otherwise.
const DEFAULT_BLOCKING_CALLS: usize = 64;

/// Threads for calls that block. Clones share one bound; what is over it waits for its turn.
#[derive(Debug, Clone)]
pub struct BlockingPool {
    seats: Arc<Semaphore>,
}

impl Default for BlockingPool {
    fn default() -> Self {
        Self::new(DEFAULT_BLOCKING_CALLS)
    }
}

impl BlockingPool {
    /// A pool for as many calls at once.
    pub fn new(calls: usize) -> Self {
        Self { seats: Arc::new(Semaphore::new(calls)) }
    }

    /// Has a call made on a thread of its own. It runs to its end, even if nobody waits any more.
    ///
    /// # Errors
    /// The call panicked, or the runtime shuts down.
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingCallError> {
        let seat = Arc::clone(&self.seats).acquire_owned().await;
        let seat = seat.map_err(|_| BlockingCallError)?;
        let called = tokio::task::spawn_blocking(move || {
            // Given back when the call ends, not when whoever asked for it goes away.
            let _seat = seat;
            call()
        });
        called.await.map_err(|_| BlockingCallError)
    }
}

/// A blocking call that gave no result: it panicked, or the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a blocking call broke off")]
pub struct BlockingCallError;
