//! What a thinker can ask for: described by the host and by shells, named in the record by its hash.

use std::sync::Arc;

use bridle_host::{ActIo, Actuator, ActuatorConflict, HostFuture};
use bridle_loop::{
    ActionSpec, ActuatorSpec, ArgumentShape, ArgumentSpec, KeywordName, Order, Outcome,
};
use bridle_record::{Record, RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;

use super::rig::{Rig, Shell, body};
use crate::engine::{AttachRequest, ShellOffer, StreamEventKind};

/// Does what it is told, under any name.
struct Echo(&'static str);

impl Actuator for Echo {
    fn specs(&self) -> Vec<ActionSpec> {
        let argument = ArgumentSpec::required("text", ArgumentShape::Text, "Text");
        vec![ActionSpec::new(self.0, "Say it back.", vec![argument])]
    }

    fn act<'a>(&'a self, order: &'a Order, _: &'a ActIo) -> HostFuture<'a, Outcome> {
        let text = order.payload().get("text").cloned().unwrap_or(Value::Nil);
        Box::pin(async move { Outcome::Done(Value::plist([("said", text)])) })
    }
}

fn records(rig: &Rig, kind: &str) -> Vec<Record> {
    let reader = RecordReader::open(rig.path()).expect("a record");
    let all = reader.records(RecordNumber(0), &RecordFilter::default(), 10_000).expect("records");
    all.into_iter().filter(|record| record.kind.as_ref() == kind).collect()
}

fn value(record: &Record) -> Value {
    bridle_history::session_fold::parse(record.body.text().expect("not erased")).expect("a body")
}

fn editor(actions: &str) -> impl FnOnce(&mut AttachRequest) + use<> {
    let actions = bridle_sexp::read_one(actions).expect("a form").root().to_value();
    move |want| {
        let spec = ActuatorSpec::declared(KeywordName::new("emacs"), &actions).expect("bounded");
        want.actuators = vec![ShellOffer::described(spec)];
    }
}

async fn answered(shell: &Shell, text: &str) -> Value {
    shell.send(text);
    shell.body(StreamEventKind::Say).await.get("payload").expect("a payload").clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_says_once_what_a_thought_was_offered() {
    let rig = Rig::scripted("(default :say \"yes\")").await;
    let open =
        "((:name :open-file :about \"Open a file.\" :arguments ((:name :path :required t))))";
    for session in ["one", "two"] {
        let shell = rig.join(session, editor(open)).await;
        shell.prompt(1, "hello");
        shell.body(StreamEventKind::Say).await;
    }
    let catalogs = records(&rig, "catalog").len();
    let registered = records(&rig, "registered").iter().map(value).collect::<Vec<_>>();
    assert_eq!(registered.len(), 2);
    let actuators = registered[0].get("actuators").and_then(Value::elements).expect("actuators");
    assert_eq!(catalogs, actuators.len(), "one for each actuator, for both sessions");
    let emacs = actuators.iter().find(|it| it.get("name").is_some_and(|n| n.is_keyword("emacs")));
    let digest =
        emacs.and_then(|emacs| emacs.get("specs")).and_then(Value::as_str).expect("a hash");
    let catalogs: Vec<Value> = records(&rig, "catalog").iter().map(value).collect();
    let named = catalogs.iter().find(|it| it.get("digest").and_then(Value::as_str) == Some(digest));
    assert!(named.expect("recorded").to_string().contains("Open a file."));
    let thoughts: Vec<Value> = records(&rig, "think").iter().map(value).collect();
    let offered: Vec<&str> =
        thoughts.iter().filter_map(|it| it.get("catalog").and_then(Value::as_str)).collect();
    assert_eq!(offered.len(), thoughts.len());
    assert!(offered.windows(2).all(|pair| pair[0] == pair[1]), "{offered:?}");
    // A daemon that starts again knows what its record has.
    let rig = rig.restart().await;
    let shell = rig.join("three", |_| {}).await;
    shell.prompt(1, "hello");
    shell.body(StreamEventKind::Say).await;
    assert_eq!(records(&rig, "catalog").len(), catalogs.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_that_describes_its_actions_is_asked_for_those_alone() {
    let rig = Rig::start().await;
    let emacs = rig.join("work", editor("(:open-file)")).await;
    let shell = rig.join("work", |_| {}).await;
    let ask = |action: &str| {
        format!("(:type :REQUEST :id 1 :target :emacs :payload (:action {action} :code \"1\"))")
    };
    let refused = answered(&shell, &ask(":eval")).await;
    assert!(
        refused.get("message").and_then(Value::as_str).is_some_and(|m| m.contains("no action"))
    );
    // Nobody believes the shell about the risk: what is unknown needs somebody's yes.
    shell.send(&ask(":open-file"));
    let question = emacs.body(StreamEventKind::Ask).await;
    assert!(question.get("risk").is_some_and(|risk| risk.is_keyword("dangerous")), "{question}");
    // The same shell comes back and can do something else.
    drop(emacs);
    let emacs = rig.join("work", editor("(:eval)")).await;
    shell.send(&ask(":eval"));
    loop {
        let event = emacs.event().await;
        if event.kind == StreamEventKind::Ask {
            let action = body(&event).get("payload").and_then(|it| it.get("action")).cloned();
            assert!(action.is_some_and(|action| action.is_keyword("eval")));
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actuators_are_swapped_while_the_daemon_runs() {
    let rig = Rig::start().await;
    let host = rig.hub.home.host();
    let shell = rig.join("work", |_| {}).await;
    let ask = "(:type :REQUEST :id 1 :target :echo :payload (:action :shout :text \"hi\"))";
    let message =
        |answer: &Value| answer.get("message").map(ToString::to_string).unwrap_or_default();
    let unknown = answered(&shell, ask).await;
    assert!(message(&unknown).contains("no target `echo`"), "{unknown}");
    let echo =
        |action| vec![(KeywordName::new("echo"), Arc::new(Echo(action)) as Arc<dyn Actuator>)];
    host.replace_actuators("skills", echo("shout")).expect("taken");
    shell.send(ask);
    shell.body(StreamEventKind::Ask).await;
    // Another group cannot take the name, nor can any take one of the daemon's own.
    let conflict = ActuatorConflict::Taken(KeywordName::new("echo"));
    assert_eq!(host.replace_actuators("tools", echo("shout")), Err(conflict));
    let log = vec![(KeywordName::new("log"), Arc::new(Echo("log")) as Arc<dyn Actuator>)];
    assert!(host.replace_actuators("tools", log).is_err());
    // The next edition of the group can do something else, and nothing else.
    host.replace_actuators("skills", echo("whisper")).expect("taken");
    let gone = answered(&shell, ask).await;
    assert!(message(&gone).contains("has no action `shout`"), "{gone}");
    host.replace_actuators("skills", Vec::new()).expect("taken");
    let gone = answered(&shell, ask).await;
    assert!(message(&gone).contains("no target `echo`"), "{gone}");
}
