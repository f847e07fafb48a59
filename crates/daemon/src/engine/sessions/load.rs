//! From the record to memory: a session's State, and pages of its stream.
//!
//! Everything here runs on threads for blocking work. Loading reads the last checkpoint and what
//! came after it, never the whole history.

use bridle_history::policy_sets::PolicySetCache;
use bridle_history::record_source::kind_of;
use bridle_history::session_fold::{HistoryFold, fold, is_fold_of, parse};
use bridle_loop::{
    ActuatorLocation, Effect, KeywordName, LOOP_VERSION, RecordKind, Seq, SessionId,
};
use bridle_record::{LoadedSessionRows, ReceiptRow, Record, RecordReader, StoreError};
use bridle_sexp::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::home::Home;
use crate::engine::home::readers::ReaderPool;
use crate::engine::sessions::live_session::{GuardQuestion, ShellRequest};
use crate::engine::sessions::loaded_session::{AdmittedMessage, LoadedSession, SessionReceipts};
use crate::engine::stream::{StreamEvent, StreamEventKind};

/// Bytes after which a page ends: it is held while its shell takes it, and there may be thousands
/// of shells that take their time.
const MAX_PAGE_BYTES: usize = 256 << 10;

/// Events read first for a page; how large they are tells how many more fit, so that large ones
/// are not read to be thrown away.
const FIRST_READ_EVENTS: usize = 16;

/// A session as it was found.
pub(in crate::engine) struct FoundSession {
    pub(in crate::engine) core: LoadedSession,
    /// Requests to shells that wait for an answer.
    pub(in crate::engine) requests: BTreeMap<u64, ShellRequest>,
    /// Questions of the guard that wait for an answer.
    pub(in crate::engine) questions: BTreeMap<u64, GuardQuestion>,
}

/// Reads a session; one that the record does not know has yet to begin.
///
/// # Errors
/// The record cannot be read.
pub(in crate::engine) async fn load(
    home: &Home,
    id: &SessionId,
) -> Result<FoundSession, EngineError> {
    let (id, now, sets) = (id.clone(), home.now(), Arc::clone(&home.guard.sets));
    home.readers.read(move |reader| read(reader, &sets, id, now)).await
}

/// Reads events of a session after a number.
///
/// # Errors
/// The record cannot be read.
pub(in crate::engine) async fn page(
    readers: &ReaderPool,
    session: SessionId,
    after: u64,
    most: usize,
) -> Result<Vec<Arc<StreamEvent>>, EngineError> {
    readers.read(move |reader| read_page(reader, &session, after, most)).await
}

/// The result of an act whose outcome has this number in the stream of its session; `None` if there is none.
///
/// # Errors
/// The record cannot be read.
pub(in crate::engine) async fn result(
    readers: &ReaderPool,
    session: SessionId,
    seq: Seq,
) -> Result<Option<Value>, EngineError> {
    let after = seq.0.saturating_sub(1);
    let found = readers.read(move |reader| reader.stream(session.as_str(), after, 1)).await?;
    let is_meant =
        |record: &&Record| record.seq == Some(seq.0) && kind_of(record) == Some(RecordKind::Acted);
    let body = found.iter().find(is_meant).and_then(|record| parse(record.body.text()?));
    Ok(body.and_then(|body| body.get("result").cloned()))
}

fn read_page(
    reader: &RecordReader,
    session: &SessionId,
    mut after: u64,
    most: usize,
) -> Result<Vec<Arc<StreamEvent>>, StoreError> {
    let (mut page, mut bytes, mut chunk) = (Vec::new(), 0, FIRST_READ_EVENTS);
    while page.len() < most && bytes < MAX_PAGE_BYTES {
        let next = reader.stream(session.as_str(), after, chunk.min(most - page.len()))?;
        if next.is_empty() {
            break;
        }
        for event in next.into_iter().filter_map(stream_event) {
            after = event.seq;
            bytes += event.len();
            page.push(event);
            if bytes >= MAX_PAGE_BYTES {
                break;
            }
        }
        let usual = bytes / page.len().max(1);
        chunk = MAX_PAGE_BYTES.saturating_sub(bytes) / usual.max(1) + 1;
    }
    Ok(page)
}

fn read(
    reader: &RecordReader,
    sets: &PolicySetCache,
    id: SessionId,
    now: i64,
) -> Result<FoundSession, StoreError> {
    let is_known = reader.session(id.as_str())?.is_some_and(|row| !row.forgotten);
    if !is_known {
        let (requests, questions) = Default::default();
        return Ok(FoundSession { core: LoadedSession::unborn(id), requests, questions });
    }
    let loaded = reader.load(id.as_str(), now)?;
    let unsaved = loaded.tail.len();
    let state = fold(HistoryFold { reader, sets }, id.clone(), &loaded)?;
    let is_folded =
        state.version() >= LOOP_VERSION || is_fold_of(HistoryFold { reader, sets }, &state)?;
    let mut core = LoadedSession::read(state, receipts(&loaded), unsaved);
    core.is_folded = is_folded;
    for row in &loaded.open {
        core.open.insert(row.effect, None);
        if row.started {
            core.started.insert(row.effect);
        }
    }
    let (requests, questions) = Default::default();
    let mut found = FoundSession { core, requests, questions };
    take_intents(reader, &id, &mut found)?;
    Ok(found)
}

/// Finds the records of acts and questions that wait: the cause of their outcome, and what shells
/// were asked.
fn take_intents(
    reader: &RecordReader,
    id: &SessionId,
    found: &mut FoundSession,
) -> Result<(), StoreError> {
    let FoundSession { core, requests, questions } = found;
    for (effect, what) in core.state.outstanding() {
        let (Effect::Act { seq, .. } | Effect::Ask { seq, .. }) = &what else { continue };
        let records = reader.stream(id.as_str(), seq.0 - 1, 1)?;
        let Some(record) = records.into_iter().next() else { continue };
        core.open.insert(effect.0, Some(record.number.0));
        let Some(event) = stream_event(record) else { continue };
        match what {
            // One that counts as begun was asked before records were lost: nobody is asked again.
            Effect::Act { order, .. }
                if order.place() == ActuatorLocation::Shell
                    && !core.started.contains(&effect.0) =>
            {
                let target: KeywordName = order.target().clone();
                requests.insert(effect.0, ShellRequest { target, event, asked: None });
            }
            Effect::Ask { question, .. } => {
                questions.insert(effect.0, GuardQuestion { event, question });
            }
            _ => {}
        }
    }
    Ok(())
}

fn receipts(loaded: &LoadedSessionRows) -> SessionReceipts {
    let mut receipts = SessionReceipts::default();
    for &ReceiptRow { seq, at, message, body } in &loaded.receipts {
        receipts.note(message, AdmittedMessage { body, seq, at });
    }
    receipts
}

fn stream_event(record: Record) -> Option<Arc<StreamEvent>> {
    let kind = StreamEventKind::of(kind_of(&record)?)?;
    let body = match record.body {
        bridle_record::RecordBody::Text(text) => Some(text.into()),
        bridle_record::RecordBody::Erased => None,
    };
    let (record_number, at) = (record.number.0, record.at);
    Some(Arc::new(StreamEvent {
        seq: record.seq?,
        record: record_number,
        at,
        kind,
        body,
        origin: None,
    }))
}
