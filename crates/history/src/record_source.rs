//! Where records come from, as history and the engine's fold read them.
//!
//! [`RecordReader`] reads the database of a state directory. Whoever folds, replays or explains asks for
//! this trait, so that a record in another place needs no change there.

use std::fmt::Debug;
use std::path::Path;

use bridle_loop::RecordKind;
use bridle_record::{
    ChainHead, Record, RecordFilter, RecordNumber, RecordReader, RecordSize, SessionRow,
    StoreError, VerifyReport,
};

/// Read access to a record. Nothing waits for records to come; whoever follows asks again.
pub trait RecordSource: Debug {
    /// The last record's number and hash.
    ///
    /// # Errors
    /// The record cannot be read.
    fn head(&self) -> Result<ChainHead, StoreError>;

    /// The record of a number; `None` when there is none yet.
    ///
    /// # Errors
    /// The record cannot be read.
    fn record(&self, number: RecordNumber) -> Result<Option<Record>, StoreError>;

    /// At most `limit` records after a number, in their order; none at the end.
    ///
    /// # Errors
    /// The record cannot be read.
    fn records(
        &self,
        after: RecordNumber,
        filter: &RecordFilter,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;

    /// Hands out the latest records of a kind, the last one first, at most `limit`.
    ///
    /// # Errors
    /// The record cannot be read.
    fn latest(
        &self,
        kind: RecordKind,
        limit: usize,
        take: &mut dyn FnMut(Record),
    ) -> Result<(), StoreError>;

    /// The row of a session; `None` for a name that nobody used.
    ///
    /// # Errors
    /// The record cannot be read.
    fn session(&self, name: &str) -> Result<Option<SessionRow>, StoreError>;

    /// All sessions, in the order in which they began.
    ///
    /// # Errors
    /// The record cannot be read.
    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError>;

    /// Names of the sessions in which an act, a question or a schedule waits.
    ///
    /// # Errors
    /// The record cannot be read.
    fn waiting_sessions(&self) -> Result<Vec<Box<str>>, StoreError>;

    /// Checks every record, and a head that was kept elsewhere. `progress` gets the number of records that
    /// are done, and of all.
    ///
    /// # Errors
    /// The first record that is not as it was written, or a record that cannot be read.
    fn verify(
        &self,
        kept: Option<ChainHead>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport, StoreError>;

    /// Room that the record takes in a state directory.
    ///
    /// # Errors
    /// The record cannot be read.
    fn size(&self, dir: &Path) -> Result<RecordSize, StoreError>;
}

impl RecordSource for RecordReader {
    fn head(&self) -> Result<ChainHead, StoreError> {
        RecordReader::head(self)
    }

    fn record(&self, number: RecordNumber) -> Result<Option<Record>, StoreError> {
        RecordReader::record(self, number)
    }

    fn records(
        &self,
        after: RecordNumber,
        filter: &RecordFilter,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        RecordReader::records(self, after, filter, limit)
    }

    fn latest(
        &self,
        kind: RecordKind,
        limit: usize,
        take: &mut dyn FnMut(Record),
    ) -> Result<(), StoreError> {
        RecordReader::last(self, kind.word(), limit, take)
    }

    fn session(&self, name: &str) -> Result<Option<SessionRow>, StoreError> {
        RecordReader::session(self, name)
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        RecordReader::sessions(self)
    }

    fn waiting_sessions(&self) -> Result<Vec<Box<str>>, StoreError> {
        Ok(RecordReader::open_sessions(self)?.into_iter().map(|row| row.session).collect())
    }

    fn verify(
        &self,
        kept: Option<ChainHead>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport, StoreError> {
        RecordReader::verify(self, kept, progress)
    }

    fn size(&self, dir: &Path) -> Result<RecordSize, StoreError> {
        RecordReader::size(self, dir)
    }
}

/// The kind of a record; `None` for one that a later version writes.
pub fn kind_of(record: &Record) -> Option<RecordKind> {
    RecordKind::parse(&record.kind)
}

/// A filter for records of some kinds, of any session.
pub fn of_kinds(kinds: impl IntoIterator<Item = RecordKind>) -> RecordFilter {
    let kinds = kinds.into_iter().map(|kind| kind.word().into()).collect();
    RecordFilter { kinds, ..RecordFilter::default() }
}
