//! Whatever runs in the engine: turns for work, tasks, and the end of all of them.
//!
//! Owned by the hub; session tasks wait here for their turns.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bridle_host::BlockingPool;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::hub::QUESTION_WAIT;

/// Sessions that are stepped through at the same time: as many as a few commits take. Others wait with
/// their messages alone: 5,000 prompts at once left 76 MiB behind instead of 133.
const MAX_STEPPED_SESSIONS: usize = 512;

/// Turns and tasks of one engine.
pub(in crate::engine) struct EngineTasks {
    /// Threads for what thoughts and acts do that blocks.
    blocking: BlockingPool,
    /// Turns for batches: sessions that are loaded and stepped through at the same time.
    step_permits: Semaphore,
    /// Session tasks, thoughts, acts, the timer.
    pub(in crate::engine) tasks: TaskTracker,
    /// Sessions that had something open when the daemon started and are not loaded yet.
    pub(in crate::engine) recovering: TaskTracker,
    /// Cancelled when the daemon stops; ends tasks that only wait.
    pub(in crate::engine) quit: CancellationToken,
    pub(in crate::engine) stopping: AtomicBool,
    /// Cancelled when the daemon is to end and start anew.
    pub(in crate::engine) again: CancellationToken,
    /// Thread of the record's writer, until it is joined.
    pub(in crate::engine) keeping: Mutex<Option<JoinHandle<()>>>,
}

impl EngineTasks {
    /// Makes room for as many blocking calls.
    pub(in crate::engine) fn new(max_workers: usize, keeping: JoinHandle<()>) -> EngineTasks {
        EngineTasks {
            blocking: BlockingPool::new(max_workers),
            step_permits: Semaphore::new(MAX_STEPPED_SESSIONS),
            tasks: TaskTracker::new(),
            recovering: TaskTracker::new(),
            quit: CancellationToken::new(),
            stopping: AtomicBool::new(false),
            again: CancellationToken::new(),
            keeping: Mutex::new(Some(keeping)),
        }
    }

    pub(in crate::engine) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Waits until every session that had something open at the start is loaded, at most [`QUESTION_WAIT`].
    pub(in crate::engine) async fn recovered(&self) {
        // Whoever asks is told what is there by then.
        let _ = tokio::time::timeout(QUESTION_WAIT, self.recovering.wait()).await;
    }

    /// Asks for the end of this daemon and the start of another one.
    pub(in crate::engine) fn restart(&self) {
        self.again.cancel();
    }

    pub(in crate::engine) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(in crate::engine) fn check_open(&self) -> Result<(), EngineError> {
        match self.is_stopping() {
            true => Err(EngineErrorCode::ShuttingDown.into()),
            false => Ok(()),
        }
    }

    /// Threads for what thoughts and acts do that blocks.
    pub(in crate::engine) fn blocking(&self) -> &BlockingPool {
        &self.blocking
    }

    /// Waits for a turn to load a session and step through its work.
    pub(in crate::engine) async fn step_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.step_permits.acquire().await.ok()
    }
}
