//! An honest session passes; each way to lose or double something is found.

use bridle_sexp::read_one;

use super::{RecordAudit, check};
use crate::chaos::shell::{ChaosShell, SayingKind, ShellPart, ShellRoad, ShellSaying};

const SESSION: &str = "play-0";

/// What an observer hears: a prompt, a counted effect, its outcome, the answer.
const HONEST: [&str; 4] = [
    "(:type :EVENT :meta (:session \"play-0\" :seq 1) :payload (:sensor :user-prompt :text \"tally a-1\"))",
    "(:type :EVENT :meta (:session \"play-0\" :seq 2) :payload (:action :asked :effect \"play-0-1\" :target :tally))",
    "(:type :EVENT :meta (:session \"play-0\" :seq 3) :payload (:action :outcome :effect \"play-0-1\" :outcome :done))",
    "(:type :EVENT :meta (:session \"play-0\" :seq 4 :answers 1) :payload (:status :success :text \"tally\"))",
];

fn truth(frames: &[&str]) -> ChaosShell {
    let mut shell = ChaosShell::observer(SESSION, ShellRoad::Unix);
    for (index, frame) in frames.iter().enumerate() {
        let seq = index as u64 + 1;
        let frame = frame.replace(":seq 0", &format!(":seq {seq}"));
        shell.notes.events.insert(seq, read_one(&frame).unwrap().root().to_value());
    }
    shell.notes.head = frames.len() as u64;
    shell
}

fn talker() -> ChaosShell {
    let mut shell = ChaosShell::new("a".to_owned(), SESSION, ShellRoad::Unix, ShellPart::Talker);
    let mut saying = ShellSaying::new("a", 1, SayingKind::Tally);
    saying.admit(1).unwrap();
    saying.answer(4, 1).unwrap();
    shell.sayings.push(saying);
    shell
}

fn found(frames: &[&str], tally: &str) -> Result<RecordAudit, String> {
    check(&[truth(frames)], &[talker()], tally)
}

fn complains(frames: &[&str], tally: &str, expected: &str) {
    let error = found(frames, tally).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn an_honest_session_passes() {
    let audit = found(&HONEST, "play-0-1\n").unwrap();
    assert_eq!((audit.events, audit.sayings, audit.effects, audit.unknown), (4, 1, 1, 0));
}

#[test]
fn a_lost_or_doubled_signal_is_found() {
    let mut frames = HONEST;
    frames[0] = "(:type :EVENT :meta (:seq 0) :payload (:sensor :user-prompt :text \"other\"))";
    complains(&frames, "play-0-1\n", "it is in []");
    let twice = [&HONEST[..], &HONEST[..1]].concat();
    complains(&twice, "play-0-1\n", "it is in [1, 5]");
}

#[test]
fn a_lost_or_doubled_answer_is_found() {
    complains(&HONEST[..3], "play-0-1\n", "it is []");
    let twice = [&HONEST[..], &HONEST[3..]].concat();
    complains(&twice, "play-0-1\n", "it is [4, 5]");
}

#[test]
fn an_effect_runs_as_often_as_its_outcome_says() {
    complains(&HONEST, "", "ran 0 times");
    complains(&HONEST, "play-0-1\nplay-0-1\n", "ran 2 times");
    complains(&HONEST, "play-0-1\nplay-0-2\n", "is not recorded");
    let mut frames = HONEST;
    let unknown = HONEST[2].replace(":done", ":unknown-outcome");
    frames[2] = &unknown;
    assert_eq!(found(&frames, "").unwrap().unknown, 1);
    assert_eq!(found(&frames, "play-0-1\n").unwrap().unknown, 1);
    complains(&frames, "play-0-1\nplay-0-1\n", "ran 2 times");
    let failed = HONEST[2].replace(":done", ":failed");
    frames[2] = &failed;
    complains(&frames, "play-0-1\n", "ran 1 times");
}

#[test]
fn what_a_shell_heard_must_be_what_is_there() {
    let mut shell = talker();
    let other = HONEST[3].replace("tally", "something else");
    shell.notes.events.insert(4, read_one(&other).unwrap().root().to_value());
    let error = check(&[truth(&HONEST)], &[shell], "play-0-1\n").unwrap_err();
    assert!(error.contains("heard number 4"), "{error}");
}
