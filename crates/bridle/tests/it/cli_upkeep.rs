//! `bridle record` and forgetting many sessions: room is given back, what stays can be read by every command, a
//! damaged record is named and repaired.

use std::fs;

use crate::harness::Home;
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
    assert_eq!((none.code, &*none.stdout), (0, "no session to forget\n"), "{none:?}");
    assert_eq!(home.run(&["forget", "--before", "soon"]).code, 2);
    assert_eq!(home.run(&["forget", "--anonymous", "a"]).code, 2);
    let done = home.run(&["forget", "--before", "2999-01-01", "--yes"]);
    assert!(done.stdout.starts_with("forgot 2 sessions with "), "{done:?}");
    let size = home.run(&["record", "size"]).stdout;
    assert!(size.contains("PRINCIPAL") && size.contains("forgotten: "), "{size}");
    let compacted = home.run(&["record", "compact", "--json"]);
    assert!(compacted.stdout.contains("\"sessions\":1,\"bytes-before\":"), "{compacted:?}");
    let again = home.run(&["record", "compact"]);
    assert!(again.stdout.starts_with("nothing is forgotten that is still there"), "{again:?}");
    let verified = home.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.stdout.ends_with("were compacted and are gone\n"), "{verified:?}");
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
    assert!(done.stdout.starts_with("2 records taken away: "), "{done:?}");
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
        looked.stdout.contains("kept: records 1 to ") && looked.stdout.contains("gone: records "),
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
