//! Peers that mean harm, or are broken in ways that look like it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_answered, assert_error, frame};

/// A small generator with a fixed start, so that a failure can be seen again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn two_megabytes_of_open_brackets() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    peer.say(&"(".repeat(2_000_000)).await;
    assert_error(&peer.frame().await.unwrap(), "syntax");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
    // Without a header they are no frame at all.
    peer.send("(".repeat(2_000_000)).await;
    assert_error(&peer.frame().await.unwrap(), "bad-header");
    daemon.assert_alive().await;
}

#[tokio::test]
async fn announced_and_never_sent() {
    let daemon = TestDaemon::start().await;
    let mut peers = Vec::new();
    for _ in 0..300 {
        let mut peer = daemon.peer().await;
        peer.send("FFFFFF").await;
        peers.push(peer);
    }
    daemon.assert_alive().await;
    // Six bytes each are within every connection's reserve.
    assert_eq!(daemon.metric("bridle_in_flight_bytes").await, 0);
    assert_eq!(daemon.metric("bridle_connections_open").await, 301);
}

#[tokio::test]
async fn slow_bytes_meet_the_deadline_of_a_frame() {
    let daemon = TestDaemon::with(|config, _| {
        config.limits.frame_deadline = Duration::from_millis(200);
    })
    .await;
    let (mut read, mut write) = daemon.peer().await.split();
    let slow = tokio::spawn(async move {
        // Each byte is progress, and none resets the deadline.
        for byte in frame(&" ".repeat(1000)).bytes() {
            if write.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        write
    });
    let mut rest = String::new();
    bridle_test_support::hang_guard::guard(read.read_to_string(&mut rest)).await.unwrap();
    assert_error(&rest[6..], "frame-timeout");
    slow.abort();
    // Between frames there is no deadline.
    let mut idle = daemon.peer().await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(idle.ask(CHECK).await, HEALTHY);
    assert_eq!(daemon.metric("bridle_errors_total{code=\\\"frame-timeout\\\"}").await, 1);
}

#[tokio::test]
async fn a_large_frame_that_keeps_coming_has_its_time_again() {
    let daemon = TestDaemon::with(|config, _| {
        config.limits.frame_deadline = Duration::from_secs(2);
    })
    .await;
    let mut peer = daemon.peer().await;
    let text = frame(&format!("(:type :LOG :id 1 :payload (:text \"{}\"))", "x".repeat(1 << 20)));
    // Four pieces, three pauses: three seconds in all, and never two without 256 KiB.
    let pieces = [&text[..300_000], &text[300_000..600_000], &text[600_000..900_000]];
    for piece in pieces {
        peer.send(piece).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    peer.send(&text[900_000..]).await;
    assert_answered(&peer.frame().await.unwrap(), "1");
}

#[tokio::test]
async fn peers_that_vanish_leave_nothing_behind() {
    let daemon = TestDaemon::start().await;
    for n in 0..200 {
        let mut peer = daemon.stranger().await;
        match n % 4 {
            0 => {}
            1 => peer.send("0000").await,
            2 => peer.send("00ffff(:type ").await,
            // Gone with answers unread: the daemon gets a reset.
            _ => peer.send(frame(CHECK).repeat(100)).await,
        }
    }
    let mut asker = daemon.peer().await;
    loop {
        let text = asker.ask("(:type :health-check :detail t)").await;
        if text.contains(":connections 1 ") {
            break;
        }
        tokio::task::yield_now().await;
    }
}

/// Each is waited for two seconds; if that kept others from ending, the last would take minutes.
#[tokio::test]
async fn peers_that_do_not_leave_let_others_end() {
    let daemon = TestDaemon::start().await;
    let mut peers = Vec::new();
    for _ in 0..100 {
        let mut peer = daemon.peer().await;
        peer.send("GET / HTTP/1.1\r\n\r\n").await;
        peers.push(peer);
    }
    for peer in &mut peers {
        assert_error(&peer.frame().await.unwrap(), "bad-header");
        assert!(peer.rest().await.is_empty());
    }
    daemon.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_thousand_random_frames() {
    let daemon = TestDaemon::start().await;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut other = daemon.peer().await;
    let mut left = 200_000usize;
    while left > 0 {
        let n = left.min(4_000);
        left -= n;
        let bytes = random_frames(&mut random, n);
        let (mut read, mut write) = daemon.peer().await.split();
        let drain = tokio::spawn(async move {
            let mut sink = Vec::new();
            let _ = read.read_to_end(&mut sink).await;
            sink.len()
        });
        // The daemon may close first: some of these lose the framing.
        let _ = write.write_all(&bytes).await;
        let _ = write.shutdown().await;
        assert_eq!(other.ask(CHECK).await, HEALTHY, "{left} left");
        assert!(bridle_test_support::hang_guard::guard(drain).await.unwrap() > 0);
    }
    daemon.assert_alive().await;
}

/// Frames of random tokens, some with a wrong length, some of random bytes.
fn random_frames(random: &mut Random, n: usize) -> Vec<u8> {
    const TOKENS: [&str; 24] = [
        "(",
        ")",
        "(:type ",
        ":health-check",
        ":EVENT",
        ":payload ",
        "\"",
        "\\",
        "|",
        "#",
        "#(",
        "'",
        "`",
        ",",
        ".",
        " ",
        "1",
        "1/2",
        "1e9",
        ":id ",
        "é",
        "🎉",
        "[",
        "nil",
    ];
    let mut out = Vec::new();
    for _ in 0..n {
        let mut payload = Vec::new();
        for _ in 0..=random.below(12) {
            match random.below(20) {
                0 => payload.extend(random.next().to_le_bytes()),
                _ => payload.extend(TOKENS[random.below(TOKENS.len())].as_bytes()),
            }
        }
        let len = match random.below(2000) {
            0 => payload.len() + 1,
            1 => payload.len().saturating_sub(1),
            _ => payload.len(),
        };
        out.extend(format!("{len:06x}").bytes());
        out.extend(payload);
    }
    out
}
