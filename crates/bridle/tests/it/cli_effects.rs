//! Files and programs of the agent against a real daemon in a real jail: staged, shown, asked once,
//! committed, taken back; nothing without a yes.

use std::fs;
use std::path::PathBuf;

use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Home, Shell};

/// A thinker that writes, patches, runs and then says so.
const SCRIPT: &str = r#"
(rule :when "edit" :text "Editing." :propose
  ((:target :file :action :write :path "new/b.txt" :text "two\n" :then-think t)
   (:target :file :action :patch :path "a.txt" :old "one" :new "1" :then-think t)))
(rule :when "edit" :depth 1 :result t :propose
  ((:target :exec :action :exec :script "cat a.txt new/b.txt; echo three > c.txt; rm d.txt" :then-think t)))
(rule :when "edit" :depth 2 :result t :say "Edited.")
(rule :when "read" :propose ((:target :file :action :read :path "a.txt" :then-think t)))
(rule :when "read" :result t :say "Read.")
(rule :when "steal" :propose ((:target :exec :action :exec :script "cat STATE/* OUTSIDE; touch OUTSIDE.new; echo end" :then-think t)))
(rule :when "steal" :result t :say "Tried.")
(rule :when "vim" :propose ((:target :exec :action :exec :argv ("vim" "a.txt") :then-think t)))
(rule :when "vim" :rejected t :say "No terminal.")
(rule :when "keys" :propose ((:target :exec :action :exec :script "cat ./*env*; cat sub/.env.local" :then-think t)))
(rule :when "keys" :result t :say "Looked.")
(rule :when "sleep" :propose
  ((:target :exec :action :exec :script "ln -s a.txt link; chmod 755 a.txt; setsid sleep MARK & sleep MARK" :then-think t)))
(rule :when "sleep" :result (:action :exec :outcome :failed) :say "Broken off.")
(default :say "What?")
"#;

struct Desk {
    home: Home,
    project: PathBuf,
    script: String,
    daemon: ServerProcess,
}

/// Seconds that no other program of this machine sleeps, for those of this test run.
fn mark() -> String {
    (1_000_000 + std::process::id()).to_string()
}

/// Programs that sleep so long.
fn sleepers() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let wanted = format!("sleep\0{}\0", mark());
    lines.filter(|line| line == wanted.as_bytes()).count()
}

/// Waits until something holds.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what}");
}

impl Desk {
    fn new() -> Desk {
        let home = Home::new();
        home.write("p/a.txt", "one\n");
        home.write("p/d.txt", "gone\n");
        home.write("p/.env", "KEY=hunter2\n");
        home.write("outside.txt", "confidential\n");
        let project = PathBuf::from(home.path("p"));
        let script = SCRIPT.replace("OUTSIDE", &home.path("outside.txt"));
        let script = script.replace("STATE", &home.path(".local/state/bridle"));
        let script = script.replace("MARK", &mark());
        let script = format!("script:{}", home.write("rules.script", script));
        let daemon = home.up(&["--thinker", &script]);
        let desk = Desk { home, project, script, daemon };
        let done = desk.run(&["project", desk.project.to_str().unwrap(), "--session", "work"]);
        assert!(done.contains("/p"), "{done}");
        desk
    }

    /// Runs a command against the daemon; it must succeed.
    fn run(&self, args: &[&str]) -> String {
        let socket = self.home.path("b.sock");
        let all: Vec<&str> = args.iter().copied().chain(["--addr", &socket]).collect();
        let done = self.home.run(&all);
        assert_eq!(done.code, 0, "{args:?}: {done:?}");
        done.stdout
    }

    fn shell(&self) -> Shell {
        Shell::attach(&self.home, "work")
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project.join(name)).ok()
    }

    /// Names in the project, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.project).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The next question: its name and its frame.
fn question(shell: &mut Shell) -> (String, String) {
    loop {
        let frame = shell.receive();
        assert!(!frame.contains(":status :error"), "{frame}");
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            let name = frame.split('"').nth(1).unwrap().to_owned();
            return (name, frame);
        }
    }
}

fn prompt(shell: &mut Shell, text: &str) {
    shell.send(&format!("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"{text}\"))"));
}

fn answer(shell: &mut Shell) -> String {
    loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :RESPONSE :id 1 ") {
            return frame;
        }
    }
}

#[test]
fn a_turn_is_staged_asked_for_once_committed_and_taken_back() {
    let desk = Desk::new();
    let mut shell = desk.shell();
    prompt(&mut shell, "edit");
    let (name, frame) = question(&mut shell);
    for part in ["+1", "-one", "+two", "c.txt", "d.txt", ":deletions 1", "commit"] {
        assert!(frame.contains(part), "{part} in {frame}");
    }
    assert_eq!(desk.names(), [".env", "a.txt", "d.txt"], "nothing before the yes");
    desk.run(&["approve", &name]);
    let said = answer(&mut shell);
    assert!(said.contains("Edited."), "{said}");
    assert_eq!(desk.text("a.txt").as_deref(), Some("1\n"));
    assert_eq!(desk.text("c.txt").as_deref(), Some("three\n"));
    assert_eq!(desk.names(), [".env", "a.txt", "c.txt", "new"]);
    let effects = desk.home.run(&["effects", "--json"]).stdout;
    let commit = effects.lines().find(|line| line.contains("commit")).unwrap();
    let record = commit.split("\"record\":").nth(1).unwrap();
    let record: String = record.chars().take_while(char::is_ascii_digit).collect();
    let diff = desk.run(&["diff", &record]);
    assert!(diff.contains("-one\n+1\n"), "{diff}");
    desk.run(&["undo", &record, "--yes"]);
    assert_eq!(desk.names(), [".env", "a.txt", "d.txt"]);
    assert_eq!(desk.text("a.txt").as_deref(), Some("one\n"));
    assert_eq!(desk.text("d.txt").as_deref(), Some("gone\n"));
}

#[test]
fn a_refused_turn_leaves_nothing_and_reading_asks_nobody() {
    let desk = Desk::new();
    let mut shell = desk.shell();
    prompt(&mut shell, "read");
    let said = answer(&mut shell);
    assert!(said.contains("Read."), "{said}");
    prompt(&mut shell, "edit");
    let (name, _) = question(&mut shell);
    desk.run(&["deny", &name]);
    answer(&mut shell);
    assert_eq!(desk.names(), [".env", "a.txt", "d.txt"]);
    assert_eq!(desk.text("a.txt").as_deref(), Some("one\n"));
    // The stage goes by an act of its own, a moment later.
    let stages = desk.home.path(".local/state/bridle/effects/stages");
    let is_gone = || fs::read_dir(&stages).unwrap().next().is_none();
    for _ in 0..200 {
        if is_gone() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(is_gone(), "the stage is thrown away");
}

#[test]
fn a_program_sees_neither_state_nor_other_files_nor_keys() {
    let desk = Desk::new();
    let mut shell = desk.shell();
    prompt(&mut shell, "steal");
    answer(&mut shell);
    let log = desk.home.run(&["log", "--json"]).stdout;
    let acted = log.lines().find(|line| line.contains("acted")).expect("an outcome");
    assert!(acted.contains("end") && acted.contains("No such file"), "{acted}");
    assert!(!acted.contains("confidential") && !acted.contains("SQLite"), "{acted}");
    assert!(!PathBuf::from(desk.home.path("outside.txt.new")).exists());
    prompt(&mut shell, "keys");
    let (name, frame) = question(&mut shell);
    assert!(frame.contains(":keys t"), "{frame}");
    desk.run(&["deny", &name]);
    answer(&mut shell);
}

#[test]
fn a_program_that_wants_a_terminal_is_refused_with_a_hint() {
    let desk = Desk::new();
    let mut shell = desk.shell();
    prompt(&mut shell, "vim");
    let said = answer(&mut shell);
    assert!(said.contains("No terminal."), "{said}");
    let decided = desk.home.run(&["log", "--json"]).stdout;
    assert!(decided.contains("wants a terminal"), "{decided}");
}

#[test]
fn a_killed_daemon_leaves_no_program_and_goes_on_with_the_stage() {
    let mut desk = Desk::new();
    let mut shell = desk.shell();
    prompt(&mut shell, "sleep");
    wait_until("both programs run", || sleepers() == 2);
    desk.daemon.signal("KILL");
    wait_until("no program is left", || sleepers() == 0);
    // The stage has a link, a mode and perhaps an owner that the state folder must not have.
    desk.daemon = desk.home.up(&["--thinker", &desk.script]);
    let mut shell = Shell::attach_behind(&desk.home, "work", 0);
    let (name, frame) = question(&mut shell);
    assert!(frame.contains("link"), "what was changed by then is asked for: {frame}");
    desk.run(&["approve", &name]);
    wait_until("committed", || desk.names() == [".env", "a.txt", "d.txt", "link"]);
}
