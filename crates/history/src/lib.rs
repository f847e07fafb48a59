//! The record, read without a daemon: list, verify, export, mirror, replay.
//!
//! Called by the commands of the binary; the engine folds its sessions with [`session_fold`]. Everything opens
//! the record read-only and works while a daemon writes. Nothing here waits: whoever follows asks
//! again. Layout, in reading order:
//!
//! - `error`: why history could not be read
//! - [`list`]: a record as a line of text
//! - [`head`]: what to keep elsewhere, and the check against it
//! - [`org`]: thought trace for people
//! - [`mirror`]: a text copy that goes on where it stopped
//! - [`replay`]: the same events through the same loop, compared
//! - [`rethink`]: recorded thoughts asked again of somebody else, and what would be decided
//! - [`why`]: the decisions behind a record, and what they rest on
//! - [`ledger`]: effects, from intent to outcome
//! - [`cost`]: what thoughts cost
//! - [`thoughts`]: prompts of the past, and the drafts that came
//! - `proposed`: decisions with the payload that they were about
//! - [`rehearse`]: what other policies would have said
//! - [`upkeep`]: how large the record is; sessions to forget
//! - [`action_specs`]: descriptions of actions, by the hash that a session names
//! - [`policy_load`]: policies, loaded on a stack of their own
//! - [`session_fold`], [`policy_sets`]: a State from the events of a session, and the policies that they name
//! - [`record_source`]: the record as all of these read it

pub mod action_specs;
pub mod cost;
mod error;
pub mod head;
pub mod ledger;
pub mod list;
pub mod mirror;
pub mod org;
pub mod policy_load;
pub mod policy_sets;
mod proposed;
mod record_body;
pub mod record_source;
pub mod rehearse;
pub mod replay;
pub mod rethink;
pub mod session_fold;
pub mod thoughts;
pub mod upkeep;
pub mod why;

pub use bridle_record::{
    ChainHead, Record, RecordBody, RecordNumber, SessionRow, StoreError, VerifyReport,
};
use bridle_record::{RecordFilter, RecordReader};
use std::path::{Path, PathBuf};

pub use error::HistoryError;
use record_source::RecordSource;

/// Records read at a time: a page of small ones fits a cache, and one commit is rarely larger.
const PAGE_RECORDS: usize = 512;

/// The record of a state directory, open for reading.
pub struct RecordHistory {
    source: Box<dyn RecordSource + Send>,
    /// The state directory, for messages.
    dir: PathBuf,
}

/// Selection of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSelection {
    /// Only those of this session.
    pub session: Option<Box<str>>,
    /// None after this one.
    pub to: Option<u64>,
}

impl RecordHistory {
    /// Opens the record of a state directory.
    ///
    /// # Errors
    /// [`HistoryError::NoRecord`] when no daemon has ever run there; else what the store said.
    pub fn open(dir: &Path) -> Result<RecordHistory, HistoryError> {
        match RecordReader::open(dir) {
            Ok(reader) => Ok(RecordHistory { source: Box::new(reader), dir: dir.to_owned() }),
            Err(StoreError::Missing { .. }) => Err(HistoryError::NoRecord { dir: dir.to_owned() }),
            Err(error) => Err(error.into()),
        }
    }

    /// The record that a source hands out; `name` is what messages call it.
    pub fn of(source: Box<dyn RecordSource + Send>, name: &Path) -> RecordHistory {
        RecordHistory { source, dir: name.to_owned() }
    }

    /// The state directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// All sessions, in the order in which they began.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, HistoryError> {
        Ok(self.source.sessions()?)
    }

    /// Checks that a session exists.
    ///
    /// # Errors
    /// [`HistoryError::UnknownSession`] when it does not.
    pub fn expect_session(&self, name: &str) -> Result<(), HistoryError> {
        match self.source.session(name)? {
            Some(_) => Ok(()),
            None => Err(HistoryError::UnknownSession { name: name.into() }),
        }
    }

    /// A page of at most `limit` records after `after`; none means that there are no more now.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn page(
        &self,
        after: u64,
        wanted: &RecordSelection,
        limit: usize,
    ) -> Result<Vec<Record>, HistoryError> {
        let filter = RecordFilter {
            session: wanted.session.clone(),
            to: wanted.to.map(RecordNumber),
            ..RecordFilter::default()
        };
        Ok(self.source.records(RecordNumber(after), &filter, limit)?)
    }

    /// All of them, page by page.
    fn walk(
        &self,
        wanted: &RecordSelection,
        mut visit: impl FnMut(Record) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError> {
        let mut after = 0;
        loop {
            let page = self.page(after, wanted, PAGE_RECORDS)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.number.0;
            page.into_iter().try_for_each(&mut visit)?;
        }
    }
}

#[cfg(test)]
mod tests;
