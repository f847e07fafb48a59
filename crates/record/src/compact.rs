//! Compacting: records that are forgotten give their room back.
//!
//! Every run of records that nobody can read any more is replaced, in one transaction, by one `compacted`
//! record in their place: which numbers and seqs there were, and the hashes of the first and the last. Its
//! neighbors still fit: it says which hash stood before the first, and passes for the last. A `compaction`
//! record at the end of the chain vouches for it in the same transaction, so that nobody can put another in its
//! place unnoticed. With the records go their salts, receipts and blobs, and with the last record of a forgotten
//! session everything that was known of it. Called by the daemon's record writer step by step, between commits, and by
//! commands while no daemon runs. Decision 0011 says why.

pub(crate) mod apply;
mod plan;

use std::collections::HashSet;
use std::fs;

use self::plan::{CompactionStep, RemovableRun};
use crate::append::NewRecord;
use crate::database;
use crate::error::StoreError;
use crate::fault;
use crate::forget::ForgetRequest;
use crate::schema::{DROP_GUARD_TRIGGERS, GUARD_TRIGGERS};
use crate::writer::{CommitBatch, RecordStore};

pub use crate::compacted_span::COMPACTED;

/// Kind of the daemon's record that vouches for those.
pub const COMPACTION: &str = "compaction";

/// Most records that one step takes away: what everybody else waits for meanwhile, and what the log grows by.
/// Fault tests want steps that begin in the middle.
pub const MAX_RECORDS_PER_STEP: u64 = if cfg!(feature = "faults") { 8 } else { 8192 };

/// Most runs of records in one step: as many are named by one `compaction` record.
pub const MAX_RUNS_PER_STEP: usize = 512;

/// Progress of compacting, from step to step.
#[derive(Debug, Default)]
pub struct Compaction {
    /// The first record that was not looked at yet; 0 before the first step.
    next: i64,
    /// Sessions of which a record stays.
    staying: HashSet<i64>,
    report: CompactionReport,
}

/// Result of compacting.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CompactionReport {
    /// Records that were taken away.
    pub records: u64,
    /// `compacted` records that stand in their place.
    pub runs: u64,
    /// Sessions of which nothing is left.
    pub sessions: u64,
    /// Size of the record's files before, in bytes.
    pub bytes_before: u64,
    /// Bytes of the files afterwards.
    pub bytes_after: u64,
}

impl Compaction {
    /// Returns the report of the steps so far.
    #[must_use]
    pub fn report(&self) -> CompactionReport {
        self.report
    }
}

impl RecordStore {
    /// Takes away all records that are forgotten, and gives the room back to the disk.
    ///
    /// # Errors
    ///
    /// Steps that are done stay done; compacting can be begun again at any time.
    pub fn compact(&mut self, by: &ForgetRequest) -> Result<CompactionReport, StoreError> {
        let mut compaction = Compaction::default();
        while self.compact_step(&mut compaction, by)? {}
        self.give_back(&mut compaction)?;
        Ok(compaction.report)
    }

    /// Takes the next records away, as many as others may wait for; `false` when there are no more. Then
    /// [`RecordStore::give_back`] ends it.
    ///
    /// # Errors
    ///
    /// Nothing of this step was done.
    pub fn compact_step(
        &mut self,
        compaction: &mut Compaction,
        by: &ForgetRequest,
    ) -> Result<bool, StoreError> {
        if compaction.next == 0 {
            compaction.next = 1;
            compaction.report.bytes_before = self.file_bytes();
        }
        let plan = plan::make(self.connection(), compaction.next)?;
        compaction.staying.extend(&plan.staying);
        compaction.next = plan.next;
        if !plan.runs.is_empty() {
            self.take_away(&plan, by)?;
        }
        let CompactionStep { runs, is_last, .. } = plan;
        compaction.report.records += runs.iter().map(|run| run.taken).sum::<u64>();
        compaction.report.runs += runs.len() as u64;
        if is_last {
            compaction.report.sessions = self.drop_sessions(&compaction.staying)?;
        }
        Ok(!is_last)
    }

    /// Replaces the runs of a plan.
    fn take_away(&mut self, plan: &CompactionStep, by: &ForgetRequest) -> Result<(), StoreError> {
        let done = self.transact(1, 0, |batch| {
            // Everything is to be found in one table alone.
            batch.settle()?;
            let connection = batch.connection();
            connection.execute_batch(DROP_GUARD_TRIGGERS)?;
            for run in &plan.runs {
                apply::replace(connection, run, by)?;
                fault::point("store.compact");
            }
            connection.execute_batch(GUARD_TRIGGERS)?;
            vouch(batch, &plan.runs, by)
        });
        // Whatever the writer remembers of sessions may be gone.
        self.forget_known();
        done?;
        fault::point("store.compacted");
        Ok(())
    }

    /// Forgets that there were sessions, where they are forgotten and no record of them stays. The latest
    /// session is remembered without anything: no other may get its id.
    fn drop_sessions(&mut self, staying: &HashSet<i64>) -> Result<u64, StoreError> {
        let forgotten = plan::forgotten_sessions(self.connection())?;
        let latest: i64 =
            self.connection().query_row("SELECT max(id) FROM session", [], |row| row.get(0))?;
        let gone: Vec<i64> = forgotten.into_iter().filter(|id| !staying.contains(id)).collect();
        if gone.is_empty() {
            return Ok(0);
        }
        let dropped = self.transact(0, 0, |batch| {
            batch.settle()?;
            for id in &gone {
                apply::drop_session(batch.connection(), *id, *id == latest)?;
            }
            fault::point("store.compact.sessions");
            Ok(gone.iter().filter(|id| **id != latest).count() as u64)
        });
        self.forget_known();
        dropped
    }

    /// Gives the room of what was taken away back to the disk: writes what is left anew. Nothing else is
    /// written meanwhile.
    ///
    /// # Errors
    ///
    /// The record is whole, but as large as before.
    pub fn give_back(&mut self, compaction: &mut Compaction) -> Result<(), StoreError> {
        let free: i64 =
            self.connection().pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > 0 {
            fault::point("store.vacuum");
            self.rewrite_file()?;
            fault::point("store.vacuumed");
        }
        self.scrub()?;
        compaction.report.bytes_after = self.file_bytes();
        Ok(())
    }

    /// Writes the file anew, without free pages.
    fn rewrite_file(&mut self) -> Result<(), StoreError> {
        // The copy that SQLite makes meanwhile lies beside the record, without a name, and not in memory.
        let beside = self.dir().to_string_lossy().into_owned();
        self.connection().pragma_update(None, "temp_store_directory", beside)?;
        self.connection().pragma_update(None, "temp_store", "FILE")?;
        let written = self.connection().execute_batch("VACUUM");
        self.connection().pragma_update(None, "temp_store", "MEMORY")?;
        self.forget_known();
        Ok(written?)
    }

    /// Size of the record's files, in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        let path = self.dir().join(database::RECORD_FILE);
        let files = database::companions(&path);
        files.filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
    }
}

/// Adds the record that vouches for the new ones.
fn vouch(
    batch: &mut CommitBatch<'_>,
    runs: &[RemovableRun],
    by: &ForgetRequest,
) -> Result<(), StoreError> {
    let records: u64 = runs.iter().map(|run| run.taken).sum();
    let ranges: Vec<String> = runs
        .iter()
        .map(|run| format!("({} {} \"{}\")", run.span.from, run.span.to, apply::digest(run, by)))
        .collect();
    let body = format!("(:records {records} :ranges ({}))", ranges.join(" "));
    batch.add(&NewRecord::new("", COMPACTION, by.at, &by.principal, body))?;
    Ok(())
}

/// Numbers and digests that the body of a `compaction` record names; none in what is not one.
pub(crate) fn vouched_for(body: &str) -> Vec<(i64, i64, String)> {
    let Ok(tree) = bridle_sexp::read_one(body) else { return Vec::new() };
    let body = tree.root().to_value();
    let ranges = body.get("ranges").and_then(bridle_sexp::Value::elements).unwrap_or_default();
    let range = |it: &bridle_sexp::Value| {
        let [from, to, digest] = it.elements()? else { return None };
        Some((from.as_i64()?, to.as_i64()?, digest.as_str()?.to_owned()))
    };
    ranges.iter().filter_map(range).collect()
}

#[cfg(test)]
mod tests;
