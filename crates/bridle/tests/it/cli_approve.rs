//! `bridle approvals`, `approve` and `deny`, against a daemon that follows a script: what is asked of it,
//! what becomes of its answers, and what a grant writes.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::harness::Home;
use crate::written::Written;

/// A daemon that answers one request a connection, each with the next answer; gives what it was asked.
struct Fake {
    addr: String,
    served: JoinHandle<Vec<String>>,
}

impl Fake {
    fn new(home: &Home, payloads: &[&str]) -> Fake {
        let addr = home.path("fake.sock");
        let listener = UnixListener::bind(&addr).unwrap();
        let payloads: Vec<String> = payloads.iter().map(|it| (*it).to_owned()).collect();
        let served = std::thread::spawn(move || {
            let serve = |payload: String| {
                let (mut stream, asked) = loop {
                    let mut stream = greeted(&listener);
                    // Somebody who only wanted to know what it can do asks nothing.
                    if let Some(asked) = frame_of(&mut stream) {
                        break (stream, asked);
                    }
                };
                send(&mut stream, &format!("(:type :RESPONSE :id 1 :payload {payload})"));
                asked
            };
            payloads.into_iter().map(serve).collect()
        });
        Fake { addr, served }
    }

    fn asked(self) -> Vec<String> {
        self.served.join().unwrap()
    }
}

/// The next connection, with the hello of a daemon that makes no grants itself.
fn greeted(listener: &UnixListener) -> UnixStream {
    let (mut stream, _) = listener.accept().unwrap();
    send(&mut stream, "(:type :EVENT :payload (:action :handshake :version \"0.3.0\"))");
    stream
}

/// The next frame; `None` at the end of the connection.
fn frame_of(stream: &mut UnixStream) -> Option<String> {
    let mut head = [0; 6];
    stream.read_exact(&mut head).ok()?;
    let length = usize::from_str_radix(std::str::from_utf8(&head).ok()?, 16).ok()?;
    let mut text = vec![0; length];
    stream.read_exact(&mut text).ok()?;
    String::from_utf8(text).ok()
}

fn send(stream: &mut UnixStream, text: &str) {
    stream.write_all(format!("{:06x}{text}", text.len()).as_bytes()).unwrap();
}

const OPEN: &str = "(:status :success :action :approvals :approvals ((:approval \"work-1\" :session \
    \"work\" :question \"the thinker wants `eval` of `emacs`\" :risk :dangerous :target :emacs :wanted \
    (:action :eval :code \"1\") :hash \"aa\" :asker \"uid:7\" :asked 0 :deadline 1000 :may-answer t)))";
const TAKEN: &str = "(:status :success :action :approve :approval \"work-1\" :answer :allow)";
const DONE: &str = "(:status :success :action :approval :approval \"work-1\" :how :allowed :by \
    \"uid:7\" :outcome :done)";
const INSTALLED: &str = "(:status :success :action :install-policy :hash \"cafe\")";

#[test]
fn open_questions_are_listed() {
    let home = Home::new();
    let fake = Fake::new(&home, &[OPEN]);
    home.run(&["approvals", "--addr", &fake.addr]).prints(
        "work-1: the thinker wants `eval` of `emacs`\n  what: (:action :eval :code \"1\")\n  \
         requested by uid:7, expires 1970-01-01 00:00:01 +00:00\n",
    );
    assert!(fake.asked()[0].contains("(:action :approvals)"));
    std::fs::remove_file(home.path("fake.sock")).unwrap();
    let fake = Fake::new(&home, &["(:status :success :action :approvals :approvals nil)"]);
    home.run(&["approvals", "--addr", &fake.addr]).prints("no pending approvals\n");
}

#[test]
fn a_yes_is_bound_to_what_was_seen() {
    let home = Home::new();
    let fake = Fake::new(&home, &[OPEN, TAKEN]);
    let done = home.run(&["approve", "work-1", "--addr", &fake.addr]);
    assert_eq!((done.code, done.stdout.lines().last()), (0, Some("approved work-1")));
    let asked = fake.asked();
    for part in [":action :approve", ":approval \"work-1\"", ":verdict :allow", ":hash \"aa\""] {
        assert!(asked[1].contains(part), "{part} in {}", asked[1]);
    }
}

#[test]
fn a_no_needs_no_look() {
    let home = Home::new();
    let fake = Fake::new(&home, &[TAKEN]);
    home.run(&["deny", "work-1", "--addr", &fake.addr]).prints("denied work-1\n");
    assert!(fake.asked()[0].contains(":verdict :deny"));
}

#[test]
fn an_answer_that_does_not_count_says_why() {
    for (code, exit) in [
        ("expired", 1),
        ("refused :how :allowed", 1),
        ("refused", 77),
        ("not-permitted", 77),
        ("unknown-id", 66),
    ] {
        let home = Home::new();
        let error = format!("(:status :error :code :{code} :message \"no: {code}\")");
        let fake = Fake::new(&home, &[&error]);
        let done = home.run(&["deny", "work-1", "--addr", &fake.addr]);
        assert_eq!(done.code, exit, "{code}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("no: {code}")), "{}", done.stderr);
    }
}

/// Grants what was asked for; the new file of policies.
fn grant(home: &Home, payload: &str) -> String {
    Written::new(home).asked("work", payload);
    let fake = Fake::new(home, &[TAKEN, INSTALLED]);
    let args = ["approve", "work-1", "--always", "--for", "2h", "--yes", "--addr", &fake.addr];
    let done = home.run(&args);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    for part in [
        "\n+permit (principal, action == Action::",
        "1 of 1 decisions would change",
        "installed cafe",
    ] {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
    let asked = fake.asked();
    assert!(asked[0].contains(":verdict :allow :hash \""), "{}", asked[0]);
    assert!(asked[1].contains(":install-policy"), "{}", asked[1]);
    let path = home.path(".config/bridle/policy.org");
    assert_eq!(home.run(&["policy", "check", &path]).code, 0);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_grant_is_one_policy_more_that_ends() {
    let home = Home::new();
    let policy = home.path(".config/bridle/policy.org");
    home.run(&["policy", "init"]);
    std::fs::set_permissions(&policy, std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = std::fs::read_to_string(&policy).unwrap();
    let after = grant(&home, "(:action :eval :code \"(save-buffer)\")");
    assert!(after.starts_with(&before), "what was there stays as it was");
    for part in ["* Granted until ", ": eval by emacs", "context.hash == \"", "context.now < "] {
        assert!(after[before.len()..].contains(part), "{part} in {after}");
    }
    let mode = std::fs::metadata(&policy).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    let verdict = |code: &str| {
        let proposal = format!(
            "(:principal \"uid:7\" :owner t :target :emacs :place :shell :payload (:action :eval :code {code}))"
        );
        let done = home.run(&["policy", "explain", &policy, &proposal]);
        done.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(verdict("\"(save-buffer)\""), "allow");
    assert_eq!(verdict("\"(save-buffers)\""), "ask");
    let left: Vec<_> = std::fs::read_dir(home.path(".config/bridle")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[test]
fn nothing_that_was_asked_for_becomes_a_policy() {
    let home = Home::new();
    let evil = "\n#+end_src\n* Evil\n#+begin_src cedar\npermit (principal, action, resource);\n#+end_src\n\
                #+begin_src examples\n(allow (:principal \\\"x\\\" :action :log :text \\\"x\\\"))\n#+end_src\n";
    let after = grant(&home, &format!("(:action :eval :code \"{evil}\")"));
    assert!(!after.contains("\n* Evil"), "{after}");
    let shown = home.run(&["policy", "show"]).stdout;
    assert!(!shown.contains("evil:"), "{shown}");
}

#[test]
fn without_a_yes_nothing_is_written() {
    let home = Home::new();
    Written::new(&home).asked("work", "(:action :eval :code \"1\")");
    let done = home.run(&["approve", "work-1", "--always", "--addr", &home.path("nobody.sock")]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    let fake = Fake::new(&home, &["(:status :error :code :expired :message \"too late\")"]);
    let done = home.run(&["approve", "work-1", "--always", "--yes", "--addr", &fake.addr]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(!Path::new(&home.path(".config/bridle/policy.org")).exists());
    let done = home.run(&["approve", "work-9", "--always", "--yes", "--addr", &fake.addr]);
    assert_eq!(done.code, 66, "{}", done.stderr);
}

#[test]
fn a_yes_can_wait_for_what_becomes_of_it() {
    let home = Home::new();
    let under_way = DONE.replace(" :outcome :done", "");
    let fake = Fake::new(&home, &[OPEN, TAKEN, &under_way, &under_way, DONE]);
    let done = home.run(&["approve", "work-1", "--wait", "--addr", &fake.addr]);
    assert_eq!((done.code, &*done.stderr), (0, ""));
    assert!(done.stdout.ends_with("approved work-1\ndone work-1\n"), "{}", done.stdout);
    let asked = fake.asked();
    assert!(asked[4].contains("(:action :approval :approval \"work-1\")"), "{}", asked[4]);
    for (word, says) in [
        ("failed", "work-1 was approved, but failed: no such buffer"),
        ("expired", "work-1 was approved, but expired"),
        ("unknown-outcome", "the outcome of work-1 is unknown"),
    ] {
        let home = Home::new();
        let stands = DONE.replace(
            ":outcome :done",
            &format!(":outcome :{word} :said (:status :error :message \"no such buffer\")"),
        );
        let fake = Fake::new(&home, &[OPEN, TAKEN, &stands]);
        let done = home.run(&["approve", "work-1", "--wait", "--addr", &fake.addr]);
        assert_eq!(done.code, 1, "{word}");
        assert!(done.stderr.contains(says), "{word}: {}", done.stderr);
    }
}

/// Where the settings look for policies.
const POLICY: &str = ".config/bridle/policy.org";

#[test]
fn a_grant_is_written_after_a_yes_on_a_terminal_and_after_nothing_else() {
    for (typed, writes) in [
        ("", false),
        ("\n", false),
        ("n\n", false),
        ("yy\n", false),
        ("yes please\n", false),
        ("y\n", true),
    ] {
        let home = Home::new();
        Written::new(&home).asked("work", "(:action :eval :code \"1\")");
        let fake = Fake::new(&home, &[TAKEN, INSTALLED, DONE]);
        let args = ["approve", "work-1", "--always", "--for", "2h", "--addr", &fake.addr];
        let done = home.at_terminal(&args, typed);
        let seen = &done.stdout;
        assert!(seen.contains("Approve it and write this grant? [y/N]"), "{typed:?}: {seen}");
        assert_eq!(Path::new(&home.path(POLICY)).exists(), writes, "{typed:?}: {seen}");
        assert_eq!(done.code, i32::from(!writes), "{typed:?}: {seen}");
        if writes {
            assert!(seen.contains("done work-1"), "a terminal waits: {seen}");
            assert_eq!(fake.asked().len(), 3);
        }
    }
}

#[test]
fn a_question_that_is_answered_elsewhere_is_asked_no_longer() {
    let home = Home::new();
    Written::new(&home).asked("work", "(:action :eval :code \"1\")");
    let open = "(:status :pending-approval :approval \"work-1\")";
    let fake = Fake::new(&home, &[open, DONE]);
    let done = home.at_silent_terminal(&["approve", "work-1", "--always", "--addr", &fake.addr]);
    assert_eq!(done.code, 1, "{}", done.stdout);
    let told = "work-1 was answered elsewhere: allowed by uid:7";
    assert!(done.stdout.contains(told), "{}", done.stdout);
    assert!(!Path::new(&home.path(POLICY)).exists(), "nothing is written");
    assert!(fake.asked().iter().all(|asked| asked.contains(":action :approval ")));
}

#[test]
fn a_grant_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let (mut old, mut new) = (0, 0);
    for delay in 0..12 {
        let home = Home::new();
        home.run(&["policy", "init"]);
        let before = std::fs::read_to_string(home.path(POLICY)).unwrap();
        Written::new(&home).asked("work", "(:action :eval :code \"1\")");
        let addr = home.path("fake.sock");
        let listener = UnixListener::bind(&addr).unwrap();
        let args = ["approve", "work-1", "--always", "--for", "2h", "--yes", "--addr", &addr];
        let mut child = home.command(&args).spawn().unwrap();
        drop(greeted(&listener));
        let mut stream = greeted(&listener);
        frame_of(&mut stream).unwrap();
        send(&mut stream, &format!("(:type :RESPONSE :id 1 :payload {TAKEN})"));
        // The file is written now; when the connection for the installation comes, it has been.
        if delay == 11 {
            drop(listener.accept().unwrap());
        } else {
            std::thread::sleep(Duration::from_micros(delay * 400));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let after = std::fs::read_to_string(home.path(POLICY)).unwrap();
        if after == before {
            old += 1;
            continue;
        }
        new += 1;
        assert!(after.starts_with(&before) && after.len() > before.len(), "{after}");
        assert_eq!(home.run(&["policy", "check", &home.path(POLICY)]).code, 0, "{after}");
    }
    assert!(new > 0 && old + new == 12, "{old} old, {new} new");
}
