//! Looks at the daemon and at the machine while schemathesis asks: so that a request which got no answer in
//! time is told from a machine that stood still.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::get;

/// Time between two looks.
const EVERY: Duration = Duration::from_millis(500);

/// A machine that stands still for longer than this is to blame for what ran out of time meanwhile.
const STALL: Duration = Duration::from_secs(10);

/// A thread that looks.
pub(super) struct MemoryWatch {
    stop: Sender<()>,
    thread: JoinHandle<WatchReport>,
}

/// Result of the watch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WatchReport {
    /// Number of looks.
    looks: usize,
    /// The slowest answer to a question that needs no work.
    slowest: Duration,
    /// Longest delay of this thread.
    stall: Duration,
    /// Questions that were not answered at all.
    unanswered: usize,
}

impl MemoryWatch {
    /// Begins to look at the daemon of this address.
    pub(super) fn start(address: String) -> MemoryWatch {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut seen = WatchReport::default();
            loop {
                let slept = Instant::now();
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return seen;
                }
                seen.stall = seen.stall.max(slept.elapsed().saturating_sub(EVERY));
                seen.looks += 1;
                let asked = Instant::now();
                match get(&address, "/health") {
                    Ok(text) if text.starts_with("HTTP/1.1 ") => {
                        seen.slowest = seen.slowest.max(asked.elapsed());
                    }
                    _ => seen.unanswered += 1,
                }
            }
        });
        MemoryWatch { stop, thread }
    }

    /// Ends; says what was seen.
    pub(super) fn end(self) -> WatchReport {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

impl WatchReport {
    /// Judges a request without an answer.
    pub(super) fn verdict(&self) -> String {
        match self.stall > STALL {
            true => {
                format!("{self}: what ran out of time may have been the machine, so run it again")
            }
            false => format!("{self}: what ran out of time hangs"),
        }
    }
}

impl fmt::Display for WatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WatchReport { looks, slowest, stall, unanswered } = self;
        let (slowest, stall) = (slowest.as_millis(), stall.as_millis());
        write!(f, "of {looks} health checks the slowest took {slowest} ms, {unanswered} had no ")?;
        write!(f, "answer, and the machine stood still for up to {stall} ms")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::WatchReport;

    #[test]
    fn a_machine_that_stood_still_is_told_from_a_daemon_that_hangs() {
        let seen = |stall, slowest| WatchReport {
            looks: 7,
            stall: Duration::from_secs(stall),
            slowest: Duration::from_secs(slowest),
            unanswered: 0,
        };
        assert!(seen(1, 2).verdict().ends_with("hangs"));
        assert!(seen(30, 2).verdict().ends_with("again"));
        assert!(seen(1, 30).verdict().ends_with("hangs"));
    }
}
