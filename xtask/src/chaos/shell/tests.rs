//! How a shell behaves towards a peer that says nothing.

use std::io::Read;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::{ChaosShell, RunningDaemon, ScheduleBoard, ShellRoad};
use crate::chaos::line::ListenPlace;

/// Longest wait for the hello: who needs it has failed.
const HANG: Duration = Duration::from_secs(10);

#[test]
fn a_shell_says_hello_before_the_daemon_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = ListenPlace::Tcp(listener.local_addr().unwrap().to_string());
    let unix = ListenPlace::Unix("none".into());
    let board = ScheduleBoard::default();
    let (pid, folder) = (std::process::id(), "none".into());
    board.set_running(Some(RunningDaemon { tcp, unix, pid, folder }));
    thread::scope(|scope| {
        let shell = scope.spawn(|| ChaosShell::observer("play-0", ShellRoad::Tcp).run(&board));
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(HANG)).unwrap();
        let mut begin = [0; 18];
        let heard = peer.read_exact(&mut begin);
        board.stop.store(true, Ordering::Relaxed);
        assert!(shell.join().unwrap().is_ok());
        heard.unwrap();
        assert_eq!(begin[6..], *b"(:type :EVEN");
    });
}
