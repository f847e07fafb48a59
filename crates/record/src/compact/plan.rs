//! Plan of a step: which runs of records can be taken away, and what is known of them. Reads, and changes
//! nothing. A record that stands for others already joins the run beside it.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::Connection;

use super::{MAX_RECORDS_PER_STEP, MAX_RUNS_PER_STEP};
use crate::compacted_span::{CompactedSpan, SessionSpan};
use crate::error::StoreError;
use crate::reader::RecordOpener;
use crate::record::RecordHash;
use crate::record_page::{self, RawRecord, StoredBody};

/// One step of compacting: the runs that it replaces.
pub(super) struct CompactionStep {
    pub(super) runs: Vec<RemovableRun>,
    /// Record that the next step begins with.
    pub(super) next: i64,
    pub(super) is_last: bool,
    /// Sessions of records that stay.
    pub(super) staying: HashSet<i64>,
}

/// Records that follow each other and can all be taken away.
pub(super) struct RemovableRun {
    pub(super) span: CompactedSpan,
    /// Hash of the record before them.
    pub(super) prev: RecordHash,
    /// Time of the last.
    pub(super) at: i64,
    /// Records of the run that stand for themselves, and were not taken away before.
    pub(super) taken: u64,
    /// Blobs that have their bodies.
    pub(super) blobs: Vec<Vec<u8>>,
    sessions: BTreeMap<i64, SessionSpan>,
}

/// Sessions that are forgotten.
pub(super) fn forgotten_sessions(connection: &Connection) -> Result<HashSet<i64>, StoreError> {
    ids(connection, "SELECT id FROM session WHERE forgotten = 1 AND id > 0")
}

fn ids(connection: &Connection, sql: &str) -> Result<HashSet<i64>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Plans a step that begins with a record.
pub(super) fn make(connection: &Connection, from: i64) -> Result<CompactionStep, StoreError> {
    let moment = connection.unchecked_transaction()?;
    let mut planner = CompactionPlanner {
        forgotten: forgotten_sessions(&moment)?,
        known: ids(&moment, "SELECT id FROM session")?,
        opener: RecordOpener::new(&moment),
        run: None,
        taken: 0,
        plan: CompactionStep {
            runs: Vec::new(),
            next: from,
            is_last: true,
            staying: HashSet::new(),
        },
    };
    let _ = record_page::each(&moment, &(from..=i64::MAX), &mut |raw| planner.take(raw))?;
    planner.close();
    Ok(planner.plan)
}

struct CompactionPlanner<'c> {
    forgotten: HashSet<i64>,
    /// Sessions that something is known of.
    known: HashSet<i64>,
    opener: RecordOpener<'c>,
    /// The run that is still being followed.
    run: Option<RemovableRun>,
    taken: u64,
    plan: CompactionStep,
}

impl CompactionPlanner<'_> {
    fn take(&mut self, raw: &RawRecord<'_>) -> Result<ControlFlow<()>, StoreError> {
        if self.taken >= MAX_RECORDS_PER_STEP || self.plan.runs.len() >= MAX_RUNS_PER_STEP {
            // The next step goes on with the run that was not at its end, if there is one.
            self.plan.next = self.run.as_ref().map_or(raw.number, |run| run.span.from);
            self.plan.is_last = false;
            return Ok(ControlFlow::Break(()));
        }
        if !matches!(raw.stored, StoredBody::Compacted(_)) && !self.is_gone(raw)? {
            self.close();
            self.plan.staying.insert(raw.session);
            return Ok(ControlFlow::Continue(()));
        }
        let mut run = self.run.take().unwrap_or_else(|| RemovableRun::begin(raw));
        if raw.number != run.span.from && raw.number != run.span.to.saturating_add(1) {
            return Err(StoreError::Damaged(
                format!("record `{}` is out of order", raw.number).into(),
            ));
        }
        self.taken += run.add(raw, &self.known)?;
        self.run = Some(run);
        Ok(ControlFlow::Continue(()))
    }

    /// Whether nobody can read a record any more. Those of the daemon itself always can be.
    fn is_gone(&mut self, raw: &RawRecord<'_>) -> Result<bool, StoreError> {
        if raw.session == 0 {
            return Ok(false);
        }
        Ok(self.forgotten.contains(&raw.session) || self.opener.is_erased(raw)?)
    }

    /// Ends the run, if it has something to take away.
    fn close(&mut self) {
        if let Some(mut run) = self.run.take().filter(|run| run.taken > 0) {
            run.span.sessions = std::mem::take(&mut run.sessions).into_values().collect();
            self.plan.runs.push(run);
        }
    }
}

impl RemovableRun {
    fn begin(raw: &RawRecord<'_>) -> Self {
        let span = CompactedSpan {
            from: raw.number,
            to: raw.number,
            first: raw.hash,
            last: raw.hash,
            forgotten: 0,
            sessions: Vec::new(),
        };
        let (blobs, sessions) = Default::default();
        Self { span, prev: raw.prev, at: raw.at, taken: 0, blobs, sessions }
    }

    /// Goes on with a record; how many are taken away by that.
    fn add(&mut self, raw: &RawRecord<'_>, known: &HashSet<i64>) -> Result<u64, StoreError> {
        let earlier = match raw.stored {
            StoredBody::Compacted(bytes) => {
                Some(CompactedSpan::read(raw.number, raw.hash, bytes).ok_or_else(|| {
                    StoreError::Damaged(format!("record `{}`", raw.number).into())
                })?)
            }
            _ => None,
        };
        if let (StoredBody::Compacted(_), Some(earlier), true) =
            (raw.stored, &earlier, raw.number == self.span.from)
        {
            self.span.first = earlier.first;
        }
        (self.span.to, self.span.last, self.at) = (raw.end(), raw.hash, raw.at);
        if let StoredBody::Blob(address) = raw.stored {
            self.blobs.push(address.to_vec());
        }
        let Some(earlier) = earlier else {
            let seq = raw.seq.unwrap_or(0);
            let (first, last, last_at) = (raw.number, raw.number, raw.at);
            let one = SessionSpan {
                session: raw.session,
                first,
                last,
                records: 1,
                seqs: (seq, seq),
                last_at,
            };
            self.add_session(&one, known);
            self.taken += 1;
            return Ok(1);
        };
        self.span.forgotten += earlier.forgotten;
        earlier.sessions.iter().for_each(|it| self.add_session(it, known));
        Ok(0)
    }

    fn add_session(&mut self, span: &SessionSpan, known: &HashSet<i64>) {
        // Nothing more is asked about a session of which nothing is known.
        if !known.contains(&span.session) {
            self.span.forgotten += span.records;
            return;
        }
        self.sessions.entry(span.session).and_modify(|it| it.add(span)).or_insert(*span);
    }
}
