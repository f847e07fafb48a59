//! `:target :record`: the record, read over the protocol.
//!
//! Each action is one way in which history reads: a page, a record, the head, the sessions. Whoever explains,
//! replays or exports does it at the other end with the same code as over the file, so the output is the same; for
//! shells that have no such code `record_report` explains here. An owner reads everything; everybody else the
//! sessions that they may observe, and of the daemon's own records none.

use std::fmt;
use std::sync::Arc;

use bridle_history::record_source::RecordSource as _;
use bridle_loop::{KeywordName, RecordKind, SessionAccess, SessionId};
use bridle_record::{
    Record, RecordBody, RecordFilter, RecordNumber, RecordReader, SessionRow, StoreError,
};
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::hub::Hub;
use crate::engine::queries::query::success;
use crate::engine::queries::record_report::RecordReport;

/// Target of these requests.
const RECORD: &str = "record";

/// Records in one page.
const MAX_PAGE_RECORDS: usize = 512;

/// Bytes of bodies after which a page ends.
const MAX_RECORD_PAGE_BYTES: usize = 1 << 20;

/// Records that are read first for a page: how large they are tells how many more fit.
const FIRST_READ_RECORDS: usize = 16;

/// Sessions in one answer.
const MAX_RECORD_SESSIONS: usize = 10_000;

/// Reason for a request that names no record.
const NO_NUMBER: &str = "expected the number of a record";

/// Ways to read the record.
#[derive(Clone, Debug)]
enum RecordRead {
    Head,
    Page { after: RecordNumber, filter: RecordFilter, limit: usize },
    Latest { kind: RecordKind, limit: usize },
    Record(RecordNumber),
    Session(Box<str>),
    Sessions,
    Waiting,
    Verify,
    Report(RecordReport),
}

/// A question about the record.
pub(crate) struct RecordQuery(RecordRead);

impl fmt::Debug for RecordQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordQuery").field(&self.0).finish()
    }
}

impl RecordQuery {
    /// Reads the payload of a request to this target; `None` when the target is another.
    pub(super) fn of(
        target: &KeywordName,
        payload: &Value,
    ) -> Option<Result<RecordQuery, EngineError>> {
        let read = || match RecordReport::of(payload) {
            Some(report) => report.map(RecordRead::Report),
            None => read(payload),
        };
        (target.as_str() == RECORD).then(|| read().map(RecordQuery))
    }
}

fn read(payload: &Value) -> Result<RecordRead, EngineError> {
    let action = payload.get("action").and_then(KeywordName::of);
    let number = |key: &'static str| match payload.get(key).filter(|number| !number.is_nil()) {
        None => Ok(None),
        Some(number) => number
            .as_i64()
            .and_then(|number| u64::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| EngineError::invalid(key, "expected a number")),
    };
    let limit = || {
        let limit = number("limit")?.and_then(|limit| usize::try_from(limit).ok());
        Ok::<usize, EngineError>(limit.unwrap_or(MAX_PAGE_RECORDS).clamp(1, MAX_PAGE_RECORDS))
    };
    let text = |key| payload.get(key).and_then(Value::as_str).map(Box::<str>::from);
    Ok(match action.as_ref().map_or("", KeywordName::as_str) {
        "head" => RecordRead::Head,
        "page" => {
            let kinds = payload.get("kinds").and_then(Value::elements).unwrap_or_default();
            let kinds = kinds.iter().filter_map(KeywordName::of);
            let filter = RecordFilter {
                session: text("session"),
                to: number("to")?.map(RecordNumber),
                kinds: kinds.map(|kind| kind.as_str().into()).collect(),
            };
            let after = RecordNumber(number("after")?.unwrap_or(0));
            RecordRead::Page { after, filter, limit: limit()? }
        }
        "latest" => {
            let kind = payload.get("kind").and_then(KeywordName::of);
            let kind = kind.and_then(|kind| RecordKind::parse(kind.as_str()));
            let kind = kind.ok_or_else(|| EngineError::invalid("kind", "expected a kind"))?;
            RecordRead::Latest { kind, limit: limit()? }
        }
        "record" => {
            let record = number("record")?;
            let record = record.ok_or_else(|| EngineError::invalid("record", NO_NUMBER))?;
            RecordRead::Record(RecordNumber(record))
        }
        "session" => {
            let name = text("session");
            let name = name.ok_or_else(|| EngineError::invalid("session", "expected a name"))?;
            RecordRead::Session(name)
        }
        "sessions" => RecordRead::Sessions,
        "waiting" => RecordRead::Waiting,
        "verify" => RecordRead::Verify,
        _ => {
            let text = "expected an action of `:record`: :costs :effects :head :page :latest :record \
                        :session :sessions :verify :waiting :why";
            return Err(EngineError {
                field: Some("action"),
                ..EngineError::because(EngineErrorCode::Unsupported, text)
            });
        }
    })
}

/// Answers a question about the record, as far as its asker may see it.
///
/// # Errors
/// The asker may not see it, or the record cannot be read.
pub(super) async fn answer(
    hub: &Arc<Hub>,
    who: &Principal,
    asked: RecordQuery,
) -> Result<Value, EngineError> {
    let RecordQuery(asked) = asked;
    let is_owner = who.is_owner();
    if *who == Principal::Anonymous || (!is_owner && !is_for_others(&asked)) {
        return Err(hub.forbid(who, RefusedAttempt::Recall));
    }
    if let (false, Some(session)) = (is_owner, observed_session(&asked)) {
        let session = Box::<str>::from(session);
        let row = hub.home.readers.read(move |reader| reader.session(&session)).await?;
        if !row.is_some_and(|row| is_visible(hub, who, &row)) {
            return Err(hub.forbid(who, RefusedAttempt::Recall));
        }
    }
    if let RecordRead::Report(report) = asked {
        let state = hub.home.guard.state_folder().to_owned();
        return hub.home.readers.read(move |reader| report.make(reader, &state)).await?;
    }
    let (home, viewer) = (Arc::clone(hub), who.clone());
    let sees = move |row: &SessionRow| viewer.is_owner() || is_visible(&home, &viewer, row);
    hub.home.readers.read(move |reader| found(reader, asked, &sees)).await
}

/// Whether somebody who is no owner may ask this at all: about single sessions.
fn is_for_others(asked: &RecordRead) -> bool {
    match asked {
        RecordRead::Page { .. } | RecordRead::Report(_) => observed_session(asked).is_some(),
        RecordRead::Record(_) | RecordRead::Session(_) | RecordRead::Sessions => true,
        RecordRead::Head | RecordRead::Latest { .. } | RecordRead::Waiting | RecordRead::Verify => {
            false
        }
    }
}

/// The session that a page or a report is about: whoever may observe it may have it.
fn observed_session(asked: &RecordRead) -> Option<&str> {
    let session = match asked {
        RecordRead::Page { filter, .. } => filter.session.as_deref(),
        RecordRead::Report(report) => report.observed_session(),
        _ => None,
    };
    session.filter(|name| !name.is_empty())
}

fn is_visible(hub: &Hub, who: &Principal, row: &SessionRow) -> bool {
    let id = SessionId::parse(&row.name);
    id.is_ok_and(|id| hub.home.may(who, SessionAccess::Observe, &id, &row.owner))
}

fn found(
    reader: &RecordReader,
    asked: RecordRead,
    sees: &dyn Fn(&SessionRow) -> bool,
) -> Result<Value, StoreError> {
    let records = |records: &[Record]| Value::list(records.iter().map(record_value));
    Ok(match asked {
        RecordRead::Head => {
            let head = reader.head()?;
            success("head", [("number", count(head.number.0)), ("hash", hex(head.hash))])
        }
        RecordRead::Page { after, filter, limit } => {
            success("page", [("records", records(&page(reader, after, &filter, limit)?))])
        }
        RecordRead::Latest { kind, limit } => {
            let (mut all, mut bytes) = (Vec::new(), 0);
            reader.latest(kind, limit, &mut |record| {
                bytes += weight(&record);
                if all.is_empty() || bytes <= MAX_RECORD_PAGE_BYTES {
                    all.push(record);
                }
            })?;
            success("latest", [("records", records(&all))])
        }
        RecordRead::Record(number) => {
            let record = reader.record(number)?.filter(|record| match &*record.session {
                // Of the daemon's own: for those who see everything.
                "" => sees(&nobodys_row()),
                name => reader.session(name).ok().flatten().is_some_and(|row| sees(&row)),
            });
            success("record", [("records", records(record.as_slice()))])
        }
        RecordRead::Session(name) => {
            let row = reader.session(&name)?.filter(sees);
            success("session", [("sessions", Value::list(row.iter().map(session_value)))])
        }
        RecordRead::Sessions => {
            let rows = reader.sessions()?;
            let rows = rows.iter().filter(|row| sees(row)).take(MAX_RECORD_SESSIONS);
            success("sessions", [("sessions", Value::list(rows.map(session_value)))])
        }
        RecordRead::Waiting => {
            let names = reader.waiting_sessions()?;
            let names = names.iter().map(|name| Value::str(&**name));
            success("waiting", [("sessions", Value::list(names))])
        }
        RecordRead::Verify => verified(reader)?,
        // Made before, with the history around it.
        RecordRead::Report(_) => Value::Nil,
    })
}

/// Checks every record.
fn verified(reader: &RecordReader) -> Result<Value, StoreError> {
    let report = reader.verify(None, &mut |_, _| {})?;
    let pairs = [
        ("number", count(report.head.number.0)),
        ("hash", hex(report.head.hash)),
        ("sessions", count(report.sessions)),
        ("erased", count(report.erased)),
        ("compacted", count(report.compacted)),
    ];
    Ok(success("verify", pairs))
}

/// Records after a number, as many as fit into an answer; none at the end.
fn page(
    reader: &RecordReader,
    mut after: RecordNumber,
    filter: &RecordFilter,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let (mut all, mut bytes, mut chunk): (Vec<Record>, usize, usize) =
        (Vec::new(), 0, FIRST_READ_RECORDS);
    while all.len() < limit && bytes < MAX_RECORD_PAGE_BYTES {
        let next = reader.records(after, filter, chunk.min(limit - all.len()))?;
        let Some(last) = next.last() else { break };
        after = last.number;
        for record in next {
            bytes += weight(&record);
            all.push(record);
            if bytes >= MAX_RECORD_PAGE_BYTES {
                return Ok(all);
            }
        }
        let usual = (bytes / all.len()).max(1);
        chunk = (MAX_RECORD_PAGE_BYTES - bytes) / usual + 1;
    }
    Ok(all)
}

fn weight(record: &Record) -> usize {
    size_of::<Record>() + record.body.text().map_or(0, str::len)
}

/// The row of a session that nobody has: only those who see everything see it.
fn nobodys_row() -> SessionRow {
    SessionRow {
        name: Box::default(),
        owner: Box::default(),
        created: 0,
        head_seq: 0,
        records: 0,
        last: RecordNumber(0),
        last_at: 0,
        forgotten: false,
    }
}

fn record_value(record: &Record) -> Value {
    let optional = [("seq", record.seq), ("cause", record.cause.map(|cause| cause.0))];
    let optional = optional.into_iter().filter_map(|(key, it)| Some((key, count(it?))));
    let body = match &record.body {
        RecordBody::Text(text) => Value::str(&**text),
        RecordBody::Erased => Value::keyword("erased"),
    };
    let pairs = [
        ("number", count(record.number.0)),
        ("session", Value::str(&*record.session)),
        ("at", Value::int(record.at)),
        ("principal", Value::str(&*record.principal)),
        ("kind", Value::str(&*record.kind)),
        ("version", Value::int(i64::from(record.version))),
        ("prev", hex(record.prev)),
        ("hash", hex(record.hash)),
        ("body", body),
    ];
    Value::plist(pairs.into_iter().chain(optional))
}

fn session_value(row: &SessionRow) -> Value {
    Value::plist([
        ("session", Value::str(&*row.name)),
        ("owner", Value::str(&*row.owner)),
        ("began", Value::int(row.created)),
        ("seq", count(row.head_seq)),
        ("records", count(row.records)),
        ("last", count(row.last.0)),
        ("at", Value::int(row.last_at)),
        ("forgotten", Value::bool(row.forgotten)),
    ])
}

fn hex(hash: bridle_record::RecordHash) -> Value {
    Value::str(hash.to_string())
}

fn count(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}
