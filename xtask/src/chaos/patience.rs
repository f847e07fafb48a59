//! How long something may take, by the time in which the harness itself ran. A machine that sleeps, or a
//! run that is paused, must not look like a daemon that does not answer. Asked by everybody who waits.

use std::time::{Duration, Instant};

/// The most that counts between two looks. They come every few milliseconds; what is beyond this, the
/// harness itself stood still, and the daemon perhaps with it.
const LONGEST_LOOK: Duration = Duration::from_millis(100);

/// A wait that is under way.
pub(crate) struct BoundedWait {
    left: Duration,
    looked: Instant,
}

impl BoundedWait {
    pub(crate) fn new(all: Duration) -> Self {
        Self { left: all, looked: Instant::now() }
    }

    /// A look in vain; whether it was the last one.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        self.spend(now.saturating_duration_since(self.looked));
        self.looked = now;
        self.left.is_zero()
    }

    fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time.min(LONGEST_LOOK));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BoundedWait, LONGEST_LOOK};

    #[test]
    fn a_pause_counts_as_one_look() {
        let mut patience = BoundedWait::new(LONGEST_LOOK * 3);
        patience.spend(Duration::from_secs(3600));
        assert_eq!(patience.left, LONGEST_LOOK * 2);
        patience.spend(LONGEST_LOOK / 2);
        assert_eq!(patience.left, LONGEST_LOOK * 3 / 2);
        patience.spend(LONGEST_LOOK);
        patience.spend(LONGEST_LOOK);
        assert!(patience.is_over());
    }

    #[test]
    fn no_patience_is_over_at_once() {
        assert!(BoundedWait::new(Duration::ZERO).is_over());
    }
}
