//! The record of a daemon, read over the protocol with `:target :record`.
//!
//! Made by `record::open` where an address is given. History asks the same questions as of the file, so what
//! the commands print is the same. An unsigned TCP connection is shown nothing but single sessions: use the Unix
//! socket or a key.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bridle_history::record_source::RecordSource;
use bridle_history::{
    ChainHead, Record, RecordBody, RecordNumber, SessionRow, StoreError, VerifyReport,
};
use bridle_loop::RecordKind;
use bridle_record::{RecordFilter, RecordHash, RecordSize};
use bridle_sexp::{Value, read_one};
use bridle_shell::client::{DaemonClient, DaemonTarget, ErrorAnswer};

/// A connection that hands the record out.
#[derive(Debug)]
pub(super) struct RemoteRecord {
    client: Mutex<DaemonClient>,
    /// Name of the daemon, for messages.
    name: PathBuf,
}

impl RemoteRecord {
    /// Connects to a daemon.
    ///
    /// # Errors
    /// Nobody is there, or it does not speak.
    pub(super) fn connect(
        targets: &[DaemonTarget],
    ) -> Result<RemoteRecord, bridle_shell::ShellError> {
        let client = DaemonClient::connect_any(targets)?;
        let name = client.addr().to_string().into();
        Ok(RemoteRecord { client: Mutex::new(client), name })
    }

    fn failed(&self, text: impl Into<String>) -> StoreError {
        let source = io::Error::new(io::ErrorKind::NotConnected, text.into());
        StoreError::Io { path: self.name.clone(), source }
    }

    /// Asks one question; the payload of the answer.
    fn ask(&self, action: &str, arguments: &[(&str, Value)]) -> Result<Value, StoreError> {
        let action = [("action", Value::keyword(action))];
        let payload = Value::plist(action.into_iter().chain(arguments.iter().cloned()));
        let text = format!("(:type :REQUEST :id 1 :target :record :payload {payload})");
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = client.request(&text).map_err(|error| self.failed(error.to_string()))?;
        drop(client);
        let tree = read_one(&answer).map_err(|error| self.failed(error.to_string()))?;
        if let Some(refusal) = ErrorAnswer::of(tree.root()) {
            return Err(self.failed(refusal.message));
        }
        let payload = tree.root().get("payload");
        payload.map(|payload| payload.to_value()).ok_or_else(|| self.failed("no answer"))
    }

    fn records_of(&self, answer: &Value) -> Result<Vec<Record>, StoreError> {
        let records = answer.get("records").and_then(Value::elements).unwrap_or_default();
        let read = |value: &Value| record(value).ok_or_else(|| self.failed("an unreadable record"));
        records.iter().map(read).collect()
    }

    fn sessions_of(&self, answer: &Value) -> Result<Vec<SessionRow>, StoreError> {
        let rows = answer.get("sessions").and_then(Value::elements).unwrap_or_default();
        let read = |value: &Value| row(value).ok_or_else(|| self.failed("an unreadable session"));
        rows.iter().map(read).collect()
    }

    fn head_of(&self, answer: &Value) -> Result<ChainHead, StoreError> {
        head(answer).ok_or_else(|| self.failed("an unreadable head"))
    }
}

impl RecordSource for RemoteRecord {
    fn head(&self) -> Result<ChainHead, StoreError> {
        self.head_of(&self.ask("head", &[])?)
    }

    fn record(&self, number: RecordNumber) -> Result<Option<Record>, StoreError> {
        let answer = self.ask("record", &[("record", count(number.0))])?;
        Ok(self.records_of(&answer)?.into_iter().next())
    }

    fn records(
        &self,
        after: RecordNumber,
        filter: &RecordFilter,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let mut arguments = vec![("after", count(after.0)), ("limit", count(limit as u64))];
        arguments.extend(filter.session.as_ref().map(|name| ("session", Value::str(&**name))));
        arguments.extend(filter.to.map(|to| ("to", count(to.0))));
        if !filter.kinds.is_empty() {
            let kinds = filter.kinds.iter().map(|kind| Value::keyword(kind));
            arguments.push(("kinds", Value::list(kinds)));
        }
        self.records_of(&self.ask("page", &arguments)?)
    }

    fn latest(
        &self,
        kind: RecordKind,
        limit: usize,
        take: &mut dyn FnMut(Record),
    ) -> Result<(), StoreError> {
        let arguments = [("kind", Value::keyword(kind.word())), ("limit", count(limit as u64))];
        self.records_of(&self.ask("latest", &arguments)?)?.into_iter().for_each(take);
        Ok(())
    }

    fn session(&self, name: &str) -> Result<Option<SessionRow>, StoreError> {
        let answer = self.ask("session", &[("session", Value::str(name))])?;
        Ok(self.sessions_of(&answer)?.into_iter().next())
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.sessions_of(&self.ask("sessions", &[])?)
    }

    fn waiting_sessions(&self) -> Result<Vec<Box<str>>, StoreError> {
        let answer = self.ask("waiting", &[])?;
        let names = answer.get("sessions").and_then(Value::elements).unwrap_or_default();
        Ok(names.iter().filter_map(|name| name.as_str().map(Into::into)).collect())
    }

    /// Has the daemon check every record; a head that was kept elsewhere is compared here.
    fn verify(
        &self,
        kept: Option<ChainHead>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport, StoreError> {
        let answer = self.ask("verify", &[])?;
        let number = |key| natural(&answer, key).ok_or_else(|| self.failed("an unreadable report"));
        let report = VerifyReport {
            head: self.head_of(&answer)?,
            sessions: number("sessions")?,
            erased: number("erased")?,
            compacted: number("compacted")?,
        };
        if let Some(kept) = kept.filter(|kept| kept.number.0 > 0) {
            let there = self.record(kept.number)?;
            if there.is_none_or(|record| record.hash != kept.hash) {
                return Err(
                    self.failed(format!("record {} is not the one of the kept head", kept.number))
                );
            }
        }
        progress(report.head.number.0, report.head.number.0);
        Ok(report)
    }

    fn size(&self, _: &Path) -> Result<RecordSize, StoreError> {
        Err(self.failed("the size of a record is known where its file is"))
    }
}

fn head(value: &Value) -> Option<ChainHead> {
    Some(ChainHead { number: RecordNumber(natural(value, "number")?), hash: hash(value, "hash")? })
}

fn record(value: &Value) -> Option<Record> {
    let text = |key| value.get(key).and_then(Value::as_str).map(Box::<str>::from);
    let body = match value.get("body")? {
        Value::Str(text) => RecordBody::Text(text.to_string()),
        _ => RecordBody::Erased,
    };
    Some(Record {
        number: RecordNumber(natural(value, "number")?),
        session: text("session")?,
        seq: natural(value, "seq"),
        at: value.get("at")?.as_i64()?,
        cause: natural(value, "cause").map(RecordNumber),
        principal: text("principal")?,
        kind: text("kind")?,
        version: natural(value, "version").and_then(|it| u32::try_from(it).ok())?,
        body,
        prev: hash(value, "prev")?,
        hash: hash(value, "hash")?,
    })
}

fn row(value: &Value) -> Option<SessionRow> {
    let text = |key| value.get(key).and_then(Value::as_str).map(Box::<str>::from);
    Some(SessionRow {
        name: text("session")?,
        owner: text("owner")?,
        created: value.get("began")?.as_i64()?,
        head_seq: natural(value, "seq")?,
        records: natural(value, "records")?,
        last: RecordNumber(natural(value, "last")?),
        last_at: value.get("at")?.as_i64()?,
        forgotten: value.get("forgotten").is_some_and(|flag| !flag.is_nil()),
    })
}

fn natural(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_i64().and_then(|number| u64::try_from(number).ok())
}

fn hash(value: &Value, key: &str) -> Option<RecordHash> {
    RecordHash::from_hex(value.get(key)?.as_str()?)
}

fn count(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}
