//! Limits: each is reached, says so, and lets go again.

use std::time::Duration;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_error, frame};
use bridle_test_support::hang_guard::guard;

#[tokio::test]
async fn one_connection_too_many() {
    let daemon = TestDaemon::with(|config, _| config.limits.connections = 2).await;
    let mut first = daemon.peer().await;
    let second = daemon.peer().await;
    for _ in 0..3 {
        let mut third = daemon.stranger().await;
        let answer = third.frame().await.unwrap();
        assert_error(&answer, "too-many-connections");
        assert!(answer.contains(":retryable t"), "{answer}");
        assert!(third.rest().await.is_empty());
    }
    assert_eq!(first.ask(CHECK).await, HEALTHY);
    drop(second);
    // Its seat is free as soon as the daemon has seen the end.
    loop {
        let mut next = daemon.stranger().await;
        if next.frame().await.unwrap().contains(":handshake") {
            assert_eq!(next.ask(CHECK).await, HEALTHY);
            break;
        }
    }
}

#[tokio::test]
async fn frames_over_the_limit_are_skipped() {
    let daemon = TestDaemon::with(|config, _| config.limits.frame = 2000).await;
    let mut peer = daemon.peer().await;
    let message = format!("(:type :LOG :payload (:text \"{}\"))", "x".repeat(3000));
    assert_error(&peer.ask(&message).await, "frame-too-large");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_closed_and_counted() {
    let daemon = TestDaemon::with(|config, _| {
        config.limits.output = 64 << 10;
        config.limits.write_deadline = Duration::from_millis(300);
    })
    .await;
    let (read, mut write) = daemon.peer().await.split();
    let batch = frame(CHECK).repeat(1000);
    // Writes stop when the daemon stops reading, and fail when it has closed.
    let writer = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while write.write_all(batch.as_bytes()).await.is_ok() {}
    });
    guard(writer).await.unwrap();
    drop(read);
    let closed = "bridle_connections_closed_total{reason=\\\"slow-reader\\\"}";
    assert_eq!(daemon.metric(closed).await, 1);
    daemon.assert_alive().await;
}

#[tokio::test]
async fn the_output_of_one_connection_is_bounded() {
    let daemon = TestDaemon::with(|config, _| config.limits.output = 16 << 10).await;
    // Detailed answers are a hundred times as long as the question.
    let n = 2000;
    let ask = frame("(:type :health-check :detail t)").repeat(n);
    let (mut read, mut write) = daemon.peer().await.split();
    let writer = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        write.write_all(ask.as_bytes()).await.unwrap();
        write
    });
    let mut most = 0;
    let mut watcher = daemon.peer().await;
    for round in 0..n {
        let answer = read_frame(&mut read).await;
        assert!(answer.contains("# EOF"), "{answer}");
        if round % 100 == 0 {
            let text = watcher.ask("(:type :health-check :detail t)").await;
            most = most.max(in_flight(&text));
        }
    }
    // The limit, one answer beyond it, one read of input; twice, for the watcher.
    assert!(most <= 2 * ((16 << 10) + (16 << 10) + (16 << 10)), "{most} bytes were held");
    drop(writer.await.unwrap());
}

#[tokio::test]
async fn over_the_common_limit_small_messages_still_work_and_large_ones_wait() {
    let daemon = TestDaemon::with(|config, _| {
        config.limits.in_flight = 1 << 20;
        config.limits.frame_deadline = Duration::from_secs(60);
    })
    .await;
    // Fill the limit with a frame that is not finished.
    let mut hog = daemon.peer().await;
    hog.send(format!("{:06x}{}", 4 << 20, "(".repeat((1 << 20) + (16 << 10)))).await;
    let mut asker = daemon.peer().await;
    while in_flight(&asker.ask("(:type :health-check :detail t)").await) < 1 << 20 {
        tokio::task::yield_now().await;
    }
    let degraded = "(:type :health-response :status :degraded :checked-p t)";
    let mut small = daemon.peer().await;
    assert_eq!(small.ask(CHECK).await, degraded);
    // A large frame waits: the daemon takes its reserve and no more.
    let mut large = daemon.peer().await;
    large.say(&format!("(:type :STATUS :id 1 :text \"{}\")", "y".repeat(200_000))).await;
    for _ in 0..20 {
        assert_eq!(small.ask(CHECK).await, degraded);
        let held = in_flight(&asker.ask("(:type :health-check :detail t)").await);
        assert!(held < (1 << 20) + (128 << 10), "{held}");
    }
    // When the hog goes, the large one is answered.
    drop(hog);
    assert_error(&large.frame().await.unwrap(), "unsupported");
    assert_eq!(small.ask(CHECK).await, HEALTHY);
}

#[tokio::test]
async fn a_frame_that_waits_too_long_for_the_common_limit_is_told_so() {
    let daemon = TestDaemon::with(|config, _| {
        config.limits.in_flight = 256 << 10;
        config.limits.frame_deadline = Duration::from_secs(2);
    })
    .await;
    let mut asker = daemon.peer().await;
    let mut late = daemon.peer().await;
    late.send(format!("{:06x}{}", 400 << 10, "(".repeat(100 << 10))).await;
    while in_flight(&asker.ask("(:type :health-check :detail t)").await) < 90 << 10 {
        tokio::task::yield_now().await;
    }
    // Fills the limit, gets the pass, and does not finish.
    let mut hog = daemon.peer().await;
    hog.send(format!("{:06x}{}", 1 << 20, "(".repeat(512 << 10))).await;
    while in_flight(&asker.ask("(:type :health-check :detail t)").await) < 600 << 10 {
        tokio::task::yield_now().await;
    }
    late.send("(".repeat(300 << 10)).await;
    let answer = late.frame().await.unwrap();
    assert_error(&answer, "overloaded");
    assert!(answer.contains(":retryable t"), "{answer}");
    assert_error(&hog.frame().await.unwrap(), "frame-timeout");
    daemon.assert_alive().await;
}

#[tokio::test]
async fn a_frame_over_the_common_limit_is_answered_when_it_is_alone() {
    let daemon = TestDaemon::with(|config, _| config.limits.in_flight = 64 << 10).await;
    let mut peer = daemon.peer().await;
    let text = "y".repeat(1 << 20);
    assert_error(&peer.ask(&format!("(:type :STATUS :text \"{text}\")")).await, "unsupported");
}

async fn read_frame(read: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    use tokio::io::AsyncReadExt;
    let mut header = [0; 6];
    guard(read.read_exact(&mut header)).await.unwrap();
    let len = usize::from_str_radix(std::str::from_utf8(&header).unwrap(), 16).unwrap();
    let mut payload = vec![0; len];
    guard(read.read_exact(&mut payload)).await.unwrap();
    String::from_utf8(payload).unwrap()
}

fn in_flight(detail: &str) -> usize {
    let (_, rest) = detail.split_once(":in-flight-bytes ").expect("in-flight bytes");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
