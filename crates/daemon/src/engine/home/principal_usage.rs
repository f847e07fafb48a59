//! What principals did in all sessions, for the budgets that policies set them.
//!
//! One per hub; batches read it before they judge and add to it what they decide. A session learns of
//! it by an event, so that a replay judges by what was known then. Nothing is kept in a file of its
//! own: at the start the decisions of the last hour are counted again.

use bridle_history::record_source::of_kinds;
use bridle_history::session_fold;
use bridle_loop::{PrincipalTallies, RecordKind, UnixMillis};
use bridle_record::{RecordNumber, RecordReader, StoreError};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The latest records that are looked at when a daemon starts: an hour of ten turns a second, and
/// half a second of reading. What was decided before them is not counted again.
const RECOUNTED_RECORDS: u64 = 1 << 18;

/// Records of a page.
const PAGE_RECORDS: usize = 4_096;

/// The sums of a daemon.
#[derive(Debug, Default)]
pub(in crate::engine) struct PrincipalUsageSums(Mutex<PrincipalTallies>);

/// An act that was counted: when, and whose.
pub(in crate::engine) type Act = (UnixMillis, Box<str>);

impl PrincipalUsageSums {
    /// Counts the decisions of the last hour again.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(in crate::engine) fn read(
        reader: &RecordReader,
        now: i64,
    ) -> Result<PrincipalUsageSums, StoreError> {
        let mut tallies = PrincipalTallies::default();
        let mut after = first_that_counts(reader, UnixMillis(now))?;
        let decisions = of_kinds([RecordKind::Decided]);
        loop {
            let page = reader.records(after, &decisions, PAGE_RECORDS)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for record in &page {
                if let Some(body) = record.body.text().and_then(session_fold::parse) {
                    tallies.add_recorded(UnixMillis(record.at), &body);
                }
            }
        }
        Ok(PrincipalUsageSums(Mutex::new(tallies)))
    }

    /// The sums, and nobody else changes them meanwhile. Held for one step at most.
    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, PrincipalTallies> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes acts back that were counted and not recorded: they do not happen.
    pub(in crate::engine) fn take_back(&self, acts: &[Act]) {
        let mut tallies = self.lock();
        for (at, principal) in acts {
            tallies.take_back(*at, principal);
        }
    }
}

/// The last record that is too old to count, among the latest: times never go back.
fn first_that_counts(reader: &RecordReader, now: UnixMillis) -> Result<RecordNumber, StoreError> {
    let mut high = reader.head()?.number.0;
    let mut low = high.saturating_sub(RECOUNTED_RECORDS);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let counts = match reader.record(RecordNumber(middle))? {
            Some(record) => PrincipalTallies::counts_at(now, UnixMillis(record.at)),
            None => false,
        };
        if counts {
            high = middle - 1;
        } else {
            low = middle;
        }
    }
    Ok(RecordNumber(low))
}

#[cfg(test)]
mod tests;
