//! The kits for clients, held to sloppy ones: every planted fault is found by the case that is meant
//! for it, and a client without a fault is found by none of these.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bridle_conform::driven::ProgramOptions;
use bridle_conform::report::{CaseEnd, FailureBar};
use bridle_conform::{
    self as conform, ConformanceCase, KitKind, KitPeer, RunOptions, acp, client, shell,
};

/// An example of this crate. Cargo builds all of them with all tests, but not for one file of tests: then
/// it is built here.
fn example(name: &str) -> String {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples");
    path.push(name);
    if !path.exists() {
        let arguments = ["build", "--locked", "--package", "bridle-conform", "--example", name];
        assert!(Command::new(env!("CARGO")).args(arguments).status().unwrap().success());
    }
    path.to_str().unwrap().to_owned()
}

/// The faults of an example: the case of each.
fn faults(example: &str) -> Vec<(String, String)> {
    let listed = Command::new(example).arg("--list").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let line = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.lines().filter_map(line).collect()
}

/// Has a kit look for each fault, four at a time; reports those that it does not find, and those that
/// it finds where there is none.
fn hunt<P: KitPeer>(
    kit: KitKind,
    cases: fn() -> Vec<ConformanceCase<P>>,
    peer: fn(ProgramOptions) -> P,
    example: &str,
) {
    let faults = faults(example);
    let run = |case: &str, argument: Option<usize>| {
        let arguments = argument.map(|number| number.to_string());
        let command = [example.to_owned()].into_iter().chain(arguments).collect();
        let program = ProgramOptions { command, timeout: Duration::from_secs(5) };
        let options = RunOptions { only: vec![case.to_owned()], ..RunOptions::default() };
        let report = conform::run(kit, &cases(), &mut peer(program), &options, &mut |_| {});
        let [outcome] = report.outcomes.as_slice() else { panic!("no case `{case}`") };
        let failed =
            matches!(outcome.ended, CaseEnd::Failed(_)) && !report.conforms(FailureBar::Should);
        (failed, outcome.to_text())
    };
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(String::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let Some((case, name)) = faults.get(number) else { return };
                    let (found, text) = run(case, Some(number));
                    if !found {
                        wrong.lock().unwrap().push_str(&format!("not found: {name}: {text}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong}");
    assert!(faults.len() >= 20, "{}", faults.len());
    let questioned: BTreeSet<&str> = cases().iter().map(|case| case.id).collect();
    let found: BTreeSet<&str> = faults.iter().map(|(case, _)| case.as_str()).collect();
    let idle: Vec<&&str> = questioned.difference(&found).collect();
    assert!(idle.is_empty(), "cases that find no fault: {idle:?}");
}

#[test]
fn the_kit_for_shells_finds_every_planted_fault() {
    let peer = |program| shell::ShellUnderTest::new(program, "kits".to_owned());
    hunt(shell::KIT, shell::cases, peer, &example("sloppy_shell"));
}

#[test]
fn a_shell_without_a_fault_is_found_by_no_case() {
    let command = vec![example("sloppy_shell")];
    let program = ProgramOptions { command, timeout: Duration::from_secs(60) };
    let mut peer = shell::ShellUnderTest::new(program, "honest".to_owned());
    let cases = shell::cases();
    let report = conform::run(shell::KIT, &cases, &mut peer, &RunOptions::default(), &mut |_| {});
    let wrong: String = report
        .outcomes
        .iter()
        .filter(|it| it.ended != CaseEnd::Passed)
        .map(conform::report::CaseOutcome::to_text)
        .collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_kit_for_clients_finds_every_planted_fault() {
    hunt(client::KIT, client::cases, client::ClientUnderTest::new, &example("sloppy_client"));
}

#[test]
fn a_client_without_a_fault_is_found_by_no_case() {
    let command = vec![example("sloppy_client")];
    let program = ProgramOptions { command, timeout: Duration::from_secs(60) };
    let mut peer = client::ClientUnderTest::new(program);
    let cases = client::cases();
    let report = conform::run(client::KIT, &cases, &mut peer, &RunOptions::default(), &mut |_| {});
    let is_fine = |ended: &CaseEnd| matches!(ended, CaseEnd::Passed | CaseEnd::Unoffered(_));
    let wrong: String = report
        .outcomes
        .iter()
        .filter(|it| !is_fine(&it.ended))
        .map(conform::report::CaseOutcome::to_text)
        .collect();
    assert!(wrong.is_empty(), "{wrong}");
}

/// An agent of which the kit knows how to bring everything about, with a folder of its own.
fn agent(program: ProgramOptions) -> acp::AgentUnderTest {
    static MADE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = MADE.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let name = format!("agent-{}-{number}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let prompts = acp::AgentPrompts {
        plain: "hello".to_owned(),
        slow: Some("slow".to_owned()),
        tool: Some("tool".to_owned()),
    };
    acp::AgentUnderTest::new(program, prompts, folder)
}

#[test]
fn the_kit_for_agents_finds_every_planted_fault() {
    hunt(acp::KIT, acp::cases, agent, &example("sloppy_agent"));
}

#[test]
fn an_agent_without_a_fault_is_found_by_no_case() {
    let command = vec![example("sloppy_agent")];
    let mut peer = agent(ProgramOptions { command, timeout: Duration::from_secs(60) });
    let cases = acp::cases();
    let report = conform::run(acp::KIT, &cases, &mut peer, &RunOptions::default(), &mut |_| {});
    let unoffered = report.outcomes.iter().filter(|it| it.ended != CaseEnd::Passed);
    let wrong: String = unoffered
        .filter(|it| !(it.id == "P-14" && matches!(it.ended, CaseEnd::Unoffered(_))))
        .map(conform::report::CaseOutcome::to_text)
        .collect();
    assert!(wrong.is_empty(), "{wrong}");
}
