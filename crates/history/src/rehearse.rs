//! Rehearsal: what other policies would have said to the latest decisions.
//!
//! Called by `bridle policy rehearse`, and before a grant is written. Nothing is carried out and no
//! daemon is asked: a decision is recorded with all that the policies were told.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use bridle_loop::{
    DecidedBody, GuardPolicies, JUDGE_STACK_BYTES, PREPARED, PolicyRehearsal, PolicyVerdict,
    RecordKind, SessionId, UnixMillis,
};
use bridle_record::Record;
use bridle_sexp::Value;

use super::{HistoryError, RecordHistory};

/// Threads that judge, at most: one thread reads, and more of them would wait for it.
const MAX_JUDGE_THREADS: usize = 4;

/// Decisions that are handed to a thread at once, and their bytes: enough that handing over costs
/// little, few enough that all threads have something to do.
const BATCH_DECISIONS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// Batches that wait for one thread: it has the next one when it is done, and memory stays bounded.
const MAX_WAITING_BATCHES: usize = 2;

/// Result of a rehearsal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RehearsalReport {
    /// Decisions that were judged again.
    pub decisions: u64,
    /// Decisions that are forgotten, or that another version wrote: nobody can tell.
    pub unreadable: u64,
    /// Those that would have come out otherwise, in their order.
    pub changed: Vec<ChangedDecision>,
}

/// A decision that would have come out otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedDecision {
    /// Number of its record.
    pub record: u64,
    /// Its session.
    pub session: Box<str>,
    /// Time of the decision, in milliseconds since 1970.
    pub at: i64,
    /// The action.
    pub action: Box<str>,
    /// The actuator.
    pub target: Box<str>,
    /// File and heading of an edit; else empty.
    pub about: Box<str>,
    /// Recorded verdict.
    pub was: PolicyVerdict,
    /// Verdict of the rehearsed set.
    pub now: PolicyVerdict,
    /// The policies that would have determined it; none when nothing permits it.
    pub policies: Vec<Box<str>>,
}

impl RehearsalReport {
    fn add(&mut self, other: Self) {
        self.decisions += other.decisions;
        self.unreadable += other.unreadable;
        self.changed.extend(other.changed);
    }

    /// Counts of each change: from which verdict, to which, how many.
    pub fn counts(&self) -> Vec<(PolicyVerdict, PolicyVerdict, u64)> {
        let mut counts = BTreeMap::new();
        for changed in &self.changed {
            let key = (changed.was.word(), changed.now.word());
            counts.entry(key).or_insert((changed.was, changed.now, 0)).2 += 1;
        }
        counts.into_values().collect()
    }
}

impl RecordHistory {
    /// Judges the last decisions again, at most `last` of them.
    ///
    /// # Errors
    /// What the store said.
    pub fn rehearse(
        &self,
        set: &GuardPolicies,
        last: usize,
    ) -> Result<RehearsalReport, HistoryError> {
        let threads =
            thread::available_parallelism().map_or(1, NonZero::get).min(MAX_JUDGE_THREADS);
        let mut rehearsed = RehearsalReport::default();
        let read = thread::scope(|scope| -> Result<(), HistoryError> {
            let (mut hands, mut judges) = (Vec::new(), Vec::new());
            for _ in 0..threads {
                let (hand, taken) = mpsc::sync_channel(MAX_WAITING_BATCHES);
                hands.push(hand);
                let judge = move || judge(set, &taken);
                judges
                    .push(judge_thread().spawn_scoped(scope, judge).map_err(HistoryError::Thread)?);
            }
            let read = self.hand_out(last, PolicyRehearsal::new(set).names_texts(), &hands);
            // Nothing comes any more.
            drop(hands);
            for judge in judges {
                rehearsed.add(judge.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            read
        });
        read?;
        rehearsed.changed.sort_by_key(|changed| changed.record);
        Ok(rehearsed)
    }

    /// Reads the decisions and hands them out in turn, some at a time; if `wants_texts`, with what was
    /// said where a decision only names the proposal.
    fn hand_out(
        &self,
        last: usize,
        wants_texts: bool,
        hands: &[SyncSender<Vec<Record>>],
    ) -> Result<(), HistoryError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut turn = hands.iter().cycle();
        let mut send = |batch: Vec<Record>| {
            if let Some(hand) = turn.next() {
                // Who does not take it has panicked, and that is told at the end.
                let _ = hand.send(batch);
            }
        };
        // While one reads on, it can look nothing else up.
        let texts = if wants_texts { Some(Self::open(&self.dir)?) } else { None };
        let mut failed = None;
        self.source.latest(RecordKind::Decided, last, &mut |record| {
            let whole = match &texts {
                Some(texts) => texts.record_with_payload(record),
                None => Ok(record),
            };
            match whole {
                Ok(record) => {
                    bytes += record.body.text().map_or(0, str::len);
                    batch.push(record);
                }
                Err(error) => failed = Some(error),
            }
            if batch.len() == BATCH_DECISIONS || bytes >= BATCH_BYTES {
                send(std::mem::take(&mut batch));
                bytes = 0;
            }
        })?;
        send(batch);
        failed.map_or(Ok(()), Err)
    }
}

/// A thread with the stack that a judge needs.
fn judge_thread() -> thread::Builder {
    thread::Builder::new().stack_size(JUDGE_STACK_BYTES)
}

/// Judges what is handed out until nothing comes any more. What comes out does not depend on how many
/// do: each decision is judged by itself.
fn judge(set: &GuardPolicies, taken: &Receiver<Vec<Record>>) -> RehearsalReport {
    let mut rehearsal = PolicyRehearsal::new(set);
    let mut rehearsed = RehearsalReport::default();
    for record in taken.iter().flatten() {
        take(&mut rehearsal, &mut rehearsed, &record);
    }
    rehearsed
}

fn take(rehearsal: &mut PolicyRehearsal<'_>, rehearsed: &mut RehearsalReport, record: &Record) {
    let body = record.body.text().and_then(rehearsed_keys);
    let session = SessionId::parse(&record.session).ok();
    let read = body
        .as_ref()
        .zip(session)
        .map(|(body, session)| rehearsal.read(&session, UnixMillis(record.at), body));
    let (Some(body), Some(Ok(recorded))) = (&body, read) else {
        rehearsed.unreadable += 1;
        return;
    };
    // What was decided without the policies would be so again.
    let Some(recorded) = recorded else { return };
    rehearsed.decisions += 1;
    let found = rehearsal.find(&recorded);
    if found.word == recorded.word() {
        return;
    }
    let decided = DecidedBody::read(body);
    rehearsed.changed.push(ChangedDecision {
        record: record.number.0,
        session: record.session.clone(),
        at: record.at,
        action: decided.action.unwrap_or_default().into(),
        target: decided.target.unwrap_or_default().into(),
        about: about(&decided).into(),
        was: recorded.word(),
        now: found.word,
        policies: found.policies,
    });
}

/// The file that a decision was about, and its heading.
fn about(decided: &DecidedBody<'_>) -> String {
    let payload = decided.payload;
    let path = payload.and_then(|payload| payload.get("path")?.as_str());
    let heading = payload.and_then(|payload| payload.get(PREPARED)?.get("heading")?.as_str());
    path.into_iter().chain(heading).collect::<Vec<_>>().join(" ")
}

/// The keys of the body of a decision that a rehearsal looks at.
fn rehearsed_keys(text: &str) -> Option<Value> {
    let tree = bridle_loop::reader().read_one(text).ok()?;
    let root = tree.root();
    let pairs = DecidedBody::REHEARSED_KEYS
        .iter()
        .filter_map(|key| Some((*key, root.get(key)?.to_value())));
    Some(Value::plist(pairs))
}
