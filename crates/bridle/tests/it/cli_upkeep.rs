//! `bridle record` and forgetting many sessions: room is given back, what stays can be read by every command, a
//! damaged record is named and repaired.

use std::fs;
use std::path::Path;

use bridle_memex::{
    ChangeCause, FileChange, FilePath, MemoryOptions, MemoryStore, VersionFilter, VersionHistory,
    VersionOrigin,
};

use crate::harness::{Home, Shell};
use crate::written::Written;

fn home() -> Home {
    let home = Home::new();
    home.write(".config/bridle/config.toml", "tcp = \"off\"\nhttp = \"off\"\n");
    home
}

#[test]
fn old_sessions_are_previewed_forgotten_and_compacted() {
    let home = home();
    Written::new(&home).session("a").session("b");
    let preview = home.run(&["forget", "--before", "2999-01-01", "--json"]);
    assert_eq!(preview.code, 0, "{preview:?}");
    assert!(
        preview.stdout.starts_with("{\"forgotten\":0,\"sessions\":[\"a\",\"b\"],"),
        "{preview:?}"
    );
    let unasked = home.run(&["forget", "--before", "2999-01-01"]);
    assert_eq!(unasked.code, 2, "{unasked:?}");
    assert!(unasked.stdout.contains("2 sessions, "), "{unasked:?}");
    assert!(!home.run(&["log"]).stdout.contains(":erased"));
    let none = home.run(&["forget", "--before", "1970-01-01"]);
    assert_eq!((none.code, &*none.stdout), (0, "no sessions to forget\n"), "{none:?}");
    assert_eq!(home.run(&["forget", "--before", "soon"]).code, 2);
    assert_eq!(home.run(&["forget", "--anonymous", "a"]).code, 2);
    let done = home.run(&["forget", "--before", "2999-01-01", "--yes"]);
    assert!(done.stdout.starts_with("forgot 2 sessions with "), "{done:?}");
    let size = home.run(&["record", "size"]).stdout;
    assert!(size.contains("PRINCIPAL") && size.contains("forgotten: "), "{size}");
    let compacted = home.run(&["record", "compact", "--json"]);
    assert!(compacted.stdout.contains("\"sessions\":1,\"bytes-before\":"), "{compacted:?}");
    let again = home.run(&["record", "compact"]);
    assert!(again.stdout.starts_with("nothing to compact"), "{again:?}");
    let verified = home.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.stdout.ends_with("were compacted away\n"), "{verified:?}");
    let size = home.run(&["record", "size", "--json"]).stdout;
    assert!(size.contains("\"forgotten-records\":0,"), "{size}");
    let log = home.run(&["log"]).stdout;
    assert!(log.contains(":kind :compacted :body (:from 1 :to "), "{log}");
}

#[test]
fn every_command_reads_over_what_was_compacted() {
    let home = home();
    Written::new(&home).session("a").session("b");
    let copy = &home.path("copy.lisp");
    assert_eq!(home.run(&["log", "mirror", "--once", copy]).code, 0);
    for number in ["2", "3"] {
        assert_eq!(home.run(&["forget", number, "--yes"]).code, 0);
    }
    let before = home.run(&["log", "--session", "b"]).stdout;
    let done = home.run(&["record", "compact"]);
    assert!(done.stdout.starts_with("2 records removed: "), "{done:?}");
    assert_eq!(home.run(&["log", "--session", "b"]).stdout, before);
    let log = home.run(&["log", "--session", "a"]).stdout;
    assert_eq!(log.matches(":kind :compacted").count(), 1, "{log}");
    let replay = home.run(&["replay"]);
    assert_eq!(
        (replay.code, replay.stdout.contains("skipped, erased: 1 session")),
        (0, true),
        "{replay:?}"
    );
    assert_eq!(home.run(&["replay", "--session", "a"]).code, 0);
    assert_eq!(home.run(&["log", "verify"]).code, 0);
    let trace = home.run(&["log", "export", "--org"]);
    assert_eq!(trace.code, 0, "{trace:?}");
    assert!(trace.stdout.contains("Compacted: records 2 to 3 are gone."), "{}", trace.stdout);
    assert_eq!(home.run(&["log", "mirror", "--once", copy]).code, 0);
    assert_eq!(home.run(&["sessions", "--json"]).code, 0);
    assert_eq!(home.run(&["effects"]).code, 0);
}

#[test]
fn a_damaged_record_stops_the_start_and_names_the_way_out() {
    let home = home();
    let state = Written::new(&home).session("a").session("b").dir.clone();
    let file = state.join("record.db");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(6).rposition(|it| it == b"signal").unwrap();
    for byte in &mut bytes[..8] {
        *byte ^= 0x55;
    }
    fs::write(&file, &bytes).unwrap();
    let failed = home.run(&["up"]);
    assert_eq!(failed.code, 65, "{failed:?}");
    assert!(failed.stderr.contains("`bridle record repair --dry-run`"), "{failed:?}");
    for byte in &mut bytes[..8] {
        *byte ^= 0x55;
    }
    bytes[at] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let looked = home.run(&["record", "repair", "--dry-run"]);
    assert_eq!(looked.code, 0, "{looked:?}");
    assert!(
        looked.stdout.contains("kept: records 1 to ") && looked.stdout.contains("lost: records "),
        "{looked:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), bytes);
    let repaired = home.run(&["record", "repair", "--json"]);
    assert!(repaired.stdout.contains("record.db.damaged-"), "{repaired:?}");
    assert_eq!(home.run(&["log", "verify"]).code, 0);
    let whole = home.run(&["record", "repair"]);
    assert!(whole.stdout.starts_with("nothing to repair: "), "{whole:?}");
    drop(home.up(&[]));
}

#[test]
fn a_budget_that_is_used_up_refuses_politely_and_survives_a_restart() {
    let home = home();
    let settings = ["--tcp", "127.0.0.1:0", "--record-budget", "24KiB", "--record-refill", "1KiB"];
    let prompt = "(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"help\"))";
    let daemon = home.up(&settings);
    let refused = |tcp: &str| {
        let said = home.run(&["send", "--addr", tcp, prompt]);
        (said.code == 1).then_some(said.stdout)
    };
    let answer = (0..60).find_map(|_| refused(&daemon.tcp())).expect("refused in the end");
    assert!(answer.contains(":overloaded") && answer.contains(":retryable t"), "{answer}");
    assert!(answer.contains("raise `record-budget` or `record-refill`"), "{answer}");
    let recorded = || home.run(&["log"]).stdout.matches(":kind :signal").count();
    let before = recorded();
    assert!(refused(&daemon.tcp()).is_some());
    assert_eq!(recorded(), before, "nothing of it was taken");
    // The owner is not counted.
    let owner = home.run(&["send", "--addr", &format!("unix:{}", home.path("b.sock")), prompt]);
    assert_eq!(owner.code, 0, "{owner:?}");
    daemon.signal("TERM");
    daemon.wait();
    let daemon = home.up(&settings);
    assert!(refused(&daemon.tcp()).is_some(), "a restart gives nobody a new one");
}

/// Number and seq of each record of a session, as `bridle log` says.
fn places(home: &Home, session: &str) -> Vec<(u64, Option<u64>)> {
    let log = home.run(&["log", "--session", session]).stdout;
    let value = |line: &str, key: &str| line.split(key).nth(1)?.split(' ').next()?.parse().ok();
    log.lines().map(|line| (value(line, ":number ").unwrap(), value(line, ":seq "))).collect()
}

/// A home in which the session `work` has four events, and all records from the first to the one of this event are
/// forgotten and compacted; their numbers, and that of the last record.
fn compacted_up_to(seq: u64) -> (Home, Vec<u64>, u64) {
    let home = home();
    let daemon = home.up(&[]);
    let mut shell = Shell::attach(&home, "work");
    for _ in 0..2 {
        shell.prompt("help");
    }
    let mut other = Shell::attach(&home, "other");
    other.prompt("help");
    daemon.signal("TERM");
    daemon.wait();
    let places = places(&home, "work");
    let end = places.iter().position(|place| place.1 == Some(seq)).unwrap();
    let gone: Vec<u64> = places[..=end].iter().map(|place| place.0).collect();
    for number in &gone {
        let done = home.run(&["forget", &number.to_string(), "--yes"]);
        // What was said as it was proposed was forgotten with the proposal.
        assert!(done.code == 0 || done.stderr.contains("already forgotten"), "{done:?}");
    }
    let done = home.run(&["record", "compact"]);
    assert_eq!(done.code, 0, "{done:?}");
    (home, gone, places.last().unwrap().0)
}

#[test]
fn a_shell_behind_what_was_compacted_is_told_and_goes_on() {
    let (home, ..) = compacted_up_to(3);
    let _daemon = home.up(&[]);
    for cursor in [0, 1, 2, 3] {
        let mut shell = Shell::attach_behind(&home, "work", cursor);
        for seq in cursor + 1..=4 {
            let frame = shell.receive();
            assert!(frame.contains(&format!(":seq {seq} ")), "{seq} behind {cursor}: {frame}");
            let is_erased = frame.ends_with(":payload (:action :erased))");
            assert_eq!(is_erased, seq < 4, "{seq} behind {cursor}: {frame}");
        }
    }
    let mut shell = Shell::attach_behind(&home, "work", 4);
    let answer = shell.prompt("help");
    assert!(answer.contains(":status :success"), "{answer}");
    let socket = format!("unix:{}", home.path("b.sock"));
    let tail =
        home.run(&["tail", "--session", "work", "--after", "1", "--lisp", "--addr", &socket]);
    assert_eq!((tail.code, tail.stdout.matches(":erased").count()), (0, 2), "{tail:?}");
}

#[test]
fn a_fork_at_or_behind_what_was_compacted_is_refused() {
    let (home, gone, last) = compacted_up_to(3);
    let _daemon = home.up(&[]);
    let socket = format!("unix:{}", home.path("b.sock"));
    let fork = |record: u64| home.run(&["fork", &record.to_string(), "--addr", &socket]);
    for record in &gone {
        let refused = fork(*record);
        assert_eq!((refused.code, &*refused.stdout), (1, ""), "{refused:?}");
        let says = format!("record `{record}` was compacted: nothing is left to fork from");
        assert!(refused.stderr.contains(&says), "{refused:?}");
    }
    let behind = fork(last);
    assert_eq!((behind.code, &*behind.stdout), (1, ""), "{behind:?}");
    assert!(behind.stderr.contains(" on were compacted"), "{behind:?}");
    // Another session is forked as before, and the refused one goes on.
    let other = places(&home, "other").last().unwrap().0;
    let forked = fork(other);
    assert_eq!(forked.code, 0, "{forked:?}");
    let mut shell = Shell::attach(&home, forked.stdout.trim());
    assert!(shell.prompt("help").contains(":status :success"));
    assert!(Shell::attach(&home, "work").prompt("help").contains(":status :success"));
}

/// Changes a file of the user, as an act of this session and record.
fn change(state: &Path, root: &Path, session: &str, record: u64) {
    let options = MemoryOptions { root: root.to_owned(), protected: Vec::new() };
    let memory = MemoryStore::open(state, &options).unwrap();
    let path = FilePath::parse(&format!("{session}.org")).unwrap();
    let change = FileChange { path, before: None, after: Some(format!("of {session}\n").into()) };
    let why = ChangeCause {
        origin: VersionOrigin::Edit,
        record: Some(record),
        session: session.into(),
        turn: 1,
        principal: "uid:7".into(),
        action: "edit".into(),
        at: 1000,
    };
    memory.apply(&[change], &why).unwrap();
}

#[test]
fn versions_of_files_are_forgotten_with_their_sessions() {
    let home = home();
    let root = home.path("files");
    fs::create_dir(&root).unwrap();
    let state = Written::new(&home).session("a").session("b").session("c").dir.clone();
    let last = |session: &str| places(&home, session).last().unwrap().0;
    for session in ["a", "b", "c"] {
        change(&state, Path::new(&root), session, last(session));
    }
    let sessions = || -> Vec<String> {
        let past = VersionHistory::open(&state).unwrap();
        let versions = past.list(&VersionFilter::default(), 100).unwrap();
        versions.iter().map(|it| it.session.to_string()).collect()
    };
    assert_eq!(sessions(), ["c", "b", "a"]);
    assert_eq!(home.run(&["forget", &last("c").to_string(), "--yes"]).code, 0);
    assert_eq!(sessions(), ["b", "a"], "one record");
    assert_eq!(home.run(&["forget", "b", "--yes"]).code, 0);
    assert_eq!(sessions(), ["a"], "one session");
    assert_eq!(home.run(&["forget", "--before", "2999-01-01", "--yes"]).code, 0);
    assert!(sessions().is_empty(), "many sessions");
    // The files stay.
    for session in ["a", "b", "c"] {
        let text = fs::read_to_string(Path::new(&root).join(format!("{session}.org"))).unwrap();
        assert_eq!(text, format!("of {session}\n"));
    }
}

#[test]
fn a_budget_that_is_off_refuses_nobody() {
    let home = home();
    let settings = ["--tcp", "127.0.0.1:0", "--record-budget", "off", "--record-refill", "1"];
    let daemon = home.up(&settings);
    let prompt = "(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"help\"))";
    for _ in 0..3 {
        assert_eq!(home.run(&["send", "--addr", &daemon.tcp(), prompt]).code, 0);
    }
}
