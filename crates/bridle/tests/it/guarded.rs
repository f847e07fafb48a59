//! The guard of a real daemon, as its owner meets it: policies that change while it runs, and a grant
//! that holds for one thing and for a time.

use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::path::Path;
use std::process::ChildStderr;

use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Done, Home, Shell};

/// Where the settings look for policies.
const POLICY: &str = ".config/bridle/policy.org";

/// What is granted.
const SAVE: &str = "(save-buffer)";

/// What the session made of a request.
#[derive(Debug, PartialEq, Eq)]
enum Met {
    Done,
    /// Somebody is asked; the name of the question.
    Asked(String),
    Refused,
}

/// A shell that runs code when it is asked to, and asks for it as well.
struct Editor {
    shell: Shell,
    requests: u32,
}

impl Editor {
    fn attach(home: &Home) -> Editor {
        Editor { shell: Shell::attach(home, "work"), requests: 0 }
    }

    /// Asks for some code to be run; runs it if that is permitted.
    fn wants(&mut self, code: &str) -> Met {
        self.requests += 1;
        let id = self.requests;
        self.shell.send(&format!(
            "(:type :REQUEST :id {id} :target :test :payload (:action :eval :code \"{code}\"))"
        ));
        let met = self.meets();
        if met == Met::Done {
            let answer = self.response(&format!(":id {id} "));
            assert!(answer.contains(":outcome :done"), "{answer}");
        }
        met
    }

    /// What comes next of a request, a question or an error.
    fn meets(&mut self) -> Met {
        loop {
            let frame = self.shell.receive();
            if frame.contains(":status :error") {
                assert!(frame.contains(":code :refused"), "{frame}");
                return Met::Refused;
            }
            let Some(rest) = frame.strip_prefix("(:type :REQUEST :id \"") else { continue };
            let name = rest.split('"').next().unwrap().to_owned();
            if frame.contains(":target :approval ") {
                return Met::Asked(name);
            }
            self.shell
                .send(&format!("(:type :RESPONSE :id \"{name}\" :payload (:status :success))"));
            return Met::Done;
        }
    }

    /// Asks for some code to be run, which needs a yes; gives the name of the question.
    fn is_asked(&mut self, code: &str) -> String {
        match self.wants(code) {
            Met::Asked(name) => name,
            other => panic!("{other:?}"),
        }
    }

    /// Answers no, and waits until that holds.
    fn denies(&mut self, question: &str) {
        self.shell.send(&format!("(:type :RESPONSE :id \"{question}\" :payload (:verdict :deny))"));
        let request = self.requests;
        assert!(self.response(&format!(":id {request} ")).contains(":outcome :denied"));
    }

    fn response(&mut self, with: &str) -> String {
        let start = format!("(:type :RESPONSE {with}");
        loop {
            let frame = self.shell.receive();
            if frame.starts_with(&start) {
                return frame;
            }
        }
    }
}

/// The log of a daemon, line by line.
struct Log(Lines<BufReader<ChildStderr>>);

impl Log {
    fn of(daemon: &mut ServerProcess) -> Log {
        Log(BufReader::new(daemon.child.stderr.take().unwrap()).lines())
    }

    /// The next line that says this.
    fn line(&mut self, with: &str) -> String {
        self.0.by_ref().map(Result::unwrap).find(|line| line.contains(with)).unwrap()
    }
}

/// A file of policies: everything is permitted, and then this.
fn policies(more: &str, example: &str) -> String {
    format!(
        "* All\n#+begin_src cedar\npermit (principal, action, resource);\n{more}\n#+end_src\n\
         #+begin_src examples\n({example} (:principal \"owner\" :target :test :action :eval :code \
         \"1\"))\n#+end_src\n"
    )
}

/// The policies that hold, and what is wrong with the file, as the health check says.
fn held(home: &Home) -> (String, Option<String>) {
    let done = home.run(&["health", "--addr", &home.path("b.sock"), "--detail", "--json"]);
    let health: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let text = |key: &str| health["detail"][key].as_str().map(str::to_owned);
    (text("policy").unwrap(), text("policy-fault"))
}

#[test]
fn a_hangup_installs_the_file_and_a_bad_file_changes_nothing() {
    let home = Home::new();
    let mut daemon = home.up(&["--log", "info"]);
    let mut log = Log::of(&mut daemon);
    let mut editor = Editor::attach(&home);
    let question = editor.is_asked("1");
    editor.denies(&question);
    let (built_in, fault) = held(&home);
    assert_eq!(fault, None);

    home.write(POLICY, policies("", "allow"));
    let question = editor.is_asked("1");
    editor.denies(&question);
    daemon.signal("HUP");
    log.line("policies installed");
    let (all, fault) = held(&home);
    assert!(all != built_in && fault.is_none(), "{all} {fault:?}");
    assert_eq!(editor.wants("1"), Met::Done);

    let forbid = "forbid (principal, action == Action::\"eval\", resource);";
    home.write(POLICY, policies(forbid, "allow"));
    daemon.signal("HUP");
    let warning = log.line("the policies are not installed");
    assert!(warning.contains("WARN") && warning.contains("line "), "{warning}");
    let (still, fault) = held(&home);
    assert_eq!(still, all);
    assert!(fault.as_ref().is_some_and(|fault| fault.contains("policy.org")), "{fault:?}");
    assert_eq!(editor.wants("1"), Met::Done, "what held goes on to hold");

    home.write(POLICY, policies(forbid, "refuse"));
    daemon.signal("HUP");
    log.line("policies installed");
    assert_eq!(editor.wants("1"), Met::Refused);
    assert_eq!(held(&home).1, None);
}

/// Runs `bridle approve` against the daemon of this home.
fn approve(home: &Home, question: &str, more: &[&str]) -> Done {
    let addr = home.path("b.sock");
    let args = ["approve", question, "--always", "--for", "1h", "--addr", &addr];
    home.run(&[&args[..], more].concat())
}

/// Ends the grant in the file: its time, there and in its examples, is long over.
fn end_grant(home: &Home) {
    let text = std::fs::read_to_string(home.path(POLICY)).unwrap();
    let until = text.rsplit("context.now < ").next().unwrap().split_whitespace().next().unwrap();
    let before = until.parse::<i64>().unwrap() - 1;
    let over = text.replace(&format!(":now {before} "), ":now 1 ");
    let over = over.replace(&format!(":now {until} "), ":now 2 ");
    home.write(POLICY, over.replace(&format!("context.now < {until}"), "context.now < 2"));
}

#[test]
fn a_grant_is_for_one_thing_and_for_a_time() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let mut editor = Editor::attach(&home);
    let question = editor.is_asked(SAVE);

    let done = approve(&home, &question, &[]);
    assert_eq!(done.code, 2, "nobody confirms it: {}", done.stderr);
    for part in
        ["\n+permit (principal, action == Action::\"eval\"", "1 of 1 decisions would change"]
    {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
    assert!(!Path::new(&home.path(POLICY)).exists());
    let open = home.run(&["approvals", "--addr", &home.path("b.sock")]);
    assert!(open.stdout.starts_with(&format!("{question}: ")), "{}", open.stdout);

    let shown = done.stdout;
    let done = approve(&home, &question, &["--yes"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let parts = [&*format!("approved {question}\n"), "wrote ", "installed "];
    let places = parts.map(|part| done.stdout.find(part).unwrap());
    assert!(places.is_sorted() && done.stdout.contains("\n+permit ("), "{}", done.stdout);
    assert_eq!(shown.matches("\n+").count(), done.stdout.matches("\n+").count());
    assert_eq!(editor.meets(), Met::Done, "the yes itself");

    assert_eq!(editor.wants(SAVE), Met::Done, "no question");
    let other = editor.is_asked("(save-buffers-kill-emacs)");
    editor.denies(&other);
    assert_eq!(editor.wants(SAVE), Met::Done, "a no to something else takes nothing back");

    end_grant(&home);
    let done = home.run(&["policy", "install", "--addr", &home.path("b.sock")]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let again = editor.is_asked(SAVE);
    editor.denies(&again);
}

#[test]
fn whoever_says_yes_learns_what_became_of_it() {
    let home = Home::new();
    let _daemon = home.up(&[]);
    let mut editor = Editor::attach(&home);
    let question = editor.is_asked(SAVE);
    let addr = home.path("b.sock");
    let args = ["approve", &*question, "--wait", "--addr", &addr];
    let mut waits = home.command(&args).spawn().unwrap();
    assert_eq!(editor.meets(), Met::Done);
    let mut said = String::new();
    waits.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(waits.wait().unwrap().success(), "{said}");
    assert!(said.ends_with(&format!("approved {question}\ndone {question}\n")), "{said}");
}
