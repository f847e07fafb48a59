//! What an answer followed from, for shells that ask for it in their hello: the gates that its turn passed, how many
//! rules that were, and where the user was.
//!
//! Read from the record, so that an answer that is read again has the same words, whoever reads it.

use std::sync::Arc;

use bridle_history::record_source::kind_of;
use bridle_history::session_fold;
use bridle_loop::{
    DecidedBody, FinishBody, RecordKind, SayBody, SensorClass, SessionId, SignalBody,
};
use bridle_record::{RecordFilter, RecordNumber, RecordReader, StoreError};
use bridle_sexp::Value;

use crate::engine::error::EngineError;
use crate::engine::hub::Hub;
use crate::engine::stream::StreamEvent;

/// Most gates in one answer, the latest.
const MAX_GATES: usize = 128;

/// Records of a turn that are looked through.
const MAX_TURN_RECORDS: usize = 4_096;

/// Events before a message among which the user's place is looked for.
const MAX_FOCUS_EVENTS: u64 = 256;

/// Keys that answers may have, in the words of clients.
pub(crate) const ANSWER_KEYS: [&str; 3] = ["gate-trace", "rule-count", "foveal-id"];

/// Values of these keys for an answer: the list of `(:gate NAME :result WORD)`, the number of rules that were asked, and
/// the id of the user's place or nil.
///
/// # Errors
/// The record cannot be read.
pub(crate) async fn trace_answer(
    hub: &Arc<Hub>,
    session: SessionId,
    answer: Arc<StreamEvent>,
) -> Result<[Value; 3], EngineError> {
    hub.home.readers.read(move |reader| traced(reader, &session, &answer)).await
}

fn traced(
    reader: &RecordReader,
    session: &SessionId,
    answer: &StreamEvent,
) -> Result<[Value; 3], StoreError> {
    let body = answer.body.as_deref().and_then(session_fold::parse).unwrap_or(Value::Nil);
    let Some(signal) = SayBody::read(&body).answers else {
        return Ok([Value::Nil, Value::int(0), Value::Nil]);
    };
    let asked = reader.stream(session.as_str(), signal.saturating_sub(1), 1)?;
    let first = asked.first().map_or(RecordNumber(0), |record| record.number);
    let (gates, rules) = gates(reader, session, first, answer.record)?;
    let gates = Value::list(gates);
    let rules = Value::int(i64::try_from(rules).unwrap_or(i64::MAX));
    Ok([gates, rules, focus(reader, session, signal)?])
}

/// Gates of the turn that an answer ended, and how many there were.
fn gates(
    reader: &RecordReader,
    session: &SessionId,
    first: RecordNumber,
    answer: u64,
) -> Result<(Vec<Value>, usize), StoreError> {
    let kinds = [RecordKind::Decided, RecordKind::Finish];
    let filter = RecordFilter {
        session: Some(session.as_str().into()),
        // A turn ends with the record behind its answer.
        to: Some(RecordNumber(answer.saturating_add(1))),
        kinds: kinds.iter().map(|kind| kind.word().into()).collect(),
    };
    let records = reader.records(first, &filter, MAX_TURN_RECORDS)?;
    let parsed = records.iter().filter_map(|record| {
        Some((kind_of(record)?, record.number.0, session_fold::parse(record.body.text()?)?))
    });
    let parsed: Vec<(RecordKind, u64, Value)> = parsed.collect();
    let ends = |(kind, number, value): &(RecordKind, u64, Value)| {
        let is_end = *kind == RecordKind::Finish && *number > answer;
        FinishBody::turn_end(value).0.filter(|_| is_end)
    };
    let Some(turn) = parsed.iter().find_map(ends) else { return Ok((Vec::new(), 0)) };
    let mut gates = Vec::new();
    for (_, _, value) in parsed.iter().filter(|(kind, _, _)| *kind == RecordKind::Decided) {
        let decided = DecidedBody::read(value);
        if decided.turn == Some(turn) {
            gates.extend(decided.checked().map(|[gate, result]| {
                Value::plist([("gate", Value::keyword(gate)), ("result", Value::keyword(result))])
            }));
        }
    }
    let rules = gates.len();
    Ok((gates.split_off(rules.saturating_sub(MAX_GATES)), rules))
}

/// Id of the place of the user when a message came: what its shell said last, the heading before the file.
fn focus(reader: &RecordReader, session: &SessionId, signal: u64) -> Result<Value, StoreError> {
    let after = signal.saturating_sub(MAX_FOCUS_EVENTS);
    let count = usize::try_from(signal.saturating_sub(after)).unwrap_or_default();
    let before = reader.stream(session.as_str(), after, count)?;
    for record in before.iter().rev().filter(|it| kind_of(it) == Some(RecordKind::Signal)) {
        let Some(body) = record.body.text().and_then(session_fold::parse) else { continue };
        let Some(payload) = SignalBody::read(&body).payload else { continue };
        let named = |key: &str| payload.get(key).filter(|id| id.as_str().is_some()).cloned();
        if let Some(id) = named("target-id") {
            return Ok(id);
        }
        let Some(sensor) = payload.get("sensor") else { continue };
        let class = SensorClass::matching(|name| sensor.is_keyword(name));
        if matches!(class, SensorClass::Place | SensorClass::Buffer) {
            let id = ["id", "file", "buffer"].into_iter().find_map(named);
            return Ok(id.unwrap_or(Value::Nil));
        }
    }
    Ok(Value::Nil)
}
