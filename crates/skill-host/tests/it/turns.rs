//! Turns of a session in which a skill thinks, with the loop and a host, and restarts of the host in the middle.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bridle_host::{
    CancelFlag, DaemonFacts, Host, SessionList, SessionVisibility, StatusFact, ThinkerChoice,
    ThoughtIo,
};
use bridle_loop::{
    ActuatorLocation, ActuatorRef, Effect, Event, KeywordName, Outcome, SessionId, SessionLimits,
    SessionStart, SessionState, Signal, SignalKind, SignalSender, UnixMillis, step,
};
use bridle_sexp::Value;
use bridle_skill_host::{SkillRegistry, SkillThinker};

use crate::{Home, hello};

/// A daemon about which there is nothing to tell.
struct Quiet;

impl DaemonFacts for Quiet {
    fn sessions(&self, _: SessionVisibility<'_>, _: usize) -> SessionList {
        SessionList::default()
    }

    fn status(&self) -> StatusFact {
        StatusFact {
            version: "0".into(),
            uptime: Duration::ZERO,
            sessions: 0,
            busy: 0,
            shells: 0,
            record: 0,
            trouble: None,
        }
    }
}

fn host(registry: &Arc<SkillRegistry>) -> Host {
    let host = Host::new(&ThinkerChoice::Builtin, Arc::new(Quiet)).unwrap();
    let registry = Arc::clone(registry);
    host.with_thinker_before(|inner| Box::new(SkillThinker::new(registry, inner)))
}

/// One session; a new host for each thought when it restarts.
pub(crate) struct Session<'h> {
    registry: Box<dyn Fn() -> Arc<SkillRegistry> + 'h>,
    host: Host,
    restarts: bool,
    state: SessionState,
    owner: bool,
    told: Vec<String>,
    acts: Arc<Mutex<Vec<String>>>,
}

impl<'h> Session<'h> {
    pub(crate) fn new(restarts: bool, registry: impl Fn() -> Arc<SkillRegistry> + 'h) -> Self {
        let state = SessionState::new(SessionId::parse("s").unwrap());
        let host = host(&registry());
        let (registry, acts) = (Box::new(registry), Arc::default());
        let mut session =
            Self { registry, host, restarts, state, owner: true, told: Vec::new(), acts };
        let owner = Box::from("uid:1");
        let limits = SessionLimits::default();
        session.feed(Event::Began(SessionStart {
            owner,
            limits,
            fork: None,
            version: bridle_loop::LOOP_VERSION,
        }));
        let log = ActuatorRef {
            name: KeywordName::new("log"),
            place: ActuatorLocation::Host,
            actions: vec![KeywordName::new("log")],
            specs: None,
        };
        session.feed(Event::Registered([log].into()));
        session
    }

    pub(crate) fn prompt(&mut self, text: &str) -> String {
        let payload =
            Value::plist([("sensor", Value::keyword("user-prompt")), ("text", text.into())]);
        let signal = Signal {
            kind: SignalKind::Event,
            from: SignalSender { owner: self.owner, ..SignalSender::new("uid:1") },
            id: Some(Value::int(1)),
            target: None,
            payload,
            dropped: Vec::new(),
            patient: true,
        };
        self.feed(Event::Signal(Arc::new(signal)));
        std::mem::take(&mut self.told).join("\n")
    }

    fn feed(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in step(&mut self.state, UnixMillis(0), event) {
                events.extend(self.carry_out(effect));
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Consult { id, context, .. } => {
                Some(Event::Consulted { effect: id, advice: self.host.consult(&context) })
            }
            Effect::Think { id, prompt } => {
                if self.restarts {
                    self.host = host(&(self.registry)());
                }
                let io = ThoughtIo::new(CancelFlag::new());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                let result = runtime.unwrap().block_on(self.host.think(&prompt, &io));
                Some(Event::Drafted { effect: id, draft: result })
            }
            Effect::Act { id, order, .. } => {
                let mut acts = self.acts.lock().unwrap();
                acts.push(format!("{:?}", order.action()));
                let count = i64::try_from(acts.len()).unwrap();
                Some(Event::Acted { effect: id, outcome: Outcome::Done(Value::int(count)) })
            }
            Effect::Say(said) => {
                let text = said.payload.get("text").and_then(Value::as_str);
                self.told.push(text.map_or_else(|| said.payload.to_string(), str::to_owned));
                None
            }
            _ => None,
        }
    }
}

const NOTES: &str = ":PROPERTIES:\n:ID: notes\n:CAPABILITIES: log/log\n:TRIGGER_PATTERN: ^note\n:END:\n* P\n#+begin_src lisp
(defskill notes
  (think (context)
    (let* ((before (or (bridle:state) 0)) (random (bridle:random 1000000)) (now (bridle:now)))
      (declare (ignorable now))
      (bridle:save-state (1+ before))
      (let ((values (loop repeat 3 collect
                      (bridle:result (bridle:act :log :action :log :text (format nil \"~a ~a\" random (getf context :text)))))))
        (list (format nil \"~a ~a\" values (1+ before)))))))
#+end_src\n";

fn enabled(home: &Home) {
    home.write("notes.org", NOTES);
    let set = [bridle_skill::Capability::parse("log/log").unwrap()].into_iter().collect();
    home.storage().enable(&bridle_skill::SkillId::new("notes").unwrap(), &set).unwrap();
}

#[test]
fn a_command_is_answered_and_everything_else_goes_on_as_before() {
    let home = Home::new();
    home.write("a.org", &hello("a", "", "Hello there."));
    let mut session = Session::new(false, || home.registry());
    assert_eq!(session.prompt("/hello"), "Hello there.");
    assert_eq!(session.prompt("/HELLO you"), "Hello there.");
    assert!(session.prompt("hello").contains("no model"));
    assert!(session.prompt("/help").contains("bridle"));
    session.owner = false;
    assert!(session.prompt("/hello").contains("no model"));
}

#[test]
fn a_turn_asks_for_actions_and_keeps_what_it_saved() {
    let home = Home::new();
    enabled(&home);
    let mut session = Session::new(false, || home.registry());
    assert_eq!(session.prompt("note milk"), "(1 2 3) 1");
    assert_eq!(session.prompt("note milk"), "(4 5 6) 2");
    let acts = session.acts.lock().unwrap().clone();
    assert_eq!(acts.len(), 6);
    assert!(acts[0] == acts[1] && acts[1] == acts[2] && acts[0].contains("note milk"), "{acts:?}");
}

#[test]
fn a_turn_ends_the_same_when_the_host_restarts_before_each_thought() {
    let home = Home::new();
    enabled(&home);
    let mut session = Session::new(true, || home.registry());
    assert_eq!(session.prompt("note milk"), "(1 2 3) 1");
    let acts = session.acts.lock().unwrap().clone();
    // The random number of the first run is that of all.
    assert!(acts.len() == 3 && acts[0] == acts[2], "{acts:?}");
}

#[test]
fn a_turn_ends_on_the_version_that_it_began_on() {
    let home = Home::new();
    enabled(&home);
    let thoughts = std::cell::Cell::new(0);
    let mut session = Session::new(true, || {
        thoughts.set(thoughts.get() + 1);
        if thoughts.get() == 3 {
            // Saved between two thoughts of the turn.
            home.write("notes.org", &NOTES.replace("(1+ before)))))))", "\"new\"))))))"));
        }
        if thoughts.get() == 4 {
            std::fs::remove_file(home.file("notes.org")).unwrap();
        }
        home.registry()
    });
    assert_eq!(session.prompt("note milk"), "(1 2 3) 1");
    assert!(session.prompt("note milk").contains("no model"));
}

#[test]
fn a_skill_that_fails_harms_only_its_own_answer() {
    let home = Home::new();
    home.write("a.org", &hello("a", "", "fine"));
    for (name, body) in [
        ("b", "(loop)"),
        ("c", "(error \"broken\")"),
        ("d", "5"),
        ("e", "(list :target :system :action :forget :session \"s\")"),
    ] {
        let text = format!(
            ":PROPERTIES:\n:ID: {name}\n:END:\n#+begin_src lisp\n(defcommand {name} (text) {body})\n#+end_src\n"
        );
        home.write(&format!("{name}.org"), &text);
    }
    let mut session = Session::new(false, || home.registry());
    for (name, part) in [
        ("b", "fuel limit"),
        ("c", "broken"),
        ("d", "no answer"),
        ("e", "no capability system/forget"),
    ] {
        let told = session.prompt(&format!("/{name}"));
        assert!(told.contains(part), "{name}: {told}");
        assert_eq!(session.prompt("/hello"), "fine");
    }
}
