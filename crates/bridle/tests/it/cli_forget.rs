//! `bridle forget`, `fork` and `tail` where no daemon runs, or another one.

use crate::harness::{Home, finish};
use crate::written::Written;

/// A home whose settings lead to no daemon of somebody else.
fn home() -> Home {
    let home = Home::new();
    home.write(".config/bridle/config.toml", "tcp = \"off\"\n");
    home
}

#[test]
fn forgetting_needs_a_yes() {
    let home = home();
    Written::new(&home).session("a");
    home.run(&["forget", "a"]).fails(
        2,
        "error: cannot forget session a without confirmation\nhint: pass --yes, or run this in a \
         terminal\n",
    );
    assert!(!home.run(&["log"]).stdout.contains(":erased"));
}

#[test]
fn a_forgotten_session_verifies_and_is_unreadable() {
    let home = home();
    Written::new(&home).session("a").session("b");
    home.run(&["forget", "a", "--yes"]).prints("forgot session a\n");
    let log = home.run(&["log", "--session", "a"]).stdout;
    assert!(log.lines().all(|line| line.ends_with(":body :erased)")), "{log}");
    assert!(home.run(&["log", "--session", "b"]).stdout.contains("help"));
    let verified = home.run(&["log", "verify"]);
    assert_eq!(verified.code, 0);
    assert!(verified.stdout.ends_with("are forgotten and cannot be read\n"), "{verified:?}");
    let done = home.run(&["forget", "a", "--yes"]);
    assert_ne!(done.code, 0);
    assert!(done.stderr.contains("already forgotten"), "{}", done.stderr);
}

#[test]
fn one_record_can_be_forgotten() {
    let home = home();
    Written::new(&home).session("a");
    home.run(&["forget", "2", "--yes"]).prints("forgot record 2\n");
    let log = home.run(&["log", "--session", "a"]).stdout;
    let erased: Vec<&str> = log.lines().filter(|line| line.contains(":erased")).collect();
    assert_eq!(erased.len(), 1);
    assert!(erased[0].starts_with("(:number 2 "), "{log}");
    let hint = "hint: `bridle log` lists records\n";
    let none = home.run(&["forget", "99", "--yes"]);
    none.fails(66, &format!("error: cannot use the record: no record `99`\n{hint}"));
    let none = home.run(&["forget", "99", "--session", "--yes"]);
    assert_eq!((none.code, none.stderr.contains("no session `99`")), (66, true), "{none:?}");
}

#[test]
fn a_record_in_use_is_not_touched() {
    let home = home();
    let state = Written::new(&home).session("a").dir.to_str().unwrap().to_owned();
    let daemon = home.up(&[]);
    // A daemon that the settings do not lead to.
    for args in [&["forget", "a", "--yes"][..], &["forget", "a", "--yes", "--state", &state]] {
        let done = home.run(args);
        assert_eq!(done.code, 75, "{done:?}");
        let pid = daemon.child.id();
        assert!(done.stderr.contains(&format!("in use by process {pid}")), "{}", done.stderr);
    }
    assert!(!home.run(&["log"]).stdout.contains(":erased"));
}

#[test]
fn a_daemon_that_was_named_is_not_passed_over() {
    let home = home();
    let state = Written::new(&home).session("a").dir.to_str().unwrap().to_owned();
    let done = home.run(&["forget", "a", "--yes", "--addr", "./nobody.sock"]);
    assert_eq!(done.code, 69, "{done:?}");
    let mut command = home.command(&["forget", "a", "--yes"]);
    let done = finish(command.env("BRIDLE_ADDR", "./nobody.sock"), b"");
    assert_eq!(done.code, 69, "{done:?}");
    assert!(!home.run(&["log"]).stdout.contains(":erased"));
    assert_eq!(home.run(&["forget", "a", "--state", &state, "--addr", "./n.sock"]).code, 2);
}

#[test]
fn a_state_directory_that_was_named_is_the_one() {
    let (home, elsewhere) = (home(), home());
    let state = Written::new(&elsewhere).session("a").dir.to_str().unwrap().to_owned();
    // The daemon that the settings lead to has a session of the same name.
    let config = format!("tcp = \"off\"\nunix = \"{}\"\n", home.path("b.sock"));
    home.write(".config/bridle/config.toml", config);
    Written::new(&home).session("a");
    let _daemon = home.up(&[]);
    home.run(&["forget", "a", "--yes", "--state", &state]).prints("forgot session a\n");
    assert!(!home.run(&["log"]).stdout.contains(":erased"));
    assert!(elsewhere.run(&["log"]).stdout.contains(":erased"));
}

#[test]
fn what_needs_a_daemon_says_how_to_start_one() {
    let home = home();
    for args in [
        &["fork", "4", "--addr", "./nobody.sock"][..],
        &["tail", "--session", "a", "--addr", "./nobody.sock"],
        &["tail", "--session", "a", "--follow", "--addr", "./nobody.sock"],
    ] {
        home.run(args).fails(
            69,
            "error: cannot connect to `unix:./nobody.sock` (No such file or directory (os error \
             2))\nhint: start it with: bridle up\n",
        );
    }
}
