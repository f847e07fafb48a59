//! `bridle conform shell` with `bridle ask --lines` as the Shell: everything passes. Sloppy Shells are
//! in the tests of `crates/conform`.

use std::collections::BTreeSet;

use crate::harness::Home;

/// The cases as they were published with their revision; a change of this list is a new revision.
const FROZEN: &str = include_str!("shell-1.0.0-draft.txt");

/// bridle's own Shell, driven by lines.
const OWN: [&str; 9] = [
    "env",
    "BRIDLE_TOKEN={OPENHARNESS_TOKEN}",
    env!("CARGO_BIN_EXE_bridle"),
    "ask",
    "--lines",
    "--engine",
    "{OPENHARNESS_URL}",
    "--session",
    "{OPENHARNESS_SESSION}",
];

#[test]
fn bridle_is_a_shell_that_passes_every_case() {
    let options = ["conform", "shell", "--fail-on", "should", "--timeout", "60", "--"];
    let done = Home::new().run(&[&options[..], &OWN].concat());
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.ends_with("conforms to shell 1.0.0-draft\n"), "{}", done.stdout);
    assert!(!done.stdout.contains("none "), "all is offered: {}", done.stdout);
}

#[test]
fn the_cases_of_a_revision_stay_what_they_are() {
    let listed = crate::harness::pipe(&["conform", "shell", "--list"], "");
    assert_eq!(listed.stdout, FROZEN);
    let ids: BTreeSet<&str> = FROZEN.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids.len(), FROZEN.lines().count(), "an id is there twice");
}

#[test]
fn a_program_that_is_not_there_and_one_that_does_nothing() {
    let home = Home::new();
    let missing = home.run(&["conform", "shell", "--", "no-such-shell"]);
    assert_eq!(missing.code, 66, "{missing:?}");
    let idle = home.run(&["conform", "shell", "--only", "A-01", "--", "true"]);
    assert_eq!(idle.code, 1, "{idle:?}");
    assert!(idle.stdout.contains("the program has ended"), "{}", idle.stdout);
    let known = home.write("known.txt", "A-01  it does nothing\n");
    let args = ["conform", "shell", "--only", "A-01", "--json", "--expect", &known, "--", "true"];
    let expected = home.run(&args);
    assert_eq!(expected.code, 0, "{expected:?}");
    assert!(expected.stdout.contains("\"outcome\":\"known\""), "{}", expected.stdout);
}
