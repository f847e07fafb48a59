//! Reports on the record, made here: why something happened, what was done, what it cost.
//!
//! Called by `record_query` for shells that have no program beside them, such as an editor. Reasons name policies
//! and facts of all sessions, so they are for owners; deeds and costs of a session for those who may observe it.

use bridle_history::cost::{CostGrouping, CostRow, CostSelection};
use bridle_history::ledger::{EffectEntry, RecordMoment};
use bridle_history::why::{AnswerReport, DecisionReport};
use bridle_history::{HistoryError, RecordHistory};
use bridle_loop::KeywordName;
use bridle_record::{RecordReader, StoreError};
use bridle_sexp::Value;
use std::path::Path;

use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::queries::query::success;

/// Effects in one answer, the latest.
const MAX_REPORTED_EFFECTS: usize = 256;

/// Report that somebody wants.
#[derive(Clone, Debug)]
pub(super) enum RecordReport {
    /// Decisions and answers behind a record.
    Why(WhySubject),
    /// Acts of a session, or the one of a number.
    Effects { session: Box<str>, effect: Option<u64> },
    /// Tokens and money of a session, by model, of the thoughts behind a record.
    Costs { session: Box<str>, after: u64 },
}

/// Record whose reasons are wanted.
#[derive(Clone, Debug)]
pub(super) enum WhySubject {
    /// By its number.
    Record(u64),
    /// By its place in the stream of a session.
    Event { session: Box<str>, seq: u64 },
}

impl RecordReport {
    /// Reads a request; `None` if its action is no report.
    pub(super) fn of(payload: &Value) -> Option<Result<RecordReport, EngineError>> {
        let action = payload.get("action").and_then(KeywordName::of)?;
        let session = || {
            let name = payload.get("session").and_then(Value::as_str).map(Box::<str>::from);
            name.ok_or_else(|| EngineError::invalid("session", "expected a name"))
        };
        let number = |key| {
            let number = payload.get(key).and_then(Value::as_i64);
            number.and_then(|number| u64::try_from(number).ok())
        };
        Some(match action.as_str() {
            "why" => match (number("record"), number("seq")) {
                (Some(record), _) => Ok(WhySubject::Record(record)),
                (None, Some(seq)) => session().map(|session| WhySubject::Event { session, seq }),
                (None, None) => Err(EngineError::invalid("record", "expected `:record` or `:seq`")),
            }
            .map(RecordReport::Why),
            "effects" => {
                session().map(|session| RecordReport::Effects { session, effect: number("effect") })
            }
            "costs" => {
                let after = number("after").unwrap_or_default();
                session().map(|session| RecordReport::Costs { session, after })
            }
            _ => return None,
        })
    }

    /// The session that it is about, where those who observe that may have it.
    pub(super) fn observed_session(&self) -> Option<&str> {
        match self {
            RecordReport::Why(_) => None,
            RecordReport::Effects { session, .. } | RecordReport::Costs { session, .. } => {
                Some(session)
            }
        }
    }

    /// Makes it, from the record of a state folder.
    pub(super) fn make(
        self,
        reader: &RecordReader,
        state: &Path,
    ) -> Result<Result<Value, EngineError>, StoreError> {
        let made = RecordHistory::open(state).and_then(|history| match self {
            RecordReport::Why(subject) => why(reader, &history, &subject),
            RecordReport::Effects { session, effect } => {
                effects(&history, &session, effect).map(Ok)
            }
            RecordReport::Costs { session, after } => costs(&history, &session, after).map(Ok),
        });
        match made {
            Ok(made) => Ok(made),
            Err(HistoryError::Store(error)) => Err(error),
            Err(error) => Ok(Err(unknown(error.to_string()))),
        }
    }
}

fn unknown(reason: impl Into<String>) -> EngineError {
    EngineError::because(EngineErrorCode::UnknownId, reason)
}

fn why(
    reader: &RecordReader,
    history: &RecordHistory,
    subject: &WhySubject,
) -> Result<Result<Value, EngineError>, HistoryError> {
    let number = match subject {
        WhySubject::Record(number) => Some(*number),
        WhySubject::Event { session, seq } => {
            history.expect_session(session)?;
            let found = reader.stream(session, seq.saturating_sub(1), 1)?;
            let is_it = |record: &bridle_record::Record| record.seq == Some(*seq);
            found.into_iter().find(is_it).map(|record| record.number.0)
        }
    };
    let Some(number) = number else { return Ok(Err(unknown("no event of this number"))) };
    let found = match history.why(number) {
        Err(HistoryError::Store(StoreError::NoRecord(_))) => {
            return Ok(Err(unknown("no record of this number")));
        }
        found => found?,
    };
    let pairs = [
        ("record", count(number)),
        ("kind", Value::keyword(&found.record.kind)),
        ("session", Value::str(&*found.record.session)),
        ("at", Value::int(found.record.at)),
        ("by", Value::str(&*found.record.principal)),
        ("decisions", Value::list(found.decisions.iter().map(decision))),
        ("answers", Value::list(found.answers.iter().map(answer))),
    ];
    Ok(Ok(success("why", pairs)))
}

/// A decision: what was judged, by which rule, and the policies that determined it.
fn decision(decided: &DecisionReport) -> Value {
    let body = &decided.body;
    let kept = ["verdict", "action", "target", "by", "reason", "rule", "payload", "facts"];
    let kept = kept.into_iter().filter_map(|key| Some((key, body.get(key)?.clone())));
    let policies = decided.policies.iter().map(|cited| {
        let entry = cited.policy.as_ref();
        let text = |of: fn(&bridle_loop::PolicyEntry) -> &str| {
            entry.map(of).filter(|text| !text.is_empty()).map(Value::str)
        };
        let texts = [
            ("title", text(|it| &it.title)),
            ("prose", text(|it| &it.prose)),
            ("text", text(|it| &it.text)),
        ];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, text?)));
        Value::plist([("policy", Value::str(&*cited.id))].into_iter().chain(texts))
    });
    let head = [
        ("record", count(decided.record)),
        ("at", Value::int(decided.at)),
        ("policies", Value::list(policies)),
    ];
    Value::plist(head.into_iter().chain(kept))
}

fn answer(answered: &AnswerReport) -> Value {
    Value::plist([
        ("record", count(answered.record)),
        ("at", Value::int(answered.at)),
        ("by", Value::str(&*answered.principal)),
        ("answer", Value::str(&*answered.answer)),
    ])
}

fn effects(
    history: &RecordHistory,
    session: &str,
    wanted: Option<u64>,
) -> Result<Value, HistoryError> {
    history.expect_session(session)?;
    let mut entries = history.effects(Some(session))?;
    entries.retain(|entry| wanted.is_none() || entry.effect == wanted);
    let left_out = entries.len().saturating_sub(MAX_REPORTED_EFFECTS);
    let effects = Value::list(entries[left_out..].iter().map(|it| effect(it, wanted.is_some())));
    let more = (left_out > 0).then(|| ("left-out", count(left_out as u64)));
    Ok(success("effects", [("effects", effects)].into_iter().chain(more)))
}

/// An act; its payload only where one act is asked for: a list of them stays small.
fn effect(entry: &EffectEntry, is_whole: bool) -> Value {
    let text = |text: &Option<Box<str>>| text.as_deref().map(Value::str);
    let record = |moment: Option<RecordMoment>| moment.map(|moment| count(moment.record));
    let pairs = [
        ("effect", entry.effect.map(count)),
        ("target", Some(Value::keyword(&entry.target))),
        ("action", Some(Value::keyword(&entry.action))),
        ("outcome", entry.outcome.as_deref().map(Value::keyword)),
        ("intent", Some(count(entry.intent.record))),
        ("at", Some(Value::int(entry.intent.at))),
        ("started", record(entry.started)),
        ("ended", record(entry.ended)),
        ("by", text(&entry.by)),
        ("reason", text(&entry.reason)),
        ("payload", is_whole.then(|| entry.payload.clone())),
    ];
    Value::plist(pairs.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

/// Sums of a session by model, and what is in no sum; `:last` is what to ask behind the next time.
fn costs(history: &RecordHistory, session: &str, after: u64) -> Result<Value, HistoryError> {
    let wanted = CostSelection { session: Some(session), since: 0, after };
    let (rows, forgotten) = history.costs(CostGrouping::Model, wanted)?;
    let mut all = CostRow::default();
    rows.iter().for_each(|row| all.add(row));
    let latest = rows.iter().max_by_key(|row| row.last);
    let model = latest.map(|row| ("model", Value::str(row.key.as_str())));
    let rows = rows.iter().map(|row| {
        Value::plist([("model", Value::str(row.key.as_str()))].into_iter().chain(sums(row)))
    });
    let models = ("models", Value::list(rows));
    let rest = [models, ("forgotten", count(forgotten)), ("last", count(all.last.max(after)))];
    Ok(success("costs", model.into_iter().chain(sums(&all)).chain(rest)))
}

fn sums(row: &CostRow) -> impl Iterator<Item = (&'static str, Value)> {
    [
        ("thoughts", row.thoughts),
        ("input-tokens", row.input_tokens),
        ("output-tokens", row.output_tokens),
        ("uncounted", row.uncounted),
        ("cost-microdollars", row.microdollars),
        ("unpriced", row.unpriced),
    ]
    .into_iter()
    .map(|(key, number)| (key, count(number)))
}

fn count(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}
