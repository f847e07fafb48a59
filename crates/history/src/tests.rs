//! History over records that these tests write themselves.

mod copies;
mod lines;
mod rehearsals;
mod replays;
mod traces;

use std::path::Path;

use bridle_loop::{
    Effect, Event, Proposal, RecordKind, ReflexAdvice, SessionId, SessionLimits, SessionStart,
    SessionState, Signal, SignalKind, SignalSender, UnixMillis, step,
};
use bridle_record::{
    NewRecord, NewSessionRow, RecordAppend, RecordCause, RecordStore, StoreOptions,
};
use bridle_sexp::Value;
use tempfile::TempDir;

use super::{HistoryError, RecordHistory};

/// Moment of the first record, in milliseconds since 1970.
const START: i64 = 1_000;

/// A state directory and its writer.
struct Fixture {
    dir: TempDir,
    store: RecordStore,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
        Fixture { dir, store }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn history(&self) -> RecordHistory {
        RecordHistory::open(self.path()).unwrap()
    }

    fn commit(&mut self, append: RecordAppend) {
        self.store.commit(&[append]).unwrap();
    }

    /// Begins a session without records.
    fn begin(&mut self, name: &str) {
        let session = NewSessionRow { name: name.into(), owner: "uid:7".into(), at: START };
        self.commit(RecordAppend { session: Some(session), ..RecordAppend::default() });
    }

    /// Records drafts of `(kind, seq, body)` in a session.
    fn write(&mut self, session: &str, drafts: &[(&'static str, Option<u64>, &str)]) {
        let draft = |(kind, seq, body): &(&'static str, Option<u64>, &str)| NewRecord {
            seq: *seq,
            ..NewRecord::new(session, kind, START, "uid:7", *body)
        };
        self.commit(RecordAppend {
            drafts: drafts.iter().map(draft).collect(),
            ..RecordAppend::default()
        });
    }
}

impl Fixture {
    /// Number of the last record.
    fn head(&mut self) -> u64 {
        self.store.head().unwrap().number.0
    }

    /// Records one draft that follows from a record.
    fn write_because(&mut self, session: &str, cause: u64, kind: &'static str, body: &str) {
        let draft = NewRecord::new(session, kind, START, "uid:7", body)
            .caused_by(RecordCause::Number(bridle_record::RecordNumber(cause)));
        self.commit(RecordAppend { drafts: vec![draft], ..RecordAppend::default() });
    }
}

/// A session that is driven as the daemon drives one: event, effects, and the hash of the state with each
/// finish; a mark behind all of it, as older versions wrote it.
struct Driven {
    name: &'static str,
    state: SessionState,
    /// A question that is recorded with its answer.
    question: Option<Effect>,
    /// Whether questions have records of their own, as in older versions.
    asks_apart: bool,
    /// Whether the hashes with its finishes are wrong.
    is_spoiled: bool,
}

impl Driven {
    fn begin(fixture: &mut Fixture, name: &'static str) -> Driven {
        fixture.begin(name);
        let state = SessionState::new(SessionId::parse(name).unwrap());
        let mut driven =
            Driven { name, state, question: None, asks_apart: false, is_spoiled: false };
        let began = SessionStart {
            owner: "uid:7".into(),
            limits: SessionLimits::default(),
            fork: None,
            version: bridle_loop::LOOP_VERSION,
        };
        driven.feed(fixture, Event::Began(began));
        driven
    }

    /// Records an event and all that follows from it.
    fn feed(&mut self, fixture: &mut Fixture, event: Event) {
        let seq = self.state.seq_of(&event).map(|seq| seq.0);
        let draft = |kind, seq, body: String, cause| NewRecord {
            seq,
            cause,
            ..NewRecord::new(self.name, kind, START, "uid:7", body)
        };
        let body = match self.question.take() {
            Some(question) => event.to_text_with(&question),
            None => event.to_value().to_string(),
        };
        let mut drafts = vec![draft(event.kind().word(), seq, body, RecordCause::None)];
        for effect in step(&mut self.state, UnixMillis(START), event) {
            if effect.kind() == RecordKind::Consult && !self.asks_apart {
                self.question = Some(effect);
                continue;
            }
            let seq = effect.seq().map(|seq| seq.0);
            let mut body = effect.to_value().to_string();
            if effect.kind() == RecordKind::Finish {
                let right = self.state.digest();
                let digest = if self.is_spoiled { "00" } else { &right };
                body = format!("{} :digest \"{digest}\")", body.trim_end_matches(')'));
            }
            drafts.push(draft(effect.kind().word(), seq, body, RecordCause::Earlier(0)));
        }
        let mark = format!("(:digest \"{}\")", self.state.digest());
        drafts.push(draft(RecordKind::Mark.word(), None, mark, RecordCause::Earlier(0)));
        fixture.commit(RecordAppend { drafts, ..RecordAppend::default() });
    }

    /// Says something and answers the consultation that follows with the same words.
    fn prompt(&mut self, fixture: &mut Fixture, text: &str) {
        self.feed(fixture, prompt(text));
        for (effect, _) in self.state.outstanding() {
            let payload = [("action", Value::keyword("message")), ("text", Value::str(text))];
            let proposal = Proposal::new(None, Value::plist(payload));
            let advice = ReflexAdvice { proposals: vec![proposal], ..ReflexAdvice::default() };
            self.feed(fixture, Event::Consulted { effect, advice });
        }
    }
}

fn prompt(text: &str) -> Event {
    let payload =
        Value::plist([("sensor", Value::keyword("user-prompt")), ("text", Value::str(text))]);
    let from = SignalSender::new("uid:7");
    let kind = SignalKind::Event;
    Event::Signal(
        Signal { kind, from, id: None, target: None, payload, dropped: vec![], patient: true }
            .into(),
    )
}

#[test]
fn a_place_without_a_record_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let error = RecordHistory::open(dir.path()).err().unwrap();
    assert!(
        matches!(&error, HistoryError::NoRecord { dir: named } if named == dir.path()),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is created");
}

#[test]
fn sessions_are_known_by_name() {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    let history = fixture.history();
    history.expect_session("a").unwrap();
    let error = history.expect_session("b").unwrap_err();
    assert_eq!(error.to_string(), "no session `b`");
}
