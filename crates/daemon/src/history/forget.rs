//! Erasing while no daemon runs. A running daemon erases by itself: it must drop what it holds.

use std::path::Path;

use bridle_loop::SessionId;
use bridle_store::{By, Checkpoint, Number, Options, Reader, Store};

use super::{Error, History};
use crate::engine::{Past, Sets, fold};
use crate::lock::StateLock;

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Every record of a session.
    Session(Box<str>),
    /// One record.
    Record(u64),
}

/// Makes it unreadable for ever; the chain stays whole. Takes the state directory for itself.
/// `now` is in milliseconds since 1970.
///
/// # Errors
/// [`crate::Error::Locked`] inside [`Error::State`] when a daemon runs; else what the store said.
pub fn forget(dir: &Path, target: &Target, now: i64) -> Result<(), Error> {
    // A directory without a record is not given one.
    History::open(dir)?;
    let _lock = StateLock::take(dir)?;
    let mut store = Store::open(dir, &Options::default())?;
    let principal = format!("uid:{}", rustix::process::geteuid().as_raw()).into();
    let by = By { principal, at: now.max(store.latest_at()?) };
    match target {
        Target::Session(name) => store.forget_session(name, &by)?,
        Target::Record(number) => {
            let state = state_without(&store.reader()?, Number(*number), now)?;
            store.forget_record(Number(*number), state.as_ref(), &by)?
        }
    };
    Ok(())
}

/// The state of the record's session, so that it can go on without reading that record again.
fn state_without(reader: &Reader, number: Number, now: i64) -> Result<Option<Checkpoint>, Error> {
    let Some(record) = reader.record(number)? else { return Ok(None) };
    let Ok(id) = SessionId::parse(&record.session) else { return Ok(None) };
    if record.body.text().is_none() {
        return Ok(None);
    }
    let past = Past { reader, sets: &Sets::default() };
    let state = fold(past, id, &reader.load(&record.session, now)?)?;
    Ok(Some(Checkpoint { session: record.session, state: state.text() }))
}
