//! Many frames without waiting for answers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, FrameClient, HEALTHY, frame};
use bridle_test_support::hang_guard::guard;

/// Writes `n` frames made by `make` while reading; returns the answers' payloads.
async fn pipeline(peer: FrameClient, n: usize, make: impl Fn(usize) -> String) -> Vec<String> {
    let (read, mut write) = peer.split();
    let all: String = (0..n).map(make).collect();
    let writer = tokio::spawn(async move {
        write.write_all(all.as_bytes()).await.unwrap();
        write
    });
    let mut read = tokio::io::BufReader::new(read);
    let mut answers = Vec::with_capacity(n);
    for _ in 0..n {
        let mut header = [0; 6];
        guard(read.read_exact(&mut header)).await.unwrap();
        let len = usize::from_str_radix(std::str::from_utf8(&header).unwrap(), 16).unwrap();
        let mut payload = vec![0; len];
        guard(read.read_exact(&mut payload)).await.unwrap();
        answers.push(String::from_utf8(payload).unwrap());
    }
    drop(writer.await.unwrap());
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_checks_get_ten_thousand_answers() {
    let daemon = TestDaemon::start().await;
    let answers = pipeline(daemon.peer().await, 10_000, |_| frame(CHECK)).await;
    assert!(answers.iter().all(|answer| answer == HEALTHY));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_come_in_order_whatever_they_are() {
    let daemon = TestDaemon::start().await;
    let make = |n: usize| match n % 4 {
        0 => frame(CHECK),
        1 => frame(&format!("(:type :STATUS :id {n})")),
        2 => "000000".to_owned(),
        _ => frame(&format!("(:type :RESPONSE :id {n} :payload ())")),
    };
    let answers = pipeline(daemon.peer().await, 10_000, make).await;
    for (n, answer) in answers.iter().enumerate() {
        let wanted = match n % 4 {
            0 => HEALTHY.to_owned(),
            1 => format!(":id {n} :payload (:status :error :code :unsupported"),
            2 => ":id nil :payload (:status :error :code :empty-frame".to_owned(),
            _ => format!(":id {n} :payload (:status :error :code :unknown-id"),
        };
        assert!(answer.contains(&wanted), "{n}: {answer}");
    }
}

#[tokio::test]
async fn a_connection_that_never_stops_does_not_starve_another() {
    // One worker thread: if the busy connection did not give way, nobody else would be served.
    let daemon = TestDaemon::start().await;
    let (mut read, mut write) = daemon.peer().await.split();
    let batch = frame(CHECK).repeat(1000);
    let busy =
        tokio::spawn(async move { while write.write_all(batch.as_bytes()).await.is_ok() {} });
    let drain = tokio::spawn(async move {
        let mut sink = vec![0; 64 << 10];
        while read.read(&mut sink).await.is_ok_and(|n| n > 0) {}
    });
    let mut other = daemon.peer().await;
    for _ in 0..100 {
        assert_eq!(other.ask(CHECK).await, HEALTHY);
    }
    busy.abort();
    drain.abort();
}

#[tokio::test]
async fn fifty_peers_that_connect_at_once_are_all_served() {
    let daemon = TestDaemon::start().await;
    let mut peers = Vec::new();
    for _ in 0..50 {
        peers.push(daemon.stranger().await);
    }
    for peer in &mut peers {
        peer.frame().await.unwrap();
        assert_eq!(peer.ask(CHECK).await, HEALTHY);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_messages_among_small_ones_are_all_answered() {
    let daemon = TestDaemon::start().await;
    let items = "(headline (:level 1 :title \"x\")) ".repeat(20_000);
    let make = |n: usize| match n % 3 {
        0 => frame(CHECK),
        1 => frame(&format!("(:type :LOG :id {n} :payload (:items ({items})))")),
        _ => frame(&format!("(:type :STATUS :id {n})")),
    };
    let answers = pipeline(daemon.peer().await, 12, make).await;
    // What is answered at once stays in order, and so does what the engine answers.
    let of = |start: &str| -> Vec<&String> {
        answers.iter().filter(|answer| answer.starts_with(start)).collect()
    };
    assert_eq!(of("(:type :health-response :status ").len(), 4, "{answers:?}");
    let ids = |wanted: [usize; 4], mark: &str| {
        let answers = of("(:type :RESPONSE ");
        let marked = answers.iter().filter(|answer| answer.contains(mark));
        for (answer, id) in marked.zip(wanted) {
            assert!(answer.contains(&format!(":id {id} ")), "{answer}, expected {id}");
        }
    };
    ids([1, 4, 7, 10], ":status :success");
    ids([2, 5, 8, 11], ":code :unsupported");
    assert_eq!(answers.len(), 12);
}
