//! The index thread: opens the folder and the index, reads what changed, waits for more.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{FolderScan, MemexFolder, MemexIndex};
use bridle_record::StoreError;

use super::version_queue::VersionQueue;
use super::watch::{FolderWatch, WatchEvent};
use super::{IndexActivity, MemexShared, WatchMethod};

/// Wait before a failed step is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5000 });

/// Quiet time after which the disk is made to have all of the index.
const SETTLE_WAIT: Duration = Duration::from_secs(5);

/// Scans of the folder in a row while new folders keep appearing.
const MAX_SCANS_IN_A_ROW: usize = 4;

/// The priority of the thread: a third of what the others have where all want the processor. With the least there is,
/// a machine that compiled something meanwhile left it nothing: a file of 3 MB was not read within 30 s.
const THREAD_NICENESS: i32 = 5;

/// Reason why the thread leaves the folder.
enum IndexThreadExit {
    /// The daemon stops.
    Stop,
    /// A step failed.
    Failed(StoreError),
    /// The folder is gone.
    Gone,
}

impl From<StoreError> for IndexThreadExit {
    fn from(error: StoreError) -> IndexThreadExit {
        IndexThreadExit::Failed(error)
    }
}

/// Lowers the priority of this thread, and of those that it starts from now on.
pub fn step_back() {
    // On Linux this is the thread's own priority. Without it everything works, only less kindly.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, THREAD_NICENESS) {
        tracing::debug!(%error, "the index thread keeps its priority");
    }
}

/// Works until the bell rings.
pub(super) fn work(shared: &MemexShared) {
    step_back();
    let mut reported: Option<String> = None;
    loop {
        let why = match keep(shared) {
            IndexThreadExit::Stop => return,
            IndexThreadExit::Gone => "the folder is gone".to_owned(),
            IndexThreadExit::Failed(error) => {
                let source = std::error::Error::source(&error);
                let why =
                    source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
                if matches!(error, StoreError::Damaged(_) | StoreError::Sql(_)) {
                    tracing::warn!(%why, "the index of the memex is made anew");
                    forget(shared);
                    if let Err(error) = MemexIndex::throw_away(&shared.state) {
                        tracing::error!(%error, "the index cannot be removed");
                    }
                }
                why
            }
        };
        // The same reason is told once, not every few seconds.
        if reported.as_ref() != Some(&why) {
            tracing::warn!(folder = %shared.folder.display(), %why, "the memex cannot be kept up with");
        }
        shared.set(IndexActivity::Stuck(why.as_str().into()));
        reported = Some(why);
        if shared.bell.wait(RETRY_INTERVAL) {
            return;
        }
    }
}

/// Lets go of readers of an index that is no more.
fn forget(shared: &MemexShared) {
    let mut now = shared.now();
    now.edition += 1;
    now.idle.clear();
    now.memex = None;
}

/// Keeps up with the folder until that is not possible.
fn keep(shared: &MemexShared) -> IndexThreadExit {
    match try_keep(shared) {
        Ok(never) => match never {},
        Err(left) => left,
    }
}

fn try_keep(shared: &MemexShared) -> Result<std::convert::Infallible, IndexThreadExit> {
    let memex = Arc::new(MemexFolder::open(&shared.folder, shared.config.rules.clone())?);
    forget(shared);
    let mut index = MemexIndex::open(&shared.state, &memex)?;
    shared.now().memex = Some(Arc::clone(&memex));
    let watch_failed = |source| StoreError::Io { path: memex.root().into(), source };
    let mut watch = FolderWatch::new(memex.root(), shared.watching).map_err(watch_failed)?;
    look(shared, &memex, &mut index, &mut watch)?;
    let mut notes = VersionQueue::new(shared, &memex);
    notes.begin(&index)?;
    let mut settle_at = Some(Instant::now() + SETTLE_WAIT);
    loop {
        shared.set(IndexActivity::Waiting);
        notes.take(index.take_touched());
        let settle = settle_at.map(|at| at.saturating_duration_since(Instant::now()));
        let most = [settle, notes.wait()].into_iter().flatten().min();
        match watch.wait(&shared.bell, most) {
            WatchEvent::Stop => {
                index.settle()?;
                return Err(IndexThreadExit::Stop);
            }
            WatchEvent::Gone => return Err(IndexThreadExit::Gone),
            WatchEvent::Nothing => {
                notes.work();
                if settle_at.is_some_and(|at| at <= Instant::now()) {
                    index.settle()?;
                    settle_at = None;
                }
            }
            WatchEvent::Anything => {
                look(shared, &memex, &mut index, &mut watch)?;
                settle_at = Some(Instant::now() + SETTLE_WAIT);
            }
            WatchEvent::Files(paths) => {
                let changes = index.update(&memex, &paths)?;
                tracing::debug!(?changes, "files of the memex changed");
                settle_at = Some(Instant::now() + SETTLE_WAIT);
            }
        }
    }
}

/// Looks at everything, and reads what is new or changed.
fn look(
    shared: &MemexShared,
    memex: &MemexFolder,
    index: &mut MemexIndex,
    watch: &mut FolderWatch,
) -> Result<(), IndexThreadExit> {
    if !memex.root().is_dir() || !is_same(memex.root(), &shared.folder) {
        return Err(IndexThreadExit::Gone);
    }
    let scan = watched_scan(memex, watch);
    shared.now().watched =
        if watch.is_polling { WatchMethod::Polled } else { WatchMethod::Notified };
    let mut heed = |progress| {
        shared.set(IndexActivity::Reading(progress));
        !shared.bell.is_rung()
    };
    let changes = index.sync(memex, &scan, &mut heed)?;
    if changes.stopped {
        return Err(IndexThreadExit::Stop);
    }
    if changes != crate::IndexChanges::default() {
        tracing::info!(files = scan.files.len(), ?changes, "the memex is indexed");
    }
    Ok(())
}

/// Looks which files there are, every folder watched before it is looked into for the last time: what changes
/// later is heard.
fn watched_scan(memex: &MemexFolder, watch: &mut FolderWatch) -> FolderScan {
    let mut scan = memex.scan();
    for _ in 0..MAX_SCANS_IN_A_ROW {
        if !watch.add(memex.root(), &scan.folders) {
            break;
        }
        scan = memex.scan();
    }
    scan
}

/// Whether the folder that is set is still the one that is open.
fn is_same(root: &Path, folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|found| found == root)
}
