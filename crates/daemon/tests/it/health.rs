//! Health checks, plain and detailed.

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY};

#[tokio::test]
async fn every_spelling_gets_the_plain_answer() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    for check in [
        CHECK,
        "(:TYPE :HEALTH-CHECK)",
        "(:type  :Health-Check )",
        " (:type :health-check :detail nil)\n",
        "(:id 3 :type :health-check :payload (:x 1))",
    ] {
        assert_eq!(peer.ask(check).await, HEALTHY, "{check}");
    }
}

#[tokio::test]
async fn detail_adds_versions_counts_limits_and_metrics() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let answer = peer.ask("(:type :health-check :detail t)").await;
    for part in [
        ":status :healthy :checked-p t",
        ":server \"bridle/",
        ":protocol \"0.3.0\"",
        ":uptime-seconds ",
        ":connections 1",
        ":in-flight-bytes ",
        ":limits (:connections 16384 ",
        "bridle_connections_accepted_total 1",
        "bridle_frames_received_total",
        "bridle_errors_total{code=\\\"syntax\\\"} 0",
        "# EOF",
    ] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
}

#[tokio::test]
async fn counters_count() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    for _ in 0..5 {
        peer.ask(CHECK).await;
    }
    peer.ask("(").await;
    // Two connections by now: the peer's, and the one that asks.
    assert_eq!(daemon.metric("bridle_connections_accepted_total").await, 2);
    assert_eq!(daemon.metric("bridle_errors_total{code=\\\"syntax\\\"}").await, 1);
    // Six of the peer, one of each of the two questions before.
    assert!(daemon.metric("bridle_frames_received_total").await >= 8);
    assert!(daemon.metric("bridle_received_bytes_total").await >= 6 * 27);
}

#[tokio::test]
async fn detail_says_what_the_engine_and_the_record_do() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    for id in 1..=3 {
        peer.ask(&crate::shell::prompt(id, "status")).await;
    }
    // Refused before it is recorded.
    let large = "x".repeat(2 << 20);
    peer.ask(&crate::shell::prompt(4, &large)).await;
    let text = peer.ask("(:type :health-check :detail t)").await;
    let detail = crate::shell::value(&text);
    let queue = |name: &str| crate::shell::number(&detail, &format!("detail queues {name}"));
    assert!(text.contains(":store :ready"), "{text}");
    assert_eq!((queue("sessions"), queue("shells"), queue("messages")), (1, 1, 0), "{text}");
    assert!(queue("records") >= 9, "{text}");
    assert_eq!(queue("in-flight-bytes"), 0, "{text}");
    for line in [
        "bridle_messages_admitted_total 3\n",
        "bridle_messages_refused_total 1\n",
        "bridle_answers_total 3\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(daemon.metric("bridle_commit_records_count").await >= 3);
}
