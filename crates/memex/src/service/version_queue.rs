//! Queue of files that other programs changed: each becomes a version of the memory when its time has come. Called by
//! the index thread between two changes.
//!
//! A file that changes often is kept less often, a large one less often still, and never more than so much at a time:
//! nobody who waits for an edit, or for the disk, notices. The last of several versions always gets there.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{FilePath, MEMORY_FILE, MemoryStore, NoticedChange};
use crate::{MemexFolder, MemexIndex, is_in_clear};

use super::MemexShared;

/// Least time between two versions of a file that others write.
const MIN_VERSION_INTERVAL: Duration = Duration::from_secs(1);

/// For each of so many bytes of a file it is a second more.
const READ_BYTES_PER_SECOND: u64 = 16 << 10;

/// Files that are looked at in one transaction, and in one step; bytes after which a step ends.
const MAX_FILES_AT_ONCE: usize = 8;
const STEP_FILES: usize = 64;
const STEP_BYTES: u64 = 1 << 20;

/// Time between two steps.
const STEP_PAUSE: Duration = Duration::from_millis(50);

/// Bytes of the past from which on only what bridle itself changes is kept.
const MAX_VERSIONS_BYTES: u64 = 4 << 30;

/// Files whose versions are to be kept.
pub(super) struct VersionQueue<'s> {
    shared: &'s MemexShared,
    memex: Arc<MemexFolder>,
    past: Option<Arc<MemoryStore>>,
    /// Time at which each file may be looked at.
    waiting: BTreeMap<String, Instant>,
    /// Time at which a file that was kept lately may be kept again.
    resting: HashMap<String, Instant>,
    /// Time of the next step.
    next: Instant,
    /// Whether it was told that the past is full.
    is_told: bool,
    /// Files of which it was told that they have text in the clear that is to be encrypted.
    warned: HashSet<String>,
}

impl<'s> VersionQueue<'s> {
    /// Nothing is noted where there is no past, or where it is that of another folder.
    pub(super) fn new(shared: &'s MemexShared, memex: &Arc<MemexFolder>) -> VersionQueue<'s> {
        let past = shared.past.clone().filter(|past| past.root() == memex.root());
        VersionQueue {
            shared,
            memex: Arc::clone(memex),
            past,
            waiting: BTreeMap::new(),
            resting: HashMap::new(),
            next: Instant::now(),
            is_told: false,
            warned: HashSet::new(),
        }
    }

    /// Has the files kept of which the past knows nothing.
    pub(super) fn begin(&mut self, index: &MemexIndex) -> Result<(), bridle_record::StoreError> {
        let Some(past) = &self.past else { return Ok(()) };
        let known = match past.known() {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(%error, "the past of the memory cannot be read");
                return Ok(());
            }
        };
        let is_new =
            |path: &String| FilePath::parse(path).is_some_and(|path| !known.contains(&path));
        let fresh = index.paths()?.into_iter().filter(is_new).collect();
        self.take(fresh);
        Ok(())
    }

    /// Has these files looked at when it is their time.
    pub(super) fn take(&mut self, paths: Vec<String>) {
        if self.past.is_none() {
            return;
        }
        let now = Instant::now();
        for path in paths {
            let due = self.resting.get(&path).copied().unwrap_or(now);
            self.waiting.entry(path).or_insert(due);
        }
    }

    /// Returns the wait until there is something to do; `None` when there is nothing.
    pub(super) fn wait(&self) -> Option<Duration> {
        let due = self.waiting.values().min()?;
        Some((*due).max(self.next).saturating_duration_since(Instant::now()))
    }

    /// Keeps some of what is due.
    pub(super) fn work(&mut self) {
        let Some(past) = self.past.clone() else { return };
        let now = Instant::now();
        if self.next > now || self.is_full() {
            return;
        }
        self.resting.retain(|_, until| *until > now);
        let due = self.waiting.iter().filter(|(_, due)| **due <= now);
        let due: Vec<String> = due.take(STEP_FILES).map(|(path, _)| path.clone()).collect();
        let mut bytes = 0;
        for some in due.chunks(MAX_FILES_AT_ONCE) {
            if bytes >= STEP_BYTES {
                break;
            }
            bytes += self.keep(&past, some, now);
        }
        self.next = Instant::now() + STEP_PAUSE;
    }

    /// Keeps files together; returns their bytes.
    fn keep(&mut self, past: &MemoryStore, paths: &[String], now: Instant) -> u64 {
        let named: Vec<FilePath> = paths.iter().filter_map(|path| FilePath::parse(path)).collect();
        for path in paths {
            self.waiting.remove(path);
        }
        let in_clear: RefCell<Vec<String>> = RefCell::default();
        let may_keep = |path: &FilePath, bytes: &[u8]| {
            let is_in_clear = is_in_clear(&self.memex, path.as_str(), bytes);
            in_clear.borrow_mut().extend(is_in_clear.then(|| path.as_str().to_owned()));
            !is_in_clear
        };
        let noticed = match past.notice(&named, (self.shared.clock)(), &may_keep) {
            Ok(noticed) => noticed,
            // They are looked at again when they change, or when the daemon starts.
            Err(error) => {
                tracing::warn!(%error, "what others wrote could not be kept");
                return 0;
            }
        };
        let in_clear = in_clear.into_inner();
        self.warned.retain(|path| !paths.contains(path) || in_clear.contains(path));
        for path in in_clear {
            if self.warned.insert(path.clone()) {
                tracing::warn!(
                    %path,
                    "text below a `:crypt:` heading stands in the clear: the file is in no version, snapshot or \
                     search until it is encrypted"
                );
            }
        }
        let mut all = 0;
        for (path, noticed) in named.iter().zip(noticed) {
            if let NoticedChange::News(bytes) = noticed {
                all += bytes;
                let rest =
                    MIN_VERSION_INTERVAL + Duration::from_secs(bytes / READ_BYTES_PER_SECOND);
                self.resting.insert(path.as_str().to_owned(), now + rest);
            }
        }
        all
    }

    /// Whether the past has grown so large that it takes in no more of this; what waits is dropped then.
    fn is_full(&mut self) -> bool {
        let file: PathBuf = self.shared.state.join(MEMORY_FILE);
        let size = std::fs::metadata(file).map(|meta| meta.len());
        let is_full = is_over(&size);
        let was_told = self.is_told;
        self.is_told = is_full || size.is_err();
        match &size {
            _ if was_told => {}
            Err(error) => tracing::warn!(%error, "the size of the past of the memory is not known"),
            Ok(_) if is_full => tracing::warn!(
                most = MAX_VERSIONS_BYTES,
                "the past of the memory is full: only bridle's own changes are kept from now on"
            ),
            Ok(_) => {}
        }
        if is_full {
            self.waiting.clear();
        }
        is_full
    }
}

/// Whether a past of this size takes in no more. One that cannot be looked at is not full: whether something can be
/// kept shows when it is.
fn is_over(size: &std::io::Result<u64>) -> bool {
    size.as_ref().is_ok_and(|size| *size > MAX_VERSIONS_BYTES)
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::{MAX_VERSIONS_BYTES, is_over};

    #[test]
    fn a_past_that_cannot_be_looked_at_is_not_full() {
        assert!(is_over(&Ok(MAX_VERSIONS_BYTES + 1)));
        assert!(!is_over(&Ok(MAX_VERSIONS_BYTES)));
        assert!(!is_over(&Err(Error::from(ErrorKind::PermissionDenied))));
    }
}
