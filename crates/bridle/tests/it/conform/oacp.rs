//! `bridle conform oacp` against the real daemon: everything passes; with one fault planted between
//! the two, the case that is meant for it fails.

use std::collections::BTreeSet;
use std::time::Duration;

use bridle_conform::report::{CaseEnd, FailureBar};
use bridle_conform::{self as conform, RunOptions, oacp};
use bridle_shell::DaemonAddress;

use super::plants::plants;
use super::spoiler::Spoiler;
use crate::harness::Home;

/// The cases as they were published with their revision; a change of this list is a new revision.
const FROZEN: &str = include_str!("oacp-0.3.0.txt");

#[test]
fn the_daemon_passes_every_case() {
    let home = Home::new();
    let key = home.write("key", "0123456789abcdef0123");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let daemon = home.up(&["--hmac-enforce", "--hmac-key-file", &key]);
    let signed = daemon.tcp();
    let socket = home.path("b.sock");
    let done = home.run(&[
        "conform",
        "oacp",
        &socket,
        "--signed",
        &signed,
        "--key-file",
        &key,
        "--fail-on",
        "should",
    ]);
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.ends_with("conforms to oacp 0.3.0\n"), "{}", done.stdout);
    assert!(!done.stdout.contains("none "), "all is offered: {}", done.stdout);
    // One is left, without a name, in which the others were forgotten.
    let all = home.run(&["sessions", "--all", "--json"]).stdout;
    let kept = all.lines().filter(|line| line.contains("\"forgotten\":false")).count();
    assert_eq!(kept, 1, "{all}");
    let left = home.run(&["sessions"]).stdout;
    assert!(left.starts_with("no named sessions yet"), "{left}");
}

#[test]
fn a_daemon_with_a_small_limit_passes_too() {
    let home = Home::new();
    let _daemon = home.up(&["--max-frame", "65536"]);
    let done = home.run(&["conform", "oacp", &home.path("b.sock"), "--only", "F", "--only", "P"]);
    assert_eq!(done.code, 0, "{}", done.stdout);
}

#[test]
fn the_cases_of_a_revision_stay_what_they_are() {
    let listed = crate::harness::pipe(&["conform", "oacp", "--list"], "");
    assert_eq!(listed.stdout, FROZEN);
    let ids: BTreeSet<&str> = FROZEN.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids.len(), FROZEN.lines().count(), "an id is there twice");
}

#[test]
fn every_planted_fault_is_found_by_the_case_that_is_meant_for_it() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let cases = oacp::cases();
    let mut missed = String::new();
    for plant in plants() {
        let spoiler = Spoiler::start(&home.path("b.sock"), plant.spoil);
        let addr: DaemonAddress = spoiler.addr().parse().unwrap();
        let timeout = Duration::from_millis(1_500);
        let mut peer = oacp::DaemonUnderTest::new(addr, None, timeout, format!("p{}", plant.case));
        let options = RunOptions { only: vec![plant.case.to_owned()], ..RunOptions::default() };
        let report = conform::run(oacp::KIT, &cases, &mut peer, &options, &mut |_| {});
        let [outcome] = report.outcomes.as_slice() else { panic!("no case `{}`", plant.case) };
        if !matches!(outcome.ended, CaseEnd::Failed(_)) || report.conforms(FailureBar::Should) {
            missed.push_str(&format!("`{}`: {}", plant.name, outcome.to_text()));
        }
    }
    assert!(missed.is_empty(), "not found:\n{missed}");
}

#[test]
fn a_spoiler_that_spoils_nothing_is_found_by_no_case() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let spoiler =
        Spoiler::start(&home.path("b.sock"), Box::new(|| Box::new(super::spoiler::Honest)));
    let done = home.run(&["conform", "oacp", &spoiler.addr()]);
    assert_eq!(done.code, 0, "{}", done.stdout);
}

#[test]
fn known_failures_are_named_and_stale_ones_found() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let socket = home.path("b.sock");
    let known = home.write("known.txt", "# none of ours\nF-05  an old peer closes here\n");
    let stale = home.run(&["conform", "oacp", &socket, "--only", "F-05", "--expect", &known]);
    assert_eq!(stale.code, 1, "{}", stale.stdout);
    assert!(stale.stdout.contains("STALE F-05"), "{}", stale.stdout);
    let unknown = home.write("unknown.txt", "F-99  no such case\n");
    let refused = home.run(&["conform", "oacp", &socket, "--expect", &unknown]);
    assert_eq!(refused.code, 65, "{}", refused.stderr);
    assert!(refused.stderr.contains("no case is called `F-99`"), "{}", refused.stderr);
}

#[test]
fn reports_are_written_for_programs() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let (socket, junit) = (home.path("b.sock"), home.path("report.xml"));
    let args = ["conform", "oacp", &socket, "--only", "F-0", "--json", "--junit", &junit];
    let done = home.run(&args);
    assert_eq!(done.code, 0, "{}", done.stdout);
    assert!(done.stdout.starts_with("{\"kit\":\"oacp\",\"revision\":\"0.3.0\",\"conforms\":true"));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"9\" failures=\"0\""), "{xml}");
    let nobody = home.run(&["conform", "oacp", "127.0.0.1:1"]);
    assert_eq!(nobody.code, 69, "{}", nobody.stderr);
}
