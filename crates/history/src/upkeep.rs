//! How much room the record takes, and the sessions that a selection names.

use bridle_loop::ANONYMOUS;
pub use bridle_record::{RecordSize, RepairReport, SizeRow};

use super::{HistoryError, RecordHistory, SessionRow};

/// Sessions that are forgotten together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSelection {
    /// Those that nobody known began.
    Anonymous,
    /// Those that were last used before this time, in milliseconds since 1970.
    Before(i64),
}

/// Sessions that a selection names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectedSessions {
    /// Sessions to forget, oldest first.
    pub sessions: Vec<SessionRow>,
    /// Number of sessions that stay because an act, a question or a schedule waits in them.
    pub waiting: u64,
}

impl SelectedSessions {
    /// Number of records of all selected sessions.
    pub fn records(&self) -> u64 {
        self.sessions.iter().map(|row| row.records).sum()
    }
}

impl RecordHistory {
    /// Sessions that a selection names and that are not forgotten yet.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn select(&self, selection: SessionSelection) -> Result<SelectedSessions, HistoryError> {
        let waiting = self.source.waiting_sessions()?;
        let mut selected = SelectedSessions::default();
        for row in self.source.sessions()?.into_iter().filter(|row| !row.forgotten) {
            let is_meant = match selection {
                SessionSelection::Anonymous => &*row.owner == ANONYMOUS,
                SessionSelection::Before(at) => row.last_at < at,
            };
            if is_meant && waiting.contains(&row.name) {
                selected.waiting += 1;
            } else if is_meant {
                selected.sessions.push(row);
            }
        }
        Ok(selected)
    }

    /// Room that the record takes, in total and by owner.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn size(&self) -> Result<RecordSize, HistoryError> {
        Ok(self.source.size(&self.dir)?)
    }
}
