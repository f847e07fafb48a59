//! The ledger of effects: what was to be done, whether it was begun, how it ended.
//!
//! Called by `bridle effects`. Reads the intents, starts and outcomes of the record and nothing else.

use std::collections::HashMap;

use bridle_record::{Record, RecordFilter, RecordNumber};
use bridle_sexp::Value;

use super::{HistoryError, PAGE, RecordHistory, record_body};

/// Kinds of records that the ledger is made of.
const KINDS: [&str; 4] = ["act", "started", "acted", "settled"];

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
    /// What the actuator was told; nil when it is forgotten.
    pub payload: Value,
    /// When it was to be done.
    pub intent: RecordMoment,
    /// When it was begun, by an actuator of the daemon.
    pub started: Option<RecordMoment>,
    /// When it ended.
    pub ended: Option<RecordMoment>,
    /// How it ended: `done`, `denied`, `expired`, `superseded`, `failed`, `unknown-outcome`; `forgotten`
    /// when that cannot be read any more.
    pub outcome: Option<Box<str>>,
    /// Who said how it ended.
    pub by: Option<Box<str>>,
    /// Why it was not done, where somebody said so.
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
        self.outcome.as_deref().is_none_or(|outcome| outcome == UNKNOWN)
    }

    /// Whether it was begun and nobody knows how it ended.
    pub fn is_unknown(&self) -> bool {
        self.outcome.as_deref() == Some(UNKNOWN)
    }
}

const UNKNOWN: &str = "unknown-outcome";

impl RecordHistory {
    /// All effects, in the order of their intents.
    ///
    /// # Errors
    /// What the store said; an unknown session.
    pub fn effects(&self, session: Option<&str>) -> Result<Vec<EffectEntry>, HistoryError> {
        let filter = RecordFilter {
            session: session.map(Into::into),
            to: None,
            kinds: KINDS.map(Into::into).to_vec(),
        };
        let mut ledger = EffectLedger::default();
        let mut after = RecordNumber(0);
        loop {
            let page = self.reader.records(after, &filter, PAGE)?;
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
    /// The same by the number of the intent, which outcomes name as their cause.
    intents: HashMap<u64, usize>,
}

impl EffectLedger {
    fn take(&mut self, record: &Record) {
        let value = record.body.text().map(record_body::value);
        let effect = value.as_ref().and_then(|value| value.get("effect")?.as_i64());
        let effect = effect.and_then(|effect| u64::try_from(effect).ok());
        let moment = RecordMoment { record: record.number.0, at: record.at };
        if &*record.kind == "act" {
            return self.intent(record, moment, effect, value.as_ref());
        }
        let named = effect.and_then(|it| self.waiting.get(&(record.session.clone(), it)));
        let caused = record.cause.and_then(|cause| self.intents.get(&cause.0));
        // What ends a question ends no act.
        let Some(entry) = named.or(caused).and_then(|at| self.entries.get_mut(*at)) else { return };
        if &*record.kind == "started" {
            entry.started = Some(moment);
            return;
        }
        let outcome = value.as_ref().and_then(|value| value.get("outcome")?.as_keyword());
        entry.ended = Some(moment);
        entry.outcome = Some(outcome.unwrap_or("forgotten").into());
        entry.by = Some(record.principal.clone());
        let reason = value.as_ref().and_then(|value| value.get("reason")?.as_str());
        entry.reason = reason.map(Into::into);
        let intent = entry.intent.record;
        if let Some(effect) = entry.effect {
            self.waiting.remove(&(record.session.clone(), effect));
        }
        self.intents.remove(&intent);
    }

    fn intent(
        &mut self,
        record: &Record,
        intent: RecordMoment,
        effect: Option<u64>,
        value: Option<&Value>,
    ) {
        let payload = value.and_then(|value| value.get("payload"));
        let word = |value: Option<&Value>, key| {
            let word = value.and_then(|value| value.get(key)?.as_keyword());
            word.unwrap_or("forgotten").into()
        };
        let at = self.entries.len();
        self.entries.push(EffectEntry {
            session: record.session.clone(),
            effect,
            target: word(value, "target"),
            action: word(payload, "action"),
            payload: payload.cloned().unwrap_or(Value::Nil),
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
