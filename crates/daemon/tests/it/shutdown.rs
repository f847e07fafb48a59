//! Stopping: nothing new, what is owed is sent, nothing is left behind.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::shell::{Shell, at, number, prompt, script, text, value};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, Reader, assert_error, frame};
use bridle_test_support::hang_guard::guard;

/// Thinks long enough that the daemon stops meanwhile, and not at all the second time.
const LONG: &str = "(rule :when \"go\" :delay 60000 :say \"never\")";
const SHORT: &str = "(rule :when \"go\" :say \"at last\")";

/// Longer than any test waits: who needs it has failed.
const ENDLESS: std::time::Duration = std::time::Duration::from_secs(3600);

#[tokio::test]
async fn idle_connections_are_closed_and_the_daemon_ends() {
    let daemon = TestDaemon::start().await;
    let addr = daemon.bound.tcp.unwrap();
    let mut idle = daemon.peer().await;
    daemon.stop().await.unwrap();
    assert!(idle.rest().await.is_empty());
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn an_unfinished_frame_is_told_that_the_daemon_stops() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    // The answer shows that the daemon has seen the beginning of the second frame, too.
    peer.send(frame(CHECK) + "000100(:type").await;
    assert_eq!(peer.frame().await.as_deref(), Some(HEALTHY));
    daemon.stop().await.unwrap();
    assert_error(&peer.frame().await.unwrap(), "shutting-down");
    assert!(peer.rest().await.is_empty());
}

/// Writes health checks without reading until the daemon holds answers it cannot send.
async fn clog(daemon: &TestDaemon) -> (Reader, tokio::task::JoinHandle<()>) {
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
    let daemon = TestDaemon::start().await;
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
    let daemon = TestDaemon::with(|config, _| {
        config.limits.shutdown_grace = std::time::Duration::from_millis(200);
    })
    .await;
    let (_read, writer) = clog(&daemon).await;
    daemon.stop().await.unwrap();
    guard(writer).await.unwrap();
}

#[tokio::test]
async fn what_was_taken_is_answered_before_the_end_if_there_is_time() {
    let rules = "(default :delay 300 :say \"in time\")";
    let daemon = TestDaemon::with(|config, dir| script(config, dir, rules)).await;
    let mut peer = daemon.peer().await;
    // The check shows that the prompt has been read, too.
    peer.send(frame(&prompt(1, "go")) + &frame(CHECK)).await;
    assert_eq!(peer.frame().await.as_deref(), Some(HEALTHY));
    let (end, _dir) = daemon.begin_stop();
    let answer = value(&peer.frame().await.unwrap());
    assert_eq!(text(&answer, "payload text"), "in time");
    assert!(peer.rest().await.is_empty());
    guard(end).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_was_not_taken_is_told_so() {
    let daemon = TestDaemon::with(|config, dir| {
        script(config, dir, LONG);
        config.limits.shutdown_grace = std::time::Duration::from_millis(200);
    })
    .await;
    let mut shell = Shell::attach(&daemon, ":session \"work\" :receipts t").await;
    shell.say(&prompt(1, "go")).await;
    shell.next().await;
    // A hello waits until what was sent before it is answered, which takes too long.
    shell.say(&crate::shell::hello(":session \"other\"").replace(":EVENT", ":EVENT :id 2")).await;
    shell.say(&prompt(3, "go")).await;
    let mut other = daemon.peer().await;
    assert_eq!(other.ask(CHECK).await, HEALTHY);
    daemon.stop().await.unwrap();
    let rest = String::from_utf8(shell.peer.rest().await).unwrap();
    assert!(rest.contains("(:type :RESPONSE :id 2 :payload (:status :error :code :shutting-down "));
    assert!(!rest.contains("never"), "{rest}");
}

#[tokio::test]
async fn a_shell_that_left_is_not_waited_for() {
    let daemon = TestDaemon::with(|config, dir| {
        script(config, dir, LONG);
        config.limits.shutdown_grace = ENDLESS;
    })
    .await;
    let mut shell = Shell::attach(&daemon, ":session \"work\" :receipts t").await;
    shell.say(&prompt(1, "go")).await;
    shell.next().await;
    shell.peer.end().await;
    // The answer shows that the daemon has seen the end of the other connection, too.
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
    let rest = String::from_utf8(shell.peer.rest().await).unwrap();
    assert!(!rest.contains(":RESPONSE"), "its answer is behind its cursor: {rest}");
}

#[tokio::test]
async fn what_has_a_receipt_is_answered_after_the_next_start() {
    let daemon = TestDaemon::with(|config, dir| script(config, dir, LONG)).await;
    let fields = ":session \"work\" :client \"a\" :receipts t";
    let mut shell = Shell::attach(&daemon, fields).await;
    shell.say(&prompt(1, "go")).await;
    let receipt = shell.next().await;
    assert!(at(&receipt, "payload status").is_keyword("admitted"), "{receipt}");
    let (end, dir) = daemon.begin_stop();
    guard(end).await.unwrap().unwrap();
    shell.peer.rest().await;

    let daemon = TestDaemon::again(dir, |config, dir| script(config, dir, SHORT)).await;
    let cursor = number(&receipt, "payload seq");
    let mut back = Shell::attach(&daemon, &format!("{fields} :cursor {cursor}")).await;
    let answer = back.response(1).await;
    assert_eq!(text(&answer, "payload text"), "at last");
    assert_eq!(number(&answer, "meta answers"), cursor);
    // Sent again, it is known.
    back.say(&prompt(1, "go")).await;
    assert_eq!(back.next().await, receipt);
}
