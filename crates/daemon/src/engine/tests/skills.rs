//! Skills in a running daemon: consulted, called as tools and actuators, woken by the time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;

use super::rig::{self, Rig, Shell};
use crate::engine::{OutboundItem, StreamEventKind};

/// A thinker that calls tools.
const SCRIPT: &str = r#"
(rule :when "count *" :propose ((:target :skill :action :tool :server "garden" :tool "litres"
  :arguments (:beds 3 :how "wet") :call "c1")))
(rule :when "note *" :propose ((:target :skill :action :tool :server "garden" :tool "note"
  :arguments (:text "$1") :call "c1")))
(rule :when "water *" :propose ((:target :hose :action :water :bed "$1" :call "c1")))
(rule :when "log *" :propose ((:target :log :action :log :text "$1" :call "c1")))
(rule :result (:outcome :done) :text "done")
(rule :result (:outcome :failed) :text "failed")
(default :say "quick")
"#;

const GARDEN: &str = r#":PROPERTIES:
:ID: garden
:CAPABILITIES: log/log system/forget
:TRIGGER_PATTERN: garden
:TRIGGER_SCHEDULE: every 1s
:END:
#+begin_src lisp
(defskill garden
  (perceive (signal)
    (if (search "storm" (getf signal :text)) '(:veto "There is a storm.") "Seen."))
  (think (context)
    (if (getf (getf context :signal) :schedule)
        (progn (bridle:act :log :action :log :text "by the clock") nil)
        (list "Thought." (list :target :log :action :log :text (getf context :text)))))
  (decide (proposal context)
    (if (search "forbidden" (or (getf proposal :text) "")) '(:veto "Not in my garden."))))
(deftool litres ((beds integer) (how keyword :choices (:wet :dry))) "Litres of water."
  (* beds (if (eq how :wet) 10 20)))
(deftool note ((text string)) "Notes something."
  (list (getf (bridle:act :log :action :log :text text) :outcome)
        (getf (bridle:act :system :action :forget :session "none") :outcome)
        (getf (bridle:act :exec :action :exec :argv '("ls")) :outcome)))
(defactuator hose (action context) "Waters beds." (:actions (water (bed string)))
  (bridle:save-state (getf action :bed))
  (format nil "watered ~a in ~a" (getf action :bed) (getf context :session)))
#+end_src
"#;

const WARDEN: &str = r#":PROPERTIES:
:ID: warden
:GUARD: t
:END:
#+begin_src lisp
(defskill warden
  (decide (proposal context)
    (let ((text (or (getf proposal :text) "")))
      (cond ((search "secret" text) '(:veto "It is secret."))
            ((search "odd" text) '(:ask "It is odd."))
            ((search "broken" text) (error "broken"))))))
#+end_src
"#;

struct Garden {
    folder: tempfile::TempDir,
    rig: Rig,
}

impl Garden {
    async fn with(skills: &[(&str, &str)], enabled: &[(&str, &str)]) -> Self {
        let folder = tempfile::TempDir::new().expect("a folder");
        std::fs::create_dir(folder.path().join("skills")).expect("ours");
        for (name, text) in skills {
            std::fs::write(folder.path().join("skills").join(name), text).expect("ours");
        }
        let at: PathBuf = folder.path().to_owned();
        let rig = Rig::scripted_with(SCRIPT, move |config| {
            enable(&config.state, enabled);
            config.memex = Some(at);
            config.engine.approval = Duration::from_secs(14 * 86_400);
        });
        Self { rig: rig.await, folder }
    }

    fn records(&self, kind: &str) -> Vec<Value> {
        let reader = RecordReader::open(self.rig.path()).expect("a record");
        let all = reader.records(RecordNumber(0), &RecordFilter::default(), 10_000);
        let all = all.expect("records");
        let of_kind = all.iter().filter(|record| record.kind.as_ref() == kind);
        let text = of_kind.map(|record| record.body.text().expect("kept"));
        text.map(|text| bridle_history::session_fold::parse(text).expect("a body")).collect()
    }
}

fn enable(state: &Path, skills: &[(&str, &str)]) {
    let folder = state.join("skills/enabled");
    std::fs::create_dir_all(&folder).expect("ours");
    for (name, capabilities) in skills {
        std::fs::write(folder.join(name), capabilities).expect("ours");
    }
}

async fn told(shell: &Shell, text: &str) -> String {
    shell.prompt(1, text);
    shell.body(StreamEventKind::Say).await.to_string()
}

/// Answers a question of the session `work`.
fn answer(shell: &Shell, asked: &Value, verdict: &str) {
    let effect = asked.get("effect").and_then(Value::as_i64).expect("an effect");
    let text = format!("(:type :RESPONSE :id \"work-{effect}\" :payload (:verdict :{verdict}))");
    rig::respond(shell, &text).expect("taken");
}

/// The answer to a prompt of the session `work`; questions on the way get a no.
async fn told_with_noes(shell: &Shell, text: &str) -> String {
    shell.prompt(2, text);
    loop {
        let event = shell.event().await;
        let told = rig::body(&event);
        match event.kind {
            StreamEventKind::Ask => answer(shell, &told, "deny"),
            StreamEventKind::Say if told.get("id") == Some(&Value::int(2)) => {
                return told.to_string();
            }
            _ => {}
        }
    }
}

const ALLOWED: [(&str, &str); 1] = [("garden", "log/log system/forget")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_perceives_and_vetoes_where_its_triggers_fit_and_nowhere_else() {
    let garden = Garden::with(&[("garden.org", GARDEN)], &ALLOWED).await;
    let shell = garden.rig.join("work", |_| {}).await;
    let said = told(&shell, "my garden").await;
    assert!(said.contains("Seen.") && said.contains("Thought."), "{said}");
    assert!(told(&shell, "garden and storm").await.contains("skill garden: There is a storm."));
    assert!(told(&shell, "garden forbidden").await.contains("Not in my garden."));
    // Other turns are not its own.
    assert!(told(&shell, "log forbidden storm").await.contains("done"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_judges_everything_and_vetoes_when_it_fails_or_is_gone() {
    let enabled = [("warden", "guard/decide")];
    let garden = Garden::with(&[("warden.org", WARDEN)], &enabled).await;
    let shell = garden.rig.join("work", |_| {}).await;
    assert!(told(&shell, "log a word").await.contains("done"));
    assert!(told(&shell, "log a secret").await.contains("It is secret."));
    assert!(told(&shell, "log broken").await.contains("`skill-warden` vetoes: it failed"));
    shell.prompt(2, "log odd things");
    let asked = shell.body(StreamEventKind::Ask).await.to_string();
    assert!(asked.contains("odd things"), "{asked}");
    // Without the file nothing goes on until the owner says otherwise.
    std::fs::remove_file(garden.folder.path().join("skills/warden.org")).expect("ours");
    let other = garden.rig.join("other", |_| {}).await;
    while !told(&other, "log a word").await.contains("this guard is not here") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    std::fs::remove_file(garden.rig.path().join("skills/enabled/warden")).expect("ours");
    while !told(&other, "log a word").await.contains("done") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thinker_calls_a_tool_of_a_skill_and_its_requests_are_judged() {
    let garden = Garden::with(&[("garden.org", GARDEN)], &ALLOWED).await;
    let shell = garden.rig.join("work", |_| {}).await;
    assert!(told(&shell, "count beds").await.contains("done"));
    assert_eq!(garden.records("acted")[0].get("result"), Some(&Value::int(30)));
    shell.prompt(2, "note milk");
    // What the tool asks for is a proposal like others: this one needs a yes.
    let asked = shell.body(StreamEventKind::Ask).await;
    assert!(asked.get("payload").is_some_and(|it| it.to_string().contains("forget")), "{asked}");
    answer(&shell, &asked, "deny");
    loop {
        let said = shell.body(StreamEventKind::Say).await.to_string();
        if said.contains("done") {
            break;
        }
    }
    let acted = garden.records("acted");
    let last = acted.last().and_then(|it| it.get("result")).expect("a result").to_string();
    assert_eq!(last, "(:done :denied :denied)");
    let decided = garden.records("decided");
    let logs = decided.iter().filter(|it| it.get("target").is_some_and(|t| t.is_keyword("log")));
    let by: Vec<String> = logs.filter_map(|it| it.get("by").map(ToString::to_string)).collect();
    assert_eq!(by, [":thinker"], "not in the asker's own name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actuator_of_a_skill_is_offered_asked_for_and_taken_away() {
    let garden = Garden::with(&[("garden.org", GARDEN)], &ALLOWED).await;
    let catalog = garden.rig.hub.home.abilities.host.catalog();
    let hose = catalog.specs.iter().find(|spec| spec.name.as_str() == "hose").expect("offered");
    assert_eq!(hose.actions[0].arguments[0].name.as_ref(), "bed");
    let shell = garden.rig.join("work", |_| {}).await;
    shell.prompt(1, "water roses");
    let asked = shell.body(StreamEventKind::Ask).await;
    answer(&shell, &asked, "allow");
    while !shell.body(StreamEventKind::Say).await.to_string().contains("done") {}
    let acted = garden.records("acted");
    assert_eq!(acted[0].get("result"), Some(&Value::str("watered roses in work")));
    std::fs::remove_file(garden.folder.path().join("skills/garden.org")).expect("ours");
    while !told_with_noes(&shell, "water roses").await.contains("no target `hose`") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(garden.records("acted").len(), 1, "a yes is for one act");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_wakes_its_skill_and_no_peer_can() {
    let garden = Garden::with(&[("garden.org", GARDEN)], &ALLOWED).await;
    let reads = || garden.records("acted").iter().any(|it| it.to_string().contains("by the clock"));
    let logged = || {
        garden.records("act").iter().any(|it| it.to_string().contains("by the clock")) || reads()
    };
    while !logged() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const PATIENT: &str = r#":PROPERTIES:
:ID: patient
:CAPABILITIES: log/log system/forget
:END:
#+begin_src lisp
(defcommand wait (text)
  (let ((before (bridle:result (bridle:act :log :action :log :text "first")))
        (random (bridle:random 1000000000)) (now (bridle:now)))
    (declare (ignorable before now))
    (bridle:save-state random)
    (let ((end (getf (bridle:act :system :action :forget :session "none") :outcome)))
      (bridle:act :log :action :log :text "last")
      (list (format nil "VERSION ~a ~a" end (= random (bridle:state)))))))
#+end_src
"#;

/// Texts of the acts of a kind, in order.
fn logged(garden: &Garden) -> Vec<String> {
    let acts = garden.records("act").into_iter();
    let text = |act: Value| act.get("payload")?.get("text")?.as_str().map(str::to_owned);
    acts.filter_map(text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_that_waits_for_days_ends_on_its_version_and_acts_once() {
    let first = PATIENT.replace("VERSION", "first");
    let enabled = [("patient", "log/log system/forget")];
    let mut garden = Garden::with(&[("patient.org", &first)], &enabled).await;
    let shell = garden.rig.join("work", |_| {}).await;
    shell.prompt(1, "/wait");
    let asked = shell.body(StreamEventKind::Ask).await;
    drop(shell);
    let file = garden.folder.path().join("skills/patient.org");
    for (days, version) in [(1, "second"), (3, "third")] {
        // The file changes while the skill waits, the daemon ends and begins again, and days pass.
        std::fs::write(&file, PATIENT.replace("VERSION", version)).expect("ours");
        let offset = (days * 86_400_000_i64).to_string();
        std::fs::write(garden.rig.path().join("clock-offset"), offset).expect("ours");
        garden.rig = garden.rig.restart_within(Duration::from_secs(5)).await;
    }
    std::fs::remove_file(&file).expect("ours");
    garden.rig = garden.rig.restart_within(Duration::from_secs(5)).await;
    let shell = garden.rig.join("work", |_| {}).await;
    let again = loop {
        if let OutboundItem::Offer(event) = shell.next().await {
            break rig::body(&event);
        }
    };
    assert_eq!(again.get("effect"), asked.get("effect"), "the same question");
    answer(&shell, &again, "allow");
    let said = loop {
        let said = shell.body(StreamEventKind::Say).await.to_string();
        if said.contains(":id 1 ") {
            break said;
        }
    };
    assert!(said.contains("first FAILED T"), "{said}");
    assert_eq!(logged(&garden), ["first", "last"]);
    drop(shell);
    let Garden { rig, folder } = garden;
    crate::engine::start::stop_hub(&rig.hub, Duration::from_secs(20)).await;
    // Replayed without the text of any skill.
    std::fs::remove_dir_all(rig.path().join("skills")).expect("ours");
    drop(folder);
    let history = bridle_history::RecordHistory::open(rig.path()).expect("the record");
    let all = bridle_history::replay::ReplayRange { from: 1, to: None, session: None };
    let replayed = history.replay(&all, &mut |_, _| {}).expect("read");
    assert_eq!(replayed.difference, None);
}

const MADE: &str = ":PROPERTIES:\n:ID: made\n:CAPABILITIES: log/log\n:END:\n#+begin_src lisp\n\
    (defcommand made (text) \"It was made.\")\n#+end_src\n* Tests\n| command | answer |\n| made | It was made. |\n";

/// The answer to a request for a skill, with what was asked on the way; every question gets a yes.
async fn create(shell: &Shell, id: i64, file: &str, text: &str) -> (String, Vec<Value>) {
    let payload = Value::plist([
        ("action", Value::keyword("create-skill")),
        ("filename", Value::str(file)),
        ("content", Value::str(text)),
    ]);
    shell.send(&format!("(:type :REQUEST :id {id} :target :system :payload {payload})"));
    let mut questions = Vec::new();
    loop {
        let event = shell.event().await;
        let told = rig::body(&event);
        match event.kind {
            StreamEventKind::Ask => {
                answer(shell, &told, "allow");
                questions.push(told);
            }
            StreamEventKind::Say if told.get("id") == Some(&Value::int(id)) => {
                return (told.to_string(), questions);
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_becomes_a_skill_after_its_tests_and_a_yes_and_is_taken_back_where_it_does_not_serve()
 {
    let garden = Garden::with(&[], &[]).await;
    let shell = garden.rig.join("work", |_| {}).await;
    let (said, asked) = create(&shell, 1, "made.org", MADE).await;
    assert!(said.contains(":skill \"made\""), "{said}");
    assert_eq!(asked.len(), 1);
    let shown = asked[0].to_string();
    assert!(shown.contains("+(defcommand made") && shown.contains("log/log"), "{shown}");
    assert!(told(&shell, "/made").await.contains("It was made."));
    // What is wrong is refused before anybody is asked.
    for (file, text, part) in [
        ("made.org", MADE.replace("| made | It", "| made | Not"), "expected"),
        ("made.org", MADE.replace("(text)", "(text"), "made.org:"),
        ("../made.org", MADE.to_owned(), "no name of a skill"),
        ("other.org", MADE.to_owned(), "is the name of"),
    ] {
        let (said, asked) = create(&shell, 2, file, &text).await;
        assert!(asked.is_empty() && said.contains(part), "{part}: {said}");
    }
    // A text that is in order and cannot serve is taken back.
    let lonely = MADE.replace(":END:", ":END:\n#+DEPENDS_ON: nobody");
    let (said, _) = create(&shell, 3, "made.org", &lonely).await;
    assert!(said.contains("taken back") && said.contains("nobody"), "{said}");
    let file = garden.folder.path().join("skills/made.org");
    assert_eq!(std::fs::read_to_string(&file).expect("ours"), MADE);
    assert!(told(&shell, "/made").await.contains("It was made."));
}
