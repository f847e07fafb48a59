//! Every frame gets exactly one answer; bad ones get an error and the connection lives.

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_error, frame};

/// Sends raw bytes, expects one error with `code`, then a health check that still works.
async fn check_lives(input: &[u8], code: &str) {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.send(input).await;
    let answer = peer.frame().await.unwrap();
    assert_error(&answer, code);
    assert_eq!(peer.ask(CHECK).await, HEALTHY, "after {code}");
}

/// Sends raw bytes, expects one error with `code` and the end of the stream.
async fn check_closes(input: &[u8], code: &str) -> String {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.send(input).await;
    let answer = peer.frame().await.unwrap();
    assert_error(&answer, code);
    assert!(peer.rest().await.is_empty(), "nothing after {code}");
    daemon.assert_alive().await;
    answer
}

#[tokio::test]
async fn faults_inside_a_frame_leave_the_connection_alive() {
    let rows: [(&[u8], &str); 12] = [
        (b"000000", "empty-frame"),
        (b"000002\xff\xfe", "invalid-utf8"),
        (b"000001(", "syntax"),
        (b"000004#.x ", "syntax"),
        (b"000004() )", "syntax"),
        (b"000003abc", "not-a-plist"),
        (b"000007(:a 1 )", "missing-key"),
        (b"00000c(:type :what", "syntax"),
        (b"00000d(:type :what)", "unknown-type"),
        (b"000009(:type 1)", "wrong-type"),
        (b"00000e(:type :EVENT)", "missing-key"),
        (b"000010(:type :REQUEST)", "missing-key"),
    ];
    for (input, code) in rows {
        check_lives(input, code).await;
    }
}

#[tokio::test]
async fn lost_framing_is_answered_and_closed() {
    for input in [&b"hello world"[..], b"00x", b"+0002c(:a)", b"  \n\t\r zz"] {
        check_closes(input, "bad-header").await;
    }
    let blanks = vec![b' '; (64 << 10) + 1];
    check_closes(&blanks, "too-many-blanks").await;
}

#[tokio::test]
async fn strangers_get_a_hint() {
    let answer = check_closes(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "bad-header").await;
    assert!(answer.contains("HTTP"), "{answer}");
    let answer = check_closes(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "bad-header").await;
    assert!(answer.contains("TLS"), "{answer}");
}

#[tokio::test]
async fn the_place_and_the_path_are_named() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let answer = peer.ask("(:type :LOG\n :payload #<)").await;
    assert_error(&answer, "syntax");
    assert!(answer.contains(":at (:offset 22 :line 2 :column 11"), "{answer}");
    let answer = peer.ask("(:type :EVENT :id \"a\" :payload (:sensor 5))").await;
    assert_error(&answer, "wrong-type");
    assert!(
        answer.contains(":id \"a\"") && answer.contains(":path (:payload :sensor)"),
        "{answer}"
    );
}

#[tokio::test]
async fn what_nobody_takes_is_refused_in_plain_words_with_its_id() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let rows = [
        ("(:TYPE :STATUS :SCRIBE :IDLE)", ":id nil ", "unsupported"),
        ("(:type :RESPONSE :id 9 :payload (:status :success))", ":id 9 ", "unknown-id"),
        ("(:type :health-response :status :healthy)", ":id nil ", "unknown-id"),
    ];
    for (message, id, code) in rows {
        let answer = peer.ask(message).await;
        assert_error(&answer, code);
        assert!(answer.contains(id), "{answer}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_inside_a_frame_is_told_and_nothing_runs() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    // A whole form, and two bytes short of what was announced.
    peer.send(format!("{:06x}{CHECK}", CHECK.len() + 2)).await;
    peer.end().await;
    assert_error(&peer.frame().await.unwrap(), "incomplete-frame");
    assert!(peer.rest().await.is_empty());
}

#[tokio::test]
async fn answers_come_before_the_end_when_the_client_closes_its_half() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.send(frame(CHECK).repeat(3) + "\n").await;
    peer.end().await;
    assert_eq!(peer.rest().await, frame(HEALTHY).repeat(3).into_bytes());
}

#[tokio::test]
async fn both_hex_cases_and_blanks_between_frames_are_read() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let padded = format!("{CHECK}{}", " ".repeat(0x2a - CHECK.len()));
    peer.send(format!("00002A{padded}\r\n\t 00002a{padded}")).await;
    assert_eq!(peer.frame().await.as_deref(), Some(HEALTHY));
    assert_eq!(peer.frame().await.as_deref(), Some(HEALTHY));
}
