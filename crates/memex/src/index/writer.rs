//! The one writer of the index. The index thread owns it and says which files to read.
//!
//! Work is cut into batches: one transaction each, some megabytes of text, so that queries see what is done, memory
//! stays small and a stop is heard.
//!
//! long: one comparison of folder and index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use rusqlite::{Connection, TransactionBehavior};

use super::apply::{FileMoves, IndexBatch, KnownFile};
use super::file_sheet::FileSheet;
use super::folder::MemexFolder;
use super::scan::{FileTrace, FolderScan, FoundFile, SkipReason};
use super::schema::{self, IndexSubject};
use bridle_record::StoreError;

pub use super::schema::INDEX_FILE;

/// Bytes of files in one transaction. Its words are one piece of the index, so that half as many bytes are twice as many
/// pieces to merge; its memory is some three times as much.
const BATCH_BYTES: u64 = 8 << 20;

/// Files in one transaction.
const BATCH_FILES: usize = 1024;

/// Bytes of files that are read ahead together, and how many of these heaps may wait.
const HEAP_BYTES: u64 = 1 << 20;
const MAX_WAITING_HEAPS: usize = 2;

/// The writer.
#[derive(Debug)]
pub struct MemexIndex {
    connection: Connection,
    directory: PathBuf,
    /// Whether the disk may not have all of it.
    marked: bool,
    /// Files that were read, or are gone, since somebody asked.
    touched: Vec<String>,
}

/// Progress of a long work on the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Files done.
    pub files: usize,
    /// Files to do.
    pub all_files: usize,
    /// Bytes done.
    pub bytes: u64,
    /// Bytes to do.
    pub all_bytes: u64,
}

impl IndexProgress {
    /// Nothing of these files is done.
    fn of(files: &[&FoundFile]) -> IndexProgress {
        let all_bytes = files.iter().map(|file| file.trace.size).sum();
        IndexProgress { all_files: files.len(), all_bytes, ..IndexProgress::default() }
    }
}

/// Numbers of changes that a work made to the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexChanges {
    /// Files that were read.
    pub read: usize,
    /// Of those, the ones that were not known.
    pub added: usize,
    /// Files that are known under another path now.
    pub moved: usize,
    /// Files that are gone.
    pub removed: usize,
    /// Whether it was broken off.
    pub stopped: bool,
}

/// Counts the headings of a text, for callers without an index.
#[must_use]
pub fn count_headings(bytes: &[u8]) -> usize {
    super::file_sheet::count_headings(bytes)
}

/// Whether the text of the file at `path` has something in the clear that is to be encrypted: below headings with the
/// tag `crypt`.
#[must_use]
pub fn is_in_clear(memex: &MemexFolder, path: &str, bytes: &[u8]) -> bool {
    super::file_sheet::is_in_clear(memex, path, bytes)
}

/// A file as it was read.
pub(crate) struct FileContent {
    pub(crate) path: String,
    pub(crate) result: Result<(FileSheet, FileTrace), Option<SkipReason>>,
}

impl MemexIndex {
    /// Opens the index of a folder, in the state directory; makes it if there is none that fits.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn open(directory: &Path, memex: &MemexFolder) -> Result<MemexIndex, StoreError> {
        let root = memex.root().to_string_lossy();
        let subject = IndexSubject { root: &root, rules: memex.rules() };
        let connection = schema::open_writer(directory, &subject)?;
        Ok(MemexIndex {
            connection,
            directory: directory.into(),
            marked: schema::is_marked(directory),
            touched: Vec::new(),
        })
    }

    /// Removes an index that is damaged; [`MemexIndex::open`] makes it anew.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn throw_away(directory: &Path) -> Result<(), StoreError> {
        schema::throw_away(directory)
    }

    /// Compares the index with what a scan found, and reads what is new or changed. `heed` is told how far it is,
    /// and says whether to go on.
    ///
    /// # Errors
    /// The index cannot be written. What was done before stays.
    pub fn sync(
        &mut self,
        memex: &MemexFolder,
        scan: &FolderScan,
        heed: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> Result<IndexChanges, StoreError> {
        let known = self.known()?;
        let present: HashSet<&str> = scan.files.iter().map(|file| file.path.as_str()).collect();
        let lost: Vec<&String> =
            known.keys().filter(|path| !present.contains(path.as_str())).collect();
        let gone = lost.iter().map(|path| ((*path).clone(), known[*path]));
        let mut moves = FileMoves::new(gone, known.is_empty());
        let is_changed =
            |file: &FoundFile| known.get(&file.path).is_none_or(|k| k.trace != file.trace);
        let news = scan.files.iter().filter(|file| is_changed(file)).map(|file| &file.path);
        let led = self.led_by(news.chain(lost.iter().copied()).map(String::as_str))?;
        let is_due = |file: &&FoundFile| is_changed(file) || led.contains(&file.path);
        let changed: Vec<&FoundFile> = scan.files.iter().filter(is_due).collect();
        if !changed.is_empty() || !moves.is_empty() {
            self.mark()?;
        }
        // Whatever is in the index for the first time is found by whoever wants all of it.
        if !known.is_empty() {
            let gone = lost.iter().map(|path| (*path).clone());
            self.touched.extend(gone.chain(changed.iter().map(|file| file.path.clone())));
        }
        let (mut progress, mut changes) = (IndexProgress::of(&changed), IndexChanges::default());
        let (send, heaps) = mpsc::sync_channel::<Vec<FileContent>>(MAX_WAITING_HEAPS);
        std::thread::scope(|scope| -> Result<(), StoreError> {
            scope.spawn(move || read_ahead(memex, &changed, &send));
            let mut waiting = heaps.into_iter().peekable();
            while waiting.peek().is_some() {
                self.batch(&mut moves, &mut changes, |batch| {
                    let (mut bytes, mut files) = (0, 0);
                    while bytes < BATCH_BYTES && files < BATCH_FILES {
                        let Some(heap) = waiting.next() else { break };
                        for read in heap {
                            bytes += read.result.as_ref().map_or(0, |(_, trace)| trace.size);
                            files += 1;
                            batch.take(read)?;
                        }
                    }
                    progress.bytes += bytes;
                    progress.files += files;
                    Ok(())
                })?;
                if !heed(progress) {
                    changes.stopped = true;
                    return Ok(());
                }
            }
            Ok(())
        })?;
        if !changes.stopped {
            self.batch(&mut moves, &mut changes, |batch| {
                batch.remove_gone()?;
                batch.note_scan(scan)
            })?;
        }
        Ok(changes)
    }

    /// Reads these files again, whatever is known of them; paths that are no more are forgotten.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn update(
        &mut self,
        memex: &MemexFolder,
        paths: &[String],
    ) -> Result<IndexChanges, StoreError> {
        let mut paths = paths.to_vec();
        let led = self.led_by(paths.iter().map(String::as_str))?;
        paths.extend(led.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
        let known = self.known_of(&paths)?;
        self.mark()?;
        let mut read: Vec<FileContent> = Vec::new();
        let mut gone: Vec<(String, KnownFile)> = Vec::new();
        for path in &paths {
            let result = match memex.is_readable(path) {
                true => {
                    self.touched.push(path.clone());
                    read_one(memex, path)
                }
                false => Err(None),
            };
            match (&result, known.get(path)) {
                (Err(None), Some(known)) => gone.push((path.clone(), *known)),
                (Err(None), None) => {}
                _ => read.push(FileContent { path: path.clone(), result }),
            }
        }
        let mut changes = IndexChanges::default();
        let mut moves = FileMoves::new(gone.into_iter(), false);
        self.batch(&mut moves, &mut changes, |batch| {
            read.into_iter().try_for_each(|read| batch.take(read))?;
            batch.remove_gone()
        })?;
        Ok(changes)
    }

    /// The files that were read, or are gone, since this was last asked.
    pub fn take_touched(&mut self) -> Vec<String> {
        std::mem::take(&mut self.touched)
    }

    /// The paths of all files in it.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn paths(&self) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT path FROM file")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Has the disk take all of the index, so that it need not be made anew after the machine goes down.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        if !self.marked {
            return Ok(());
        }
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let copied = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        self.connection.pragma_update(None, "synchronous", "OFF")?;
        // Somebody reads: the next time, then.
        if copied? == 0 {
            schema::unmark(&self.directory)?;
            self.marked = false;
        }
        Ok(())
    }

    fn mark(&mut self) -> Result<(), StoreError> {
        if !self.marked {
            schema::mark(&self.directory)?;
            self.marked = true;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        moves: &mut FileMoves,
        changes: &mut IndexChanges,
        work: impl FnOnce(&mut IndexBatch<'_, '_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut batch = IndexBatch { sql: &transaction, moves, changes };
        work(&mut batch)?;
        batch.end()?;
        transaction.commit()?;
        Ok(())
    }

    fn known(&self) -> Result<HashMap<String, KnownFile>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT id, size, mtime, ctime, inode, content, path FROM file")?;
        let rows =
            statement.query_map([], |row| Ok((row.get::<_, String>(6)?, KnownFile::of(row)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The files whose tags follow from one of these: it is their setup file, or that of their setup file.
    fn led_by<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
    ) -> Result<HashSet<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT f.path FROM setup s JOIN file f ON f.id = s.file WHERE s.path = ?1",
        )?;
        let mut led = HashSet::new();
        for path in paths {
            let mut rows = statement.query([path])?;
            while let Some(row) = rows.next()? {
                led.insert(row.get(0)?);
            }
        }
        Ok(led)
    }

    fn known_of(&self, paths: &[String]) -> Result<HashMap<String, KnownFile>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, size, mtime, ctime, inode, content, path FROM file WHERE path = ?1",
        )?;
        let mut known = HashMap::new();
        for path in paths {
            let mut rows = statement.query([path])?;
            if let Some(row) = rows.next()? {
                known.insert(path.clone(), KnownFile::of(row)?);
            }
        }
        Ok(known)
    }
}

/// Reads files one after the other, in heaps, until nobody wants them.
fn read_ahead(
    memex: &MemexFolder,
    files: &[&FoundFile],
    send: &mpsc::SyncSender<Vec<FileContent>>,
) {
    let mut heap = Vec::new();
    let mut bytes = 0;
    for file in files {
        bytes += file.trace.size;
        heap.push(FileContent { path: file.path.clone(), result: read_one(memex, &file.path) });
        if bytes >= HEAP_BYTES || heap.len() >= BATCH_FILES {
            if send.send(std::mem::take(&mut heap)).is_err() {
                return;
            }
            bytes = 0;
        }
    }
    if !heap.is_empty() {
        let _ = send.send(heap);
    }
}

fn read_one(memex: &MemexFolder, path: &str) -> Result<(FileSheet, FileTrace), Option<SkipReason>> {
    let (bytes, trace) = memex.read(path)?;
    let sheet = FileSheet::of_file(memex, path, &bytes);
    match sheet.flaw {
        Some(SkipReason::TooManyHeadings) => Err(Some(SkipReason::TooManyHeadings)),
        _ => Ok((sheet, trace)),
    }
}

#[cfg(test)]
mod tests;
