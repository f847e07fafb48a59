//! Records written for the commands to read, at known times, as the daemon would write them.

use std::path::PathBuf;

use bridle_loop::{Asker, Began, Event, Limits, SessionId, Signal, SignalKind, State, Time, step};
use bridle_sexp::Value;
use bridle_store::{Append, Draft, NewSession, Options, Store, hash_text};

use crate::harness::Home;

/// Moment of every record, in milliseconds since 1970, and how it is printed.
pub(crate) const AT: i64 = 1_000;
pub(crate) const AT_TEXT: &str = "1970-01-01T00:00:01.000Z";

/// The record of a home's default state directory.
pub(crate) struct Written {
    pub(crate) dir: PathBuf,
    store: Store,
}

impl Written {
    pub(crate) fn new(home: &Home) -> Written {
        let dir = PathBuf::from(home.path(".local/state/bridle"));
        std::fs::create_dir_all(&dir).unwrap();
        let store = Store::open(&dir, &Options::default()).unwrap();
        Written { dir, store }
    }

    /// A session that asked `help` once, driven through the loop.
    pub(crate) fn session(&mut self, name: &str) -> &mut Written {
        let session = NewSession { name: name.into(), owner: "uid:7".into(), at: AT };
        let mut state = State::new(SessionId::parse(name).unwrap());
        let began = Began { owner: "uid:7".into(), limits: Limits::default(), fork: None };
        let payload = Value::plist([
            ("sensor", Value::keyword("user-prompt")),
            ("text", Value::str("help\nme")),
        ]);
        let (kind, from) = (SignalKind::Event, Asker::new("uid:7"));
        let signal =
            Signal { kind, from, id: None, target: None, payload, dropped: vec![], patient: true };
        let mut drafts = Vec::new();
        for event in [Event::Began(began), Event::Signal(signal.into())] {
            let seq = state.seq_of(&event).map(|seq| seq.0);
            drafts.push(draft(name, event.kind(), seq, &event.to_value().to_string()));
            for effect in step(&mut state, Time(AT), event) {
                let seq = effect.seq().map(|seq| seq.0);
                drafts.push(draft(name, effect.kind(), seq, &effect.to_value().to_string()));
            }
        }
        let mark = format!("(:state \"{}\")", hash_text(&state.to_value().to_string()));
        drafts.push(draft(name, "mark", None, &mark));
        self.commit(Append { session: Some(session), drafts, ..Append::default() })
    }

    /// One record of the daemon itself.
    pub(crate) fn log(&mut self, body: &str) -> &mut Written {
        self.add("", "log", body)
    }

    /// One record that has no number in its session.
    pub(crate) fn add(&mut self, session: &str, kind: &'static str, body: &str) -> &mut Written {
        let drafts = vec![draft(session, kind, None, body)];
        self.commit(Append { drafts, ..Append::default() })
    }

    /// Number of the last record.
    pub(crate) fn head(&mut self) -> u64 {
        self.store.head().unwrap().number.0
    }

    fn commit(&mut self, append: Append) -> &mut Written {
        self.store.commit(&[append]).unwrap();
        self
    }
}

fn draft(session: &str, kind: &'static str, seq: Option<u64>, body: &str) -> Draft {
    Draft { seq, ..Draft::new(session, kind, AT, "uid:7", body) }
}
