//! Upkeep of the record: how much room it takes, and giving that back. Sizes are read while a daemon runs; whatever
//! changes the file takes the state directory for itself, so that nothing in a daemon's memory can be wrong then.

use std::path::Path;

use bridle_store::{By, CompactionReport, Options, Store};
pub use bridle_store::{RecordSize, RepairReport, SizeRow};

use super::forget::forget_beside;
use super::{Error, History, SessionRow};
use crate::access::principal::ANONYMOUS;
use crate::lock::StateLock;

/// Sessions that are forgotten together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Those that nobody known began.
    Anonymous,
    /// Those that were last used before this time, in milliseconds since 1970.
    Before(i64),
}

/// Sessions that a selection names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selected {
    /// What would be forgotten, oldest first.
    pub sessions: Vec<SessionRow>,
    /// How many stay because something in them waits: an act, a question, a schedule.
    pub waiting: u64,
}

impl Selected {
    /// How many records they have.
    pub fn records(&self) -> u64 {
        self.sessions.iter().map(|row| row.records).sum()
    }
}

impl History {
    /// Sessions that a selection names and that are not forgotten yet.
    ///
    /// # Errors
    /// What the store said.
    pub fn select(&self, selection: Selection) -> Result<Selected, Error> {
        let waiting: Vec<Box<str>> =
            self.reader.open_sessions()?.into_iter().map(|row| row.session).collect();
        let mut selected = Selected::default();
        for row in self.reader.sessions()?.into_iter().filter(|row| !row.forgotten) {
            let is_meant = match selection {
                Selection::Anonymous => &*row.owner == ANONYMOUS,
                Selection::Before(at) => row.last_at < at,
            };
            if is_meant && waiting.contains(&row.name) {
                selected.waiting += 1;
            } else if is_meant {
                selected.sessions.push(row);
            }
        }
        Ok(selected)
    }

    /// How much room the record takes, and for whom.
    ///
    /// # Errors
    /// What the store said.
    pub fn size(&self) -> Result<RecordSize, Error> {
        Ok(self.reader.size(&self.dir)?)
    }
}

/// Forgets all sessions that a selection names; how many. `now` is in milliseconds since 1970.
///
/// # Errors
/// [`crate::Error::Locked`] inside [`Error::State`] when a daemon runs; else what the store said.
pub fn forget_selected(dir: &Path, selection: Selection, now: i64) -> Result<u64, Error> {
    let (_lock, mut store, by) = open(dir, now)?;
    let selected = History::open(dir)?.select(selection)?;
    let names: Vec<Box<str>> = selected.sessions.into_iter().map(|row| row.name).collect();
    forget_beside(dir, &names)?;
    Ok(store.forget_sessions(&names, &by)?)
}

/// Takes away all records that are forgotten, and gives their room back to the disk.
///
/// # Errors
/// As for [`forget_selected`].
pub fn compact(dir: &Path, now: i64) -> Result<CompactionReport, Error> {
    let (_lock, mut store, by) = open(dir, now)?;
    Ok(store.compact(&by)?)
}

/// Puts what can be read of a damaged record into a new file; with `only_look`, says what that would be.
///
/// # Errors
/// As for [`forget_selected`].
pub fn repair(dir: &Path, now: i64, only_look: bool) -> Result<RepairReport, Error> {
    let _lock = StateLock::take(dir)?;
    match only_look {
        true => Ok(bridle_store::repair::inspect(dir)?),
        false => Ok(bridle_store::repair(dir, &By { principal: own_name(), at: now })?),
    }
}

fn open(dir: &Path, now: i64) -> Result<(StateLock, Store, By), Error> {
    // A directory without a record is not given one.
    History::open(dir)?;
    let lock = StateLock::take(dir)?;
    let mut store = Store::open(dir, &Options::default())?;
    let by = By { principal: own_name(), at: now.max(store.latest_at()?) };
    Ok((lock, store, by))
}

fn own_name() -> Box<str> {
    format!("uid:{}", rustix::process::geteuid().as_raw()).into()
}
