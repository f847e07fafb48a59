//! Messages in parts, both ways.

use std::time::Duration;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{
    CHECK, FrameClient, HEALTHY, assert_answered, assert_error,
};

const HELLO: &str = "(:type :EVENT :payload (:action :handshake :capabilities (:parts)))";
const STATUS: &str = "(:type :STATUS :id \"whole\" :note \"put \\\"together\\\"\")";

/// The `n`th of `of` parts of the message `id`.
fn part(id: &str, n: usize, of: usize, data: &str) -> String {
    let data = data.replace('\\', "\\\\").replace('"', "\\\"");
    format!("(:type :EVENT :part (:id \"{id}\" :n {n} :of {of}) :data \"{data}\")")
}

/// Cuts ASCII text into `of` parts.
fn cut(id: &str, text: &str, of: usize) -> Vec<String> {
    let size = text.len().div_ceil(of);
    let pieces = text.as_bytes().chunks(size).enumerate();
    pieces.map(|(n, piece)| part(id, n + 1, of, std::str::from_utf8(piece).unwrap())).collect()
}

async fn greeted(daemon: &TestDaemon) -> FrameClient {
    let mut peer = daemon.peer().await;
    assert!(peer.ask(HELLO).await.contains(":status :success"));
    peer
}

#[tokio::test]
async fn after_a_hello_the_whole_gets_one_answer() {
    let daemon = TestDaemon::start().await;
    let mut peer = greeted(&daemon).await;
    for message in cut("a", STATUS, 4) {
        peer.say(&message).await;
    }
    let answer = peer.frame().await.unwrap();
    assert_error(&answer, "unsupported");
    assert!(answer.contains(":id \"whole\""), "{answer}");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn without_a_hello_each_part_gets_one_answer() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let parts = cut("a", STATUS, 3);
    for (n, message) in parts.iter().enumerate() {
        let answer = peer.ask(message).await;
        if n + 1 < parts.len() {
            let receipt = format!(":status :partial :part (:id \"a\" :n {} :of 3)", n + 1);
            assert!(answer.contains(&receipt), "{answer}");
        } else {
            assert_error(&answer, "unsupported");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_larger_than_any_frame() {
    let daemon = TestDaemon::start().await;
    let mut peer = greeted(&daemon).await;
    let items = "(headline (:title \"a heading of some length\")) ".repeat(400_000);
    let message = format!(
        "(:type :EVENT :id 1 :payload (:sensor :buffer-update :file \"x\" :ast ({items})))"
    );
    assert!(message.len() > 0xff_ffff);
    for part in cut("big", &message, 25) {
        peer.say(&part).await;
    }
    peer.say(CHECK).await;
    let frames = [peer.frame().await.unwrap(), peer.frame().await.unwrap()];
    let (checks, answers): (Vec<_>, Vec<_>) =
        frames.iter().partition(|text| text.starts_with("(:type :health-response "));
    assert_eq!((checks.len(), answers.len()), (1, 1), "{frames:?}");
    assert_answered(answers[0], "1");
    assert_eq!(daemon.metric("bridle_in_flight_bytes").await, 0);
}

#[tokio::test]
async fn parts_of_two_messages_may_alternate() {
    let daemon = TestDaemon::start().await;
    let mut peer = greeted(&daemon).await;
    let (first, second) = (cut("a", STATUS, 2), cut("b", CHECK, 2));
    for message in [&first[0], &second[0], &second[1], &first[1]] {
        peer.say(message).await;
    }
    assert_eq!(peer.frame().await.as_deref(), Some(HEALTHY));
    assert_error(&peer.frame().await.unwrap(), "unsupported");
}

#[tokio::test]
async fn parts_that_do_not_fit_are_refused() {
    let daemon = TestDaemon::with(|config, _| config.limits.message = 2000).await;
    let mut peer = greeted(&daemon).await;
    assert_error(&peer.ask(&part("a", 2, 3, "x")).await, "part-mismatch");
    peer.say(&part("b", 1, 3, "x")).await;
    assert_error(&peer.ask(&part("b", 2, 4, "x")).await, "part-mismatch");
    assert_error(&peer.ask(&part("c", 1, 3, &"x".repeat(2001))).await, "part-too-large");
    assert_error(&peer.ask(&part("d", 3, 2, "x")).await, "invalid-value");
    let inner = part("f", 1, 1, CHECK);
    assert_error(&peer.ask(&part("e", 1, 1, &inner)).await, "part-mismatch");
    assert_error(&peer.ask(&part("g", 1, 1, "(:a")).await, "syntax");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn the_sender_may_give_up() {
    let daemon = TestDaemon::start().await;
    let mut peer = greeted(&daemon).await;
    let abort = "(:type :EVENT :part (:id \"a\" :abort t))";
    assert_error(&peer.ask(abort).await, "unknown-id");
    peer.say(&part("a", 1, 2, "x")).await;
    assert!(peer.ask(abort).await.contains(":status :success :aborted \"a\""));
    assert_error(&peer.ask(&part("a", 2, 2, "x")).await, "part-mismatch");
}

#[tokio::test]
async fn a_last_part_that_does_not_come_is_told_to_who_waits_for_an_answer() {
    let short = |config: &mut bridle_daemon::DaemonConfig, _: &std::path::Path| {
        config.limits.frame_deadline = Duration::from_millis(200);
    };
    let daemon = TestDaemon::with(short).await;
    let mut waiting = greeted(&daemon).await;
    waiting.say(&part("a", 1, 2, "x")).await;
    let mut served = daemon.peer().await;
    assert!(served.ask(&part("a", 1, 2, "x")).await.contains(":partial"));
    assert_error(&waiting.frame().await.unwrap(), "part-timeout");
    assert_eq!(waiting.ask(CHECK).await, HEALTHY);
    // Forgotten here as well; it is said when the next part comes.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_error(&served.ask(&part("a", 2, 2, "x")).await, "part-mismatch");
}

#[tokio::test]
async fn an_answer_over_the_clients_max_frame_comes_in_parts() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let hello =
        "(:type :EVENT :payload (:action :handshake :capabilities (:parts) :max-frame 1024))";
    peer.ask(hello).await;
    peer.say("(:type :health-check :detail t)").await;
    let mut whole = String::new();
    for n in 1.. {
        let message = peer.frame().await.unwrap();
        assert!(message.len() <= 1024, "{}", message.len());
        let tree = bridle_sexp::read_one(&message).unwrap();
        let part = tree.root().get("part").unwrap();
        assert_eq!(part.get("n").unwrap().as_i64(), Some(n));
        whole.push_str(&tree.root().get("data").unwrap().as_str().unwrap());
        if part.get("of").unwrap().as_i64() == Some(n) {
            break;
        }
    }
    assert!(whole.starts_with("(:type :health-response ") && whole.contains("# EOF"), "{whole}");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}
