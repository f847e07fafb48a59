//! `bridle send`: forms out, answers in, signatures of both versions.

use crate::harness::{Home, finish};

const HEALTHY: &str = "(:type :health-response :status :healthy :checked-p t)\n";
const CHECK: &str = "(:type :health-check)";

#[test]
fn one_form_one_answer() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let tcp = daemon.tcp();
    home.run(&["send", CHECK, "--addr", &tcp]).prints(HEALTHY);
    home.run(&["send", "--addr", &home.path("b.sock"), CHECK]).prints(HEALTHY);
    let json = home.run(&["send", CHECK, "--addr", &tcp, "--json"]);
    serde_json::from_str::<serde_json::Value>(&json.stdout).unwrap();
}

#[test]
fn forms_can_be_sent_in_a_session() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let socket = home.path("b.sock");
    let send = |form: &str| home.run(&["send", "--addr", &socket, "--session", "desk", form]);
    let prompt =
        |id: &str| format!("(:type :EVENT {id} :payload (:sensor :user-prompt :text \"help\"))");
    for (id, seq) in [("", 2), (":id 7", 4), (":id \"a\"", 6)] {
        let done = send(&prompt(id));
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        let meta = format!(":meta (:session \"desk\" :seq {seq} ");
        assert!(done.stdout.starts_with("(:type :RESPONSE") && done.stdout.contains(&meta));
        assert!(done.stdout.contains(&format!("{id} :meta")), "{done:?}");
    }
    send(CHECK).prints(HEALTHY);
    let twice = format!("{} {}", prompt(":id 8"), prompt(":id 9"));
    let done = home.pipe(&["send", "--addr", &socket, "--session", "desk"], twice);
    assert_eq!(done.stdout.matches("(:type :RESPONSE :id").count(), 2, "{done:?}");
    let bad = home.run(&["send", "--addr", &socket, "--session", "no good", CHECK]);
    assert_eq!(bad.code, 65, "{bad:?}");
}

#[test]
fn many_forms_on_stdin_are_answered_in_order() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let forms = format!("{CHECK} (:type :REQUEST :id 7 :payload (:action :eval))\n\n{CHECK}\n");
    let done = home.pipe(&["send", "--addr", &daemon.tcp()], forms);
    assert_eq!((done.code, done.stderr.as_str()), (1, ""), "one of them is an error");
    let answers: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(answers[0], HEALTHY.trim());
    assert!(answers[1].starts_with("(:type :RESPONSE :id 7 :payload (:status :error"));
    assert_eq!(answers[2], HEALTHY.trim());
}

#[test]
fn an_error_answer_is_printed_and_exits_with_1() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let done = home.run(&["send", "--raw", "(:type", "--addr", &daemon.tcp()]);
    assert_eq!((done.code, done.stderr.as_str()), (1, ""));
    assert!(done.stdout.contains(":status :error"), "{}", done.stdout);
}

#[test]
fn bad_text_is_not_sent() {
    let home = Home::new();
    let done = home.run(&["send", "(:type", "--addr", "./nobody-is-asked.sock"]);
    assert_eq!((done.code, done.stdout.as_str()), (65, ""));
    assert!(done.stderr.starts_with("incomplete at 1:7 (byte 6): "), "{}", done.stderr);
}

#[test]
fn text_of_the_world_goes_out_and_comes_back() {
    let home = Home::new();
    let daemon = home.up(&[]);
    let form = "(:type :REQUEST :id \"سلام 你好 🐎\" :payload (:action :eval))";
    let done = home.pipe(&["send", "--addr", &daemon.tcp()], format!("{form}\n{form}\n{CHECK}"));
    let answers: Vec<&str> = done.stdout.lines().collect();
    assert!(answers[0].contains(":id \"سلام 你好 🐎\""), "{answers:?}");
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[2], HEALTHY.trim());
}

/// A daemon that wants signatures, with its key files.
fn signed_home() -> (Home, String, String) {
    let home = Home::new();
    let first = home.write("first.key", "the first key, long enough");
    let second = home.write("second.key", [0x80; 32]);
    (home, first, second)
}

#[test]
fn signatures_of_both_versions() {
    let (home, first, second) = signed_home();
    let config = home.write("c.toml", format!("[hmac]\nkeys = {{ laptop = \"{second}\" }}\n"));
    let flags = ["--hmac-enforce", "--hmac-allow-v1", "--hmac-key-file", &first];
    let daemon = home.up(&[&flags[..], &["--config", &config]].concat());
    let tcp = daemon.tcp();
    let send = |more: &[&str]| {
        home.run(&[&["send", CHECK, "--addr", &tcp, "--timeout", "20"], more].concat())
    };
    send(&["--key-file", &first]).prints(HEALTHY);
    send(&["--key-file", &first, "--hmac", "v1"]).prints(HEALTHY);
    send(&["--key-file", &second, "--key-id", "laptop"]).prints(HEALTHY);
    let other = home.write("other.key", "another key, also long");
    let done = send(&["--key-file", &other]);
    assert_eq!(done.code, 77, "{done:?}");
    send(&[]).fails(
        77,
        &format!(
            "error: `{tcp}` requires signed frames\nhint: sign with the daemon's \
             key: --key-file FILE, and --key-id ID if it has several\n"
        ),
    );
    // The socket knows its peers and is never signed.
    home.run(&["send", CHECK, "--addr", &home.path("b.sock")]).prints(HEALTHY);
    let done = home.run(&["send", CHECK, "--addr", &home.path("b.sock"), "--key-file", &first]);
    assert_eq!(done.code, 77, "{done:?}");
}

#[test]
fn version_1_is_refused_unless_it_is_asked_for() {
    let (home, first, _) = signed_home();
    let daemon = home.up(&["--hmac-enforce", "--hmac-key-file", &first]);
    let addr = daemon.tcp();
    let flags = ["send", CHECK, "--addr", &addr, "--key-file", &first];
    home.run(&flags).prints(HEALTHY);
    let done = home.run(&[&flags[..], &["--hmac", "v1"]].concat());
    assert_eq!((done.code, done.stderr.as_str()), (1, ""), "{done:?}");
    assert!(done.stdout.contains(":code :bad-signature"), "{}", done.stdout);
}

#[test]
fn the_environment_of_the_old_peers_serves_both_sides() {
    let home = Home::new();
    let env = [
        ("HARNESS_PROTOCOL_ENFORCE_HMAC", "true"),
        ("HARNESS_PROTOCOL_HMAC_SECRET", "a secret of many bytes"),
    ];
    let args = ["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--log", "trace"];
    let daemon =
        bridle_test_support::server_process::ServerProcess::start(home.command(&args).envs(env));
    let tcp = daemon.tcp();
    finish(home.command(&["send", CHECK, "--addr", &tcp]).envs(env), b"").prints(HEALTHY);
    daemon.signal("TERM");
    let (code, log) = daemon.wait();
    assert_eq!(code, Some(0));
    assert!(!log.contains("many bytes"), "the secret is in the log");
}

#[test]
fn a_note_cannot_forge_a_line_of_the_log_and_a_trace_has_no_text() {
    let home = Home::new();
    let args = ["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--log", "trace"];
    let daemon =
        bridle_test_support::server_process::ServerProcess::start(&mut home.command(&args));
    let tcp = daemon.tcp();
    let note = "(:type :REQUEST :id 1 :target :log :payload (:action :log :text \"kept\n2026 INFO forged\"))";
    let done = finish(&mut home.command(&["send", note, "--addr", &tcp]), b"");
    assert!(done.stdout.contains(":status :success"), "{done:?}");
    let prompt = "(:type :EVENT :id 2 :payload (:sensor :user-prompt :text \"private words\"))";
    finish(&mut home.command(&["send", prompt, "--addr", &tcp]), b"");
    daemon.signal("TERM");
    let (code, log) = daemon.wait();
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("forged")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("kept\\u{a}2026 INFO forged"), "{log}");
    assert!(log.contains("in EVENT ") && !log.contains("private words"), "{log}");
}
