//! What memory holds, asked of a hub: kept up with, confined, and private where it is.

use crate::engine::stop_hub;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::rig::{self, Rig, owner, stranger};
use crate::access::principal::Principal;
use crate::engine::error::EngineErrorCode;

/// So long that a slow machine does not reach it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A word that is only in private places.
const CANARY: &str = "zanzibar";

struct Memex {
    rig: Rig,
    folder: TempDir,
}

impl Memex {
    async fn new(files: &[(&str, &str)]) -> Memex {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            write(&folder, path, text);
        }
        let at = folder.path().to_owned();
        let rig = Rig::with(move |config| config.memex = Some(at)).await;
        let memex = Memex { rig, folder };
        memex
            .until("(:action :memex-status)", |told| {
                told.get("state").is_some_and(|state| state.is_keyword("ready"))
            })
            .await;
        memex
    }

    async fn ask(&self, who: Principal, payload: &str) -> Result<Value, EngineErrorCode> {
        let text = format!("(:type :REQUEST :id 9 :target :context :payload {payload})");
        let query = rig::query(&text).expect("understood");
        crate::engine::ask_daemon(Arc::clone(&self.rig.hub), who, query, None)
            .await
            .map_err(|failure| failure.code)
    }

    /// Asks until the answer is as wanted.
    async fn until(&self, payload: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let asking = async {
            loop {
                match self.ask(owner(), payload).await {
                    Ok(told) if wanted(&told) => return told,
                    _ => sleep(Duration::from_millis(5)).await,
                }
            }
        };
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("never: {payload}"))
    }

    /// Waits until the outline has these titles.
    async fn shows(&self, titles: &str) {
        self.until("(:action :outline)", |told| self::titles(told) == titles).await;
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }
}

fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn titles(told: &Value) -> String {
    let objects = told.get("objects").and_then(Value::elements).unwrap_or_default();
    let titles: Vec<&str> =
        objects.iter().filter_map(|object| object.get("title")?.as_str()).collect();
    titles.join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ast_of_a_file_that_nobody_edits_is_made_from_the_disk() {
    let text = format!("* A\nSeen.\n* B :private:\n{CANARY}\n");
    let memex = Memex::new(&[("a.org", &text)]).await;
    let whole = memex.at("a.org").display().to_string();
    for file in ["a.org", &whole] {
        let payload = format!("(:action :get-ast :file \"{file}\")");
        let told = memex.ask(owner(), &payload).await.expect("there").to_string();
        assert!(told.contains(":from :disk :shape :plist :ast (:type :org-data"), "{told}");
        assert!(told.contains("Seen.") && told.contains(CANARY), "{told}");
        let told = memex.ask(stranger(), &payload).await.expect("there").to_string();
        assert!(told.contains("Seen.") && !told.contains(CANARY), "{told}");
    }
    let shaped = "(:action :get-ast :file \"a.org\" :shape :org-element)";
    let told = memex.ask(owner(), shaped).await.expect("there").to_string();
    assert!(told.contains(":ast (org-data (:begin 1 "), "{told}");
    symlink("/etc/hostname", memex.at("out.org")).unwrap();
    for bad in ["none.org", "../a.org", "/etc/hostname", "out.org"] {
        let payload = format!("(:action :get-ast :file \"{bad}\")");
        assert_eq!(memex.ask(owner(), &payload).await, Err(EngineErrorCode::InvalidValue), "{bad}");
    }
    let odd = "(:action :get-ast :file \"a.org\" :shape :round)";
    assert_eq!(memex.ask(owner(), odd).await, Err(EngineErrorCode::InvalidValue));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_the_folder_are_kept_up_with() {
    let memex = Memex::new(&[("a.org", "* A\n")]).await;
    memex.shows("a.org A").await;
    // Written, made in a new folder, renamed, saved as editors do, deleted.
    fs::write(memex.at("a.org"), "* A\n* B\n").unwrap();
    memex.shows("a.org A B").await;
    write(&memex.folder, "deep/er/c.org", "* C\n");
    memex.shows("a.org A B c.org C").await;
    fs::write(memex.at("deep/er/c.org"), "* C\n* D\n").unwrap();
    memex.shows("a.org A B c.org C D").await;
    fs::rename(memex.at("a.org"), memex.at("z.org")).unwrap();
    memex.shows("c.org C D z.org A B").await;
    fs::write(memex.at(".z.org.new"), "* A\n* E\n").unwrap();
    fs::rename(memex.at(".z.org.new"), memex.at("z.org")).unwrap();
    memex.shows("c.org C D z.org A E").await;
    fs::remove_dir_all(memex.at("deep")).unwrap();
    memex.shows("z.org A E").await;
    fs::write(memex.at(".bridleignore"), "z.org\n").unwrap();
    memex.shows("").await;
    // After a restart it is what it was, and goes on.
    fs::remove_file(memex.at(".bridleignore")).unwrap();
    memex.shows("z.org A E").await;
    let Memex { rig, folder } = memex;
    let rig = rig.restart().await;
    let memex = Memex { rig, folder };
    memex.shows("z.org A E").await;
    fs::write(memex.at("n.org"), "* N\n").unwrap();
    memex.shows("n.org N z.org A E").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_goes_is_waited_for_and_another_in_its_place_is_read() {
    let parent = TempDir::new().unwrap();
    let (folder, gone) = (parent.path().join("memex"), parent.path().join("gone"));
    fs::create_dir(&folder).unwrap();
    let at = folder.clone();
    let rig = Rig::with(move |config| config.memex = Some(at)).await;
    let memex = Memex { rig, folder: parent };
    memex.shows("").await;
    fs::remove_dir(&folder).unwrap();
    memex
        .until("(:action :memex-status)", |told| {
            told.get("state").is_some_and(|state| state.is_keyword("stuck"))
        })
        .await;
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.org"), "* A\n").unwrap();
    memex.shows("a.org A").await;
    // Gone, and back as another one.
    fs::rename(&folder, &gone).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("b.org"), "* B\n").unwrap();
    memex.shows("b.org B").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_folder_there_is_no_memory_and_it_is_said() {
    let memex = Memex { rig: Rig::start().await, folder: TempDir::new().unwrap() };
    assert_eq!(memex.ask(owner(), "(:action :query)").await, Err(EngineErrorCode::UnknownTarget));
    assert!(memex.ask(owner(), "(:action :get-system-logs)").await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_paged_and_what_is_said_wrongly_is_refused() {
    let text: String = (0..30).map(|n| format!("* TODO H{n:02} :t:\n")).collect();
    let memex = Memex::new(&[("a.org", &text)]).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let ask = format!("(:action :query :tag \"t\" :state :open :limit 7 {cursor})");
        let told = memex.ask(owner(), &ask).await.expect("a page");
        seen.push(titles(&told));
        let Some(next) = told.get("next").and_then(Value::as_str) else { break };
        cursor = format!(":cursor \"{next}\"");
    }
    assert_eq!((seen.len(), &seen[4][..]), (5, "H28 H29"));
    for bad in [
        "(:action :query :tag 5)",
        "(:action :query :limit -1)",
        "(:action :query :cursor \"x\")",
        "(:action :query :from \"yesterday\")",
        "(:action :query :type :soul)",
        "(:action :query :state :half)",
        "(:action :query :scope :world)",
        "(:action :query :property (\"a\" \"b\" \"c\"))",
        "(:action :query :text \"---\")",
        "(:action :query :dates (:never) :from \"2026-01-01\")",
        "(:action :outline :cursor \"x\")",
        "(:action :get-object)",
        "(:action :get-skill-source :name 7)",
    ] {
        assert_eq!(memex.ask(owner(), bad).await, Err(EngineErrorCode::InvalidValue), "{bad}");
    }
    assert_eq!(
        memex.ask(owner(), "(:action :get-object :id \"none\")").await,
        Err(EngineErrorCode::UnknownId)
    );
    assert_eq!(
        memex.ask(owner(), "(:action :outline :under \"no/\")").await,
        Err(EngineErrorCode::UnknownId)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_would_be_too_large_is_cut_and_goes_on() {
    let tags: String = (0..60).map(|n| format!("{}{n}:", "x".repeat(900))).collect();
    let text: String = (0..60).map(|n| format!("* H{n:02} :{tags}\n")).collect();
    let memex = Memex::new(&[("a.org", &text)]).await;
    for action in ["query :type :heading", "outline"] {
        let (mut seen, mut cursor, mut pages) = (0, String::new(), 0);
        loop {
            let ask = format!("(:action :{action} :limit 500 {cursor})");
            let told = memex.ask(owner(), &ask).await.expect("a page");
            assert!(told.to_string().len() < 2 << 20);
            seen += titles(&told).split(' ').filter(|title| title.starts_with('H')).count();
            pages += 1;
            let Some(next) = told.get("next").and_then(Value::as_str) else { break };
            cursor = format!(":cursor \"{next}\"");
        }
        assert!(seen == 60 && pages > 1, "{action}: {seen} in {pages}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_stay_within_the_memex_and_the_folders_that_are_set() {
    let memex =
        Memex::new(&[("a.org", ""), ("x/b.org", ""), ("p.org", "#+FILETAGS: :private:\n")]).await;
    symlink("/etc", memex.at("out")).unwrap();
    symlink("x", memex.at("in")).unwrap();
    let ask = |path: &str| format!("(:action :resolve-path :path {})", Value::str(path));
    let root = memex.folder.path().canonicalize().unwrap();
    for (path, relative) in [
        ("a.org", "a.org"),
        ("$MEMEX_DIR/x/b.org", "x/b.org"),
        ("in/b.org", "x/b.org"),
        (root.join("a.org").to_str().unwrap(), "a.org"),
    ] {
        let told = memex.ask(owner(), &ask(path)).await.expect(path);
        assert_eq!(told.get("relative").and_then(Value::as_str), Some(relative), "{path}");
        // Links are followed for the owner alone: where one leads tells what there is.
        let told = memex.ask(stranger(), &ask(path)).await;
        assert_eq!(told.is_ok(), !path.starts_with("in/"), "{path}");
    }
    for bad in [
        "..",
        "../x",
        "x/../../etc",
        "/etc/passwd",
        "out/passwd",
        "A.ORG",
        "$HOME/x",
        "~",
        "",
        "/",
        "a.org/.",
    ] {
        let refused = memex.ask(owner(), &ask(bad)).await;
        assert!(
            refused == Err(EngineErrorCode::InvalidValue) || bad == "a.org/.",
            "{bad}: {refused:?}"
        );
    }
    // That a private file exists is not told to others.
    assert!(memex.ask(owner(), &ask("p.org")).await.is_ok());
    assert_eq!(memex.ask(stranger(), &ask("p.org")).await, Err(EngineErrorCode::InvalidValue));
    assert_eq!(memex.ask(stranger(), &ask("x")).await, Err(EngineErrorCode::InvalidValue));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn skills_are_files_of_their_folder_and_logs_are_the_daemons() {
    let skill = "#+TITLE: Sort\n:PROPERTIES:\n:PRIORITY: 5\n:END:\n* Prose\ntext\n* Secret :private:\nzanzibar\n";
    let memex = Memex::new(&[("a.org", "* A\n")]).await;
    let told = memex.ask(owner(), "(:action :list-all-skills)").await.unwrap();
    assert!(told.get("skills").is_some_and(Value::is_nil) && told.get("note").is_some());
    write(&memex.folder, "skills/sort.org", skill);
    let ask = "(:action :list-all-skills)";
    let told = memex.until(ask, |told| !told.get("skills").unwrap().is_nil()).await;
    assert!(told.to_string().contains(":name \"sort\" :title \"Sort\""), "{told}");
    let source = "(:action :get-skill-source :name \"sort\")";
    let told = memex.ask(owner(), source).await.unwrap();
    assert_eq!(told.get("source").and_then(Value::as_str), Some(skill));
    let told = memex.ask(stranger(), source).await.unwrap().to_string();
    assert!(told.contains("Prose") && !told.contains(CANARY), "{told}");
    for bad in ["../a", "a", ".", "", "x/y", "sort.org"] {
        let source = format!("(:action :get-skill-source :name \"{bad}\")");
        assert_eq!(memex.ask(owner(), &source).await, Err(EngineErrorCode::UnknownId), "{bad}");
    }
    let told = memex.ask(owner(), "(:action :get-system-logs :limit 5)").await.unwrap();
    assert!(told.to_string().contains(":kind :daemon-up"), "{told}");
    let refused = memex.ask(stranger(), "(:action :get-system-logs)").await;
    assert_eq!(refused, Err(EngineErrorCode::NotPermitted));
}

/// Every question there is, about everything that is private.
const QUESTIONS: &[&str] = &[
    "(:action :query)",
    "(:action :query :text \"zanzibar\")",
    "(:action :query :text \"zan*\")",
    "(:action :query :text \"open\")",
    "(:action :query :tag \"zanzibar\")",
    "(:action :query :tag \"private\")",
    "(:action :query :todo \"TODO\")",
    "(:action :query :state :open)",
    "(:action :query :priority \"B\")",
    "(:action :query :property \"ZANZIBAR\")",
    "(:action :query :property (\"ZANZIBAR\" \"zanzibar\"))",
    "(:action :query :from \"2026-01-01\" :to \"2026-12-31\")",
    "(:action :query :type :file)",
    "(:action :query :scope :project)",
    "(:action :query :under \"b.org\")",
    "(:action :query :under \"zanzibar\")",
    "(:action :outline)",
    "(:action :outline :under \"a.org\")",
    "(:action :outline :under \"b.org\")",
    "(:action :outline :under \"zanzibar\")",
    "(:action :focus)",
    "(:action :focus :id \"a.org\" :budget 10000)",
    "(:action :focus :id \"b.org\")",
    "(:action :focus :id \"open\" :budget 10000)",
    "(:action :get-object :id \"a.org\")",
    "(:action :get-object :id \"open\")",
    "(:action :get-object :id \"b.org\")",
    "(:action :get-object :id \"zanzibar\")",
    "(:action :memex-status)",
    "(:action :list-all-skills)",
    "(:action :get-skill-source :name \"zanzibar\")",
    "(:action :get-skill-source :name \"half\")",
    "(:action :resolve-path :path \"zanzibar.org\")",
    "(:action :get-system-logs)",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_private_reaches_no_stranger_and_no_record() {
    let memex = Memex::new(&[
        ("a.org", "* Open\n:PROPERTIES:\n:ID: open\n:END:\nopen\n:PRIVATE:\nzanzibar\n:END:\n** Inner :private:\nzanzibar\n*** Under\nzanzibar\n"),
        ("b.org", "#+TITLE: zanzibar\n#+FILETAGS: :private:\nzanzibar\n* TODO [#B] zanzibar :zanzibar:project:\n  SCHEDULED: <2026-11-15 Sun>\n:PROPERTIES:\n:ZANZIBAR: zanzibar\n:ID: zanzibar\n:END:\n"),
        ("zanzibar.org", "#+FILETAGS: :private:\n"),
        ("zanzibar.org.gpg", "zanzibar"),
        ("skills/zanzibar.org", "#+FILETAGS: :private:\n"),
        ("skills/half.org", "* Seen\n* Hidden :private:\nzanzibar\n"),
        ("c.org", "* Key :crypt:\nzanzibar\n** Below zanzibar\n"),
    ])
    .await;
    for question in QUESTIONS {
        if let Ok(told) = memex.ask(stranger(), question).await {
            let told = told.to_string().to_lowercase();
            assert!(!told.contains(CANARY), "{question}: {told}");
        }
        assert_eq!(
            memex.ask(Principal::Anonymous, question).await,
            Err(EngineErrorCode::NotPermitted)
        );
    }
    // The owner sees it, marked, and what is encrypted not even so.
    let told = memex.ask(owner(), "(:action :query :text \"zanzibar\")").await.unwrap().to_string();
    assert!(
        told.contains(":private t") && told.contains("b.org") && !told.contains("c.org"),
        "{told}"
    );
    let told = memex.ask(owner(), "(:action :get-object :id \"b.org\")").await.unwrap();
    assert!(told.get("object").unwrap().get("private").is_some());
    // Nothing of it is in the record, sealed or not.
    stop_hub(&memex.rig.hub, PATIENCE).await;
    let reader = RecordReader::open(memex.rig.path()).unwrap();
    let mut after = RecordNumber(0);
    loop {
        let page = reader.records(after, &RecordFilter::default(), 100).unwrap();
        let Some(last) = page.last() else { break };
        after = last.number;
        for record in &page {
            let body = record.body.text().unwrap_or_default().to_lowercase();
            assert!(!body.contains(CANARY), "{body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_told_no_numbers_that_hidden_files_change() {
    let memex =
        Memex::new(&[("a.org", "* A\n"), ("b.org", "#+FILETAGS: private\n"), ("c.sh", "")]).await;
    let told = memex.ask(stranger(), "(:action :memex-status)").await.unwrap();
    assert_eq!(told.get("files").and_then(Value::as_i64), Some(1), "{told}");
    for key in ["other-files", "generation", "skipped-count", "folder", "hash"] {
        assert!(told.get(key).is_none(), "{key}: {told}");
    }
    let told = memex.ask(owner(), "(:action :memex-status)").await.unwrap();
    assert_eq!(told.get("other-files").and_then(Value::as_i64), Some(1), "{told}");
    // A path is what the index says, and nothing else.
    let root = memex.folder.path().canonicalize().unwrap();
    let ask = async |path: &str| {
        let question = format!("(:action :resolve-path :path \"{path}\")");
        memex.ask(stranger(), &question).await
    };
    for path in ["a.org", "./a.org", "$MEMEX/a.org", &root.join("a.org").display().to_string()] {
        let told = ask(path).await.unwrap();
        assert_eq!(told.get("relative").and_then(Value::as_str), Some("a.org"), "{path}: {told}");
    }
    for path in ["b.org", "c.sh", "d.org", "", "/", "..", "/etc/hosts", "a.org/x", "/a.org"] {
        assert_eq!(ask(path).await, Err(EngineErrorCode::InvalidValue), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_can_take_it_away() {
    let policies = TempDir::new().unwrap();
    let file = policies.path().join("policy.org");
    let text = bridle_loop::DEFAULT_POLICY.replace(
        "permit (principal, action == Action::\"recall\", resource)",
        "forbid (principal, action == Action::\"recall\", resource)",
    );
    // The examples say what a policy means, and change with it.
    let text = ["owner", "local-tcp"].iter().fold(text, |text, who| {
        let example = format!("(:principal \"{who}\" :action :recall :session-owner \"{who}\")");
        text.replace(&format!("(allow {example}"), &format!("(refuse {example}"))
    });
    fs::write(&file, text).unwrap();
    let memex = Memex::new(&[("a.org", "* A\n")]).await;
    let Memex { mut rig, folder } = memex;
    rig.config.policy = crate::PolicyChoice::File(file);
    let memex = Memex { rig: rig.restart().await, folder };
    assert_eq!(memex.ask(stranger(), "(:action :query)").await, Err(EngineErrorCode::NotPermitted));
    assert_eq!(memex.ask(owner(), "(:action :query)").await, Err(EngineErrorCode::NotPermitted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completions_are_words_of_what_the_asker_may_see() {
    let memex = Memex::new(&[(
        "garden.org",
        &format!("* Watering the zinnias\n* Secret :private:\n{CANARY} zinfandel\n"),
    )])
    .await;
    let suggestions = |told: &Value| {
        let all = told.get("suggestions").and_then(Value::elements).unwrap_or_default();
        all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let told = memex.ask(owner(), "(:action :complete :prefix \"I am wat\")").await.expect("words");
    assert_eq!(suggestions(&told), ["I am Watering"]);
    let told = memex.ask(stranger(), "(:action :complete :prefix \"zi\")").await.expect("words");
    assert_eq!(suggestions(&told), ["zinnias"]);
    let told = memex.ask(owner(), "(:action :complete :prefix \"\")").await.expect("words");
    assert!(suggestions(&told).is_empty());
    let refused = memex.ask(Principal::Anonymous, "(:action :complete :prefix \"zi\")").await;
    assert_eq!(refused, Err(EngineErrorCode::NotPermitted));
}
