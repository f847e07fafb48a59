//! What can be known of a daemon that does not answer, while it still does not: whether its end of the
//! connection exists, whether it answers anybody else, what its threads wait for. Asked by the shells and
//! the conductor when they give up; it only looks, and what cannot be seen is said to be so.

use std::fmt::Write;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bridle_sexp::Value;

use super::line::{LineInput, ListenPlace, OpenLine};
use super::shell::{RunningDaemon, ScheduleBoard};
use crate::console::has_program;

/// Longest wait for a health answer: one that is late by this much is as good as none.
const HEALTH_WAIT: Duration = Duration::from_secs(2);

/// The sockets of this machine, a line each: number, own end, other end, state.
const SOCKETS: &str = "/proc/net/tcp";

/// Whether somebody is at the other end of a TCP connection.
pub(crate) fn ends(ends: Option<(SocketAddr, SocketAddr)>) -> String {
    let Some((own, other)) = ends else { return "no addresses".to_owned() };
    let sockets = fs::read_to_string(SOCKETS).unwrap_or_default();
    let here = state(&sockets, own, other).map_or("no socket", |state| state);
    let there = state(&sockets, other, own).map_or("no socket", |state| state);
    format!("{own} is {here}, {other} is {there}")
}

/// The state of the socket at `own` that is connected to `other`, as the system names it.
fn state(sockets: &str, own: SocketAddr, other: SocketAddr) -> Option<&'static str> {
    let (own, other) = (written(own)?, written(other)?);
    let found = sockets.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_it = words.next() == Some(&own) && words.next() == Some(&other);
        is_it.then(|| words.next()).flatten()
    })?;
    Some(match found {
        "01" => "established",
        "02" | "03" => "being connected",
        "06" => "in time-wait",
        "0A" => "listening",
        _ => "being closed",
    })
}

/// An address as the list of sockets has it: the bytes of a number of this machine, then the port.
fn written(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else { return None };
    let ip: &Ipv4Addr = address.ip();
    Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port()))
}

/// Describes the daemon that runs now: whether it answers others, and where its threads are.
pub(crate) fn daemon(board: &ScheduleBoard) -> String {
    let Some(running) = board.running() else { return "  no daemon runs".to_owned() };
    let mut text = String::new();
    for (road, place) in [("TCP", &running.tcp), ("Unix", &running.unix)] {
        let _ = writeln!(text, "  asked for its health over {road}: {}", health(place));
    }
    text + &process(&running)
}

/// Describes where the threads of a daemon are.
pub(crate) fn process(running: &RunningDaemon) -> String {
    format!("  its threads:{}{}", threads(running.pid), backtrace(running))
}

/// Asks on a fresh connection.
fn health(place: &ListenPlace) -> String {
    let mut line = match OpenLine::open(place) {
        Ok(line) => line,
        Err(error) => return format!("cannot connect: {error}"),
    };
    let question = Value::plist([("type", Value::keyword("health-check"))]);
    if let Err(error) = line.send(&question) {
        return format!("cannot ask: {error}");
    }
    let (begin, mut heard) = (Instant::now(), 0);
    while begin.elapsed() < HEALTH_WAIT {
        match line.hear() {
            Err(what) => return what,
            Ok(LineInput::Gone) => return format!("gone after {heard} messages"),
            Ok(LineInput::Messages(messages)) => heard += messages.len(),
        }
        // Its hello and the answer.
        if heard >= 2 {
            return format!("answers after {} ms", begin.elapsed().as_millis());
        }
    }
    format!("{heard} messages in {HEALTH_WAIT:?}")
}

/// The threads of a process: name, state, and what the system has them wait for.
fn threads(pid: u32) -> String {
    let Ok(list) = fs::read_dir(format!("/proc/{pid}/task")) else { return " gone".to_owned() };
    let word = |path: &Path, name: &str| {
        fs::read_to_string(path.join(name)).unwrap_or_default().trim().to_owned()
    };
    let mut text = String::new();
    for entry in list.filter_map(Result::ok) {
        let path = entry.path();
        let status = word(&path, "status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or_default();
        let (name, waits) = (word(&path, "comm"), word(&path, "wchan"));
        let _ = write!(text, " {name} ({}, {waits})", state.trim());
    }
    text
}

/// Has a debugger, if there is one, write down where the threads are.
fn backtrace(running: &RunningDaemon) -> String {
    if !has_program("gdb") {
        return String::new();
    }
    let path = running.folder.join("threads.txt");
    let pid = running.pid.to_string();
    let words = ["-batch", "-nx", "-ex", "thread apply all bt", "-p", &pid];
    let output = Command::new("gdb").args(words).stdin(Stdio::null()).output();
    match output.and_then(|output| fs::write(&path, output.stdout)) {
        Ok(()) => format!("\n  where they are: {}", path.display()),
        Err(error) => format!("\n  where they are is not known: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::ends;

    #[test]
    fn an_end_that_is_gone_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (own, other) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
        let (far, _) = listener.accept().unwrap();
        let text = ends(Some((own, other)));
        assert_eq!(text, format!("{own} is established, {other} is established"));
        drop((far, listener));
        let text = ends(Some((own, other)));
        assert!(text.starts_with(&format!("{own} is being closed")), "{text}");
    }
}
