//! Rehearsal: what other policies would have said to the latest decisions.
//!
//! Called by `bridle policy rehearse`, and before a grant is written. Nothing is carried out and no
//! daemon is asked: a decision is recorded with all that the policies were told.

use std::collections::BTreeMap;

use bridle_loop::{Policies, Recorded, Rehearsal, SessionId, Time, Word};
use bridle_sexp::Value;
use bridle_store::Record;

use super::{Error, History, body};

/// What a set would have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// Decisions that were judged again.
    pub decisions: u64,
    /// Decisions that are forgotten, or that another version wrote: nobody can tell.
    pub unreadable: u64,
    /// Those that would have come out otherwise, in their order.
    pub changed: Vec<Changed>,
}

/// A decision that would have come out otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Number of its record.
    pub record: u64,
    /// Its session.
    pub session: Box<str>,
    /// When it was decided.
    pub at: i64,
    /// The action.
    pub action: Box<str>,
    /// The actuator.
    pub target: Box<str>,
    /// What was said.
    pub was: Word,
    /// What would have been said.
    pub now: Word,
    /// The policies that would have determined it; none when nothing permits it.
    pub policies: Vec<Box<str>>,
}

impl Rehearsed {
    /// How often each change occurs: from what, to what, how many.
    pub fn counts(&self) -> Vec<(Word, Word, u64)> {
        let mut counts = BTreeMap::new();
        for changed in &self.changed {
            let key = (changed.was.word(), changed.now.word());
            counts.entry(key).or_insert((changed.was, changed.now, 0)).2 += 1;
        }
        counts.into_values().collect()
    }
}

impl History {
    /// Judges the last decisions again, at most `last` of them.
    ///
    /// # Errors
    /// What the store said.
    pub fn rehearse(&self, set: &Policies, last: usize) -> Result<Rehearsed, Error> {
        let mut rehearsal = Rehearsal::new(set);
        let mut rehearsed = Rehearsed::default();
        self.reader.last("decided", last, &mut |record| {
            take(&mut rehearsal, &mut rehearsed, &record);
        })?;
        rehearsed.changed.reverse();
        Ok(rehearsed)
    }
}

fn take(rehearsal: &mut Rehearsal<'_>, rehearsed: &mut Rehearsed, record: &Record) {
    let body = record.body.text().map(body::value);
    let session = SessionId::parse(&record.session).ok();
    let read = body
        .as_ref()
        .zip(session)
        .map(|(body, session)| Recorded::read(&session, Time(record.at), body));
    let (Some(body), Some(Ok(recorded))) = (&body, read) else {
        rehearsed.unreadable += 1;
        return;
    };
    // What was decided without the policies would be so again.
    let Some(recorded) = recorded else { return };
    rehearsed.decisions += 1;
    let found = rehearsal.find(&recorded);
    if found.word == recorded.word() {
        return;
    }
    let word = |key| body.get(key).and_then(Value::as_keyword).unwrap_or_default().into();
    rehearsed.changed.push(Changed {
        record: record.number.0,
        session: record.session.clone(),
        at: record.at,
        action: word("action"),
        target: word("target"),
        was: recorded.word(),
        now: found.word,
        policies: found.policies,
    });
}
