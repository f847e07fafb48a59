//! What a thinker can ask for: described by the host and by shells, named in the record by its hash.

use std::sync::Arc;

use bridle_host::{ActIo, Actuator, ActuatorConflict, HostFuture};
use bridle_loop::{
    ActionSpec, ActuatorSpec, ArgumentShape, ArgumentSpec, KeywordName, Order, Outcome,
};
use bridle_record::{Record, RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;

use super::rig::{self, Rig, Shell, body, owner, stranger};
use crate::engine::{AttachRequest, OutboundItem, ShellOffer, StreamEventKind};

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
        // What was asked before is offered to it, too.
        let OutboundItem::Event { event, .. } = emacs.next().await else { continue };
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

/// Looks a word up, and says so when something came back.
const LOOKS_UP: &str = r#"
(rule :when "look *" :propose ((:target :context :action :query :text "$1" :call "c1"
  :prepared (:access :owner))))
(rule :when "part *" :propose ((:target :context :action :get-result :seq 3 :from 1 :length 7 :call "c2")))
(rule :result (:target :context :outcome :done) :text "looked")
(rule :result (:target :context :outcome :failed) :text "failed")
"#;

/// A hub with a memory of two notes, one of them private.
async fn remembering(folder: &std::path::Path) -> Rig {
    let notes = "* Kiwi harvest\nIn June.\n* Kiwi thief :private:\nIt was zanzibar.\n";
    std::fs::write(folder.join("notes.org"), notes).expect("the folder is ours");
    let at = folder.to_owned();
    let rig = Rig::scripted_with(LOOKS_UP, move |config| config.memex = Some(at)).await;
    let is_ready = || async {
        let text = "(:type :REQUEST :id 9 :target :context :payload (:action :memex-status))";
        let query = rig::query(text).expect("understood");
        let told = crate::engine::ask_daemon(Arc::clone(&rig.hub), owner(), query, None).await;
        told.is_ok_and(|told| told.get("state").is_some_and(|state| state.is_keyword("ready")))
    };
    while !is_ready().await {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    rig
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thinker_reads_the_memory_and_the_record_has_what_it_read() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let rig = remembering(folder.path()).await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "look kiwi");
    let answer = shell.body(StreamEventKind::Say).await;
    assert!(answer.to_string().contains("looked"), "{answer}");
    let [acted] = &*records(&rig, "acted") else { panic!("one act") };
    let result = value(acted).get("result").expect("a result").clone();
    // An owner asks in a session of theirs: all of it is there, and labelled for models that are elsewhere.
    assert!(result.to_string().contains("Kiwi thief"), "{result}");
    assert!(result.get("privacy").is_some_and(|label| label.is_keyword("secret")), "{result}");
    let judged = records(&rig, "decided")
        .iter()
        .map(value)
        .find(|it| it.get("target").is_some_and(|target| target.is_keyword("context")));
    let facts = judged.expect("judged").get("facts").expect("facts").clone();
    assert!(facts.get("kind").is_some_and(|kind| kind.is_keyword("context")), "{facts}");
    assert!(facts.get("risk").is_some_and(|risk| risk.is_keyword("safe")), "{facts}");
    // Whoever is not an owner is shown what others are shown, whatever the proposal says about itself.
    let other = rig.try_join(stranger(), "other", |_| {}).await.expect("attached");
    other.prompt(1, "look kiwi");
    other.body(StreamEventKind::Say).await;
    let theirs = records(&rig, "acted").pop().expect("an act");
    assert!(!theirs.body.text().expect("kept").contains("thief"), "{:?}", theirs.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_result_is_read_in_parts_from_its_own_session() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let rig = remembering(folder.path()).await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "look kiwi");
    shell.body(StreamEventKind::Say).await;
    let seq = records(&rig, "acted")[0].seq;
    assert_eq!(seq, Some(3), "the number that the script asks for");
    shell.prompt(2, "part of it");
    assert!(shell.body(StreamEventKind::Say).await.to_string().contains("looked"));
    let part = value(&records(&rig, "acted")[1]).get("result").expect("a result").clone();
    let text = part.get("text").and_then(Value::as_str).expect("a part");
    assert_eq!(text, ":status", "{part}");
    let elsewhere = rig.join("elsewhere", |_| {}).await;
    elsewhere.prompt(1, "part of it");
    assert!(elsewhere.body(StreamEventKind::Say).await.to_string().contains("failed"));
}
