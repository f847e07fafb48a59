//! Thoughts of the past: each prompt as its thinker got it, made again from the events before it, with the draft that came.
//!
//! Called by whoever asks what somebody would have thought otherwise. Sessions of which an event is forgotten end there.

use std::collections::HashMap;

use bridle_loop::{
    Draft, Effect, EffectId, Event, SessionId, SessionState, ThinkerPrompt, UnixMillis,
};
use bridle_record::Record;

use super::{HistoryError, RecordHistory, RecordSelection, record_body};
use crate::policy_sets::PolicySetCache;
use crate::record_source::kind_of;
use crate::session_fold::HistoryFold;

/// A thought that ended in a draft.
#[derive(Debug)]
pub struct PastThought<'t> {
    /// Number of the draft's record.
    pub record: u64,
    /// Time of the draft, in milliseconds since 1970.
    pub at: i64,
    /// The prompt.
    pub prompt: &'t ThinkerPrompt,
    /// The draft.
    pub draft: &'t Draft,
}

/// One session so far, and the prompts that nobody answered yet.
struct SessionThoughts {
    /// `None` from a forgotten event on.
    state: Option<SessionState>,
    open: HashMap<EffectId, ThinkerPrompt>,
}

impl RecordHistory {
    /// Shows each thought, in the order of the record.
    ///
    /// # Errors
    /// The record cannot be read, or does not know the session.
    pub fn thoughts(
        &self,
        session: Option<&str>,
        mut visit: impl FnMut(PastThought<'_>),
    ) -> Result<(), HistoryError> {
        if let Some(name) = session {
            self.expect_session(name)?;
        }
        let wanted = RecordSelection { session: session.map(Into::into), to: None };
        let sets = PolicySetCache::default();
        let past = HistoryFold { reader: &*self.source, sets: &sets };
        let mut sessions: HashMap<Box<str>, SessionThoughts> = HashMap::new();
        self.walk(&wanted, |record| {
            let is_event = kind_of(&record).is_some_and(bridle_loop::RecordKind::is_event);
            if !is_event || record.session.is_empty() {
                return Ok(());
            }
            let is_first = kind_of(&record) == Some(bridle_loop::RecordKind::Began);
            if is_first {
                sessions.remove(&record.session);
            }
            let thoughts = sessions.entry(record.session.clone()).or_insert_with(|| {
                let state = SessionId::parse(&record.session).ok().map(SessionState::new);
                SessionThoughts { state, open: HashMap::new() }
            });
            thoughts.take(past, &record, &mut visit);
            Ok(())
        })
    }
}

impl SessionThoughts {
    fn take(
        &mut self,
        past: HistoryFold<'_>,
        record: &Record,
        visit: &mut impl FnMut(PastThought<'_>),
    ) {
        let event = kind_of(record).zip(record.body.text());
        let event =
            event.and_then(|(kind, text)| Event::from_value(kind, &record_body::value(text)).ok());
        let Some((event, state)) = event.zip(self.state.as_mut()) else {
            self.state = None;
            return;
        };
        if let Event::Drafted { effect, draft } = &event
            && let Some(prompt) = self.open.remove(effect)
            && let Ok(draft) = draft
        {
            let (record, at) = (record.number.0, record.at);
            visit(PastThought { record, at, prompt: &prompt, draft });
        }
        match past.feed(state, UnixMillis(record.at), event) {
            Ok(effects) => {
                for effect in effects {
                    if let Effect::Think { id, prompt } = effect {
                        self.open.insert(id, prompt);
                    }
                }
            }
            Err(_) => self.state = None,
        }
    }
}
