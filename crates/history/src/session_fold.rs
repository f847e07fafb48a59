//! From the record to a State: the fold of a session's events.
//!
//! Used by the engine when it loads a session, by replay, and by whoever forgets a record. A State is
//! the fold of the records whose [`RecordKind`] is an event; the policies that events name come from the
//! record.

use bridle_loop::{Effects, Event, RecordKind, SessionId, SessionState, UnixMillis, step};
use bridle_record::{LoadedSessionRows, Record, RecordFilter, RecordNumber, StoreError};

use crate::policy_sets::PolicySetCache;
pub use crate::record_body::parse;
use crate::record_source::{RecordSource, kind_of};

/// The State after all events of a session.
pub fn fold(
    past: HistoryFold<'_>,
    id: SessionId,
    loaded: &LoadedSessionRows,
) -> Result<SessionState, StoreError> {
    let mut state = match &loaded.checkpoint {
        None => SessionState::new(id),
        Some((number, text)) => {
            let value = parse(text).ok_or_else(|| damaged("the state after record", number.0))?;
            SessionState::from_value(&value)
                .map_err(|_| damaged("the state after record", number.0))?
        }
    };
    past.supply(&mut state)?;
    for record in &loaded.tail {
        apply(past, &mut state, record)?;
    }
    Ok(state)
}

/// Records that are read at once to see whether a State is the fold of all of them.
const FOLD_PAGE_RECORDS: usize = 512;

/// Whether the events of the record give a State today, from the first on. They do not where an older version of the
/// loop stepped otherwise, and nobody can tell where one of them was forgotten.
pub fn is_fold_of(past: HistoryFold<'_>, state: &SessionState) -> Result<bool, StoreError> {
    let mut again = SessionState::new(state.session().clone());
    let session = Some(state.session().as_str().into());
    let filter = RecordFilter { session, ..RecordFilter::default() };
    let mut after = RecordNumber(0);
    loop {
        let page = past.reader.records(after, &filter, FOLD_PAGE_RECORDS)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for record in &page {
            // A name may be used again after its session was forgotten.
            if kind_of(record) == Some(RecordKind::Began) {
                again = SessionState::new(state.session().clone());
            }
            if apply(past, &mut again, record).is_err() {
                return Ok(false);
            }
        }
    }
    Ok(again.digest() == state.digest())
}

/// The record, and the policies that events in it name.
#[derive(Clone, Copy, Debug)]
pub struct HistoryFold<'p> {
    /// The record.
    pub reader: &'p dyn RecordSource,
    /// Policies that were read before.
    pub sets: &'p PolicySetCache,
}

impl HistoryFold<'_> {
    /// Steps through an event of the record.
    ///
    /// # Errors
    /// The record lacks the policies that the event installs.
    pub fn feed(
        self,
        state: &mut SessionState,
        at: UnixMillis,
        mut event: Event,
    ) -> Result<Effects, StoreError> {
        if let Some(hash) = event.wants_policies() {
            event.supply(&self.sets.find(self.reader, hash)?);
        }
        let effects = step(state, at, event);
        self.supply(state)?;
        Ok(effects)
    }

    /// Gives a State the policies that it names.
    fn supply(self, state: &mut SessionState) -> Result<(), StoreError> {
        if let Some(hash) = state.wants_policies() {
            state.supply(&self.sets.find(self.reader, hash)?);
        }
        Ok(())
    }
}

/// Feeds a record to a State, if it is an event.
pub fn apply(
    past: HistoryFold<'_>,
    state: &mut SessionState,
    record: &Record,
) -> Result<(), StoreError> {
    let Some(kind) = kind_of(record).filter(|kind| kind.is_event()) else { return Ok(()) };
    let fault = || damaged("record", record.number.0);
    let value = record.body.text().and_then(parse).ok_or_else(fault)?;
    let event = Event::from_value(kind, &value).map_err(|_| fault())?;
    past.feed(state, UnixMillis(record.at), event)?;
    Ok(())
}

fn damaged(what: &str, number: u64) -> StoreError {
    StoreError::Damaged(format!("{what} `{number}` cannot be understood").into())
}
