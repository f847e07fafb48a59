//! Standard input and output as the only listener, in a process of its own.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use bridle_daemon::{DaemonConfig, run};

use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_error, frame};

/// Names the state directory to the child; its presence makes this binary the child.
const CHILD: &str = "BRIDLE_TEST_STDIO_STATE";

/// The child: a daemon that ends with its input. Runs as a test of this binary, because that
/// is the one program that this crate's tests can start; as a test of its own it does nothing.
#[tokio::test]
async fn child() {
    let Some(state) = std::env::var_os(CHILD) else { return };
    let config =
        DaemonConfig { tcp: None, stdio: true, state: state.into(), ..DaemonConfig::default() };
    run(config, |bound| assert!(bound.stdio), std::future::pending()).await.unwrap();
}

/// Runs the child with `input`; returns what the daemon said, without the test harness's own
/// lines before and after it.
fn converse(input: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["stdio::child", "--exact", "--nocapture", "--quiet"])
        .env(CHILD, dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success(), "{output}");
    let start = output.find("(:type :EVENT").expect("a hello") - 6;
    output.split_off(start)
}

/// Splits frames until something else comes.
fn frames(mut text: &str) -> Vec<&str> {
    let mut frames = Vec::new();
    while let Some(Ok(len)) = text.get(..6).map(|header| usize::from_str_radix(header, 16)) {
        frames.push(&text[6..6 + len]);
        text = &text[6 + len..];
    }
    frames
}

#[test]
fn frames_in_frames_out_and_the_end_of_input_ends_the_daemon() {
    let said = converse((frame(CHECK) + &frame("(:type :STATUS :id 4)") + "\n").as_bytes());
    let frames = frames(&said);
    assert_eq!(frames.len(), 3, "{said}");
    assert!(frames[0].contains(":handshake"));
    assert_eq!(frames[1], HEALTHY);
    assert_error(frames[2], "unsupported");
}

#[test]
fn who_started_the_daemon_there_is_its_owner() {
    let forget = "(:type :REQUEST :id 3 :target :system :payload (:action :forget :session \"x\"))";
    let said = converse(frame(forget).as_bytes());
    assert!(said.contains("no session `x`"), "an owner's wish is tried: {said}");
}

#[test]
fn many_answers_arrive_before_the_end() {
    let said = converse(frame(CHECK).repeat(20_000).as_bytes());
    let frames = frames(&said);
    assert_eq!(frames.len(), 20_001);
    assert!(frames[1..].iter().all(|answer| *answer == HEALTHY));
}

#[test]
fn garbage_is_answered_and_ends_the_daemon() {
    let said = converse(b"what?");
    let frames = frames(&said);
    assert_eq!(frames.len(), 2, "{said}");
    assert_error(frames[1], "bad-header");
}
