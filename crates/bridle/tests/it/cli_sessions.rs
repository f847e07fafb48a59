//! `tail`, `fork` and `forget` with a running daemon, and what its record says afterwards.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::harness::{Home, Shell};

/// A home whose commands find the daemon of [`Home::up`].
fn home() -> Home {
    let home = Home::new();
    home.write(
        ".config/bridle/config.toml",
        format!("tcp = \"off\"\nunix = \"{}\"\n", home.path("b.sock")),
    );
    home
}

/// A `tail --follow --json`, its events as they come.
struct Tail {
    child: Child,
    events: Receiver<Value>,
}

impl Tail {
    fn follow(home: &Home, session: &str) -> Tail {
        let args = ["tail", "--session", session, "--follow", "--json"];
        let mut child = home.command(&args).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in lines {
                let event = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Tail { child, events }
    }

    /// Numbers of the next events.
    fn numbers(&self, count: usize) -> Vec<u64> {
        let number = |event: Value| event["meta"]["seq"].as_u64().unwrap();
        self.events.iter().take(count).map(number).collect()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_tail_shows_what_was_said() {
    let home = home();
    let _daemon = home.up(&[]);
    Shell::attach(&home, "work").prompt("good day");
    let done = home.run(&["tail", "--session", "work"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> =
        done.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        (lines[0][0], lines[0][3], &lines[0][4..]),
        ("1", "user-prompt", &["good", "day"][..])
    );
    assert_eq!((lines[1][0], lines[1][3]), ("2", "answer"));
    assert!(lines[0][1].len() == 10 && lines[0][2].len() == 5, "local time: {:?}", lines[0]);
    let rest = home.run(&["tail", "--session", "work", "--after", "1", "--lisp"]);
    assert!(rest.stdout.starts_with("(:type :EVENT :meta (:session \"work\" :seq 2 "), "{rest:?}");
    home.run(&["tail", "--session", "work", "--after", "2"]).prints("");
    let none = home.run(&["tail", "--session", "play"]);
    assert_eq!(none.code, 66, "{none:?}");
    assert!(none.stderr.ends_with("hint: `bridle sessions` lists sessions\n"), "{none:?}");
}

#[test]
fn a_signed_tail_over_tcp() {
    let home = home();
    let key = home.write("k", "a key of many bytes");
    let daemon = home.up(&["--hmac-enforce", "--hmac-allow-v1", "--hmac-key-file", &key]);
    Shell::attach(&home, "work").prompt("one");
    let tcp = daemon.tcp();
    let tail = ["tail", "--session", "work", "--addr", &tcp, "--lisp", "--timeout", "20"];
    for version in ["v1", "v2"] {
        let done = home.run(&[&tail[..], &["--key-file", &key, "--hmac", version]].concat());
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{version}");
        assert!(done.stdout.contains(":seq 2 "), "{version}: {}", done.stdout);
    }
    assert_eq!(home.run(&tail).code, 77, "unsigned");
}

#[test]
fn following_survives_the_daemon_and_shows_each_event_once() {
    let home = home();
    let mut daemon = home.up(&[]);
    Shell::attach(&home, "work").prompt("one");
    let tail = Tail::follow(&home, "work");
    assert_eq!(tail.numbers(2), [1, 2]);
    for first in [3, 7] {
        Shell::attach(&home, "work").prompt("two");
        assert_eq!(tail.numbers(2), [first, first + 1]);
        daemon.signal("KILL");
        daemon.child.wait().unwrap();
        daemon = home.up(&[]);
        Shell::attach(&home, "work").prompt("three");
        assert_eq!(tail.numbers(2), [first + 2, first + 3]);
    }
    assert_eq!(home.run(&["log", "verify"]).code, 0);
    let replayed = home.run(&["replay"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_fork_begins_where_another_session_was() {
    let home = home();
    let _daemon = home.up(&[]);
    Shell::attach(&home, "work").prompt("one");
    let last = home.run(&["log", "--session", "work", "--json"]).stdout;
    let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    let number = last["number"].to_string();
    home.run(&["fork", &number, "--name", "what-if"]).prints("what-if\n");
    let unnamed = home.run(&["fork", &number]);
    assert_eq!((unnamed.code, unnamed.stdout.lines().count()), (0, 1), "{unnamed:?}");
    Shell::attach(&home, "what-if").prompt("two");
    let taken = home.run(&["fork", &number, "--name", "work"]);
    assert_eq!((taken.code, taken.stdout.as_str()), (1, ""));
    assert!(taken.stderr.starts_with("error: the daemon refused: "), "{}", taken.stderr);
    let none = home.run(&["fork", "999999"]);
    assert_eq!(none.code, 66, "{none:?}");
    let replayed = home.run(&["replay"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_running_daemon_forgets() {
    let home = home();
    let daemon = home.up(&[]);
    Shell::attach(&home, "work").prompt("a walrus");
    Shell::attach(&home, "play").prompt("no walrus");
    let signal = home.run(&["log", "--session", "play", "--json"]).stdout;
    let signal = signal.lines().find(|line| line.contains("no walrus")).unwrap();
    let number = serde_json::from_str::<Value>(signal).unwrap()["number"].to_string();
    home.run(&["forget", "work", "--yes"]).prints("forgot session work\n");
    home.run(&["forget", &number, "--yes"]).prints(&format!("forgot record {number}\n"));
    let log = home.run(&["log"]).stdout;
    assert!(!log.contains("a walrus"), "{log}");
    let erased = format!("(:number {number} ");
    let line = log.lines().find(|line| line.starts_with(&erased)).unwrap();
    assert!(line.ends_with(":body :erased)"), "{line}");
    assert_eq!(home.run(&["log", "verify"]).code, 0);
    let replayed = home.run(&["replay"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    assert!(replayed.stdout.ends_with("skipped, erased: 2 sessions\n"), "{}", replayed.stdout);
    assert_eq!(home.run(&["forget", "nothing", "--yes"]).code, 66);
    // The session that lost a record goes on, also after a restart.
    Shell::attach(&home, "play").prompt("more");
    daemon.signal("TERM");
    assert_eq!(daemon.wait().0, Some(0));
    let _daemon = home.up(&[]);
    Shell::attach(&home, "play").prompt("still more");
}

#[test]
fn a_record_forgotten_while_no_daemon_runs_is_not_missed() {
    let home = home();
    let mut daemon = home.up(&[]);
    Shell::attach(&home, "play").prompt("no walrus");
    let signal = home.run(&["log", "--session", "play", "--json"]).stdout;
    let signal = signal.lines().find(|line| line.contains("no walrus")).unwrap();
    let number = serde_json::from_str::<Value>(signal).unwrap()["number"].to_string();
    daemon.signal("KILL");
    daemon.child.wait().unwrap();
    home.run(&["forget", &number, "--yes"]).prints(&format!("forgot record {number}\n"));
    let _daemon = home.up(&[]);
    Shell::attach(&home, "play").prompt("more");
}

#[test]
fn a_script_that_cannot_be_used_keeps_the_daemon_from_starting() {
    let home = Home::new();
    home.write("bad.script", "(rule :when (:sensor");
    let up = |thinker: &str| {
        home.run(&[
            "up",
            "--tcp",
            "off",
            "--unix",
            "b.sock",
            "--log",
            "error",
            "--thinker",
            thinker,
        ])
    };
    let bad = up("script:bad.script");
    assert_eq!(bad.code, 78, "{bad:?}");
    assert!(bad.stderr.contains("bad.script:1:"), "{}", bad.stderr);
    assert!(bad.stderr.ends_with("hint: choose another with --thinker, or fix the file\n"));
    assert_eq!(up("script:none.script").code, 78);
    assert_eq!(up("nobody").code, 2);
}
