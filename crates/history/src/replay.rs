//! Replay: the recorded events through `step` once more, and every effect and state compared.
//!
//! Nothing is carried out. What the record says is expected; what `step` gives today is got. The
//! first difference ends it: after one, the rest means nothing.

use bridle_loop::{
    CompactedBody, Effect, Event, FinishBody, MarkBody, PromptBody, RecordClass, RecordKind,
    SessionId, SessionState, UnixMillis,
};
use bridle_record::{Record, hash_text};
use bridle_sexp::Value;
use std::collections::{HashMap, VecDeque};

use super::{HistoryError, RecordHistory, RecordSelection, record_body};
use crate::policy_sets::PolicySetCache;
use crate::record_source::kind_of;
use crate::session_fold::HistoryFold;

/// Range of records to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRange {
    /// The first record that is compared. What went before is fed, since it makes the state.
    pub from: u64,
    /// The last record; all if absent.
    pub to: Option<u64>,
    /// Only this session.
    pub session: Option<Box<str>>,
}

/// Counts of a replay, and its first difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Sessions that were compared to their end.
    pub sessions: u64,
    /// Sessions of which a part is forgotten; compared up to there, which proves nothing beyond.
    pub erased: u64,
    /// Events fed.
    pub events: u64,
    /// Effects compared.
    pub effects: u64,
    /// States compared.
    pub states: u64,
    /// The first difference; everything before it is the same.
    pub difference: Option<ReplayDifference>,
}

/// A record that replay does not give again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDifference {
    /// The record.
    pub record: u64,
    /// Its session.
    pub session: Box<str>,
    /// Text of the record.
    pub expected: String,
    /// Text that replay gives.
    pub got: String,
}

impl RecordHistory {
    /// Repeats the record. `progress` is told how many records are done, and of how many.
    ///
    /// # Errors
    /// The record cannot be read. A difference is no error of this kind.
    pub fn replay(
        &self,
        range: &ReplayRange,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ReplayReport, HistoryError> {
        let total = range.to.unwrap_or(u64::MAX).min(self.source.head()?.number.0);
        let wanted = RecordSelection { session: range.session.clone(), to: range.to };
        let sets = PolicySetCache::default();
        let mut replay =
            ReplayRun::new(range.from, HistoryFold { reader: &*self.source, sets: &sets });
        let mut after = 0;
        loop {
            let page = self.page(after, &wanted, super::PAGE_RECORDS)?;
            let Some(last) = page.last() else { break };
            after = last.number.0;
            for record in &page {
                if let Err(difference) = replay.take(record) {
                    return Ok(replay.end(Some(*difference)));
                }
            }
            progress(after.min(total), total);
        }
        // A range may end inside a batch; the record itself may not.
        let unfinished = if range.to.is_none() { replay.unfinished() } else { None };
        Ok(replay.end(unfinished))
    }
}

struct ReplayRun<'p> {
    from: u64,
    past: HistoryFold<'p>,
    folds: HashMap<Box<str>, SessionFold>,
    done: ReplayReport,
}

/// One session so far.
struct SessionFold {
    /// `None` when an event is forgotten: nothing that follows can be known.
    state: Option<SessionState>,
    /// Effects that the last event gave and whose records have not come yet.
    pending: VecDeque<Effect>,
    /// Questions whose records have not come: one that was answered at once stands in its answer.
    asked: VecDeque<Effect>,
    /// Number of that event's record.
    event: u64,
}

impl<'p> ReplayRun<'p> {
    fn new(from: u64, past: HistoryFold<'p>) -> ReplayRun<'p> {
        ReplayRun { from, past, folds: HashMap::new(), done: ReplayReport::default() }
    }

    fn take(&mut self, record: &Record) -> Result<(), Box<ReplayDifference>> {
        let Some(kind) = kind_of(record) else { return Ok(()) };
        if kind == RecordKind::Compacted {
            self.pass_over(record);
            return Ok(());
        }
        if record.session.is_empty() {
            return Ok(());
        }
        match kind.class() {
            RecordClass::Event => self.feed(record, kind),
            RecordClass::Effect => self.compare(record, kind),
            RecordClass::Note if kind == RecordKind::Mark => self.compare_state(record),
            RecordClass::Note | RecordClass::Daemon | RecordClass::Store => Ok(()),
        }
    }

    /// Records are gone: nothing that follows in their sessions can be known.
    fn pass_over(&mut self, compacted: &Record) {
        let body = record_body::value(compacted.body.text().unwrap_or_default());
        for name in CompactedBody::read(&body).sessions() {
            let (pending, asked) = Default::default();
            let gone = SessionFold { state: None, pending, asked, event: compacted.number.0 };
            self.folds.insert(name.into(), gone);
        }
    }

    fn feed(&mut self, record: &Record, kind: RecordKind) -> Result<(), Box<ReplayDifference>> {
        // A name may be used again after its session was forgotten.
        if kind == RecordKind::Began
            && let Some(old) = self.folds.remove(&record.session)
        {
            self.count(&old);
        }
        let number = record.number.0;
        let is_compared = number >= self.from;
        let fold = match self.folds.get_mut(&record.session) {
            Some(fold) => fold,
            None => {
                let state = SessionId::parse(&record.session).ok().map(SessionState::new);
                let (pending, asked) = Default::default();
                let fold = SessionFold { state, pending, asked, event: number };
                self.folds.entry(record.session.clone()).or_insert(fold)
            }
        };
        if let Some(effect) = fold.pending.front()
            && fold.event >= self.from
        {
            return Err(differs(record, format!("the event `{}`", record.kind), shown(effect)));
        }
        fold.event = number;
        let (Some(state), Some(text)) = (&mut fold.state, record.body.text()) else {
            fold.state = None;
            fold.pending.clear();
            fold.asked.clear();
            return Ok(());
        };
        let value = record_body::value(text);
        let event = match Event::from_value(kind, &value) {
            Ok(event) => event,
            Err(error) => {
                let expected = format!("a body of kind `{}`", record.kind);
                return Err(differs(record, expected, error.to_string()));
            }
        };
        if has_question(kind, &value) {
            let question = fold.asked.pop_front();
            if is_compared {
                same_question(record, &event, question.as_ref())?;
                self.done.effects += 1;
            }
        }
        let expected = seq_text(record.seq);
        let got = seq_text(state.seq_of(&event).map(|seq| seq.0));
        if is_compared && expected != got {
            return Err(differs(record, expected, got));
        }
        let effects = self.past.feed(state, UnixMillis(record.at), event).map_err(|error| {
            differs(record, "policies of the record".to_owned(), error.to_string())
        })?;
        let is_question = |effect: &Effect| matches!(effect, Effect::Consult { .. });
        let (asked, pending): (Vec<_>, Vec<_>) = effects.into_iter().partition(is_question);
        fold.asked.extend(asked);
        fold.pending = pending.into();
        self.done.events += 1;
        Ok(())
    }

    fn compare(&mut self, record: &Record, kind: RecordKind) -> Result<(), Box<ReplayDifference>> {
        let nothing = |record| Err(differs(record, kind_text(record), "nothing".to_owned()));
        let Some(fold) = self.folds.get_mut(&record.session) else { return nothing(record) };
        if fold.state.is_none() {
            return Ok(());
        }
        let is_question = kind == RecordKind::Consult;
        let next = if is_question { &mut fold.asked } else { &mut fold.pending };
        let Some(effect) = next.pop_front() else { return nothing(record) };
        let Some(text) = record.body.text().filter(|_| record.number.0 >= self.from) else {
            return Ok(());
        };
        // The hash of the State stands with the end of a turn.
        let (text, digest) = match kind {
            RecordKind::Finish => {
                let FinishBody { effect, state_digest } = FinishBody::split(text);
                (effect, state_digest)
            }
            _ => (text.into(), None),
        };
        let got = effect.to_value().to_string();
        let same =
            effect.kind() == kind && effect.seq().map(|seq| seq.0) == record.seq && got == text;
        if !same {
            return Err(differs(record, kind_text(record), shown(&effect)));
        }
        self.done.effects += 1;
        if let (Some(state), Some(expected)) = (&fold.state, digest) {
            same_state(record, expected, &state.digest())?;
            self.done.states += 1;
        }
        Ok(())
    }

    /// A record of an older version, in which the hash of the state has one of its own.
    fn compare_state(&mut self, record: &Record) -> Result<(), Box<ReplayDifference>> {
        let fold = self.folds.get(&record.session);
        let state = fold.and_then(|fold| fold.state.as_ref());
        let (Some(state), Some(text)) = (state, record.body.text()) else { return Ok(()) };
        if record.number.0 < self.from {
            return Ok(());
        }
        let value = record_body::value(text);
        // Records from before there were digests have the hash of the whole text.
        let (expected, got) = match MarkBody::read(&value) {
            MarkBody::TextHash(hash) => (hash, hash_text(&state.text()).to_string()),
            MarkBody::Digest(digest) => (digest, state.digest()),
        };
        same_state(record, expected, &got)?;
        self.done.states += 1;
        Ok(())
    }

    /// The first effect that no record has.
    fn unfinished(&self) -> Option<ReplayDifference> {
        let left = self.folds.iter().filter(|(_, fold)| fold.event >= self.from);
        let left = left.filter_map(|(session, fold)| {
            Some((session, fold, fold.pending.front().or(fold.asked.front())?))
        });
        left.min_by_key(|(_, fold, _)| fold.event).map(|(session, fold, effect)| ReplayDifference {
            record: fold.event,
            session: session.clone(),
            expected: "nothing more after this event".to_owned(),
            got: shown(effect),
        })
    }

    fn count(&mut self, fold: &SessionFold) {
        match fold.state {
            Some(_) => self.done.sessions += 1,
            None => self.done.erased += 1,
        }
    }

    fn end(mut self, difference: Option<ReplayDifference>) -> ReplayReport {
        let folds = std::mem::take(&mut self.folds);
        for (session, fold) in &folds {
            if difference.as_ref().is_none_or(|it| it.session != *session) {
                self.count(fold);
            }
        }
        ReplayReport { difference, ..self.done }
    }
}

/// Whether an answer has its question in it. In records of older versions that has one of its own.
fn has_question(kind: RecordKind, value: &Value) -> bool {
    kind == RecordKind::Consulted && PromptBody::read(value).turn.is_some()
}

/// Compares an answer that has its question in it.
fn same_question(
    record: &Record,
    event: &Event,
    question: Option<&Effect>,
) -> Result<(), Box<ReplayDifference>> {
    let got = question.map(|question| event.to_text_with(question));
    if got.as_deref() == record.body.text() {
        return Ok(());
    }
    let got = got.unwrap_or_else(|| "nothing that was asked".to_owned());
    Err(differs(record, kind_text(record), got))
}

fn same_state(record: &Record, expected: &str, got: &str) -> Result<(), Box<ReplayDifference>> {
    let named = |hash: &str| format!("state `{hash}`");
    match expected == got {
        true => Ok(()),
        false => Err(differs(record, named(expected), named(got))),
    }
}

fn differs(record: &Record, expected: String, got: String) -> Box<ReplayDifference> {
    let (record, session) = (record.number.0, record.session.clone());
    Box::new(ReplayDifference { record, session, expected, got })
}

fn seq_text(seq: Option<u64>) -> String {
    seq.map_or("no seq".to_owned(), |seq| format!("seq {seq}"))
}

fn kind_text(record: &Record) -> String {
    let text = record.body.text().unwrap_or(":erased");
    format!("{} {} {text}", record.kind, seq_text(record.seq))
}

fn shown(effect: &Effect) -> String {
    let seq = seq_text(effect.seq().map(|seq| seq.0));
    format!("{} {seq} {}", effect.kind(), effect.to_value())
}
