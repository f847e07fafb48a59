//! The time of records: the wall clock once, the monotonic one from then on.
//!
//! A wall clock that is set back or forward while the daemon runs changes nothing here, and no
//! time is given that lies before one in the record. Asked by the hub alone; the loop is told.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Gives times in milliseconds since 1970 that never go backward.
#[derive(Debug)]
pub(in crate::engine) struct MonotonicClock {
    /// The time at `since`.
    base: i64,
    since: Instant,
    /// The last time given.
    last: AtomicI64,
    #[cfg(feature = "faults")]
    jump: jump::Jump,
}

impl MonotonicClock {
    /// A clock that starts now, and not before `last`, the time of the last record.
    pub(in crate::engine) fn start(
        last: i64,
        #[cfg(feature = "faults")] state: &std::path::Path,
    ) -> MonotonicClock {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        MonotonicClock {
            base: millis(wall).max(last),
            since: Instant::now(),
            last: AtomicI64::new(last),
            #[cfg(feature = "faults")]
            jump: jump::Jump::new(state),
        }
    }

    /// The present.
    pub(in crate::engine) fn now(&self) -> i64 {
        let now = self.base.saturating_add(millis(self.since.elapsed()));
        #[cfg(feature = "faults")]
        let now = now.saturating_add(self.jump.offset());
        self.last.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Time until then; zero when it is past.
    pub(in crate::engine) fn until(&self, at: i64) -> Duration {
        let left = at.saturating_sub(self.now());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(feature = "faults")]
mod jump {
    //! A clock that a test can set: the offset in milliseconds stands in a file.

    use std::path::{Path, PathBuf};

    /// The file, in the state directory.
    const FILE: &str = "clock-offset";

    #[derive(Debug)]
    pub(in crate::engine) struct Jump(PathBuf);

    impl Jump {
        pub(in crate::engine) fn new(state: &Path) -> Jump {
            Jump(state.join(FILE))
        }

        pub(in crate::engine) fn offset(&self) -> i64 {
            let text = std::fs::read_to_string(&self.0).unwrap_or_default();
            text.trim().parse().unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MonotonicClock;

    fn clock(last: i64) -> MonotonicClock {
        MonotonicClock::start(
            last,
            #[cfg(feature = "faults")]
            std::path::Path::new("/nonexistent"),
        )
    }

    #[test]
    fn never_behind_the_record() {
        let future = 4_000_000_000_000;
        let clock = clock(future);
        let first = clock.now();
        assert!(first >= future);
        assert!(clock.now() >= first);
    }

    #[test]
    fn what_is_past_is_due_at_once() {
        let clock = clock(0);
        assert!(clock.until(clock.now() - 1).is_zero());
        assert!(!clock.until(clock.now() + 60_000).is_zero());
    }
}
