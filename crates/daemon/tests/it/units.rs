//! Peers that count characters and peers that count bytes, without losing step.

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{
    CHECK, FrameClient, HEALTHY, assert_answered, assert_error, frame,
};

const TEXTS: [&str; 4] = ["مرحبا بالعالم", "你好，世界", "🎉🎊 emoji", "naïve café"];

fn event(id: &str, text: &str) -> String {
    format!("(:type :EVENT :id \"{id}\" :payload (:sensor :user-prompt :text \"{text}\"))")
}

/// One frame with the length in characters.
fn chars_frame(payload: &str) -> String {
    format!("{:06x}{payload}", payload.chars().count())
}

/// Reads one frame whose length counts characters.
async fn read_chars(peer: &mut FrameClient) -> String {
    let header = peer.header().await.unwrap();
    let count = usize::from_str_radix(&header, 16).unwrap();
    let mut text = String::new();
    for _ in 0..count {
        let mut bytes = peer.bytes(1).await;
        let more = match bytes[0] {
            0..0x80 => 0,
            0x80..0xe0 => 1,
            0xe0..0xf0 => 2,
            _ => 3,
        };
        bytes.extend(peer.bytes(more).await);
        text.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    text
}

#[tokio::test]
async fn byte_counters_stay_in_step() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    for text in TEXTS.iter().cycle().take(40) {
        assert_answered(&peer.ask(&event(text, text)).await, &format!("\"{text}\""));
        assert_eq!(peer.ask(CHECK).await, HEALTHY);
    }
}

#[tokio::test]
async fn character_counters_stay_in_step_without_a_hello() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    for text in TEXTS.iter().cycle().take(40) {
        peer.send(chars_frame(&event(text, text))).await;
        assert_answered(&read_chars(&mut peer).await, &format!("\"{text}\""));
        assert_eq!(peer.ask(CHECK).await, HEALTHY);
    }
}

#[tokio::test]
async fn a_hello_settles_the_unit() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.ask("(:type :EVENT :payload (:action :handshake :length :chars))").await;
    peer.send(chars_frame(&event("ü", "ü"))).await;
    assert_answered(&read_chars(&mut peer).await, "\"ü\"");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn while_the_unit_is_unknown_answers_are_padded_for_both() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.ask("(:type :EVENT :payload (:action :handshake :dialect :emacs))").await;
    // ASCII on the way in, so that nothing is settled; the id comes back as one character.
    peer.say("(:type :EVENT :id \"\\u00e9\" :payload (:sensor :heartbeat))").await;
    let answer = read_chars(&mut peer).await;
    assert!(answer.contains(":id \"é\"") && answer.ends_with(") "), "{answer}");
    peer.say("(:type :EVENT :id \"\\u00e9\" :payload (:sensor :heartbeat))").await;
    let answer = peer.frame().await.unwrap();
    assert!(answer.contains(":id \"é\"") && answer.ends_with(')'), "{answer}");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn one_daemon_serves_both_kinds_at_once() {
    let daemon = TestDaemon::start().await;
    let (mut bytes, mut chars) = (daemon.peer().await, daemon.peer().await);
    for text in TEXTS {
        bytes.send(frame(&event(text, text))).await;
        chars.send(chars_frame(&event(text, text))).await;
        let id = format!("\"{text}\"");
        assert_answered(&bytes.frame().await.unwrap(), &id);
        assert_answered(&read_chars(&mut chars).await, &id);
    }
}

#[tokio::test]
async fn a_broken_form_of_unknown_unit_is_not_waited_on_for_a_whole_frame_deadline() {
    let daemon = TestDaemon::with(|config, _| {
        config.limits.unit_deadline = std::time::Duration::from_millis(200);
        config.limits.frame_deadline = std::time::Duration::from_secs(3600);
    })
    .await;
    let mut peer = daemon.peer().await;
    peer.send(frame("(:type :EVENT :payload (:sensor :user-prompt :text \"é\")")).await;
    assert_error(&peer.frame().await.unwrap(), "unit-unclear");
    assert_eq!(peer.frame().await, None);
}
