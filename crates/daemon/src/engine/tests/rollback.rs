//! A turn that fails after it changed files: what it changed is taken back, and nothing else.
//!
//! long: scenarios are told in order.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_host::{
    ActContext, ActIo, Actuator as _, Host, ProposalPlace, Readership, ThinkerChoice,
};
use bridle_loop::{
    DEFAULT_POLICY, Draft, Effect, EffectId, KeywordName, Order, Outcome, Proposal, SessionId,
    SignalKind, ThinkerFault, TurnId,
};
use bridle_memex::{MemoryOptions, MemoryStore};
use bridle_record::{RecordFilter, RecordNumber, RecordReader, RecordStore};
use bridle_sexp::{Value, read_one};
use tempfile::TempDir;

use super::memory::{TEXT, inbound, question, text, word};
use super::rig::{self, Rig, Shell, emacs, owner, signal, waited_for};
use crate::config::{DaemonConfig, PolicyChoice};
use crate::engine::StreamEventKind;
use crate::engine::commit::batch::{AppendBatch, BatchContext, PostCommit};
use crate::engine::home::action_catalog::ActionCatalog;
use crate::engine::home::guard::PolicyGuard;
use crate::engine::home::principal_usage::PrincipalUsageSums;
use crate::engine::home::schedules::ScheduleList;
use crate::engine::queries::facts::HubFacts;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::loaded_session::{LoadedSession, began};
use bridle_memex::{MEMORY, MemoryEditor, RollbackChoice};

/// Two edits, then one of a file that somebody edits; or one edit, and then a long thought.
const SCRIPT: &str = r#"
(rule :when "all" :propose (
  (:target :memory :action :set-state :path "notes.org" :id "water" :state "DONE")
  (:target :memory :action :append-subtree :path "made.org" :text "* Made
")
  (:target :memory :action :append-subtree :path "held.org" :text "* More
")))
(rule :when "one" :then-think t :propose (
  (:target :memory :action :set-state :path "notes.org" :id "water" :state "DONE")))
(rule :when "one" :result t :delay 600000 :say "never")
"#;

/// The built-in policies, with edits done without a question.
fn policies(more: &str) -> String {
    let asks = "(ask (:principal \"owner\" :target :memory :action :set-state";
    let permit = "* Edits are done\n\n#+begin_src cedar\n\
        permit (principal, action == Action::\"edit\", resource);\n#+end_src\n\n\
        #+begin_src examples\n(allow (:principal \"owner\" :by :thinker :target :memory \
        :action :delete-subtree :path \"/srv/a.org\" :line 1))\n#+end_src\n";
    DEFAULT_POLICY.replace(asks, &asks.replace("(ask", "(allow")) + permit + more
}

const NO_ROLLBACK: &str = "* Nothing goes back\n\n#+begin_src cedar\n\
    forbid (principal, action == Action::\"undo\", resource)\n\
    when { context.name == \"rollback\" };\n#+end_src\n\n#+begin_src examples\n\
    (refuse (:principal \"owner\" :target :memory :action :rollback :session \"work\" :turn 1))\n\
    #+end_src\n";

struct Files {
    rig: Rig,
    folder: TempDir,
}

impl Files {
    async fn start(choice: RollbackChoice, policy: &str) -> Files {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("notes.org"), TEXT).expect("ours");
        fs::write(folder.path().join("held.org"), "* Held\n").expect("ours");
        let (root, policy) = (folder.path().to_owned(), policies(policy));
        let rig = Rig::scripted_with(SCRIPT, move |config| {
            settle(config, &root, choice, &policy);
        })
        .await;
        assert_eq!(rig.hub.home.guard.present().fault.as_deref(), None);
        Files { rig, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("there")
    }

    /// A shell that has unsaved changes in one file.
    async fn shell(&self) -> Shell {
        let shell = self.rig.join("work", emacs).await;
        let file = Value::str(self.path("held.org").display().to_string());
        shell.send(&format!(
            "(:type :EVENT :id 7 :payload (:sensor :buffer-update :file {file} :modified t))"
        ));
        said(&shell, |_| true).await;
        shell
    }

    async fn answer(&self, effect: i64, verdict: &str) {
        let text = format!(
            "(:type :REQUEST :id 9 :target :system :payload (:action :approve :approval \
             \"work-{effect}\" :verdict {verdict}))"
        );
        let query = rig::query(&text).expect("well formed");
        crate::engine::ask_daemon(Arc::clone(&self.rig.hub), owner(), query, None)
            .await
            .expect("told");
    }
}

fn settle(config: &mut DaemonConfig, root: &Path, choice: RollbackChoice, policy: &str) {
    let file = config.state.join("policy.org");
    fs::write(&file, policy).expect("the directory is ours");
    config.policy = PolicyChoice::File(file);
    config.memex = Some(root.to_owned());
    config.rollback = choice;
}

/// The payload of the next thing that is said and meant.
async fn said(shell: &Shell, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let body = shell.body(StreamEventKind::Say).await;
        let payload = body.get("payload").expect("a payload").clone();
        if is_it(&payload) {
            return payload;
        }
    }
}

fn of_failed(payload: &Value) -> bool {
    text(payload, "message").starts_with("turn ") || text(payload, "text").starts_with("turn ")
}

/// The acts of a kind in the record.
fn acts(directory: &Path, action: &str) -> usize {
    let reader = RecordReader::open(directory).expect("the record");
    let filter = RecordFilter { kinds: vec!["act".into()], ..RecordFilter::default() };
    let records = reader.records(RecordNumber(0), &filter, 1000).expect("read");
    let is_it = |text: &str| text.contains(&format!(":action :{action} "));
    records.iter().filter(|record| record.body.text().is_some_and(is_it)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_failed_turn_changed_is_taken_back_and_nothing_else() {
    let files = Files::start(RollbackChoice::Auto, "").await;
    let shell = files.shell().await;
    shell.prompt(1, "all");
    let failed = said(&shell, |payload| word(payload, "status") == "error").await;
    assert!(text(&failed, "message").contains("unsaved changes"), "{failed}");
    let wrote = failed.get("wrote").and_then(Value::elements).expect("what it left");
    let mut wrote: Vec<&str> = wrote.iter().filter_map(Value::as_str).collect();
    // The acts of one draft end in any order.
    wrote.sort_unstable();
    assert_eq!(wrote, ["made.org", "notes.org"]);
    let told = said(&shell, of_failed).await;
    assert!(text(&told, "message").ends_with("is taken back"), "{told}");
    assert_eq!(files.text("notes.org"), TEXT);
    assert!(!files.path("made.org").exists(), "it was made by the turn");
    assert_eq!(files.text("held.org"), "* Held\n");
    assert_eq!(acts(files.rig.path(), "rollback"), 1);
    // It is a change of its own: the one after it takes it back.
    let reader = RecordReader::open(files.rig.path()).expect("the record");
    let filter = RecordFilter { kinds: vec!["act".into()], ..RecordFilter::default() };
    let last = reader.records(RecordNumber(0), &filter, 1000).expect("read").pop().expect("an act");
    shell.send(&format!(
        "(:type :REQUEST :id 2 :target :memory :payload (:action :undo :record {}))",
        last.number.0
    ));
    said(&shell, |payload| word(payload, "action") == "undo").await;
    assert_eq!(files.text("notes.org"), TEXT.replace("TODO", "DONE"));
    assert_eq!(files.text("made.org"), "* Made\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_is_asked_unless_the_settings_say_otherwise() {
    let files = Files::start(RollbackChoice::default(), "").await;
    let shell = files.shell().await;
    shell.prompt(1, "all");
    let (effect, wanted) = question(&shell).await;
    let diff = wanted.get("prepared").map(|it| text(it, "diff").to_owned()).expect("a diff");
    assert!(diff.contains("-* DONE Water the beds\n+* TODO Water the beds\n"), "{diff}");
    assert_eq!(files.text("made.org"), "* Made\n", "nothing is taken back before the yes");
    // What the user writes meanwhile stays.
    let users = files.text("notes.org").replace("beans", "beans and peas");
    fs::write(files.path("notes.org"), &users).expect("ours");
    files.answer(effect, ":allow").await;
    said(&shell, |payload| word(payload, "action") == "rollback").await;
    assert_eq!(files.text("notes.org"), users.replace("DONE", "TODO"));
    assert!(!files.path("made.org").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_interrupted_turn_changed_stays_where_the_user_went_on() {
    let files = Files::start(RollbackChoice::Auto, "").await;
    let shell = files.shell().await;
    shell.prompt(1, "one");
    shell.body(StreamEventKind::Acted).await;
    let users = files.text("notes.org").replace("Water the beds", "Water all beds");
    fs::write(files.path("notes.org"), &users).expect("ours");
    shell.send("(:type :EVENT :id 2 :payload (:sensor :interrupt))");
    let told = said(&shell, of_failed).await;
    let message = text(&told, "message");
    assert!(message.contains("what it changed stays") && message.contains("Water all"), "{told}");
    assert!(message.contains("`bridle memory rollback work 1`"), "{told}");
    assert_eq!(files.text("notes.org"), users);
    assert_eq!(acts(files.rig.path(), "rollback"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_and_policies_can_leave_it_as_it_is() {
    let files = Files::start(RollbackChoice::Off, "").await;
    let shell = files.shell().await;
    shell.prompt(1, "all");
    let told = said(&shell, of_failed).await;
    let said_so = text(&told, "text");
    assert!(said_so.contains("`made.org`") && said_so.contains("rollback work 1`"), "{told}");
    assert_eq!(files.text("made.org"), "* Made\n");
    let files = Files::start(RollbackChoice::Auto, NO_ROLLBACK).await;
    let shell = files.shell().await;
    shell.prompt(1, "all");
    let told = said(&shell, of_failed).await;
    assert!(text(&told, "message").contains("forbids that"), "{told}");
    assert_eq!(files.text("made.org"), "* Made\n");
    assert_eq!(acts(files.rig.path(), "rollback"), 0);
}

/// How far the way back got before the crash.
#[derive(Clone, Copy, PartialEq)]
enum Crash {
    Planned,
    Started,
    Written,
}

/// What a batch wants to be done: the last thought or act of it, and the draft of its intent.
fn last(batch: &AppendBatch<'_>) -> (EffectId, Option<Order>, usize) {
    let found = batch.after.iter().rev().find_map(|after| match after {
        PostCommit::Carry { effect, draft } => match &**effect {
            Effect::Think { id, .. } => Some((*id, None, draft.expect("recorded"))),
            Effect::Act { id, order, .. } => {
                Some((*id, Some(order.clone()), draft.expect("recorded")))
            }
            _ => None,
        },
        _ => None,
    });
    found.expect("something is wanted")
}

/// The advice about a failed turn, as a worker brings it.
fn advised(host: &Host, batch: &AppendBatch<'_>) -> InboxItem {
    let asked = batch.after.iter().rev().find_map(|after| match after {
        PostCommit::Carry { effect, .. } => match &**effect {
            Effect::Consult { id, context, .. } => Some((id.0, host.consult(context))),
            _ => None,
        },
        _ => None,
    });
    let (effect, mut advice) = asked.expect("a question");
    host.prepare(
        &mut advice.proposals,
        ProposalPlace { session: "work", readers: Readership::Owners },
    );
    InboxItem::Consulted { effect, advice }
}

/// Has an order carried out, as a worker does.
fn carried(host: &Host, of: (EffectId, TurnId, u64), order: &Order, at: i64) -> Outcome {
    let session = SessionId::parse("work").expect("a name");
    let ((effect, turn, record), principal) = (of, "uid:1000".into());
    let io = ActIo::new(ActContext { session, effect, turn, record, principal, at });
    waited_for(host.act(order, &io))
}

/// A session whose daemon dies on the way back from a failed turn.
fn crashed(config: &DaemonConfig, root: &Path, crash: Crash) {
    let options = MemoryOptions { root: root.to_owned(), protected: Vec::new() };
    let memory = Arc::new(MemoryStore::open(&config.state, &options).expect("opened"));
    let editor = MemoryEditor::new(
        Arc::clone(&memory),
        Box::new(|| 1),
        RollbackChoice::Auto,
        Default::default(),
    );
    let edit = read_one("(:action :set-state :path \"notes.org\" :id \"water\" :state \"DONE\")");
    let payload = editor
        .prepare(
            &edit.expect("a form").root().to_value(),
            ProposalPlace { session: "work", readers: Readership::Owners },
        )
        .expect("looked at");
    let host = Host::new(&config.thinker, Arc::new(HubFacts::default())).expect("a host");
    let host = host.with_actuator(MEMORY, Box::new(editor));
    let mut store =
        RecordStore::open(&config.state, &bridle_record::StoreOptions::default()).expect("a store");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = i64::try_from(now).expect("before the end of time");
    let (guard, catalog) = (PolicyGuard::start(config, |_| false), host.catalog());
    let actions = &ActionCatalog::default();
    let (sums, plans) = (&PrincipalUsageSums::default(), &ScheduleList::default());
    let mut core = LoadedSession::unborn(SessionId::parse("work").expect("a name"));
    let means = BatchContext {
        host: &host,
        catalog,
        actions,
        guard: &guard,
        usage: sums,
        schedules: plans,
        secrets: &config.secret_store(),
        at: now,
    };
    let mut commit =
        |core: &mut LoadedSession, append: &mut bridle_record::RecordAppend, draft: usize| {
            core.complete(append);
            let numbers = store.commit(&[std::mem::take(append)]).expect("kept");
            numbers[0].get(draft).expect("a number").0
        };
    let mut batch = AppendBatch::new(&mut core, means.clone());
    batch.begin(|| began("uid:1000", &crate::config::EngineLimits::default()));
    let mut prompt = signal("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"one\"))");
    prompt.kind = SignalKind::Event;
    batch.add(InboxItem::Signal(Box::new(inbound(prompt))), &[]);
    let (thought, _, _) = last(&batch);
    let target = Some(KeywordName::new(MEMORY));
    let proposal = Proposal { then_think: true, ..Proposal::new(target, payload) };
    let draft = Ok(Draft::of_calls(vec![proposal]));
    batch.add(InboxItem::Drafted { effect: thought.0, draft }, &[]);
    let (edit, order, draft) = last(&batch);
    batch.add(InboxItem::Start { effect: edit.0 }, &[]);
    let mut append = std::mem::take(&mut batch.append);
    let record = commit(&mut core, &mut append, draft);
    let outcome = carried(&host, (edit, TurnId(1), record), &order.expect("an act"), now);
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    let mut batch = AppendBatch::new(&mut core, means);
    batch.add(InboxItem::Outcome { effect: edit.0, outcome, principal: "engine".into() }, &[]);
    let (thought, _, _) = last(&batch);
    let fault = ThinkerFault { reason: "out of words".into(), retryable: false };
    batch.add(InboxItem::Drafted { effect: thought.0, draft: Err(fault) }, &[]);
    let advice = advised(&host, &batch);
    batch.add(advice, &[]);
    let (back, order, draft) = last(&batch);
    if crash != Crash::Planned {
        batch.add(InboxItem::Start { effect: back.0 }, &[]);
    }
    let mut append = std::mem::take(&mut batch.append);
    let record = commit(&mut core, &mut append, draft);
    if crash == Crash::Written {
        let outcome = carried(&host, (back, TurnId(2), record), &order.expect("an act"), now);
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }
}

async fn after_crash(crash: Crash) {
    let (state, folder) = (TempDir::new().expect("a directory"), TempDir::new().expect("a folder"));
    fs::write(folder.path().join("notes.org"), TEXT).expect("ours");
    let script = state.path().join("rules.script");
    fs::write(&script, SCRIPT).expect("ours");
    let mut config = DaemonConfig { state: state.path().to_owned(), ..DaemonConfig::default() };
    config.thinker = ThinkerChoice::Script(script);
    settle(&mut config, folder.path(), RollbackChoice::Auto, &policies(""));
    crashed(&config, folder.path(), crash);
    let file = folder.path().join("notes.org");
    let users = fs::read_to_string(&file).expect("there") + "user\n";
    fs::write(&file, users).expect("ours");
    let rig = Rig::on_with(state, move |settings| *settings = config).await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let told = said(&shell, of_failed).await;
    assert!(text(&told, "message").ends_with("is taken back"), "{told}");
    let now = fs::read_to_string(&file).expect("there");
    assert_eq!(now, format!("{TEXT}user\n"));
    assert_eq!(acts(rig.path(), "rollback"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_on_the_way_back_does_not_do_it_twice_or_never() {
    for crash in [Crash::Planned, Crash::Started, Crash::Written] {
        after_crash(crash).await;
    }
}
