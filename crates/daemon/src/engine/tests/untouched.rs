//! The file of policies stays as it is: through whatever actuator it is written to, and whatever is put
//! in its place.

use crate::engine::install_policies;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use bridle_loop::{CONTEXT_ACTIONS, DEFAULT_POLICY, EDITS, KeywordName, PolicyHash};
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::{Value, read_one};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::rig::{self, Rig, body, emacs, owner};
use crate::config::PolicyChoice;
use crate::engine::{OutboundItem, StreamEventKind};

/// What the actuators of the host carry out. A new one fails the test below: find out whether it can
/// write a file, see to it that it is refused for this one, and then add it here.
const LOOKED_AT: [(&str, &[&str]); 4] = [
    ("log", &["log"]),
    // It edits files, also of a folder that has the policies in it; those are protected.
    (
        "memory",
        &[
            "set-title",
            "set-state",
            "set-priority",
            "set-tags",
            "set-property",
            "set-planning",
            "insert-subtree",
            "append-subtree",
            "move-up",
            "refile",
            "archive",
            "delete-subtree",
            "toggle-checkbox",
            "clock-in",
            "clock-out",
            "undo",
            "rollback",
            "restore",
            "snapshot",
        ],
    ),
    // It reads, and reads nothing but the memory, the record and the daemon's own log.
    ("context", CONTEXT_ACTIONS),
    (
        "system",
        &[
            "compact",
            "create-skill",
            "forget",
            "fork",
            "go-on",
            "pause-schedule",
            "release",
            "resume-schedule",
            "schedule",
            "set-limits",
            "unschedule",
            "restart",
            // Files of bridle itself, after a yes; a proposal of a thinker or a shell has none.
            "write",
            "patch",
        ],
    ),
];

/// What may write files, of the actions that the schema knows.
const WRITES: [&str; 4] = ["write", "insert-at-end", "exec", "read"];

async fn start() -> Rig {
    Rig::with(|config| {
        let file = config.state.join("policy.org");
        std::fs::write(&file, DEFAULT_POLICY).expect("the directory is ours");
        config.policy = PolicyChoice::File(file);
        config.memex = Some(config.state.clone());
    })
    .await
}

/// One wish for everything: each action takes the keys that it knows.
fn payload(action: &str, file: &Path) -> String {
    let file = Value::str(file.display().to_string());
    let place = match action {
        "toggle-checkbox" => ":line 1",
        _ => ":outline (\"Changes of the user's text are asked for\")",
    };
    format!(
        "(:action :{action} :path {file} :buffer {file} :file {file} :text \"x\" :argv (\"tee\" {file}) \
         :session \"nobody\" :name {file} :every 60000 :payload (:sensor :user-prompt :text \"x\") \
         {place} :title \"x\" :state \"TODO\" :priority \"A\" :tags (\"x\") :key \"K\" :value \"v\" \
         :plan :deadline :stamp \"<2026-11-15 Sun>\" :at \"[2026-11-15 Sun 12:00]\" \
         :to (:outline (\"No session runs away\")) :record 1 :turn 1 :prefix \"x\" \
         :filename \"policy.org\" :content \"x\")"
    )
}

async fn say_yes(rig: &Rig, session: &str, effect: i64) {
    let text = format!(
        "(:type :REQUEST :id 9 :target :system :payload (:action :approve :approval \
         \"{session}-{effect}\" :verdict :allow))"
    );
    let query = rig::query(&text).expect("well formed");
    crate::engine::ask_daemon(Arc::clone(&rig.hub), owner(), query, None).await.expect("told");
}

/// Asks for something in a session of its own, says yes to whatever is asked, and carries it out if the
/// shell is told to; what was decided.
async fn tries(
    rig: &Rig,
    session: &str,
    target: &KeywordName,
    action: &str,
    file: &Path,
) -> Vec<Value> {
    let shell = rig.join(session, emacs).await;
    let payload = payload(action, file);
    shell.send(&format!("(:type :REQUEST :id 1 :target :{target} :payload {payload})"));
    loop {
        let OutboundItem::Event { event, .. } = shell.next().await else { continue };
        let told = body(&event);
        let effect = told.get("effect").and_then(Value::as_i64);
        match (event.kind, effect) {
            (StreamEventKind::Ask, Some(effect)) => say_yes(rig, session, effect).await,
            (StreamEventKind::Act, Some(_)) if target.as_str() == "emacs" => {
                panic!("a shell is told to do `{action}`: {told}")
            }
            (StreamEventKind::Say, _) if told.get("answers").and_then(Value::as_i64) == Some(1) => {
                break;
            }
            _ => {}
        }
    }
    decisions(rig, session)
}

fn decisions(rig: &Rig, session: &str) -> Vec<Value> {
    let reader = RecordReader::open(rig.path()).expect("the record");
    let session = Some(session.into());
    let filter = RecordFilter { session, kinds: vec!["decided".into()], ..RecordFilter::default() };
    let records = reader.records(RecordNumber(0), &filter, 1000).expect("read");
    let texts = records.iter().map(|record| record.body.text().expect("not erased"));
    texts.map(|text| read_one(text).expect("text").root().to_value()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_actuator_writes_the_policies() {
    let rig = start().await;
    let file = rig.path().join("policy.org");
    let host = rig.hub.home.host_ref().catalog();
    // Builds for fault tests have one more, which counts in files of the state directory.
    let host = host.actuators.iter().filter(|it| it.name.as_str() != "tally");
    let known: Vec<(KeywordName, Vec<KeywordName>)> =
        host.map(|it| (it.name.clone(), it.actions.clone())).collect();
    let names =
        |words: &[&str]| words.iter().map(|word| KeywordName::new(word)).collect::<Vec<_>>();
    let looked_at = LOOKED_AT.map(|(name, actions)| (KeywordName::new(name), names(actions)));
    assert_eq!(known, looked_at, "an actuator that nobody has looked at");
    let shell = (KeywordName::new("emacs"), Vec::new());
    for (target, own) in known.into_iter().chain([shell]) {
        let own: Vec<&str> = own.iter().map(KeywordName::as_str).collect();
        for action in WRITES.iter().chain(own.iter().filter(|it| !WRITES.contains(it))) {
            // Only writing is forbidden; what is read goes through a question.
            // A restart is answered by the daemon that begins then.
            let is_left_out = (*action == "read" && target.as_str() == "emacs")
                || (*action == "restart" && target.as_str() == "system");
            if is_left_out {
                continue;
            }
            let decided = tries(&rig, &format!("{target}-{action}"), &target, action, &file).await;
            assert!(!decided.is_empty(), "`{action}` of `{target}` left no trace");
            let is_allowed =
                |it: &Value| it.get("verdict").is_some_and(|it| it.is_keyword("allow"));
            // The one way to write it: a proposal that a person saw and said yes to. What is no policy is refused even so.
            let is_own = target.as_str() == "system";
            if !is_own && (WRITES.contains(action) || EDITS.contains(action)) {
                assert!(!decided.iter().any(is_allowed), "`{action}` of `{target}`: {decided:?}");
            }
            let text = std::fs::read_to_string(&file).expect("still there");
            assert_eq!(text, DEFAULT_POLICY, "`{action}` of `{target}` wrote it");
        }
    }
    assert_eq!(rig.hub.home.guard.present().installed.hash(), PolicyHash::of(DEFAULT_POLICY));
}

/// Why something is not used, and how it is put in the place of the file.
type Swap = (&'static str, fn(&Path));

/// What somebody may put there.
const SWAPPED: [Swap; 6] = [
    ("it is no plain file", |file| {
        mknodat(CWD, file, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    }),
    ("it is no plain file", |file| std::fs::create_dir(file).expect("a folder")),
    ("it is no plain file", |file| symlink("/dev/zero", file).expect("a link")),
    ("the system does not let it be used", |file| symlink("nowhere", file).expect("a link")),
    ("its mode is 666", |file| {
        std::fs::write(file, "").expect("ours");
        let everybody = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(file, everybody).expect("ours");
    }),
    ("expected at most", |file| {
        std::fs::File::create(file).expect("ours").set_len(1 << 40).expect("a hole");
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_swapped_in_for_the_file_is_not_installed_and_that_is_recorded() {
    let rig = start().await;
    let file = rig.path().join("policy.org");
    let refusals = || {
        let reader = RecordReader::open(rig.path()).expect("the record");
        let filter = RecordFilter {
            session: Some("".into()),
            kinds: vec!["policy-refused".into()],
            ..RecordFilter::default()
        };
        let records = reader.records(RecordNumber(0), &filter, 100).expect("read");
        records.iter().filter_map(|it| it.body.text().map(str::to_owned)).collect::<Vec<_>>()
    };
    for (number, (reason, swap)) in SWAPPED.into_iter().enumerate() {
        if file.is_dir() {
            std::fs::remove_dir(&file).expect("ours");
        } else {
            std::fs::remove_file(&file).expect("ours");
        }
        swap(&file);
        let told = install_policies(&rig.hub, "uid:1000").await.expect_err("refused");
        assert!(told.reason.contains(reason), "{number}: {}", told.reason);
        let present = rig.hub.home.guard.present();
        assert_eq!(present.installed.hash(), PolicyHash::of(DEFAULT_POLICY), "what held holds");
        assert!(
            present.fault.as_deref().is_some_and(|fault| fault.contains(reason)),
            "{present:?}"
        );
        let recorded = refusals();
        assert_eq!(recorded.len(), number + 1);
        assert!(recorded[number].contains(reason), "{recorded:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_state_directory_that_were_opened_to_others_are_closed_again() {
    let rig = start().await;
    rig.join("work", |_| {}).await.send("(:type :LOG :payload (:text \"x\"))");
    let files = |rig: &Rig| {
        let entries = std::fs::read_dir(rig.path()).expect("ours");
        let paths = entries.map(|it| it.expect("read").path());
        let is_record = |path: &Path| path.to_string_lossy().contains("record.db");
        paths.filter(|path| is_record(path)).collect::<Vec<_>>()
    };
    let opened = files(&rig);
    assert!(!opened.is_empty());
    for file in &opened {
        let everybody = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(file, everybody).expect("ours");
    }
    let rig = rig.restart().await;
    for file in files(&rig) {
        let mode = file.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
}
