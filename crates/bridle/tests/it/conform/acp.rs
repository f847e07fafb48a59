//! `bridle conform acp` with `bridle acp` and a real daemon as the agent: everything passes. Sloppy agents are in the
//! tests of `crates/conform`.

use std::collections::BTreeSet;

use crate::harness::Home;

/// The cases as they were published with their revision; a change of this list is a new revision.
const FROZEN: &str = include_str!("acp-1.txt");

/// A thinker that answers, takes long, and wants to change notes.
const SCRIPT: &str = r#"
(rule :when "slow" :stream ("one " "two " "three " "four " "five " "six " "seven " "eight " "nine " "ten") :pace 300)
(rule :when "append to *" :result nil :rejected nil
      :propose ((:target :memory :action :append-subtree :path "$1" :line 1 :text "* A note")))
(rule :when "append to *" :result (:outcome :done) :text "Done.")
(rule :when "append to *" :result (:outcome :denied) :text "Not done.")
(default :text "I heard you.")
"#;

#[test]
fn bridle_is_an_agent_that_passes_every_case() {
    let home = Home::new();
    let script = home.write("rules.script", SCRIPT);
    let notes = home.write("memex/notes.org", "* TODO One\n");
    let thinker = format!("script:{script}");
    let daemon = home.up(&["--thinker", &thinker, "--memex", &home.path("memex")]);
    let tool = format!("append to {notes}");
    let socket = format!("unix:{}", home.path("b.sock"));
    let done = home.run(&[
        "conform",
        "acp",
        "--fail-on",
        "should",
        "--timeout",
        "60",
        "--prompt",
        "hello",
        "--prompt-slow",
        "slow",
        "--prompt-tool",
        &tool,
        "--",
        env!("CARGO_BIN_EXE_bridle"),
        "acp",
        "--addr",
        &socket,
    ]);
    drop(daemon);
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.ends_with("conforms to acp 1\n"), "{}", done.stdout);
    // What the agent does not have, and nothing else.
    let none = |line: &&str| line.starts_with("none ");
    let closed: Vec<&str> = done
        .stdout
        .lines()
        .filter(none)
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(closed, ["I-12", "L-14", "P-11", "P-12"], "{}", done.stdout);
}

#[test]
fn the_cases_of_a_revision_stay_what_they_are() {
    let listed = crate::harness::pipe(&["conform", "acp", "--list"], "");
    assert_eq!(listed.stdout, FROZEN);
    let ids: BTreeSet<&str> = FROZEN.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids.len(), FROZEN.lines().count(), "an id is there twice");
    assert!(ids.len() >= 60, "{}", ids.len());
}

#[test]
fn an_agent_that_is_not_there_and_one_that_does_nothing() {
    let home = Home::new();
    let missing = home.run(&["conform", "acp", "--", "no-such-agent"]);
    assert_eq!(missing.code, 66, "{missing:?}");
    let idle = home.run(&["conform", "acp", "--only", "I-01", "--", "true"]);
    assert_eq!(idle.code, 1, "{idle:?}");
    assert!(idle.stdout.contains("the program has ended"), "{}", idle.stdout);
}
