//! Hostile WebSockets: frames that RFC 6455 forbids, ends that are none, bytes that never come.

use std::time::Duration;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::http_client::{intent, on, serving};
use bridle_test_support::websocket_client::{
    CLOSE, PING, PONG, TEXT, WebSocketClient, WebSocketClosed, code, frame,
};

/// The first byte of a frame that is not the last of its message.
const BEGINS: u8 = 0x01;
const GOES_ON: u8 = 0x00;
const ENDS: u8 = 0x80;

/// Sends these bytes on a connection of their own; says how it ends.
async fn closed(daemon: &TestDaemon, bytes: &[u8]) -> WebSocketClosed {
    let mut shell = WebSocketClient::open(daemon).await;
    shell.0.send_raw(bytes).await;
    shell.end().await
}

#[tokio::test]
async fn what_the_protocol_forbids_is_closed_with_its_code() {
    let daemon = serving().await;
    let half = frame(BEGINS, b"{");
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("no mask", b"\x81\x02{}".to_vec(), 1002),
        ("a ping without a mask", b"\x89\x00".to_vec(), 1002),
        ("the first reserved bit", frame(0xc1, b"{}"), 1002),
        ("the second", frame(0xa1, b"{}"), 1002),
        ("the third", frame(0x91, b"{}"), 1002),
        ("a reserved bit of a ping", frame(0xc9, b""), 1002),
        ("a kind of data that is none", frame(0x83, b"{}"), 1002),
        ("the last such kind", frame(0x87, b"{}"), 1002),
        ("a kind of control that is none", frame(0x8b, b""), 1002),
        ("the last such kind", frame(0x8f, b""), 1002),
        ("half a ping", frame(0x09, b""), 1002),
        ("half a close", frame(0x08, &1000_u16.to_be_bytes()), 1002),
        ("a ping that is too long", frame(PING, &[0; 126]), 1002),
        ("a pong that is too long", frame(PONG, &[0; 126]), 1002),
        ("a close that is too long", frame(CLOSE, &[3; 126]), 1002),
        ("the rest of nothing", frame(ENDS, b"}"), 1002),
        ("more of nothing", frame(GOES_ON, b"}"), 1002),
        ("a message inside another", [half.clone(), frame(TEXT, b"{}")].concat(), 1002),
        ("bytes inside a message", [half.clone(), frame(0x82, b"{}")].concat(), 1002),
        ("bytes", frame(0x82, b"{}"), 1003),
        ("half of some bytes", frame(0x02, b"{}"), 1003),
        ("a length in too many bytes", b"\x81\xfe\x00\x02\0\0\0\0{}".to_vec(), 1002),
        ("in more than that", b"\x81\xff\0\0\0\0\0\0\0\x02\0\0\0\0{}".to_vec(), 1002),
        ("a length below zero", b"\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0".to_vec(), 1002),
        ("more than there is room for", b"\x81\xff\0\0\0\x01\0\0\0\0\0\0\0\0".to_vec(), 1009),
        (
            "more in pieces",
            [frame(BEGINS, &[b' '; 1 << 20]), frame(ENDS, &[b' '; 1 << 11])].concat(),
            1009,
        ),
    ];
    for (what, bytes, code) in cases {
        assert_eq!(closed(&daemon, &bytes).await, WebSocketClosed(Some(code)), "{what}");
    }
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn text_is_utf8_over_all_its_pieces() {
    let daemon = serving().await;
    for bad in [&b"\xff"[..], b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xce", b"\xf8"] {
        assert_eq!(
            closed(&daemon, &frame(TEXT, bad)).await,
            WebSocketClosed(Some(1007)),
            "{bad:x?}"
        );
    }
    // A letter may be cut by the end of a frame, and by a ping.
    let mut shell = WebSocketClient::open(&daemon).await;
    let text = intent("r1", "desk", "help \u{3ba}\u{1f600}");
    let text = format!(r#"{{"type":"request","message":{text}}}"#);
    let (last, rest) = text.as_bytes().split_last().unwrap();
    let (first, rest) = rest.split_first().unwrap();
    shell.send(BEGINS, &[*first]).await;
    for byte in rest {
        shell.send(GOES_ON, &[*byte]).await;
        if *byte >= 0x80 {
            shell.send(PING, &[*byte]).await;
        }
    }
    shell.send(GOES_ON, b"").await;
    shell.send(ENDS, &[*last]).await;
    assert_eq!(code(&shell.message().await), None);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_close_is_answered_as_it_was_said() {
    let daemon = serving().await;
    let said = |code: u16, why: &[u8]| [&code.to_be_bytes()[..], why].concat();
    for good in [1000, 1001, 1003, 1007, 1011, 3000, 3999, 4000, 4999] {
        let close = frame(CLOSE, &said(good, "bye \u{3ba}".as_bytes()));
        assert_eq!(closed(&daemon, &close).await, WebSocketClosed(Some(good)));
    }
    assert_eq!(closed(&daemon, &frame(CLOSE, b"")).await, WebSocketClosed(None));
    for bad in [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
        let close = frame(CLOSE, &said(bad, b""));
        assert_eq!(closed(&daemon, &close).await, WebSocketClosed(Some(1002)), "{bad}");
    }
    assert_eq!(closed(&daemon, &frame(CLOSE, b"\x03")).await, WebSocketClosed(Some(1002)));
    assert_eq!(
        closed(&daemon, &frame(CLOSE, &said(1000, b"\xff"))).await,
        WebSocketClosed(Some(1007))
    );
    // What comes behind a close is not heard.
    let behind = [frame(CLOSE, &said(1000, b"")), frame(PING, b"still there?")].concat();
    let mut shell = WebSocketClient::open(&daemon).await;
    shell.0.send_raw(&behind).await;
    assert_eq!(shell.frame().await, Some((CLOSE, said(1000, b""))));
    assert_eq!(shell.frame().await, None);
    daemon.stop().await.unwrap();
}

/// A daemon that does not wait long for the end of a message.
async fn hasty() -> TestDaemon {
    TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.frame_deadline = Duration::from_millis(300);
    })
    .await
}

#[tokio::test]
async fn a_message_that_never_ends_is_not_waited_for() {
    let daemon = hasty().await;
    // A header, a frame, a message without their ends.
    for bytes in [vec![0x81], frame(TEXT, &[b' '; 100])[..50].to_vec(), frame(BEGINS, b"{")] {
        assert_eq!(closed(&daemon, &bytes).await, WebSocketClosed(Some(1008)), "{bytes:x?}");
    }
    // Nor is one whose pieces come, and signs of life between them.
    let mut shell = WebSocketClient::open(&daemon).await;
    shell.send(BEGINS, b"{").await;
    let drip = async {
        loop {
            let is_sent = shell.0.send_raw(&frame(GOES_ON, b" ")).await
                && shell.0.send_raw(&frame(PONG, b"")).await;
            if !is_sent {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    guard(drip).await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_comes_counts_among_the_bytes_in_flight() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.in_flight = 512 << 10;
        config.limits.frame_deadline = Duration::from_secs(2);
    })
    .await;
    let most = frame(TEXT, &[b' '; 600 << 10]);
    let mut first = WebSocketClient::open(&daemon).await;
    first.0.send_raw(&most[..most.len() - 1]).await;
    // As soon as that is held the daemon is full: health says so, and large messages wait.
    while bridle_test_support::http_client::get(&daemon, "/health").await.status != 503 {}
    let mut second = WebSocketClient::open(&daemon).await;
    let large = frame(TEXT, &[b' '; 32 << 10]);
    second.0.send_raw(&large[..large.len() - 1]).await;
    assert_eq!(second.end().await, WebSocketClosed(Some(1013)));
    // One that gives up gives its share back.
    drop(first);
    while bridle_test_support::http_client::get(&daemon, "/health").await.status != 200 {}
    let mut third = WebSocketClient::open(&daemon).await;
    third.ask("r1", "desk", "help").await;
    assert_eq!(code(&third.message().await), None);
    daemon.stop().await.unwrap();
}
