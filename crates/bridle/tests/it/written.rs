//! Records written for the commands to read, at known times, as the daemon would write them.

use std::path::PathBuf;

use bridle_loop::{
    ActuatorLocation, ActuatorRef, ApprovalAnswer, ApprovalChoice, Effect, Effects, Event,
    KeywordName, Outcome, SessionId, SessionLimits, SessionStart, SessionState, Signal, SignalKind,
    SignalSender, UnixMillis, step,
};
use bridle_record::{
    NewRecord, NewSessionRow, RecordAppend, RecordCause, RecordStore, StoreOptions, hash_text,
};
use bridle_sexp::{Value, read_one};

use crate::harness::Home;

/// Moment of every record, in milliseconds since 1970, and how it is printed.
pub(crate) const AT: i64 = 1_000;
pub(crate) const AT_TEXT: &str = "1970-01-01T00:00:01.000Z";

/// The record of a home's default state directory.
pub(crate) struct Written {
    pub(crate) dir: PathBuf,
    store: RecordStore,
}

impl Written {
    pub(crate) fn new(home: &Home) -> Written {
        let dir = PathBuf::from(home.path(".local/state/bridle"));
        std::fs::create_dir_all(&dir).unwrap();
        let store = RecordStore::open(&dir, &StoreOptions::default()).unwrap();
        Written { dir, store }
    }

    /// A session that asked `help` once, driven through the loop.
    pub(crate) fn session(&mut self, name: &str) -> &mut Written {
        let session = NewSessionRow { name: name.into(), owner: "uid:7".into(), at: AT };
        let mut state = SessionState::new(SessionId::parse(name).unwrap());
        let began = SessionStart {
            owner: "uid:7".into(),
            limits: SessionLimits::default(),
            fork: None,
            version: bridle_loop::LOOP_VERSION,
        };
        let payload = Value::plist([
            ("sensor", Value::keyword("user-prompt")),
            ("text", Value::str("help\nme")),
        ]);
        let (kind, from) = (SignalKind::Event, SignalSender::new("uid:7"));
        let signal =
            Signal { kind, from, id: None, target: None, payload, dropped: vec![], patient: true };
        let mut drafts = Vec::new();
        for event in [Event::Began(began), Event::Signal(signal.into())] {
            let seq = state.seq_of(&event).map(|seq| seq.0);
            drafts.push(draft(name, event.kind().word(), seq, &event.to_value().to_string()));
            for effect in step(&mut state, UnixMillis(AT), event) {
                let seq = effect.seq().map(|seq| seq.0);
                drafts.push(draft(name, effect.kind().word(), seq, &effect.to_value().to_string()));
            }
        }
        let mark = format!("(:state \"{}\")", hash_text(&state.to_value().to_string()));
        drafts.push(draft(name, "mark", None, &mark));
        self.commit(RecordAppend { session: Some(session), drafts, ..RecordAppend::default() })
    }

    /// A session in which its owner asked an editor for something that needs a yes.
    pub(crate) fn asked(&mut self, name: &str, payload: &str) -> Asked {
        let emacs = ActuatorRef {
            name: KeywordName::new("emacs"),
            place: ActuatorLocation::Shell,
            actions: vec![],
            specs: None,
        };
        self.asked_of(name, emacs, payload)
    }

    /// A session in which its owner asked the memory for an edit.
    pub(crate) fn asked_of_memory(&mut self, name: &str, payload: &str) -> Asked {
        let actions =
            bridle_loop::MEMORY_ACTIONS.iter().map(|action| KeywordName::new(action)).collect();
        let memory = ActuatorRef {
            name: KeywordName::new("memory"),
            place: ActuatorLocation::Host,
            actions,
            specs: None,
        };
        self.asked_of(name, memory, payload)
    }

    fn asked_of(&mut self, name: &str, actuator: ActuatorRef, payload: &str) -> Asked {
        let session = NewSessionRow { name: name.into(), owner: "uid:7".into(), at: AT };
        self.commit(RecordAppend { session: Some(session), ..RecordAppend::default() });
        let mut state = SessionState::new(SessionId::parse(name).unwrap());
        let began = SessionStart {
            owner: "uid:7".into(),
            limits: SessionLimits::default(),
            fork: None,
            version: bridle_loop::LOOP_VERSION,
        };
        self.feed(&mut state, Event::Began(began));
        let target = actuator.name.clone();
        self.feed(&mut state, Event::Registered(vec![actuator]));
        let signal = Signal {
            kind: SignalKind::Request,
            from: owner(),
            id: None,
            target: Some(target),
            payload: read_one(payload).unwrap().root().to_value(),
            dropped: vec![],
            patient: true,
        };
        self.feed(&mut state, Event::Signal(signal.into()));
        Asked { state }
    }

    /// Says yes to the one open question; then the act ends so.
    pub(crate) fn allowed(&mut self, asked: &mut Asked, outcome: Outcome) {
        let questions = asked.state.outstanding();
        let ask = questions.into_iter().find(|(_, effect)| matches!(effect, Effect::Ask { .. }));
        let answered = ApprovalAnswer {
            approval: ask.unwrap().0,
            hash: None,
            answer: ApprovalChoice::Allow,
            from: owner(),
            id: None,
            always: None,
        };
        let effects = self.feed(&mut asked.state, Event::Answered(answered));
        let act = effects.iter().find(|effect| matches!(effect, Effect::Act { .. })).unwrap();
        let effect = act.id().unwrap();
        self.feed(&mut asked.state, Event::Acted { effect, outcome });
    }

    /// Records an event and what follows from it.
    fn feed(&mut self, state: &mut SessionState, event: Event) -> Effects {
        let name = state.session().as_str().to_owned();
        let seq = state.seq_of(&event).map(|seq| seq.0);
        let mut drafts =
            vec![draft(&name, event.kind().word(), seq, &event.to_value().to_string())];
        let effects = step(state, UnixMillis(AT), event);
        drafts.extend(effects.iter().map(|effect| {
            let seq = effect.seq().map(|seq| seq.0);
            let body = effect.to_value().to_string();
            NewRecord {
                cause: RecordCause::Earlier(0),
                ..draft(&name, effect.kind().word(), seq, &body)
            }
        }));
        self.commit(RecordAppend { drafts, ..RecordAppend::default() });
        effects
    }

    /// One record of the daemon itself.
    pub(crate) fn log(&mut self, body: &str) -> &mut Written {
        self.add("", "log", body)
    }

    /// One record that has no number in its session.
    pub(crate) fn add(&mut self, session: &str, kind: &'static str, body: &str) -> &mut Written {
        let drafts = vec![draft(session, kind, None, body)];
        self.commit(RecordAppend { drafts, ..RecordAppend::default() })
    }

    /// Number of the last record.
    pub(crate) fn head(&mut self) -> u64 {
        self.store.head().unwrap().number.0
    }

    fn commit(&mut self, append: RecordAppend) -> &mut Written {
        self.store.commit(&[append]).unwrap();
        self
    }
}

/// A session with a question.
pub(crate) struct Asked {
    state: SessionState,
}

fn owner() -> SignalSender {
    SignalSender { owner: true, ..SignalSender::new("uid:7") }
}

fn draft(session: &str, kind: &'static str, seq: Option<u64>, body: &str) -> NewRecord {
    NewRecord { seq, ..NewRecord::new(session, kind, AT, "uid:7", body) }
}
