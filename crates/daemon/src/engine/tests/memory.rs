//! Edits of the user's files: shown before a yes, done after it, known after a crash, taken back.
//!
//! long: scenarios are told in order.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_host::{
    ActContext, ActIo, Actuator as _, Host, ProposalPlace, Readership, ThinkerChoice,
};
use bridle_loop::{Effect, EffectId, Order, Outcome, Signal, TurnId};
use bridle_memex::{MemoryOptions, MemoryStore};
use bridle_record::{RecordFilter, RecordNumber, RecordReader, RecordStore};
use bridle_sexp::Value;
use tempfile::TempDir;

use super::rig::{self, Rig, Shell, body, emacs, no_load, owner, signal, stranger, waited_for};
use crate::config::DaemonConfig;
use crate::engine::commit::batch::{AppendBatch, BatchContext, PostCommit};
use crate::engine::error::EngineErrorCode;
use crate::engine::home::action_catalog::ActionCatalog;
use crate::engine::home::guard::PolicyGuard;
use crate::engine::home::principal_usage::PrincipalUsageSums;
use crate::engine::queries::facts::HubFacts;
use crate::engine::sessions::inbound_message::{InboundMessage, MessageNewness};
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::loaded_session::{LoadedSession, began};
use crate::engine::stream::AttachmentId;
use crate::engine::{OutboundItem, StreamEventKind};
use bridle_memex::{MEMORY, MemoryEditor, RollbackChoice};

pub(super) const TEXT: &str = "#+title: Notes\n* TODO Water the beds\n:PROPERTIES:\n:ID: water\n:END:\nBefore noon.\n\
                    * Seeds\n- [ ] beans\n";

struct Files {
    rig: Rig,
    folder: TempDir,
}

impl Files {
    async fn start() -> Files {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("notes.org"), TEXT).expect("ours");
        let root = folder.path().to_owned();
        let rig = Rig::with(move |config| config.memex = Some(root)).await;
        Files { rig, folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("notes.org")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).expect("there")
    }

    async fn shell(&self) -> Shell {
        self.rig.join("work", emacs).await
    }
}

fn send(shell: &Shell, id: i64, payload: &str) {
    shell.send(&format!("(:type :REQUEST :id {id} :target :memory :payload {payload})"));
}

/// The next question: its effect and what it is about.
pub(super) async fn question(shell: &Shell) -> (i64, Value) {
    loop {
        match shell.next().await {
            OutboundItem::Event { event, .. } | OutboundItem::Offer(event)
                if event.kind == StreamEventKind::Ask =>
            {
                let asked = body(&event);
                let effect = asked.get("effect").and_then(Value::as_i64).expect("an effect");
                return (effect, asked.get("payload").expect("what it is about").clone());
            }
            OutboundItem::Event { .. } | OutboundItem::Status(_) | OutboundItem::Offer(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn say(files: &Files, effect: i64, verdict: &str) {
    let text = format!(
        "(:type :REQUEST :id 9 :target :system :payload (:action :approve :approval \
         \"work-{effect}\" :verdict {verdict}))"
    );
    let query = rig::query(&text).expect("well formed");
    crate::engine::ask_daemon(Arc::clone(&files.rig.hub), owner(), query, None)
        .await
        .expect("told");
}

pub(super) fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_keyword).unwrap_or_default()
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

const DONE: &str = "(:action :set-state :path \"notes.org\" :id \"water\" :state \"DONE\")";

/// The number of the last act.
fn last_act(files: &Files) -> u64 {
    let reader = RecordReader::open(files.rig.path()).expect("the record");
    let filter = RecordFilter { kinds: vec!["act".into()], ..RecordFilter::default() };
    reader.records(RecordNumber(0), &filter, 1000).expect("read").last().expect("an act").number.0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_is_for_the_diff_that_is_shown_and_the_change_can_be_undone() {
    let files = Files::start().await;
    let shell = files.shell().await;
    send(&shell, 1, DONE);
    let (effect, wanted) = question(&shell).await;
    let diff = wanted.get("prepared").map(|it| text(it, "diff").to_owned()).expect("a diff");
    assert!(diff.contains("-* TODO Water the beds\n+* DONE Water the beds\n"), "{diff}");
    assert_eq!(files.text(), TEXT, "nothing is done before the yes");
    say(&files, effect, ":allow").await;
    let acted = shell.body(StreamEventKind::Acted).await;
    assert_eq!(word(&acted, "outcome"), "done", "{acted}");
    assert!(acted.to_string().contains("+* DONE Water"), "the diff is in the record: {acted}");
    assert_eq!(files.text(), TEXT.replace("TODO", "DONE"));
    // What the user writes since stays when it is taken back.
    let users = files.text().replace("Before noon.", "Before ten.");
    fs::write(files.file(), &users).expect("ours");
    let record = last_act(&files);
    send(&shell, 2, &format!("(:action :undo :record {record})"));
    let acted = shell.body(StreamEventKind::Acted).await;
    assert_eq!(word(&acted, "outcome"), "done", "{acted}");
    assert_eq!(files.text(), users.replace("DONE", "TODO"));
    // The undo is a change like any other.
    send(&shell, 3, &format!("(:action :undo :record {})", last_act(&files)));
    shell.body(StreamEventKind::Acted).await;
    assert_eq!(files.text(), users);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_since_the_question_is_minded() {
    let files = Files::start().await;
    let shell = files.shell().await;
    send(&shell, 1, DONE);
    let (effect, _) = question(&shell).await;
    // Elsewhere: the same lines are changed all the same.
    let users = TEXT.replace("beans", "beans and peas");
    fs::write(files.file(), &users).expect("ours");
    say(&files, effect, ":allow").await;
    assert_eq!(word(&shell.body(StreamEventKind::Acted).await, "outcome"), "done");
    let users = users.replace("TODO", "DONE");
    assert_eq!(files.text(), users);
    // In the same line: the yes was for something else.
    send(&shell, 2, &DONE.replace("DONE", "TODO"));
    let (effect, _) = question(&shell).await;
    let users = users.replace("Water the beds", "Water all beds");
    fs::write(files.file(), &users).expect("ours");
    say(&files, effect, ":allow").await;
    let acted = shell.body(StreamEventKind::Acted).await;
    assert_eq!(word(&acted, "outcome"), "failed", "{acted}");
    assert!(text(&acted, "reason").contains("has changed since"), "{acted}");
    assert_eq!(files.text(), users);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_is_refused_before_anybody_is_asked() {
    let files = Files::start().await;
    let shell = files.shell().await;
    let tries = [
        ("(:action :set-state :path \"none.org\" :line 2 :state \"DONE\")", "no file"),
        ("(:action :set-state :path \"notes.org\" :id \"x\" :state \"DONE\")", "no heading"),
        ("(:action :set-state :path \"notes.org\" :line 2 :state \"NEXT\")", "no keyword `NEXT`"),
        ("(:action :set-state :path \"notes.org\" :line 2 :state \"TODO\")", "nothing would"),
        (
            "(:action :set-state :path \"../x.org\" :line 2 :state \"DONE\")",
            "without a good `:path`",
        ),
        ("(:action :set-state :path \"/etc/passwd\" :line 2 :state \"DONE\")", "expected a file"),
        ("(:action :delete-subtree :path \"notes.org\")", "a heading"),
        ("(:action :undo :record 1)", "changed no file"),
        ("(:action :toggle-checkbox :path \"notes.org\" :line 2)", "no item"),
    ];
    for (number, (payload, reason)) in tries.into_iter().enumerate() {
        send(&shell, i64::try_from(number).expect("few") + 1, payload);
        let said = shell.body(StreamEventKind::Say).await;
        let told = said.get("payload").expect("a payload");
        assert_eq!(word(told, "status"), "error", "{payload}: {said}");
        assert!(text(told, "message").contains(reason), "{payload}: {said}");
    }
    // What is said about it by others is not listened to.
    send(&shell, 99, &DONE.replace(":id", ":prepared (:files () :diff \"none\") :id"));
    let (_, wanted) = question(&shell).await;
    let prepared = wanted.get("prepared").expect("looked at");
    assert!(text(prepared, "diff").contains("+* DONE"), "{wanted}");
    assert_eq!(files.text(), TEXT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buffer_with_unsaved_changes_keeps_its_file() {
    let files = Files::start().await;
    let shell = files.shell().await;
    let buffer = |state: &str| {
        let file = Value::str(files.file().display().to_string());
        format!(
            "(:type :EVENT :id 7 :payload (:sensor :buffer-update :file {file} :state {state}))"
        )
    };
    shell.send(&buffer(":modified"));
    send(&shell, 1, DONE);
    let (effect, _) = question(&shell).await;
    say(&files, effect, ":allow").await;
    let acted = shell.body(StreamEventKind::Acted).await;
    assert!(text(&acted, "reason").contains("unsaved changes"), "{acted}");
    assert_eq!(files.text(), TEXT);
    shell.send(&buffer(":saved"));
    send(&shell, 2, DONE);
    let (effect, _) = question(&shell).await;
    say(&files, effect, ":allow").await;
    assert_eq!(word(&shell.body(StreamEventKind::Acted).await, "outcome"), "done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_a_shell_says_that_a_buffer_is_not_saved_its_file_is_kept() {
    let files = Files::start().await;
    for (number, said) in [":ast (org-data nil)", ":modified t", ":text \"x\""].iter().enumerate() {
        let shell = files.shell().await;
        let file = Value::str(files.file().display().to_string());
        shell.send(&format!(
            "(:type :EVENT :id 7{number} :payload (:sensor :buffer-update :file {file} {said}))"
        ));
        send(&shell, 1, DONE);
        let (effect, _) = question(&shell).await;
        say(&files, effect, ":allow").await;
        let acted = shell.body(StreamEventKind::Acted).await;
        assert!(text(&acted, "reason").contains("unsaved changes"), "{said}: {acted}");
        let hub = &files.rig.hub;
        let known = hub.home.buffers.modified("uid:1000", &files.file(), hub.home.now());
        assert!(known.is_some(), "{said}: who asks is told the same");
        // It leaves, and holds nothing.
        drop(shell);
        assert_eq!(hub.home.buffers.held_by(&files.file()), None, "{said}");
    }
    let shell = files.shell().await;
    send(&shell, 2, DONE);
    let (effect, _) = question(&shell).await;
    say(&files, effect, ":allow").await;
    assert_eq!(word(&shell.body(StreamEventKind::Acted).await, "outcome"), "done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_an_owner_has_a_folder_taken_up() {
    let (rig, folder) = (Rig::start().await, TempDir::new().expect("a folder"));
    let path = Value::str(folder.path().display().to_string());
    let open = async |who| {
        let payload = format!("(:action :open-memex :path {path})");
        let text = format!("(:type :REQUEST :id 9 :target :system :payload {payload})");
        let query = rig::query(&text).expect("well formed");
        crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None)
            .await
            .map_err(|failure| failure.code)
    };
    assert_eq!(open(stranger()).await, Err(EngineErrorCode::NotPermitted));
    assert!(rig.hub.home.memory().is_none());
    open(owner()).await.expect("taken up");
    assert!(rig.hub.home.memory().is_some());
    open(owner()).await.expect("it is open");
}

/// How far an order got before the crash.
#[derive(Clone, Copy, PartialEq)]
enum Crash {
    Started,
    Written,
}

/// A message that comes in.
pub(super) fn inbound(signal: Signal) -> InboundMessage {
    InboundMessage {
        signal,
        attachment: AttachmentId(1),
        ticket: None,
        wants_receipt: false,
        answers: Vec::new(),
        load: no_load(),
        newness: MessageNewness::Any,
        ast: None,
        files: Vec::new(),
        body: None,
    }
}

const RESTORE: &str =
    "(:type :REQUEST :id 1 :target :memory :payload (:action :restore :name \"s\"))";

/// A session whose daemon dies while a snapshot is brought back.
fn crashed(state: &Path, root: &Path, crash: Crash) {
    let options = MemoryOptions { root: root.to_owned(), protected: Vec::new() };
    let memory = Arc::new(MemoryStore::open(state, &options).expect("opened"));
    memory.snapshot("s", "uid:1000", 1).expect("kept");
    fs::write(root.join("notes.org"), "something else\n").expect("ours");
    let editor = MemoryEditor::new(
        Arc::clone(&memory),
        Box::new(|| 1),
        RollbackChoice::Ask,
        Default::default(),
    );
    let host = Host::new(&ThinkerChoice::Builtin, Arc::new(HubFacts::default())).expect("a host");
    let mut asked = signal(RESTORE);
    asked.payload = editor
        .prepare(&asked.payload, ProposalPlace { session: "work", readers: Readership::Owners })
        .expect("looked at");
    let host = host.with_actuator(MEMORY, Box::new(editor));
    let mut store =
        RecordStore::open(state, &bridle_record::StoreOptions::default()).expect("a store");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = i64::try_from(now).expect("before the end of time");
    let config = DaemonConfig { state: state.to_owned(), ..DaemonConfig::default() };
    let (guard, catalog) = (PolicyGuard::start(&config, |_| false), host.catalog());
    let actions = ActionCatalog::default();
    let sums = PrincipalUsageSums::default();
    let session = bridle_loop::SessionId::parse("work").expect("a name");
    let mut core = LoadedSession::unborn(session.clone());
    let plans = crate::engine::home::schedules::ScheduleList::default();
    let means = BatchContext {
        host: &host,
        catalog,
        actions: &actions,
        guard: &guard,
        usage: &sums,
        schedules: &plans,
        secrets: &config.secret_store(),
        at: now,
    };
    let mut batch = AppendBatch::new(&mut core, means);
    batch.begin(|| began("uid:1000", &crate::config::EngineLimits::default()));
    batch.add(InboxItem::Signal(Box::new(inbound(asked))), &[]);
    let found = batch.after.iter().find_map(|after| match after {
        PostCommit::Carry { effect, draft } => match &**effect {
            Effect::Act { id, order, .. } => Some((*id, order.clone(), draft.expect("recorded"))),
            _ => None,
        },
        _ => None,
    });
    let (effect, order, draft): (EffectId, Order, usize) = found.expect("an act");
    batch.add(InboxItem::Start { effect: effect.0 }, &[]);
    let mut append = std::mem::take(&mut batch.append);
    core.complete(&mut append);
    let numbers = store.commit(&[append]).expect("kept");
    if crash == Crash::Written {
        let record = numbers[0].get(draft).expect("a number").0;
        let (session, turn, principal) = (session.clone(), TurnId(1), "uid:1000".into());
        let context = ActContext { session, effect, turn, record, principal, at: now };
        let outcome = waited_for(host.act(&order, &ActIo::new(context)));
        assert!(matches!(outcome, Outcome::Done(_)));
    }
}

async fn after_crash(crash: Crash) -> (Value, String) {
    let (state, folder) = (TempDir::new().expect("a directory"), TempDir::new().expect("a folder"));
    fs::write(folder.path().join("notes.org"), TEXT).expect("ours");
    crashed(state.path(), folder.path(), crash);
    if crash == Crash::Written {
        // Whatever is written after the crash, the past knows that it was done.
        fs::write(folder.path().join("notes.org"), format!("{TEXT}user\n")).expect("ours");
    }
    let root = folder.path().to_owned();
    let rig = Rig::on_with(state, move |config| config.memex = Some(root)).await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let acted = shell.body(StreamEventKind::Acted).await;
    shell.body(StreamEventKind::Say).await;
    (acted, fs::read_to_string(folder.path().join("notes.org")).expect("there"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_it_is_known_what_was_written() {
    let (acted, text) = after_crash(Crash::Written).await;
    assert_eq!(word(&acted, "outcome"), "done", "{acted}");
    assert_eq!(text, format!("{TEXT}user\n"), "it is not done twice");
    let (acted, text) = after_crash(Crash::Started).await;
    assert_eq!(word(&acted, "outcome"), "done", "{acted}");
    assert_eq!(text, TEXT, "what was not done is done");
}

/// The same for somebody who is not the owner, and everything that is recorded of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_the_owner_learns_nothing_from_what_is_refused() {
    let files = Files::start().await;
    let shell = files.shell().await;
    send(&shell, 1, DONE);
    let (effect, _) = question(&shell).await;
    say(&files, effect, ":allow").await;
    shell.body(StreamEventKind::Acted).await;
    let done = last_act(&files);
    // Both changed the same lines: a conflict, which would be quoted.
    fs::write(files.file(), files.text().replace("DONE Water", "zanzibar")).expect("ours");
    send(&shell, 2, "(:action :snapshot :name \"s\")");
    shell.body(StreamEventKind::Acted).await;
    let guest = files.rig.try_join(stranger(), "theirs", |_| {}).await.expect("attached");
    let file = files.file().display().to_string();
    let gone = file.replace("notes.org", "wrong.org");
    let pairs = [
        (format!("(:action :undo :record {done})"), "(:action :undo :record 99999)".to_owned()),
        (
            "(:action :rollback :session \"work\" :turn 1)".to_owned(),
            "(:action :rollback :session \"none\" :turn 1)".to_owned(),
        ),
        ("(:action :restore :name \"s\")".to_owned(), "(:action :restore :name \"t\")".to_owned()),
        (
            "(:action :snapshot :name \"s\")".to_owned(),
            "(:action :snapshot :name \"t\")".to_owned(),
        ),
        (
            format!("(:action :delete-subtree :path \"{file}\" :id \"water\")"),
            format!("(:action :delete-subtree :path \"{gone}\" :id \"wrong\")"),
        ),
        (
            format!("(:action :append-subtree :path \"{file}\" :text \"* x\")"),
            format!("(:action :append-subtree :path \"{gone}\" :text \"* x\")"),
        ),
    ];
    let mut id = 10;
    for (there, missing) in &pairs {
        let mut told = Vec::new();
        for payload in [there, missing] {
            id += 1;
            send(&guest, id, payload);
            told.push(
                guest
                    .body(StreamEventKind::Say)
                    .await
                    .get("payload")
                    .expect("a payload")
                    .to_string(),
            );
        }
        assert_eq!(told[0], told[1], "{there}");
        assert!(told[0].contains("owner alone"), "{}", told[0]);
    }
    assert!(!files.text().contains("DONE Water"));
    let reader = RecordReader::open(files.rig.path()).expect("the record");
    let filter = RecordFilter { session: Some("theirs".into()), ..RecordFilter::default() };
    for record in reader.records(RecordNumber(0), &filter, 1000).expect("read") {
        let body = record.body.text().unwrap_or_default().to_owned();
        assert!(!body.contains("zanzibar") && !body.contains("Seeds"), "{body}");
    }
}

/// Questions of sessions that are not theirs are like questions of sessions that are not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_others_are_as_if_not_there() {
    let files = Files::start().await;
    let shell = files.shell().await;
    send(&shell, 1, DONE);
    let (effect, _) = question(&shell).await;
    for who in [stranger(), crate::access::principal::Principal::Anonymous] {
        for asked in [
            "(:action :approval :approval \"NAME\")",
            "(:action :approve :approval \"NAME\" :verdict :allow)",
        ] {
            let ask = async |name: String| {
                let text = asked.replace("NAME", &name);
                let text = format!("(:type :REQUEST :id 9 :target :system :payload {text})");
                let query = rig::query(&text).expect("well formed");
                crate::engine::ask_daemon(Arc::clone(&files.rig.hub), who.clone(), query, None)
                    .await
            };
            let there = ask(format!("work-{effect}")).await.expect_err("refused");
            let missing = ask(format!("none-{effect}")).await.expect_err("refused");
            assert_eq!(there.to_string(), missing.to_string(), "{who}: {asked}");
            assert_eq!(there.code, missing.code, "{who}: {asked}");
        }
    }
}
