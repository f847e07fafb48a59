//! The word to stop, given from one thread and heard at once by another that waits.
//!
//! Held by whoever starts a draft (to stop it) and by the thinker (to notice). Not a timeout: the
//! caller decides when.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A flag that a waiting thread wakes up from. Clones are the same flag.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    canceled: Mutex<bool>,
    changed: Condvar,
}

impl CancelFlag {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it, for good, and wakes everybody who waits.
    pub fn cancel(&self) {
        *self.0.canceled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }

    /// Whether it is set.
    pub fn is_canceled(&self) -> bool {
        *self.0.canceled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`, or until it is set; whether it is.
    pub fn wait(&self, time: Duration) -> bool {
        let guard = self.0.canceled.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.changed.wait_timeout_while(guard, time, |canceled| !*canceled);
        let (guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *guard
    }
}

#[cfg(test)]
mod tests;
