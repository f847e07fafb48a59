//! The time of records: the wall clock once, the monotonic one from then on.
//!
//! A wall clock that is set back or forward while the daemon runs changes nothing here, and no
//! time is given that lies before one in the record. Time for which the machine slept counts, though the monotonic clock
//! stands still meanwhile. Asked by the hub alone; the loop is told.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Gives times in milliseconds since 1970 that never go backward.
#[derive(Debug)]
pub(in crate::engine) struct MonotonicClock {
    /// The time at `since`.
    base: i64,
    since: Instant,
    /// Milliseconds since the machine started, at `since`.
    up: i64,
    /// Milliseconds for which the machine slept since then.
    asleep: AtomicI64,
    /// The last time given.
    last: AtomicI64,
    #[cfg(any(test, feature = "faults"))]
    jump: jump::Jump,
}

impl MonotonicClock {
    /// A clock that starts now, and not before `last`, the time of the last record.
    pub(in crate::engine) fn start(
        last: i64,
        #[cfg(any(test, feature = "faults"))] state: &std::path::Path,
    ) -> MonotonicClock {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        MonotonicClock {
            base: millis(wall).max(last),
            since: Instant::now(),
            up: uptime_ms(),
            asleep: AtomicI64::new(0),
            last: AtomicI64::new(last),
            #[cfg(any(test, feature = "faults"))]
            jump: jump::Jump::new(state),
        }
    }

    /// The present.
    pub(in crate::engine) fn now(&self) -> i64 {
        let awake = millis(self.since.elapsed());
        let known = self.asleep.load(Ordering::Relaxed);
        let asleep = slept(known, uptime_ms().saturating_sub(self.up), awake);
        self.asleep.fetch_max(asleep, Ordering::Relaxed);
        let now = self.base.saturating_add(awake).saturating_add(asleep);
        #[cfg(any(test, feature = "faults"))]
        let now = now.saturating_add(self.jump.offset());
        self.last.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Time until then; zero when it is past.
    pub(in crate::engine) fn until(&self, at: i64) -> Duration {
        let left = at.saturating_sub(self.now());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}

/// Milliseconds since the machine started, sleep included, to the second.
fn uptime_ms() -> i64 {
    rustix::system::sysinfo().uptime.saturating_mul(1_000)
}

/// Milliseconds for which the machine slept, of so many that passed and so many that it was awake. One time is known to the
/// second: a difference that is not larger than before is none.
fn slept(known: i64, passed: i64, awake: i64) -> i64 {
    let asleep = passed.saturating_sub(awake);
    if asleep > known.saturating_add(LEAST_SLEEP_MS) { asleep } else { known }
}

/// Least time for which a machine sleeps, in milliseconds: above what two clocks differ by.
const LEAST_SLEEP_MS: i64 = 5_000;

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(any(test, feature = "faults"))]
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
    use super::{MonotonicClock, slept};

    fn clock(last: i64) -> MonotonicClock {
        MonotonicClock::start(last, std::path::Path::new("/nonexistent"))
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
    fn a_machine_that_slept_is_not_behind() {
        // Two clocks that differ by a second are no sleep, however long they run.
        for (known, passed, awake, expect) in [
            (0, 1_000, 0, 0),
            (0, 86_401_000, 86_400_500, 0),
            (0, 28_810_000, 10_000, 28_800_000),
            (28_800_000, 28_830_000, 29_400, 28_800_000),
            (28_800_000, 57_640_000, 40_000, 57_600_000),
        ] {
            assert_eq!(slept(known, passed, awake), expect, "{known} {passed} {awake}");
        }
    }

    #[test]
    fn what_is_past_is_due_at_once() {
        let clock = clock(0);
        assert!(clock.until(clock.now() - 1).is_zero());
        assert!(!clock.until(clock.now() + 60_000).is_zero());
    }
}
