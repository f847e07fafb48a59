//! The demonstration of the examples: a question that survives `kill -9`.

use std::path::Path;
use std::process::Command;

#[test]
fn a_question_survives_a_kill_and_its_act_is_done_once() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/approval.sh");
    let mut command = Command::new("sh");
    command.arg(script).env("BRIDLE", env!("CARGO_BIN_EXE_bridle"));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{stderr}");
    let places: Vec<usize> = [
        ":status :pending-approval",
        "# kill -9",
        "the thinker wants `forget` of `system`",
        "\nallowed ",
        "# a second yes counts for nothing",
        "forget to system  done",
        "of them are forgotten",
    ]
    .map(|part| said.find(part).unwrap_or_else(|| panic!("no `{part}` in {said}{stderr}")))
    .into();
    assert!(places.is_sorted(), "{said}");
    assert_eq!(said.matches("forget to system").count(), 1, "{said}");
    assert!(stderr.contains("was allowed by `uid:"), "{stderr}");
}

#[test]
fn a_question_over_http_is_answered_over_http() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/http_approval.sh");
    let mut command = Command::new("sh");
    command.arg(script).env("BRIDLE", env!("CARGO_BIN_EXE_bridle"));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{stderr}");
    let places: Vec<usize> = [
        "\"action_type\":\"request_approval\"",
        "\"continuation_token\":\"",
        "# yes",
        "`forget` of `system`: done",
        "\"code\":\"continuation_consumed\"",
        "forget to system  done",
    ]
    .map(|part| said.find(part).unwrap_or_else(|| panic!("no `{part}` in {said}{stderr}")))
    .into();
    assert!(places.is_sorted(), "{said}");
    assert_eq!(said.matches("forget to system").count(), 1, "{said}");
}
