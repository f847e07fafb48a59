//! The deadlines of one connection over one lazily armed timer.
//!
//! Arming a timer takes a lock in the runtime, so a timer that is already set to go off no
//! later than needed is left alone; when it goes off early it is set anew. An idle connection
//! has none.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Wait that ran out of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissedDeadline {
    /// A frame was begun and not finished.
    Frame,
    /// Text that would make a length count characters did not come.
    Unit,
    /// The next part of a message did not come.
    Part,
    /// The peer does not read.
    Write,
    /// The end of the connection takes too long.
    End,
    /// An unknown peer said nothing for too long.
    Idle,
    /// The pause is over of a peer that sent too often. Nothing is wrong then.
    Rest,
}

/// Number of kinds of waiting.
const DEADLINE_KINDS: usize = 7;

/// Deadlines of each kind of waiting.
#[derive(Debug, Default)]
pub(super) struct ConnectionDeadlines {
    /// In the order of [`MissedDeadline`].
    at: [Option<Instant>; DEADLINE_KINDS],
    timer: Option<Pin<Box<Sleep>>>,
}

impl ConnectionDeadlines {
    /// Starts waiting, unless it has been started before.
    pub(super) fn start(&mut self, what: MissedDeadline, after: Duration) {
        self.at[what as usize].get_or_insert_with(|| Instant::now() + after);
    }

    /// Waits no longer than this from now, whether or not it has been started before.
    pub(super) fn shorten(&mut self, what: MissedDeadline, after: Duration) {
        let latest = Instant::now() + after;
        let at = &mut self.at[what as usize];
        *at = Some(at.map_or(latest, |at| at.min(latest)));
    }

    /// Waits until `at`, or no more.
    pub(super) fn set(&mut self, what: MissedDeadline, at: Option<std::time::Instant>) {
        self.at[what as usize] = at.map(Instant::from_std);
    }

    /// Stops waiting.
    pub(super) fn stop(&mut self, what: MissedDeadline) {
        self.at[what as usize] = None;
    }

    /// Tells whether something is waited for.
    pub(super) fn is_running(&self, what: MissedDeadline) -> bool {
        self.at[what as usize].is_some()
    }

    /// Stops all waiting.
    pub(super) fn stop_all(&mut self) {
        self.at = [None; DEADLINE_KINDS];
    }

    /// Returns what is late; otherwise sees to it that the task wakes in time.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<MissedDeadline> {
        let Some(next) = self.at.iter().flatten().min().copied() else {
            // A timer still running wakes the task once more, for nothing; then it goes.
            if self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready()) {
                self.timer = None;
            }
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(next)));
        if timer.deadline() > next {
            timer.as_mut().reset(next);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if next <= Instant::now() {
                return Poll::Ready(self.late(next));
            }
            timer.as_mut().reset(next);
        }
        Poll::Pending
    }

    fn late(&self, next: Instant) -> MissedDeadline {
        let all = [
            MissedDeadline::Frame,
            MissedDeadline::Unit,
            MissedDeadline::Part,
            MissedDeadline::Write,
            MissedDeadline::End,
            MissedDeadline::Idle,
            MissedDeadline::Rest,
        ];
        let is_next = |what: &MissedDeadline| self.at[*what as usize] == Some(next);
        all.into_iter().find(is_next).unwrap_or(MissedDeadline::End)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ConnectionDeadlines, MissedDeadline};

    #[tokio::test]
    async fn a_wait_is_shortened_and_never_made_longer() {
        let at =
            |deadlines: &ConnectionDeadlines| deadlines.at[MissedDeadline::End as usize].unwrap();
        let mut deadlines = ConnectionDeadlines::default();
        deadlines.start(MissedDeadline::End, Duration::from_secs(30));
        let long = at(&deadlines);
        deadlines.shorten(MissedDeadline::End, Duration::from_secs(5));
        let short = at(&deadlines);
        assert!(short < long);
        deadlines.shorten(MissedDeadline::End, Duration::from_secs(60));
        assert_eq!(at(&deadlines), short);
        let mut fresh = ConnectionDeadlines::default();
        fresh.shorten(MissedDeadline::End, Duration::from_secs(5));
        assert!(fresh.at[MissedDeadline::End as usize].is_some());
    }
}
