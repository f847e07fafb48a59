//! When which session wants to be told that time has passed: one timer for all.
//!
//! Filled from the record at start and by drive tasks after each commit; emptied by the hub's
//! timer task. A session need not be in memory to be in here.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridle_loop::SessionId;
use tokio::sync::Notify;

/// The wishes of all sessions.
#[derive(Debug, Default)]
pub(in crate::engine) struct SessionTimers {
    wishes: Mutex<TimerRequests>,
    /// Told when the nearest wish changed.
    nearer: Notify,
}

#[derive(Debug, Default)]
struct TimerRequests {
    in_order: BTreeSet<(i64, SessionId)>,
    by_session: HashMap<SessionId, i64>,
}

impl SessionTimers {
    /// Sets when a session wants to be woken; `None` takes an earlier wish back.
    pub(in crate::engine) fn set(&self, session: &SessionId, at: Option<i64>) {
        let mut wishes = self.lock();
        if wishes.by_session.get(session).copied() == at {
            return;
        }
        if let Some(before) = wishes.by_session.remove(session) {
            wishes.in_order.remove(&(before, session.clone()));
        }
        let Some(at) = at else { return };
        wishes.by_session.insert(session.clone(), at);
        let is_first = wishes.in_order.first().is_none_or(|(first, _)| at < *first);
        wishes.in_order.insert((at, session.clone()));
        drop(wishes);
        if is_first {
            self.nearer.notify_one();
        }
    }

    /// The nearest wish.
    pub(in crate::engine) fn next(&self) -> Option<i64> {
        self.lock().in_order.first().map(|(at, _)| *at)
    }

    /// Takes out a session whose time has come.
    pub(in crate::engine) fn take_due(&self, now: i64) -> Option<SessionId> {
        let mut wishes = self.lock();
        if wishes.in_order.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, session) = wishes.in_order.pop_first()?;
        wishes.by_session.remove(&session);
        Some(session)
    }

    /// Completes when the nearest wish may have come nearer.
    pub(in crate::engine) async fn changed(&self) {
        self.nearer.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, TimerRequests> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::SessionTimers;
    use bridle_loop::SessionId;

    #[test]
    fn sessions_come_when_they_are_due_and_once() {
        let id = |name| SessionId::parse(name).expect("a name");
        let wakes = SessionTimers::default();
        wakes.set(&id("a"), Some(20));
        wakes.set(&id("b"), Some(10));
        wakes.set(&id("c"), Some(5));
        wakes.set(&id("c"), None);
        wakes.set(&id("a"), Some(15));
        assert_eq!(wakes.next(), Some(10));
        assert_eq!(wakes.take_due(9), None);
        assert_eq!(wakes.take_due(15), Some(id("b")));
        assert_eq!(wakes.take_due(15), Some(id("a")));
        assert_eq!(wakes.take_due(i64::MAX), None);
    }
}
