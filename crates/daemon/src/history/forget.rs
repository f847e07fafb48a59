//! Erasing while no daemon runs. A running daemon erases by itself: it must drop what it holds.

use std::path::Path;

use bridle_store::{By, Number, Options, Store};

use super::{Error, History};
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
        Target::Record(number) => store.forget_record(Number(*number), None, &by)?,
    };
    Ok(())
}
