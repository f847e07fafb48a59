//! Erasing while no daemon runs. A running daemon erases by itself: it must drop what it holds.

use std::path::Path;

use bridle_history::RecordHistory;
use bridle_history::policy_sets::PolicySetCache;
use bridle_history::session_fold::{HistoryFold, fold};
use bridle_loop::SessionId;
use bridle_memex::{BufferTextStore, OVERLAYS_FILE};
use bridle_record::{
    ForgetRequest, Record, RecordNumber, RecordReader, RecordStore, StateCheckpoint, StoreOptions,
};

use super::UpkeepError;
use crate::lock::StateLock;

/// Target of a forget request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetTarget {
    /// Every record of a session.
    Session(Box<str>),
    /// One record.
    Record(u64),
}

/// Makes it unreadable for ever; the chain stays whole. Takes the state directory for itself.
/// `now` is in milliseconds since 1970.
///
/// # Errors
/// [`crate::DaemonError::Locked`] inside [`UpkeepError::State`] when a daemon runs; else what the store said.
pub fn forget(dir: &Path, target: &ForgetTarget, now: i64) -> Result<(), UpkeepError> {
    // A directory without a record is not given one.
    RecordHistory::open(dir)?;
    let _lock = StateLock::take(dir)?;
    let mut store = RecordStore::open(dir, &StoreOptions::default())?;
    let principal = format!("uid:{}", rustix::process::geteuid().as_raw()).into();
    let by = ForgetRequest { principal, at: now.max(store.latest_at()?) };
    match target {
        ForgetTarget::Session(name) => {
            // One that is not there leaves everything as it is.
            if store.reader()?.session(name)?.is_some_and(|row| !row.forgotten) {
                forget_beside(dir, std::slice::from_ref(name))?;
            }
            store.forget_session(name, &by)?
        }
        ForgetTarget::Record(number) => {
            let reader = store.reader()?;
            if let Some(record) = reader.record(RecordNumber(*number))? {
                forget_beside_of(dir, &record)?;
            }
            let state = state_without(&reader, RecordNumber(*number), now)?;
            store.forget_record(RecordNumber(*number), state.as_ref(), &by)?
        }
    };
    Ok(())
}

/// The state of the record's session, so that it can go on without reading that record again.
fn state_without(
    reader: &RecordReader,
    number: RecordNumber,
    now: i64,
) -> Result<Option<StateCheckpoint>, UpkeepError> {
    let Some(record) = reader.record(number)? else { return Ok(None) };
    let Ok(id) = SessionId::parse(&record.session) else { return Ok(None) };
    if record.body.text().is_none() {
        return Ok(None);
    }
    let past = HistoryFold { reader, sets: &PolicySetCache::default() };
    let state = fold(past, id, &reader.load(&record.session, now)?)?;
    Ok(Some(StateCheckpoint { session: record.session, state: state.text() }))
}

/// Drops what lies beside the record and belongs to these sessions: versions of files that follow from them, and
/// texts of buffers. Before the record forgets them, so that nothing is left whenever this is interrupted.
pub(super) fn forget_beside(dir: &Path, sessions: &[Box<str>]) -> Result<(), UpkeepError> {
    if let Some(mut overlays) = overlays(dir)? {
        for session in sessions {
            overlays.forget(session)?;
        }
    }
    bridle_memex::forget_versions(dir, sessions, None)?;
    Ok(())
}

/// Forgets one record.
fn forget_beside_of(dir: &Path, record: &Record) -> Result<(), UpkeepError> {
    if let (Some(seq), Some(mut overlays)) = (record.seq, overlays(dir)?) {
        overlays.remove(&[(record.session.clone(), seq)])?;
        overlays.scrub()?;
    }
    bridle_memex::forget_versions(
        dir,
        std::slice::from_ref(&record.session),
        Some(record.number.0),
    )?;
    Ok(())
}

/// Texts of buffers, where there are any.
fn overlays(dir: &Path) -> Result<Option<BufferTextStore>, UpkeepError> {
    match dir.join(OVERLAYS_FILE).exists() {
        true => Ok(Some(BufferTextStore::open(dir)?)),
        false => Ok(None),
    }
}
