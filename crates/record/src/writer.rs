//! The one writer. The daemon's record writer owns it; each [`commit`](RecordStore::commit) is one transaction,
//! durable when it returns. `writer/batch.rs` turns records into rows.

mod batch;
mod known;

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::append::{AppendNumbers, RecordAppend};
use crate::database;
use crate::error::StoreError;
use crate::fault;
use crate::open_checks;
use crate::reader::RecordReader;
use crate::record::ChainHead;
use crate::schema;

pub(crate) use batch::CommitBatch;
pub(crate) use known::WriterCache;

/// Largest body or state, in bytes: four times the largest message, since a context quotes some.
pub const MAX_BODY: usize = 256 << 20;

/// Largest sealed body that is kept in its row, in bytes: a quarter of a page of the file. Larger ones are blobs,
/// so that reading many records does not drag them along.
pub const MAX_INLINE_BODY_BYTES: usize = 4096;

/// Options of opening the record for writing.
#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    /// Largest size of the file in bytes; beyond it commits fail with [`StoreError::Full`]. None by default:
    /// the disk decides.
    pub max_bytes: Option<u64>,
}

/// The record, open for writing.
pub struct RecordStore {
    dir: PathBuf,
    connection: Connection,
    /// Facts that need not be looked up again; thrown away when a commit fails or another process wrote.
    known: Option<WriterCache>,
    max_bytes: Option<u64>,
    /// Whether destroyed keys may still be in the log: then each commit tries to wipe them.
    pub(crate) unscrubbed: bool,
}

impl fmt::Debug for RecordStore {
    /// Says where it is; what it remembers are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl RecordStore {
    /// Opens the record in a directory, or begins one. The work does not depend on how much is in it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] and [`StoreError::Foreign`] leave the file as it is; so does [`StoreError::Behind`], when the
    /// past of the user's files knows more of the record than is there.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        open_checks::refuse_interrupted_repair(dir)?;
        open_checks::refuse_truncated(dir)?;
        let connection = schema::open_writer(dir)?;
        let max_bytes = options.max_bytes;
        let mut store =
            Self { dir: dir.into(), connection, known: None, max_bytes, unscrubbed: false };
        store.limit_bytes(max_bytes)?;
        store.with_known(|_| ())?;
        store.scrub_if_needed()?;
        Ok(store)
    }

    /// Keeps all of it, or nothing. When this returns, it is on the disk.
    ///
    /// # Errors
    ///
    /// Nothing was kept, and the store can be used on. [`StoreError::Full`] and [`StoreError::Busy`] pass;
    /// [`StoreError::Refused`] says which append to leave out.
    pub fn commit(&mut self, appends: &[RecordAppend]) -> Result<Vec<AppendNumbers>, StoreError> {
        let drafts = appends.iter().flat_map(|append| &append.drafts);
        let bytes = drafts.clone().map(|draft| draft.body.len()).sum();
        let numbers = self.transact(drafts.count(), bytes, |batch| {
            appends.iter().enumerate().map(|(index, append)| batch.append(index, append)).collect()
        })?;
        self.scrub_again();
        Ok(numbers)
    }

    /// The last record.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn head(&mut self) -> Result<ChainHead, StoreError> {
        self.with_known(|known| known.head)
    }

    /// The latest time in the record, in milliseconds since the epoch: no clock may start before it.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn latest_at(&mut self) -> Result<i64, StoreError> {
        self.with_known(|known| known.latest_at)
    }

    /// A reader of the same record, to be used on another thread.
    ///
    /// # Errors
    ///
    /// The file cannot be opened once more.
    pub fn reader(&self) -> Result<RecordReader, StoreError> {
        RecordReader::open(&self.dir)
    }

    /// Changes the largest size of the file, in bytes. What is there stays, even if it is larger.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn limit_bytes(&mut self, max_bytes: Option<u64>) -> Result<(), StoreError> {
        let page: i64 = self.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = max_bytes.map_or(MAX_PAGES, |bytes| database::int(bytes) / page.max(1));
        self.limit_pages(pages)?;
        self.max_bytes = max_bytes;
        Ok(())
    }

    fn limit_pages(&self, pages: i64) -> Result<(), StoreError> {
        // The pragma answers with what is now true: never below what the file has already.
        self.connection.pragma_update_and_check(
            None,
            "max_page_count",
            pages.clamp(1, MAX_PAGES),
            |_| Ok(()),
        )?;
        Ok(())
    }

    /// One transaction of `drafts` records with bodies of so many bytes, written by `write`.
    pub(crate) fn transact<T>(
        &mut self,
        drafts: usize,
        bytes: usize,
        write: impl FnOnce(&mut CommitBatch<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.imitate_full_disk()?;
        let result = self.try_transact(drafts, bytes, write);
        match result {
            Ok(_) => fault::shadow(&self.dir),
            Err(_) => self.known = None,
        }
        result
    }

    fn try_transact<T>(
        &mut self,
        drafts: usize,
        bytes: usize,
        write: impl FnOnce(&mut CommitBatch<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction = WriterTransaction::begin(&self.connection)?;
        fault::point("store.begin");
        let known = WriterCache::current(&mut self.known, &self.connection)?;
        let mut batch = CommitBatch::new(&self.connection, known, drafts, bytes)?;
        let written = write(&mut batch)?;
        batch.finish()?;
        fault::point("store.commit");
        transaction.commit()?;
        fault::point("store.committed");
        Ok(written)
    }

    fn with_known<T>(&mut self, read: impl FnOnce(&WriterCache) -> T) -> Result<T, StoreError> {
        let transaction = self.connection.transaction()?;
        let known = WriterCache::current(&mut self.known, &transaction)?;
        Ok(read(known))
    }

    /// In a test build, a file can stand for a full disk.
    fn imitate_full_disk(&mut self) -> Result<(), StoreError> {
        match fault::disk_is_full() {
            None => Ok(()),
            Some(false) => self.limit_bytes(self.max_bytes),
            Some(true) => self.limit_pages(1),
        }
    }

    /// Lets everything be looked up anew.
    pub(crate) fn forget_known(&mut self) {
        self.known = None;
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// A transaction of the writer, undone unless it is committed. Unlike rusqlite's, it keeps its two
/// statements prepared: parsing them took a hundredth of a commit.
struct WriterTransaction<'c>(&'c Connection);

impl<'c> WriterTransaction<'c> {
    fn begin(connection: &'c Connection) -> Result<Self, StoreError> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    fn commit(self) -> Result<(), StoreError> {
        self.0.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for WriterTransaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Should that fail too, SQLite undoes it by itself before the file is used again.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

/// Most pages that SQLite can count.
const MAX_PAGES: i64 = 0xffff_fffe;
