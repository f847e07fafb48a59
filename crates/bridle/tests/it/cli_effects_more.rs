//! What a session changed, taken back as a whole, by turn and by file; grants for hosts and commands; commits on a ref
//! of git; files of bridle itself; a restart. All against a real daemon in a real jail.

use std::fs;
use std::path::PathBuf;

use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Home, Shell};

const SCRIPT: &str = r#"
(rule :when "one" :propose ((:target :file :action :write :path "a.txt" :text "1\n" :then-think t)
                            (:target :file :action :write :path "b.txt" :text "1\n" :then-think t)))
(rule :when "two" :propose ((:target :file :action :patch :path "a.txt" :old "1" :new "2" :then-think t)))
(rule :when "outside" :propose ((:target :file :action :write :path "OUTSIDE" :text "new\n" :then-think t)))
(rule :when "notice" :propose ((:target :notify :action :notify :title "Tea" :text "is ready" :then-think t)))
(rule :when "policy" :propose ((:target :system :action :patch :path "POLICY" :old "* Harmless things" :new "* Quite harmless things" :then-think t)))
(rule :when "faulty" :propose ((:target :system :action :write :path "POLICY" :text "* Bad\n#+begin_src cedar\npermit (\n#+end_src\n" :then-think t)))
(rule :when "state" :propose ((:target :system :action :write :path "STATE" :text "x" :then-think t)))
(rule :when "settings" :propose ((:target :system :action :write :path "SETTINGS" :text "no-such-setting = 1\n" :then-think t)))
(rule :when "restart" :propose ((:target :system :action :restart :then-think t)))
(rule :when "fetch" :propose ((:target :exec :action :exec :script "git fetch; true" :network ("registry.example") :then-think t)))
(rule :when "other" :propose ((:target :exec :action :exec :script "LANG=C git fetch --all; true" :network ("registry.example") :then-think t)))
(rule :when "push" :propose ((:target :exec :action :exec :script "git push; true" :network ("registry.example") :then-think t)))
(rule :when "*" :result t :say "Done.")
(rule :when "*" :rejected t :say "Refused: $1")
(default :say "What?")
"#;

struct Desk {
    home: Home,
    project: PathBuf,
    daemon: ServerProcess,
}

impl Desk {
    fn new(flags: &[&str]) -> Desk {
        let home = Home::new();
        home.write("p/kept.txt", "kept\n");
        home.write("outside.txt", "old\n");
        let policy = home.path(".config/bridle/policy.org");
        // Lisp has no escape for a line end.
        let script = SCRIPT
            .replace("\\n", "\n")
            .replace("OUTSIDE", &home.path("outside.txt"))
            .replace("STATE", &home.path(".local/state/bridle/effects/projects"))
            .replace("SETTINGS", &home.path(".config/bridle/config.toml"))
            .replace("POLICY", &policy);
        let script = format!("script:{}", home.write("rules.script", script));
        let done = home.run(&["policy", "init"]);
        assert_eq!(done.code, 0, "{done:?}");
        let daemon = home.up(&[&["--thinker", &script], flags].concat());
        let desk = Desk { project: PathBuf::from(home.path("p")), home, daemon };
        let project = desk.home.path("p");
        desk.run(&["project", &project, "--session", "work"]);
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

    fn fails(&self, args: &[&str]) -> String {
        let socket = self.home.path("b.sock");
        let all: Vec<&str> = args.iter().copied().chain(["--addr", &socket]).collect();
        let done = self.home.run(&all);
        assert_ne!(done.code, 0, "{args:?}: {done:?}");
        done.stderr
    }

    fn shell(&self) -> Shell {
        Shell::attach(&self.home, "work")
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project.join(name)).ok()
    }

    /// Records of the commits, the oldest first.
    fn commits(&self) -> Vec<String> {
        let effects = self.home.run(&["effects", "--json"]).stdout;
        let lines = effects.lines().filter(|line| line.contains("\"commit\""));
        let record = |line: &str| {
            let rest = line.split("\"record\":").nth(1).unwrap().trim_start();
            rest.chars().take_while(char::is_ascii_digit).collect::<String>()
        };
        let mut all: Vec<String> = lines.map(record).collect();
        all.sort_by_key(|it| it.parse::<u64>().unwrap());
        all.dedup();
        all
    }
}

/// The answer to a prompt, and the questions on the way, which are all answered so.
fn say(desk: &Desk, shell: &mut Shell, text: &str, verdict: &[&str]) -> (String, Vec<String>) {
    shell.send(&format!("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"{text}\"))"));
    let mut asked = Vec::new();
    loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            let name = frame.split('"').nth(1).unwrap().to_owned();
            asked.push(frame);
            let words: Vec<&str> = verdict[..1]
                .iter()
                .copied()
                .chain([&*name])
                .chain(verdict[1..].iter().copied())
                .collect();
            desk.run(&words);
        } else if frame.starts_with("(:type :RESPONSE :id 1 ") {
            return (frame, asked);
        }
    }
}

#[test]
fn a_session_a_turn_and_a_file_are_taken_back() {
    let desk = Desk::new(&[]);
    let mut shell = desk.shell();
    say(&desk, &mut shell, "one", &["approve"]);
    say(&desk, &mut shell, "two", &["approve"]);
    assert_eq!(desk.text("a.txt").as_deref(), Some("2\n"));
    let commits = desk.commits();
    assert_eq!(commits.len(), 2, "{commits:?}");
    let refused = desk.fails(&["undo", &commits[0], "--yes"]);
    assert!(refused.contains("a.txt"), "the second commit stands on it: {refused}");
    desk.run(&["undo", &commits[0], "b.txt", "--yes"]);
    assert_eq!((desk.text("b.txt"), desk.text("a.txt").as_deref()), (None, Some("2\n")));
    let shown = desk.run(&["undo", "--session", "work", "--turn", "2", "--dry-run"]);
    assert!(shown.contains("-1\n+2\n") && !shown.contains("b.txt"), "{shown}");
    desk.run(&["undo", "--session", "work", "--turn", "2", "--yes"]);
    assert_eq!(desk.text("a.txt").as_deref(), Some("1\n"));
    // Of the whole session only the file is left that was not taken back by itself.
    let refused = desk.fails(&["undo", "--session", "work", "--yes"]);
    assert!(refused.contains("b.txt"), "somebody changed it since: {refused}");
    fs::write(desk.project.join("b.txt"), "1\n").unwrap();
    desk.run(&["undo", "--session", "work", "--yes"]);
    assert_eq!((desk.text("a.txt"), desk.text("b.txt")), (None, None));
    assert_eq!(desk.text("kept.txt").as_deref(), Some("kept\n"));
    let nothing = desk.run(&["undo", "--session", "work", "--yes"]);
    assert_eq!(nothing, "nothing to undo: no file would change\n");
}

#[test]
fn a_file_outside_of_the_project_is_asked_for_with_its_diff_and_taken_back() {
    let desk = Desk::new(&[]);
    let mut shell = desk.shell();
    let (_, asked) = say(&desk, &mut shell, "outside", &["approve"]);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains("-old") && asked[0].contains("bridle undo"), "{}", asked[0]);
    let read = || fs::read_to_string(desk.home.path("outside.txt")).unwrap();
    assert_eq!(read(), "new\n");
    let effects = desk.home.run(&["effects", "--json"]).stdout;
    let line = effects.lines().find(|line| line.contains("outside.txt")).unwrap();
    let record = line.split("\"record\":").nth(1).unwrap().trim_start();
    let record: String = record.chars().take_while(char::is_ascii_digit).collect();
    desk.run(&["undo", &record, "--yes"]);
    assert_eq!(read(), "old\n");
}

#[test]
fn a_command_is_granted_for_a_project_and_the_next_is_asked() {
    let desk = Desk::new(&[]);
    let mut shell = desk.shell();
    let (_, asked) = say(&desk, &mut shell, "fetch", &["deny"]);
    assert!(
        asked[0].contains(":scope :command") && asked[0].contains(":scope :host"),
        "{}",
        asked[0]
    );
    let always = ["approve", "--always", "--scope", "command", "--yes"];
    let (said, asked) = say(&desk, &mut shell, "fetch", &always);
    assert!(said.contains("Done.") && asked.len() == 1, "{said}");
    let listed = desk.run(&["grants"]);
    assert!(listed.contains("git fetch") && listed.contains("registry.example"), "{listed}");
    let (said, asked) = say(&desk, &mut shell, "fetch", &["deny"]);
    assert!(said.contains("Done.") && asked.is_empty(), "granted: {said} {asked:?}");
    let (_, asked) = say(&desk, &mut shell, "push", &["deny"]);
    assert_eq!(asked.len(), 1, "another command");
    let (_, asked) =
        say(&desk, &mut shell, "one", &["approve", "--always", "--scope", "folder", "--yes"]);
    assert_eq!(asked.len(), 1);
    let (_, asked) = say(&desk, &mut shell, "two", &["deny"]);
    assert!(asked.is_empty(), "commits of the project are granted: {asked:?}");
    assert_eq!(desk.text("a.txt").as_deref(), Some("2\n"));
}

#[test]
fn changes_are_committed_on_a_ref_of_git_where_it_is_wanted() {
    let desk = Desk::new(&[]);
    let git = |words: &[&str]| {
        let user = ["-c", "user.name=u", "-c", "user.email=u@localhost"];
        let mut git = std::process::Command::new("git");
        let done = git.arg("-C").arg(&desk.project).args(user).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let told =
        desk.run(&["project", &desk.home.path("p"), "--session", "work", "--git", "on", "--json"]);
    assert!(told.contains("\"git\":true"), "{told}");
    let before = git(&["rev-parse", "HEAD"]);
    let mut shell = desk.shell();
    say(&desk, &mut shell, "one", &["approve"]);
    assert_eq!(git(&["show", "refs/bridle/agent:a.txt"]), "1\n");
    assert_eq!(git(&["rev-parse", "HEAD"]), before);
    assert_eq!(git(&["ls-files"]), "kept.txt\n", "the index is the user's");
    desk.run(&["undo", &desk.commits()[0], "--yes"]);
    assert_eq!(git(&["ls-tree", "-r", "--name-only", "refs/bridle/agent"]), "kept.txt\n");
}

#[test]
fn files_of_bridle_are_changed_by_the_daemon_after_a_look() {
    let desk = Desk::new(&[]);
    let mut shell = desk.shell();
    let policy = desk.home.path(".config/bridle/policy.org");
    let before = fs::read_to_string(&policy).unwrap();
    for (prompt, reason) in [
        ("faulty", "the policies have errors"),
        ("settings", "the settings have errors"),
        ("state", "is neither the policy file"),
    ] {
        let (said, asked) = say(&desk, &mut shell, prompt, &["approve"]);
        assert!(said.contains("Refused") && asked.is_empty(), "{prompt}: {said} {asked:?}");
        let log = desk.home.run(&["log", "--json"]).stdout;
        assert!(log.contains(reason), "{prompt}: no {reason}");
    }
    say(&desk, &mut shell, "policy", &["deny"]);
    assert_eq!(fs::read_to_string(&policy).unwrap(), before);
    let (said, asked) = say(&desk, &mut shell, "policy", &["approve"]);
    assert!(said.contains("Done."), "{said}");
    assert!(asked[0].contains("+* Quite harmless things"), "{}", asked[0]);
    assert!(fs::read_to_string(&policy).unwrap().contains("* Quite harmless things"));
    let log = desk.home.run(&["log", "--json"]).stdout;
    assert!(log.contains("installed"), "the new policies hold at once");
}

#[test]
fn a_restart_tells_its_outcome_after_it() {
    let mut desk = Desk::new(&[]);
    let mut shell = desk.shell();
    shell.send("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"restart\"))");
    let name = loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            break frame.split('"').nth(1).unwrap().to_owned();
        }
    };
    let process = desk.daemon.child.id();
    desk.run(&["approve", &name, "--no-wait"]);
    desk.daemon.wait_ready_again();
    let mut shell = Shell::attach_behind(&desk.home, "work", 0);
    loop {
        let frame = shell.receive();
        if frame.contains("Done.") {
            break;
        }
    }
    let log = desk.home.run(&["log", "--json"]).stdout;
    assert!(log.contains("restarted"), "the outcome is in the record");
    assert_eq!(desk.daemon.child.id(), process, "the same process for whoever watches it");
}

#[test]
fn a_notice_is_shown_on_the_desktop_and_in_the_shell() {
    let program = Home::new();
    let out = program.path("out");
    let notify = program.write("notify", format!("#!/bin/sh\nprintf '%s|' \"$@\" > '{out}'\n"));
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&notify, fs::Permissions::from_mode(0o755)).unwrap();
    let desk = Desk::new(&["--notify", &notify]);
    let mut shell = desk.shell();
    shell.send("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"notice\"))");
    let mut was_shown = false;
    loop {
        let frame = shell.receive();
        was_shown |= frame.contains(":channel :notice") && frame.contains("Tea: is ready");
        if frame.starts_with("(:type :RESPONSE :id 1 ") {
            assert!(frame.contains("Done."), "{frame}");
            break;
        }
    }
    assert!(was_shown, "in the shell");
    assert_eq!(fs::read_to_string(&out).unwrap(), "--|Tea|is ready|");
}
