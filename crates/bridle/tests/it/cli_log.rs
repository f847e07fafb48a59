//! `bridle log` and `bridle sessions`: the record as text, whole or changed.

use std::io::{BufRead as _, BufReader};

use crate::harness::{Home, finish};
use crate::written::{AT_TEXT, Written};

const HINT: &str =
    "hint: no record there yet: run `bridle up`, or name another directory with --state DIR\n";

#[test]
fn without_a_record_every_reader_says_so() {
    let home = Home::new();
    let error = format!("error: no record in `{}`\n{HINT}", home.path(".local/state/bridle"));
    for args in [
        &["log"][..],
        &["log", "--follow"],
        &["log", "verify"],
        &["log", "head"],
        &["log", "export", "--org"],
        &["log", "mirror", "copy"],
        &["sessions"],
        &["replay"],
    ] {
        home.run(args).fails(66, &error);
    }
    let other = format!("error: no record in `elsewhere`\n{HINT}");
    home.run(&["log", "--state", "elsewhere"]).fails(66, &other);
    assert!(!std::path::Path::new(&home.path("copy")).exists());
}

#[test]
fn records_are_lines() {
    let home = Home::new();
    Written::new(&home).log("(:text \"one\ntwo\")").log("(:text \"three\")");
    let line = |number: u64, body: &str| {
        format!(
            "(:number {number} :session nil :seq nil :at \"{AT_TEXT}\" :cause nil :principal \
             \"uid:7\" :kind :log :body {body})\n"
        )
    };
    let (first, second) = (line(1, "(:text \"one\\ntwo\")"), line(2, "(:text \"three\")"));
    home.run(&["log"]).prints(&format!("{first}{second}"));
    home.run(&["log", "--after", "1"]).prints(&second);
    home.run(&["log", "--limit", "1"]).prints(&first);
    home.run(&["log", "--limit", "0"]).prints("");
    home.run(&["log", "--lisp", "--limit", "1"]).prints(&line(1, "(:text \"one\ntwo\")"));
    let json = home.run(&["log", "--json"]);
    let lines: Vec<serde_json::Value> =
        json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["body"]["text"]), (2, &"one\ntwo".into()));
    assert_eq!(home.run(&["log", "--json", "--lisp"]).code, 2);
}

#[test]
fn one_session_alone() {
    let home = Home::new();
    let mut written = Written::new(&home);
    written.session("a").log("(:n 1)").session("b");
    let done = home.run(&["log", "--session", "b"]);
    assert!(done.stdout.lines().all(|line| line.contains(" :session \"b\" ")), "{}", done.stdout);
    assert!(done.stdout.lines().any(|line| line.contains(" :kind :signal ")), "{}", done.stdout);
    for args in [&["log", "--session", "c"][..], &["replay", "--session", "c"]] {
        let hint = "hint: `bridle sessions` lists sessions\n";
        home.run(args).fails(66, &format!("error: no session `c`\n{hint}"));
    }
}

#[test]
fn following_goes_on_with_new_records() {
    let home = Home::new();
    let mut written = Written::new(&home);
    written.log("(:n 1)");
    let mut child = home.command(&["log", "--follow", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in 1..=3 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(&format!("{{\"number\":{number},")), "{line}");
        written.log("(:more t)");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_whole_record_verifies() {
    let home = Home::new();
    let mut written = Written::new(&home);
    let head = written.session("a").log("(:n 1)").head();
    let done = home.run(&["log", "verify"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(done.stdout.starts_with(&format!("{head} records, head ")), "{}", done.stdout);
}

#[test]
fn a_changed_record_is_named() {
    let home = Home::new();
    home.spoil_record();
    let mut written = Written::new(&home);
    written.log("(:n 1)").log("(:n 2)").log("(:n 3)");
    let file = written.dir.join("record.db");
    drop(written);
    let change = |from: &str, to: &str| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        // Whoever changes a record takes away what keeps him from it.
        let triggers: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for trigger in triggers {
            connection.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
        }
        let sql = "UPDATE record SET records = CAST(replace(records, ?1, ?2) AS BLOB)
                   WHERE first = 2";
        assert_eq!(connection.execute(sql, [from, to]).unwrap(), 1);
    };
    let verify = || {
        let done = home.run(&["log", "verify"]);
        assert_eq!((done.code, done.stdout.as_str()), (65, ""), "{done:?}");
        done.stderr
    };
    change("uid:7", "uid:8");
    assert!(verify().starts_with("record 2 was edited"), "{}", verify());
    change("uid:8", "uid:7");
    assert_eq!(home.run(&["log", "verify"]).code, 0);
    rusqlite::Connection::open(&file)
        .unwrap()
        .execute("DELETE FROM record WHERE first = 2", [])
        .unwrap();
    assert!(verify().starts_with("record 2 is missing"), "{}", verify());
}

#[test]
fn a_head_kept_elsewhere_is_checked() {
    let home = Home::new();
    let mut written = Written::new(&home);
    written.log("(:n 1)").log("(:n 2)");
    let key = home.write("k", "a key of many bytes");
    let line = home.run(&["log", "head", "--sign", &key]).stdout;
    assert!(line.starts_with("(:number 2 :hash \"") && line.contains(" :signature \""), "{line}");
    let file = home.write("head", &line);
    written.log("(:n 3)");
    let verify = |more: &[&str]| home.run(&[&["log", "verify", "--head", &file], more].concat());
    assert!(
        verify(&["--key", &key]).stdout.ends_with("head is signed and is part of this chain\n")
    );
    assert!(verify(&[]).stdout.ends_with("its signature was not checked\n"));
    let other = home.write("other", "another key of many");
    verify(&["--key", &other]).fails(
        65,
        "error: the kept head is not signed with this key\nhint: name the key that signed it: \
         --key FILE\n",
    );
    home.write("head", line.replace(":number 2", ":number 9"));
    assert!(verify(&[]).stderr.starts_with("record 4 is missing"), "{:?}", verify(&[]));
    home.write("head", "good morning");
    assert_eq!(verify(&[]).code, 65);
    let short = home.write("short", "0123");
    assert_eq!(home.run(&["log", "head", "--sign", &short]).code, 78);
    assert_eq!(home.run(&["log", "verify", "--key", &key]).code, 2, "a key of no head");
}

#[test]
fn mirrors_follow() {
    let home = Home::new();
    let mut written = Written::new(&home);
    written.log("(:n 1)");
    home.run(&["log", "mirror", "--once", "copy"]).prints("1 records in copy\n");
    written.log("(:n 2)");
    let mut child = home.command(&["log", "mirror", "copy"]).spawn().unwrap();
    let lines = || std::fs::read_to_string(home.path("copy")).unwrap().lines().count();
    while lines() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    written.log("(:n 3)");
    while lines() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(home.run(&["log", "mirror", "--once", "copy"]).code, 75);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(home.path("copy")).unwrap(), home.run(&["log"]).stdout);
    home.write("mine", "dear diary\n");
    assert_eq!(home.run(&["log", "mirror", "--once", "mine"]).code, 65);
    assert_eq!(std::fs::read_to_string(home.path("mine")).unwrap(), "dear diary\n");
}

#[test]
fn sessions_are_a_table() {
    let home = Home::new();
    let mut written = Written::new(&home);
    written.session("work");
    let head = written.head();
    let head_seq = home.run(&["sessions", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&head_seq.stdout).unwrap();
    assert_eq!((&json["session"], &json["owner"]), (&"work".into(), &"uid:7".into()));
    assert_eq!((&json["records"], &json["forgotten"]), (&head.into(), &false.into()));
    let seq = json["seq"].as_u64().unwrap();
    // Two hours ahead of UTC, without a database of time zones.
    let at = "1970-01-01 02:00";
    let done = finish(home.command(&["sessions"]).env("TZ", "EET-2"), b"");
    done.prints(&format!(
        "SESSION  OWNER  EVENTS  RECORDS  BEGAN             LAST USED\n\
         work     uid:7  {seq:>6}  {head:>7}  {at}  {at}\n"
    ));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = Home::new();
    let mut written = Written::new(&home);
    for _ in 0..10 {
        written.log(&format!("(:text \"{}\")", "x".repeat(20_000)));
    }
    let mut command = home.command(&["log"]);
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    let done = finish(&mut home.command(&["log", "export"]), b"");
    assert_eq!(done.code, 2, "the format is named: {done:?}");
}
