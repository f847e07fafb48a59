//! The word to stop, given by one task and heard at once by another that waits.
//!
//! Held by whoever starts a thought or an act (to stop it) and by whoever does it (to notice). Not a
//! timeout: the caller decides when.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// A flag that can be awaited. Clones are the same flag.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(CancellationToken);

impl CancelFlag {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that is set with this one, and can be set alone.
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Sets it, for good, and wakes everybody who waits.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it is set.
    pub fn is_canceled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is set.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Waits for `time`, or until it is set; whether it is.
    pub async fn wait(&self, time: Duration) -> bool {
        if time.is_zero() || self.is_canceled() {
            return self.is_canceled();
        }
        tokio::select! {
            biased;
            () = self.0.cancelled() => true,
            () = tokio::time::sleep(time) => false,
        }
    }
}

#[cfg(test)]
mod tests;
