//! `bridle conform oacp-client` with `bridle ask --lines` as the client: everything passes. Sloppy
//! clients are in the tests of `crates/conform`.

use std::collections::BTreeSet;

use crate::harness::Home;

/// The cases as they were published with their revision; a change of this list is a new revision.
const FROZEN: &str = include_str!("oacp-client-0.3.0.txt");

/// bridle's own client, driven by lines.
const OWN: [&str; 11] = [
    env!("CARGO_BIN_EXE_bridle"),
    "ask",
    "--lines",
    "--addr",
    "{OACP_ADDR}",
    "--session",
    "{OACP_SESSION}",
    "--cursor",
    "{OACP_CURSOR}",
    "--key-file",
    "{OACP_KEY_FILE}",
];

#[test]
fn bridle_is_a_client_that_passes_every_case() {
    let options = ["conform", "oacp-client", "--fail-on", "should", "--timeout", "60", "--"];
    let done = Home::new().run(&[&options[..], &OWN].concat());
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.ends_with("conforms to oacp-client 0.3.0\n"), "{}", done.stdout);
    assert!(done.stdout.contains("    2 not offered"), "only parts: {}", done.stdout);
    let told = done.stdout.lines().filter(|line| line.starts_with("none ")).count();
    assert_eq!(told, 1, "a reason is told once: {}", done.stdout);
}

#[test]
fn the_cases_of_a_revision_stay_what_they_are() {
    let listed = crate::harness::pipe(&["conform", "oacp-client", "--list"], "");
    assert_eq!(listed.stdout, FROZEN);
    let ids: BTreeSet<&str> = FROZEN.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids.len(), FROZEN.lines().count(), "an id is there twice");
}
