//! Stopping: nothing new, what is owed is sent, nothing is left behind.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{CHECK, Daemon, HEALTHY, Reader, assert_error, frame, guard};

#[tokio::test]
async fn idle_connections_are_closed_and_the_daemon_ends() {
    let daemon = Daemon::start().await;
    let addr = daemon.bound.tcp.unwrap();
    let mut idle = daemon.peer().await;
    daemon.stop().await.unwrap();
    assert!(idle.rest().await.is_empty());
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn an_unfinished_frame_is_told_that_the_daemon_stops() {
    let daemon = Daemon::start().await;
    let mut peer = daemon.peer().await;
    // The answer shows that the daemon has seen the beginning of the second frame, too.
    peer.send(frame(CHECK) + "000100(:type").await;
    assert_eq!(peer.frame().await.as_deref(), Some(HEALTHY));
    daemon.stop().await.unwrap();
    assert_error(&peer.frame().await.unwrap(), "shutting-down");
    assert!(peer.rest().await.is_empty());
}

/// Writes health checks without reading until the daemon holds answers it cannot send.
async fn clog(daemon: &Daemon) -> (Reader, tokio::task::JoinHandle<()>) {
    let (read, mut write) = daemon.peer().await.split();
    let writer = tokio::spawn(async move {
        let batch = frame(CHECK).repeat(1000);
        while write.write_all(batch.as_bytes()).await.is_ok() {}
    });
    let mut asker = daemon.peer().await;
    while asker.ask("(:type :health-check :detail t)").await.contains(":in-flight-bytes 0") {
        tokio::task::yield_now().await;
    }
    (read, writer)
}

#[tokio::test]
async fn answers_that_are_owed_are_flushed() {
    let daemon = Daemon::start().await;
    let (mut read, writer) = clog(&daemon).await;
    let (end, _dir) = daemon.begin_stop();
    let mut answers = String::new();
    guard(read.read_to_string(&mut answers)).await.unwrap();
    let whole = frame(HEALTHY);
    let rest = answers.trim_start_matches(&whole);
    assert!(rest.len() < answers.len(), "some were owed");
    // Behind them at most the error for a frame that was cut by the stop.
    if !rest.is_empty() {
        assert_error(&rest[6..], "shutting-down");
        assert_eq!(frame(&rest[6..]), rest, "and nothing more");
    }
    writer.abort();
    drop((read, writer.await));
    guard(end).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_peer_that_does_not_read_cannot_hold_the_daemon_beyond_its_grace() {
    let daemon = Daemon::with(|config, _| {
        config.limits.shutdown_grace = std::time::Duration::from_millis(200);
    })
    .await;
    let (_read, writer) = clog(&daemon).await;
    daemon.stop().await.unwrap();
    guard(writer).await.unwrap();
}
