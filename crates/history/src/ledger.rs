//! The ledger of effects: what was to be done, whether it was begun, how it ended.
//!
//! Called by `bridle effects`. Reads the intents, starts and outcomes of the record and nothing else.

use bridle_loop::{IntentBody, Outcome, OutcomeBody, RecordKind};
use bridle_record::{Record, RecordFilter, RecordNumber};
use bridle_sexp::Value;
use std::collections::HashMap;

use super::record_source::{kind_of, of_kinds};
use super::{HistoryError, PAGE_RECORDS, RecordHistory, record_body};

/// Kinds of records that the ledger is made of.
const LEDGER_KINDS: [RecordKind; 4] =
    [RecordKind::Act, RecordKind::Started, RecordKind::Acted, RecordKind::Settled];

/// The outcome of an effect of which it cannot be read any more, and the name of what cannot.
const FORGOTTEN: &str = "forgotten";

/// One effect.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectEntry {
    /// Its session.
    pub session: Box<str>,
    /// Its number there; absent when the intent is forgotten.
    pub effect: Option<u64>,
    /// The actuator.
    pub target: Box<str>,
    /// The action.
    pub action: Box<str>,
    /// Payload for the actuator; nil when it is forgotten.
    pub payload: Value,
    /// Record of the intent.
    pub intent: RecordMoment,
    /// Record of the start, by an actuator of the daemon.
    pub started: Option<RecordMoment>,
    /// Record of the outcome.
    pub ended: Option<RecordMoment>,
    /// Outcome: `done`, `denied`, `expired`, `superseded`, `failed`, `unknown-outcome`; `forgotten`
    /// when that cannot be read any more.
    pub outcome: Option<Box<str>>,
    /// Principal that told the outcome.
    pub by: Option<Box<str>>,
    /// Reason why it was not done, where there is one.
    pub reason: Option<Box<str>>,
}

/// A record and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordMoment {
    /// Number of the record.
    pub record: u64,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl EffectEntry {
    /// Whether nobody knows yet, or for good, how it ended.
    pub fn is_open(&self) -> bool {
        self.outcome.is_none() || self.is_unknown()
    }

    /// Whether it was begun and nobody knows how it ended.
    pub fn is_unknown(&self) -> bool {
        self.outcome.as_deref() == Some(Outcome::UnknownOutcome.word())
    }
}

impl RecordHistory {
    /// All effects, in the order of their intents.
    ///
    /// # Errors
    /// What the store said; an unknown session.
    pub fn effects(&self, session: Option<&str>) -> Result<Vec<EffectEntry>, HistoryError> {
        let filter = RecordFilter { session: session.map(Into::into), ..of_kinds(LEDGER_KINDS) };
        let mut ledger = EffectLedger::default();
        let mut after = RecordNumber(0);
        loop {
            let page = self.source.records(after, &filter, PAGE_RECORDS)?;
            let Some(last) = page.last() else { return Ok(ledger.entries) };
            after = last.number;
            page.iter().for_each(|record| ledger.take(record));
        }
    }
}

#[derive(Default)]
struct EffectLedger {
    entries: Vec<EffectEntry>,
    /// Places of the entries that wait for something, by session and effect. A name that is used
    /// again after its session was forgotten counts from 1 again.
    waiting: HashMap<(Box<str>, u64), usize>,
    /// Places of those entries by the number of the intent, which outcomes name as their cause.
    intents: HashMap<u64, usize>,
}

impl EffectLedger {
    fn take(&mut self, record: &Record) {
        let kind = kind_of(record);
        let value = record.body.text().map(record_body::value);
        if kind == Some(RecordKind::Act) {
            return self.intent(record, value.as_ref().map(IntentBody::read));
        }
        let moment = RecordMoment { record: record.number.0, at: record.at };
        let body = value.as_ref().map(OutcomeBody::read);
        let named = body
            .and_then(|body| body.effect)
            .and_then(|it| self.waiting.get(&(record.session.clone(), it)));
        let caused = record.cause.and_then(|cause| self.intents.get(&cause.0));
        // What ends a question ends no act.
        let Some(entry) = named.or(caused).and_then(|at| self.entries.get_mut(*at)) else { return };
        if kind == Some(RecordKind::Started) {
            entry.started = Some(moment);
            return;
        }
        entry.ended = Some(moment);
        entry.outcome = Some(body.and_then(|body| body.outcome).unwrap_or(FORGOTTEN).into());
        entry.by = Some(record.principal.clone());
        entry.reason = body.and_then(|body| body.reason).map(Into::into);
        let intent = entry.intent.record;
        if let Some(effect) = entry.effect {
            self.waiting.remove(&(record.session.clone(), effect));
        }
        self.intents.remove(&intent);
    }

    fn intent(&mut self, record: &Record, body: Option<IntentBody<'_>>) {
        let intent = RecordMoment { record: record.number.0, at: record.at };
        let effect = body.and_then(|body| body.effect);
        let at = self.entries.len();
        self.entries.push(EffectEntry {
            session: record.session.clone(),
            effect,
            target: body.and_then(|body| body.target).unwrap_or(FORGOTTEN).into(),
            action: body.and_then(|body| body.action()).unwrap_or(FORGOTTEN).into(),
            payload: body.and_then(|body| body.payload).cloned().unwrap_or(Value::Nil),
            intent,
            started: None,
            ended: None,
            outcome: None,
            by: None,
            reason: None,
        });
        self.intents.insert(intent.record, at);
        if let Some(effect) = effect {
            self.waiting.insert((record.session.clone(), effect), at);
        }
    }
}
