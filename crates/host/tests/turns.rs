//! Whole turns: a session's state, a host, and nothing else of the daemon between them. Also holds
//! the example scripts to what they promise.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bridle_host::{
    ActContext, ActIo, CancelFlag, DaemonFacts, Host, HostFuture, SessionList, SessionVisibility,
    StatusFact, Thinker, ThinkerChoice, ThoughtChannel, ThoughtIo,
};
use bridle_loop::{
    ActuatorLocation, ActuatorRef, ApprovalAnswer, ApprovalChoice, Draft, Effect, EffectId, Event,
    KeywordName, Outcome, Proposal, ReflexAdvice, SessionId, SessionLimits, SessionStart,
    SessionState, Signal, SignalContext, SignalKind, SignalSender, ThinkerFault, ThinkerPrompt,
    TurnId, UnixMillis, step,
};
use bridle_sexp::{Value, read_one};

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

/// One session with a host.
struct Session {
    host: Host,
    state: SessionState,
    /// Who says everything.
    from: SignalSender,
    /// What the owner says to questions of the guard, if anything.
    answer: Option<ApprovalChoice>,
    /// What happened, a line each.
    told: Vec<String>,
}

impl Session {
    fn new(host: Host) -> Self {
        let name = SessionId::parse("s").unwrap();
        let from = SignalSender { owner: true, ..SignalSender::new("uid:1") };
        let mut session =
            Self { host, state: SessionState::new(name), from, answer: None, told: Vec::new() };
        let emacs = ActuatorRef {
            name: KeywordName::new("emacs"),
            place: ActuatorLocation::Shell,
            actions: vec![],
            specs: None,
        };
        let actuators = session.host.catalog().actuators.iter().cloned().chain([emacs]).collect();
        let owner = Box::from("uid:1");
        session.feed(Event::Began(SessionStart {
            owner,
            limits: SessionLimits::default(),
            version: bridle_loop::LOOP_VERSION,
            fork: None,
        }));
        session.feed(Event::Registered(actuators));
        session
    }

    /// The same session, spoken to by a program for which nothing dangerous is ever done.
    fn of_a_local_program(self) -> Self {
        Self { from: SignalSender::new("local-tcp:1"), ..self }
    }

    /// The same session, whose owner says this to every question.
    fn answering(self, answer: ApprovalChoice) -> Self {
        Self { answer: Some(answer), ..self }
    }

    /// What happens after this prompt.
    fn prompt(&mut self, text: &str) -> Vec<String> {
        let payload =
            Value::plist([("sensor", Value::keyword("user-prompt")), ("text", text.into())]);
        self.signal(SignalKind::Event, None, payload)
    }

    /// What happens after this request.
    fn request(&mut self, target: &str, payload: &str) -> Vec<String> {
        let payload = read_one(payload).unwrap().root().to_value();
        self.signal(SignalKind::Request, Some(KeywordName::new(target)), payload)
    }

    fn signal(
        &mut self,
        kind: SignalKind,
        target: Option<KeywordName>,
        payload: Value,
    ) -> Vec<String> {
        let signal = Signal {
            kind,
            from: self.from.clone(),
            id: Some(Value::int(1)),
            target,
            payload,
            dropped: Vec::new(),
            patient: true,
        };
        self.feed(Event::Signal(Arc::new(signal)));
        std::mem::take(&mut self.told)
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
        let told = &mut self.told;
        match effect {
            Effect::Consult { id, context, .. } => {
                Some(Event::Consulted { effect: id, advice: self.host.consult(&context) })
            }
            Effect::Think { id, prompt } => {
                let pieces = Arc::new(Mutex::new(Vec::new()));
                let shown = Arc::clone(&pieces);
                let show = move |_, text: &str| shown.lock().unwrap().push(format!("~{text}"));
                let io = ThoughtIo::new(CancelFlag::new()).showing(show);
                let draft = waited_for(self.host.think(&prompt, &io));
                told.append(&mut pieces.lock().unwrap());
                Some(Event::Drafted { effect: id, draft })
            }
            Effect::Act { id, order, .. } if order.place() == ActuatorLocation::Shell => {
                told.push(format!("asked {}: {}", order.target(), order.payload()));
                Some(Event::Acted { effect: id, outcome: Outcome::Done(Value::Nil) })
            }
            Effect::Act { id, order, .. } => {
                let outcome = act(&self.host, &order, id, told);
                Some(Event::Acted { effect: id, outcome })
            }
            Effect::Ask { id, question, .. } => {
                told.push(format!("? {}", question.text));
                let from = SignalSender { owner: true, ..SignalSender::new("uid:1") };
                let (approval, hash) = (id, Some(question.intent.hash()));
                let answered = |answer| ApprovalAnswer {
                    approval,
                    hash,
                    answer,
                    from,
                    id: None,
                    always: None,
                };
                self.answer.map(answered).map(Event::Answered)
            }
            Effect::Say(utterance) => {
                let payload = &utterance.payload;
                let text = ["text", "message"].iter().find_map(|key| payload.get(key));
                let status = payload.get("status").unwrap();
                told.push(format!("{status} {}", text.and_then(Value::as_str).unwrap_or("-")));
                None
            }
            Effect::Decided(_)
            | Effect::Settled { .. }
            | Effect::Stop { .. }
            | Effect::Finish { .. } => None,
        }
    }
}

fn act(
    host: &Host,
    order: &bridle_loop::Order,
    effect: EffectId,
    told: &mut Vec<String>,
) -> Outcome {
    let session = SessionId::parse("s").unwrap();
    let context = ActContext {
        session,
        effect,
        turn: TurnId(1),
        record: 1,
        principal: "uid:1".into(),
        at: 1,
    };
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&notes);
    let note = move |text: &str| noted.lock().unwrap().push(format!("note {text}"));
    let outcome = waited_for(host.act(order, &ActIo::new(context).noting(note)));
    told.append(&mut notes.lock().unwrap());
    told.push(format!("{}: {outcome:?}", order.target()));
    outcome
}

fn waited_for<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(future)
}

fn host(thinker: &ThinkerChoice) -> Host {
    Host::new(thinker, Arc::new(Quiet)).unwrap()
}

fn example(name: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    Session::new(host(&ThinkerChoice::Script(path)))
}

/// A session with the thinker of this script.
fn scripted(script: &str) -> Session {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    Session::new(host(&ThinkerChoice::Script(PathBuf::from(file.path()))))
}

#[test]
fn builtin_answers_at_once() {
    let mut session = Session::new(host(&ThinkerChoice::Builtin));
    assert!(session.prompt(" /HELP ")[0].starts_with(":success I am bridle"));
    assert!(session.prompt("write a poem")[0].starts_with(":success I have no model"));
    assert!(session.prompt("status")[0].starts_with(":success bridle 0, up for 0 s"));
    assert!(session.prompt("why")[0].starts_with(":success Nothing was decided"));
}

#[test]
fn builtin_knows_why_something_was_refused() {
    let mut session = Session::new(host(&ThinkerChoice::Builtin)).of_a_local_program();
    let told = session.request("emacs", "(:action :eval :code \"(kill-emacs)\")");
    assert!(told[0].starts_with(":error "), "{told:?}");
    let told = session.prompt("why?");
    let line = told[0].lines().nth(1).unwrap();
    assert!(line.starts_with("  turn 1: you asked for `eval` for `emacs`: refused"), "{line}");
}

#[test]
fn notes_are_handed_to_the_daemon() {
    let mut session = Session::new(host(&ThinkerChoice::Builtin));
    let told = session.request("LOG", "(:action :log :text \"remember\")");
    assert_eq!(told[..2], ["note remember", "log: Done(nil)"]);
    assert!(told[2].starts_with(":success"), "{told:?}");
    let told = session.request("lgo", "(:action :log :text \"remember\")");
    assert!(told[0].contains("`lgo`") && told[0].contains("`log`"), "{told:?}");
}

#[test]
fn what_is_the_daemons_is_not_done_here() {
    let mut session = Session::new(host(&ThinkerChoice::Builtin));
    let told = session.request("system", "(:action :forget :session \"s\")");
    let expect = "system: Failed(\"`forget` reached the host, expected the daemon to do it\")";
    assert_eq!(told[0], expect);
}

#[test]
fn the_rules_in_the_manual() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scripted.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let (_, block) = manual.split_once("```lisp\n").unwrap();
    let mut session = scripted(block.split_once("```").unwrap().0);
    assert_eq!(
        session.prompt("Deploy the site"),
        ["note deploying the site", "log: Done(nil)", ":success Noted that you deploy the site."]
    );
    assert_eq!(session.prompt("sing"), [":success I only know how to deploy."]);
}

#[test]
fn a_script_streams_and_then_says_it_all() {
    let mut session = scripted(r#"(rule :when "count to *" :stream ("1, " "2, " "$1"))"#);
    assert_eq!(session.prompt("count to 3"), ["~1, ", "~2, ", "~3", ":success 1, 2, 3"]);
}

#[test]
fn a_script_cannot_allow_itself_anything() {
    let script = r#"(default :propose ((:target :emacs :action :eval :code "(f)" :approved t
                               :depth 0 :approved-action t :status :approved)))"#;
    let told = scripted(script).prompt("go");
    assert_eq!(told, ["? the thinker wants `eval` of `emacs`, which touches anything (dangerous)"]);
    let told = scripted(script).of_a_local_program().prompt("go");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(":success What I proposed was refused: "), "{told:?}");
}

#[test]
fn a_script_that_insists_is_stopped() {
    let eval = r#":propose ((:target :emacs :action :eval :code "x"))"#;
    let session = scripted(&format!("(rule :rejected t {eval}) (default {eval})"));
    let told = session.of_a_local_program().prompt("go");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(":error refused after 3 tries: `eval` (dangerous)"), "{told:?}");
}

#[test]
fn a_script_that_never_ends_is_stopped() {
    let log = r#":propose ((:target :log :action :log :text "x")) :then-think t"#;
    let mut session = scripted(&format!("(rule :result t {log}) (default {log})"));
    let told = session.prompt("go");
    let notes = told.iter().filter(|line| line.starts_with("note")).count();
    assert_eq!(notes, usize::try_from(SessionLimits::default().depth).unwrap() + 1);
    assert!(told.last().unwrap().starts_with("? a reflex wants `go-on` of `system`"), "{told:?}");
}

#[test]
fn slash_commands_work_under_every_script() {
    let mut session = scripted(r#"(default :say "no help here")"#);
    assert_eq!(session.prompt("help"), [":success no help here"]);
    assert!(session.prompt("/help")[0].contains("/status"));
}

#[test]
fn the_assistant_of_the_examples() {
    let mut session = example("assistant.script");
    assert!(session.prompt("Hello there")[0].starts_with(":success Hello. Ask me"));
    assert_eq!(session.prompt("hello"), [":success Hello again."]);
    for question in ["what is a frame?", "what is a session?", "What is the record"] {
        let told = session.prompt(question);
        let (said, pieces) = told.split_last().unwrap();
        let streamed: String = pieces.iter().map(|piece| &piece[1..]).collect();
        assert!(pieces.len() > 3, "{told:?}");
        assert_eq!(*said, format!(":success {streamed}"));
    }
    assert_eq!(
        session.prompt("remember the milk"),
        ["note to remember: the milk", "log: Done(nil)", ":success It is in the record: the milk"]
    );
    let told = session.prompt("fail");
    assert_eq!(told[0], "~I was just about to ");
    assert!(told[1].starts_with(":error") && told[1].contains("lost the thread"), "{told:?}");
    assert!(session.prompt("something else")[0].starts_with(":success I know what"));
}

#[test]
fn the_deployment_of_the_examples() {
    let deploy = || example("deploy.script");
    let ask = |mut session: Session| {
        let told = session.prompt("deploy the site to production");
        let (streamed, rest) = told.split_at(3);
        let pieces = ["~Looking at the site. ", "~Everything is built. ", "~Going to production. "];
        assert_eq!(streamed, pieces);
        rest.to_vec()
    };
    assert_eq!(ask(deploy()).len(), 1, "it waits");
    let told = ask(deploy().answering(ApprovalChoice::Allow));
    assert!(told[0].starts_with("? the thinker wants `eval` of `emacs`"), "{told:?}");
    assert!(told[2].starts_with("asked emacs: (:action :eval "), "{told:?}");
    assert_eq!(told[3..], [":success You said yes: the site is on its way to production."]);
    let told = ask(deploy().answering(ApprovalChoice::Deny));
    let note = "note deployment of the site to production is left to you: denied by `uid:1`";
    assert_eq!(told[2..4], [note, "log: Done(nil)"], "{told:?}");
    assert!(told[4].starts_with(":success I did not deploy the site to production."), "{told:?}");
    let told = ask(deploy().of_a_local_program());
    assert!(told[0].contains("is left to you: ") && told[0].contains("dangerous"), "{told:?}");
    assert_eq!(told[1], "log: Done(nil)");
    assert!(told[2].starts_with(":success I did not deploy the site to production."), "{told:?}");
    assert!(deploy().prompt("deploy")[0].starts_with(":success Tell me what"));
}

#[test]
fn the_cleaning_up_of_the_examples() {
    let clean = |session: Session| { session }.prompt("clean up main");
    let told = clean(example("deploy.script").answering(ApprovalChoice::Deny));
    assert!(told[0].starts_with("? the thinker wants `forget` of `system`"), "{told:?}");
    assert_eq!(told[2..], [":success I may not destroy main: denied by `uid:1`."]);
    let told = clean(example("deploy.script").of_a_local_program());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(":success I may not destroy main: "), "{told:?}");
}

/// A thinker that says everything again.
struct EchoThinker;

impl Thinker for EchoThinker {
    fn consult(&self, _: &SignalContext, _: &dyn DaemonFacts) -> ReflexAdvice {
        ReflexAdvice { think: true, ..ReflexAdvice::default() }
    }

    fn think<'a>(
        &'a self,
        prompt: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        Box::pin(async move {
            let text = prompt.context.signal.payload.get("text").cloned().unwrap_or(Value::Nil);
            io.show(ThoughtChannel::Text, text.as_str().unwrap_or_default());
            let payload = Value::plist([("action", Value::keyword("message")), ("text", text)]);
            let proposal = Proposal::new(None, payload);
            Ok(Draft::of_calls(vec![proposal]))
        })
    }

    fn answers_prose(&self) -> bool {
        true
    }
}

#[test]
fn any_thinker_can_be_the_hosts() {
    let host = Host::with_thinker(Box::new(EchoThinker), Arc::new(Quiet));
    let word = Value::plist([("sensor", Value::keyword("user-prompt")), ("text", "help".into())]);
    assert_eq!(host.answer_stranger(&word), None, "prose is the thinker's");
    let told = Session::new(host).prompt("say it again");
    assert!(told.last().unwrap().starts_with(":success say it again"), "{told:?}");
}

#[cfg(feature = "faults")]
mod faults {
    use super::{Quiet, Session};
    use bridle_host::{Host, ThinkerChoice};
    use std::sync::Arc;

    #[test]
    fn executions_are_counted_inside_of_the_directory() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let host = Host::new(&ThinkerChoice::Builtin, Arc::new(Quiet)).unwrap();
        let mut session = Session::new(host.with_tally(inner.clone()));
        for _ in 0..2 {
            let told = session.request("tally", "(:action :tally :file \"count\")");
            assert_eq!(told[0], "tally: Done(nil)");
        }
        let text = std::fs::read_to_string(inner.join("count")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0] != lines[1] && lines.iter().all(|line| line.starts_with("s-")), "{text}");
        let long = "x".repeat(256);
        for file in ["../out", "/out", "a/b", "..", ".", "", ".hidden", "a\0b", "a b", &long, "ä"]
        {
            let payload = format!("(:action :tally :file \"{file}\")");
            let told = session.request("tally", &payload);
            assert!(told[0].starts_with("tally: Failed("), "{file}: {told:?}");
        }
        assert_eq!(std::fs::read_dir(outer.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 1);
        std::fs::remove_dir_all(&inner).unwrap();
        let told = session.request("tally", "(:action :tally :file \"count\")");
        assert!(told[0].starts_with("tally: Failed(\"cannot count in `count`"), "{told:?}");
    }
}
