//! The demonstrations of the examples: questions that survive `kill -9`, and that are answered over HTTP.

use std::path::Path;
use std::process::Command;

/// Runs an example; `parts` stand in what it says, in this order. Gives that and what went to stderr.
fn shown(example: &str, parts: &[&str]) -> (String, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let mut command = Command::new("sh");
    command.arg(script).env("BRIDLE", env!("CARGO_BIN_EXE_bridle"));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{stderr}");
    let place =
        |part: &&str| said.find(*part).unwrap_or_else(|| panic!("no `{part}` in {said}{stderr}"));
    assert!(parts.iter().map(place).is_sorted(), "{said}");
    (said, stderr)
}

#[test]
fn a_question_survives_a_kill_and_its_act_is_done_once() {
    let (said, stderr) = shown(
        "approval.sh",
        &[
            ":status :pending-approval",
            "# kill -9",
            "the thinker wants `forget` of `system`",
            "\napproved ",
            "# a second yes counts for nothing",
            "forget to system  done",
            "of them are forgotten",
        ],
    );
    assert_eq!(said.matches("forget to system").count(), 1, "{said}");
    assert!(stderr.contains("was allowed by `uid:"), "{stderr}");
}

#[test]
fn a_question_over_http_is_answered_over_http() {
    let (said, _) = shown(
        "http_approval.sh",
        &[
            "\"action_type\":\"request_approval\"",
            "\"continuation_token\":\"",
            "# yes",
            "`forget` of `system`: done",
            "\"code\":\"continuation_consumed\"",
            "forget to system  done",
        ],
    );
    assert_eq!(said.matches("forget to system").count(), 1, "{said}");
}
