//! From the record to memory: a session's State, and pages of its stream.
//!
//! Everything here runs on threads for blocking work. Loading reads the last checkpoint and what
//! came after it, never the whole history.

use std::collections::BTreeMap;
use std::sync::Arc;

use bridle_loop::{Effect, Event, Name, Place, SessionId, State, Time, step};
use bridle_sexp::Value;
use bridle_store::{Error, Loaded, Reader, ReceiptRow, Record};
use bridle_wire::oacp::Failure;

use super::core::{Admitted, Core, Receipts};
use super::hub::Hub;
use super::readers::Readers;
use super::session::Request;
use super::terms::{Kind, StreamEvent};

/// Kinds of records that are events: what a State is the fold of.
pub(crate) const EVENTS: [&str; 8] =
    ["began", "signal", "registered", "consulted", "drafted", "acted", "tick", "cancelled"];

/// Bytes after which a page ends: it is held while its shell takes it, and there may be thousands
/// of shells that take their time.
const PAGE_BYTES: usize = 256 << 10;

/// Events read first for a page; how large they are tells how many more fit, so that large ones
/// are not read to be thrown away.
const FIRST: usize = 16;

/// A session as it was found.
pub(super) struct Found {
    pub(super) core: Core,
    /// Requests to shells that wait for an answer.
    pub(super) requests: BTreeMap<u64, Request>,
}

/// Reads a session; one that the record does not know has yet to begin.
///
/// # Errors
/// The record cannot be read.
pub(super) async fn load(hub: &Arc<Hub>, id: &SessionId) -> Result<Found, Failure> {
    let (id, now) = (id.clone(), hub.now());
    hub.readers.read(move |reader| read(reader, id, now)).await
}

/// Reads events of a session after a number.
///
/// # Errors
/// The record cannot be read.
pub(super) async fn page(
    readers: &Readers,
    session: SessionId,
    after: u64,
    most: usize,
) -> Result<Vec<Arc<StreamEvent>>, Failure> {
    readers.read(move |reader| read_page(reader, &session, after, most)).await
}

fn read_page(
    reader: &Reader,
    session: &SessionId,
    mut after: u64,
    most: usize,
) -> Result<Vec<Arc<StreamEvent>>, Error> {
    let (mut page, mut bytes, mut chunk) = (Vec::new(), 0, FIRST);
    while page.len() < most && bytes < PAGE_BYTES {
        let next = reader.stream(session.as_str(), after, chunk.min(most - page.len()))?;
        if next.is_empty() {
            break;
        }
        for event in next.into_iter().filter_map(stream_event) {
            after = event.seq;
            bytes += event.len();
            page.push(event);
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        let usual = bytes / page.len().max(1);
        chunk = PAGE_BYTES.saturating_sub(bytes) / usual.max(1) + 1;
    }
    Ok(page)
}

fn read(reader: &Reader, id: SessionId, now: i64) -> Result<Found, Error> {
    let is_known = reader.session(id.as_str())?.is_some_and(|row| !row.forgotten);
    if !is_known {
        return Ok(Found { core: Core::unborn(id), requests: BTreeMap::new() });
    }
    let loaded = reader.load(id.as_str(), now)?;
    let unsaved = loaded.tail.len();
    let state = fold(id.clone(), &loaded)?;
    let mut core = Core::read(state, receipts(&loaded), unsaved);
    for row in &loaded.open {
        core.open.insert(row.effect, None);
        if row.started {
            core.started.insert(row.effect);
        }
    }
    let requests = take_intents(reader, &id, &mut core)?;
    Ok(Found { core, requests })
}

/// The State after all events of a session.
pub(crate) fn fold(id: SessionId, loaded: &Loaded) -> Result<State, Error> {
    let mut state = match &loaded.checkpoint {
        None => State::new(id),
        Some((number, text)) => {
            let value = parse(text).ok_or_else(|| damaged("the state after record", number.0))?;
            State::from_value(&value).map_err(|_| damaged("the state after record", number.0))?
        }
    };
    for record in &loaded.tail {
        apply(&mut state, record)?;
    }
    Ok(state)
}

/// Feeds a record to a State, if it is an event.
pub(super) fn apply(state: &mut State, record: &Record) -> Result<(), Error> {
    if !EVENTS.contains(&&*record.kind) {
        return Ok(());
    }
    let fault = || damaged("record", record.number.0);
    let value = record.body.text().and_then(parse).ok_or_else(fault)?;
    let event = Event::from_value(&record.kind, &value).map_err(|_| fault())?;
    step(state, Time(record.at), event);
    Ok(())
}

/// Finds the records of acts that wait: the cause of their outcome, and what shells were asked.
fn take_intents(
    reader: &Reader,
    id: &SessionId,
    core: &mut Core,
) -> Result<BTreeMap<u64, Request>, Error> {
    let mut requests = BTreeMap::new();
    for (effect, what) in core.state.outstanding() {
        let Effect::Act { seq, order, .. } = what else { continue };
        let found = reader.stream(id.as_str(), seq.0 - 1, 1)?;
        let Some(record) = found.into_iter().next() else { continue };
        core.open.insert(effect.0, Some(record.number.0));
        if order.place() == Place::Shell
            && let Some(event) = stream_event(record)
        {
            let target: Name = order.target().clone();
            requests.insert(effect.0, Request { target, event, asked: None });
        }
    }
    Ok(requests)
}

fn receipts(loaded: &Loaded) -> Receipts {
    let mut receipts = Receipts::default();
    for &ReceiptRow { seq, at, message, body } in &loaded.receipts {
        receipts.note(message, Admitted { body, seq, at });
    }
    receipts
}

fn stream_event(record: Record) -> Option<Arc<StreamEvent>> {
    let kind = Kind::from_record(&record.kind)?;
    let body = match record.body {
        bridle_store::Body::Text(text) => Some(text.into()),
        bridle_store::Body::Erased => None,
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

/// Reads the body of a record.
pub(super) fn parse(text: &str) -> Option<Value> {
    let tree = bridle_loop::reader().read_one(text).ok()?;
    Some(tree.root().to_value())
}

fn damaged(what: &str, number: u64) -> Error {
    Error::Damaged(format!("{what} `{number}` cannot be understood").into())
}
