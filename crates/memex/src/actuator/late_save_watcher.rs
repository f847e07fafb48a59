//! Thread that has the memory look for late saves, for as long as there may be some. Woken by the editor after each
//! change; it lives for some seconds then, so that nobody waits for it and nothing runs at rest.
//! [`MemoryStore::look_for_late_saves`] says what such a save is, and what becomes of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::MemoryStore;

use super::Now;

/// Time between two looks: less than a person needs to look at the file again.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Looks that may fail one after the other before it is left to the next change.
const MAX_FAILURES_IN_A_ROW: usize = 50;

/// Thread that looks for files that a program saves after they were replaced.
pub(super) struct LateSaveWatcher(Arc<WatcherShared>);

struct WatcherShared {
    /// Not held: it goes when its owner goes.
    memory: Weak<MemoryStore>,
    now: Arc<Now>,
    state: Mutex<WatcherState>,
    bell: Condvar,
}

#[derive(Default)]
struct WatcherState {
    /// Runs, or has run.
    thread: Option<JoinHandle<()>>,
    is_running: bool,
    /// Whether something was changed since the last look began.
    is_woken: bool,
    is_stopping: bool,
}

impl LateSaveWatcher {
    pub(super) fn new(memory: &Arc<MemoryStore>, now: Arc<Now>) -> Self {
        let (memory, state, bell) = (Arc::downgrade(memory), Mutex::default(), Condvar::new());
        Self(Arc::new(WatcherShared { memory, now, state, bell }))
    }

    /// Says that something was changed.
    pub(super) fn wake(&self) {
        let mut state = self.0.state();
        state.is_woken = true;
        if state.is_running || state.is_stopping {
            return;
        }
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("late-saves".to_owned());
        match thread.spawn(move || shared.work()) {
            Ok(thread) => (state.thread, state.is_running) = (Some(thread), true),
            Err(error) => tracing::warn!(%error, "nobody looks for late saves of the memory"),
        }
    }

    /// Has it look for the last time, and waits until it has.
    pub(super) fn stop(&self) {
        let thread = self.0.stop();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("looking for late saves of the memory broke off");
        }
    }
}

impl Drop for LateSaveWatcher {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl WatcherShared {
    fn state(&self) -> MutexGuard<'_, WatcherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) -> Option<JoinHandle<()>> {
        let mut state = self.state();
        state.is_stopping = true;
        self.bell.notify_all();
        state.thread.take()
    }

    /// Looks again and again, until nothing is left to look at.
    fn work(&self) {
        let mut failures = 0;
        loop {
            let is_last = {
                let mut state = self.state();
                state.is_woken = false;
                state.is_stopping
            };
            let goes_on = match self.look() {
                Ok(goes_on) => {
                    failures = 0;
                    goes_on
                }
                Err(error) => {
                    failures += 1;
                    if failures == 1 {
                        tracing::warn!(%error, "late saves of the memory cannot be looked for");
                    }
                    failures < MAX_FAILURES_IN_A_ROW
                }
            };
            let mut state = self.state();
            if is_last || !(goes_on || state.is_woken) {
                state.is_running = false;
                return;
            }
            if !state.is_stopping {
                let waited = self.bell.wait_timeout(state, LOOK_INTERVAL);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    fn look(&self) -> Result<bool, crate::MemoryError> {
        match self.memory.upgrade() {
            Some(memory) => memory.look_for_late_saves((self.now)()),
            None => Ok(false),
        }
    }
}
