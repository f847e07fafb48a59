//! Replay: the recorded events through `step` once more, and every effect and state compared.
//!
//! Nothing is carried out. What the record says is expected; what `step` gives today is got. The
//! first difference ends it: after one, the rest means nothing.
//!
//! What an older version of the loop recorded, up to the `upgraded` event of its session, has to give the same orders,
//! outcomes, answers and verdicts; whatever else differs there is counted by its kind (`older`).
//!
//! long: what an event is compared by stands in one function, in its order.

use bridle_loop::{
    CompactedBody, Effect, Event, FinishBody, LOOP_VERSION, MarkBody, PromptBody, RecordClass,
    RecordKind, SessionId, SessionState, UnixMillis,
};
use bridle_record::{Record, hash_text};
use bridle_sexp::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};

mod older;

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
    /// Records of older versions that say otherwise and mean the same, by kind; `state` for hashes of States.
    pub differing: BTreeMap<&'static str, u64>,
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
        if fold.event >= self.from {
            let expected = || format!("the event `{}`", record.kind);
            fold.take_rest(&mut self.done)
                .map_err(|effect| differs(record, expected(), shown(&effect)))?;
        }
        fold.event = number;
        let Some(text) = record.body.text() else {
            fold.lose();
            return Ok(());
        };
        let value = record_body::value(text);
        // An upgrade may bring the State that nobody can know from what went before.
        if kind == RecordKind::Upgraded && fold.state.is_none() && value.get("state").is_some() {
            fold.state = SessionId::parse(&record.session).ok().map(SessionState::new);
        }
        let Some(state) = &mut fold.state else {
            fold.lose();
            return Ok(());
        };
        let is_older = is_older(state);
        let event = match Event::from_value(kind, &value) {
            Ok(event) => event,
            Err(error) => {
                let expected = format!("a body of kind `{}`", record.kind);
                return Err(differs(record, expected, error.to_string()));
            }
        };
        if has_question(kind, &value) {
            let question = fold.asked.pop_front();
            match same_question(record, &event, question.as_ref()) {
                _ if !is_compared => {}
                Ok(()) => self.done.effects += 1,
                Err(_) if is_older => self.done.differ(kind.word()),
                Err(difference) => return Err(difference),
            }
        }
        let expected = seq_text(record.seq);
        let got = seq_text(state.seq_of(&event).map(|seq| seq.0));
        if is_compared && expected != got {
            return Err(differs(record, expected, got));
        }
        let upgraded = match &event {
            Event::Upgraded(upgrade) => Some(upgrade.digest.clone()),
            _ => None,
        };
        let effects = self.past.feed(state, UnixMillis(record.at), event).map_err(|error| {
            differs(record, "policies of the record".to_owned(), error.to_string())
        })?;
        if let Some(expected) = upgraded.filter(|_| is_compared) {
            same_state(record, &expected, &state.digest())?;
            self.done.states += 1;
        }
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
        let is_older = fold.state.as_ref().is_some_and(is_older);
        let is_question = kind == RecordKind::Consult;
        let next = if is_question { &mut fold.asked } else { &mut fold.pending };
        let place = match is_older {
            // Another order of effects means the same.
            true => next.iter().position(|effect| effect.kind() == kind),
            false => Some(0),
        };
        let Some(effect) = place.and_then(|place| next.remove(place)) else {
            if is_older && !older::is_binding(kind) {
                self.done.differ(kind.word());
                return Ok(());
            }
            return nothing(record);
        };
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
        match same {
            true => self.done.effects += 1,
            false if is_older && older::means_the_same(&effect, record.seq, &text) => {
                self.done.differ(kind.word());
            }
            false => return Err(differs(record, kind_text(record), shown(&effect))),
        }
        if let (Some(state), Some(expected)) = (&fold.state, digest) {
            self.done.take_state(same_state(record, expected, &state.digest()), is_older)?;
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
        self.done.take_state(same_state(record, expected, &got), is_older(state))
    }

    /// The first effect that no record has.
    fn unfinished(&self) -> Option<ReplayDifference> {
        let left = self.folds.iter().filter(|(_, fold)| fold.event >= self.from);
        let left = left.filter_map(|(session, fold)| Some((session, fold, fold.rest()?)));
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

impl SessionFold {
    /// Nothing that follows can be known.
    fn lose(&mut self) {
        self.state = None;
        self.pending.clear();
        self.asked.clear();
    }

    /// The first effect without a record, of those that must have one.
    fn rest(&self) -> Option<&Effect> {
        let is_older = self.state.as_ref().is_some_and(is_older);
        let is_missing = |effect: &&Effect| !is_older || older::is_binding(effect.kind());
        self.pending.iter().chain(&self.asked).find(is_missing)
    }

    /// Sees to it that no effect of the last event is left; gives the first one that is.
    fn take_rest(&mut self, done: &mut ReplayReport) -> Result<(), Box<Effect>> {
        // A question is recorded with its answer, which may come later.
        let rest = self.rest().filter(|effect| effect.kind() != RecordKind::Consult);
        if let Some(effect) = rest {
            return Err(Box::new(effect.clone()));
        }
        self.pending.drain(..).for_each(|effect| done.differ(effect.kind().word()));
        Ok(())
    }
}

impl ReplayReport {
    /// Counts something that means the same and is written otherwise.
    fn differ(&mut self, kind: &'static str) {
        *self.differing.entry(kind).or_default() += 1;
    }

    /// Counts a State that is the same, or that may be another.
    fn take_state(
        &mut self,
        compared: Result<(), Box<ReplayDifference>>,
        is_older: bool,
    ) -> Result<(), Box<ReplayDifference>> {
        match compared {
            Ok(()) => self.states += 1,
            Err(_) if is_older => self.differ("state"),
            Err(difference) => return Err(difference),
        }
        Ok(())
    }
}

/// Whether an older version of the loop made the records of a session, up to where it is.
fn is_older(state: &SessionState) -> bool {
    state.version() < LOOP_VERSION && state.owner().is_some()
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
