//! `bridle ask` against the real daemon: words, streams, approvals, tokens, TLS, and its exit codes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

use bridle_test_support::server_process::ServerProcess;

use crate::harness::{Done, Home};

const RULES: &str = r#"
(rule :when "talk" :stream ("one " "two " "three") :pace 20 :say "one two three")
(rule :when "clean up *"
      :propose ((:target :system :action :forget :session $1 :then-think t)))
(rule :when "clean up *" :result (:action :forget :outcome :done) :say "It is gone.")
(rule :when "slow" :stream ("a" "b") :pace 60000 :say "ab")
(rule :when "fail" :error "the model is out of credit")
(rule :when "fail for now" :error "the model sleeps" :retryable t)
(default :say "hello")
"#;

/// A home with a token, and a daemon that serves HTTP.
struct Place {
    home: Home,
    daemon: ServerProcess,
    token: String,
}

impl Place {
    fn new(more: &[&str]) -> Place {
        let home = Home::new();
        let script = format!("script:{}", home.write("rules.script", RULES));
        let made = home.run(&["token", "create", "--scope", "talk", "--scope", "approve"]);
        assert_eq!(made.code, 0, "{made:?}");
        let token = home.write("token", &made.stdout);
        let args = [&["--http", "127.0.0.1:0", "--thinker", &script], more].concat();
        let daemon = home.up(&args);
        Place { home, daemon, token }
    }

    fn url(&self) -> String {
        format!("http://{}", self.daemon.word("http"))
    }

    fn ask(&self, more: &[&str]) -> Done {
        let url = self.url();
        let args = ["ask", "--engine", &url, "--token-file", &self.token];
        self.home.run(&[&args[..], more].concat())
    }
}

#[test]
fn words_are_printed_whole_and_as_they_come() {
    let place = Place::new(&[]);
    place.ask(&["hi", "there"]).prints("hello\n");
    place.ask(&["talk"]).prints("one two three\n");
    place.ask(&["--no-stream", "talk"]).prints("one two three\n");
    let url = place.url();
    let args = ["ask", "--engine", &url, "--token-file", &place.token, "--session", "desk"];
    place.home.pipe(&args, "talk\n").prints("one two three\n");
    let sessions = place.home.run(&["sessions"]);
    assert!(sessions.stdout.contains("desk"), "{}", sessions.stdout);
}

#[test]
fn programs_get_an_object_for_each_thing_that_the_shell_does() {
    let place = Place::new(&[]);
    let done = place.ask(&["--json", "talk"]);
    assert_eq!(done.code, 0, "{done:?}");
    let lines: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rendered = lines.iter().filter(|line| line["render"]["text"] == "one two three").count();
    assert_eq!(
        (rendered, &lines[lines.len() - 1]["done"]["outcomes"][0]),
        (1, &"completed".into())
    );
}

#[test]
fn the_environment_names_the_engine_and_the_token() {
    let place = Place::new(&[]);
    let token = std::fs::read_to_string(&place.token).unwrap();
    let mut command = place.home.command(&["ask", "hi"]);
    command.env("BRIDLE_ENGINE", place.url()).env("BRIDLE_TOKEN", token.trim());
    crate::harness::finish(&mut command, b"").prints("hello\n");
}

/// The words of one's own daemon, over its socket.
fn ask_own(place: &Place, words: &[&str]) -> Done {
    let mut command = place.home.command(&[&["ask"], words].concat());
    command.env("BRIDLE_HTTP_UNIX", place.home.path("b.http"));
    // A token would make less of the owner than it is.
    command.env("BRIDLE_TOKEN", "bridle_nobody");
    crate::harness::finish(&mut command, b"")
}

#[test]
fn ones_own_daemon_is_asked_as_its_owner() {
    let place = Place::new(&[]);
    ask_own(&place, &["--session", "desk", "hi"]).prints("hello\n");
    ask_own(&place, &["--session", "desk", "talk"]).prints("one two three\n");
    let listed = place.home.run(&["sessions", "--json"]).stdout;
    let row: serde_json::Value = serde_json::from_str(listed.trim_end()).unwrap();
    let owner = row["owner"].as_str().unwrap();
    assert!(owner.starts_with("uid:") && row["session"] == "desk", "{row}");
    // A program that only reaches the port is somebody else.
    let url = place.url();
    let done = place.home.run(&["ask", "--engine", &url, "--session", "desk", "hi"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "hello\n"), "{done:?}");
    let listed = place.home.run(&["sessions", "--json", "--all"]).stdout;
    assert!(listed.lines().count() == 2 && listed.contains("\"owner\":\"local-http:"), "{listed}");
    let unix = format!("unix:{}", place.home.path("b.http"));
    place.home.run(&["ask", "--engine", &unix, "hi"]).prints("hello\n");
    let gone = place.home.run(&["ask", "--engine", "unix:./gone.http", "hi"]);
    assert_eq!(gone.code, 69, "{gone:?}");
    assert!(gone.stderr.contains("cannot connect to `unix:./gone.http`"), "{gone:?}");
    assert!(gone.stderr.contains("bridle up"), "{gone:?}");
}

#[test]
fn the_owner_is_told_why_a_turn_failed_and_a_stranger_is_not() {
    let place = Place::new(&[]);
    let done = ask_own(&place, &["fail"]);
    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{done:?}");
    assert!(done.stderr.contains("upstream_error: the model is out of credit"), "{done:?}");
    let url = place.url();
    let stranger = place.home.run(&["ask", "--engine", &url, "fail"]);
    assert_eq!(stranger.code, 1, "{stranger:?}");
    assert!(!stranger.stderr.contains("credit"), "{stranger:?}");
    let again = ask_own(&place, &["fail for now"]);
    assert!(again.stderr.contains("note: upstream_error: the model sleeps\nretrying in"));
    assert!(!again.stderr.contains("busy"), "{again:?}");
    assert_eq!(again.code, 1, "{again:?}");
}

#[test]
fn a_person_is_told_that_standard_input_is_waited_for() {
    let place = Place::new(&[]);
    let unix = format!("unix:{}", place.home.path("b.http"));
    let done = place.home.at_terminal(&["ask", "--engine", &unix], "hi\n\u{4}");
    assert!(done.stdout.contains("type the prompt, then Ctrl-D"), "{done:?}");
    assert!(done.stdout.contains("hello"), "{done:?}");
    let piped = place.home.pipe(&["ask", "--engine", &unix], "hi\n");
    piped.prints("hello\n");
}

/// `bridle ask --lines`.
struct Driven {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Driven {
    fn start(place: &Place, session: &str) -> Driven {
        let url = place.url();
        let args = ["ask", "--lines", "--engine", &url, "--token-file", &place.token];
        let mut child =
            place.home.command(&[&args[..], &["--session", session]].concat()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Driven { child, stdin, stdout }
    }

    fn says(&mut self, line: &str) -> String {
        writeln!(self.stdin, "{line}").unwrap();
        self.hears()
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

#[test]
fn what_needs_a_yes_is_asked_and_goes_on_with_the_answer() {
    let place = Place::new(&[]);
    for session in ["old", "other"] {
        place.ask(&["--session", session, "hi"]).prints("hello\n");
    }
    let mut shell = Driven::start(&place, "work");
    let question = shell.says("ask \"clean up old\"");
    assert!(question.starts_with("question \"") && question.contains("old"), "{question}");
    assert_eq!(shell.says("choose \"allow_once\""), "show \"It is gone.\"");
    assert_eq!(shell.hears(), "done");
    let question = shell.says("ask \"clean up other\"");
    assert!(question.starts_with("question \""), "{question}");
    let refused = shell.says("choose \"reject_once\"");
    assert!(refused.starts_with("show \"Not done"), "{refused}");
    assert_eq!(shell.hears(), "done");
    drop(shell.stdin);
    assert!(shell.child.wait().unwrap().success());
    let sessions = place.home.run(&["sessions", "--all"]).stdout;
    let is_gone = |line: &str| line.ends_with("forgotten");
    let gone: Vec<&str> = sessions.lines().filter(|line| is_gone(line)).collect();
    assert!(gone.len() == 1 && gone[0].starts_with("old "), "{sessions}");
}

#[test]
fn a_person_at_a_terminal_is_asked_and_only_a_yes_is_one() {
    let place = Place::new(&[]);
    for (session, typed, is_gone) in
        [("one", "", false), ("two", "\n", false), ("three", "yy\n", false), ("four", "y\n", true)]
    {
        place.ask(&["--session", session, "hi"]).prints("hello\n");
        let (url, words) = (place.url(), format!("clean up {session}"));
        let args = ["ask", "--engine", &url, "--token-file", &place.token, "--session", "work"];
        let done = place.home.at_terminal(&[&args[..], &[&words]].concat(), typed);
        let seen = &done.stdout;
        assert!(seen.contains("approve? [y/N"), "{typed:?}: {done:?}");
        assert_eq!(seen.contains("It is gone."), is_gone, "{typed:?}: {seen}");
        let sessions = place.home.run(&["sessions", "--all"]).stdout;
        let line = sessions.lines().find(|line| line.starts_with(&format!("{session} "))).unwrap();
        assert_eq!(line.ends_with("forgotten"), is_gone, "{typed:?}: {sessions}");
    }
}

#[test]
fn where_nobody_can_be_asked_nothing_is_allowed() {
    let place = Place::new(&[]);
    place.ask(&["--session", "old", "hi"]).prints("hello\n");
    let done = place.ask(&["--session", "work", "clean up old"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("work-"), "names the question: {done:?}");
    assert!(!place.home.run(&["sessions", "--all"]).stdout.contains("forgotten"));
}

#[test]
fn actions_come_as_property_lists() {
    let home = Home::new();
    let socket = home.path("b.sock");
    home.write(".config/bridle/config.toml", format!("unix = \"{socket}\"\n"));
    let _daemon = home.up(&["--tcp", "off"]);
    let done = home.pipe(&["ask", "--plist"], "help\n");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.starts_with("(:") && done.stdout.contains("I am bridle"), "{done:?}");
    // Every form is whole: the frame encoder reads them one by one.
    let read = home.pipe(&["frame", "encode"], &done.stdout);
    assert_eq!((read.code, read.stderr.as_str()), (0, ""));
}

#[test]
fn every_trouble_has_its_exit_code() {
    let place = Place::new(&[]);
    let code = |args: &[&str]| {
        let done = place.home.run(args);
        assert!(done.stderr.starts_with("error: ") && done.stdout.is_empty(), "{args:?}: {done:?}");
        done.code
    };
    let url = place.url();
    let bad = place.home.write("bad", "bridle_nobody");
    assert_eq!(code(&["ask", "--engine", &url, "--token-file", &bad, "hi"]), 77);
    assert_eq!(code(&["ask", "--engine", "http://127.0.0.1:1", "hi"]), 69);
    assert_eq!(code(&["ask", "--engine", &url, "--token-file", "/nowhere", "hi"]), 66);
    assert_eq!(code(&["ask", "--engine", "gopher://x", "hi"]), 2);
    assert_eq!(code(&["ask", "--engine", &url]), 2);
    assert_eq!(
        code(&["ask", "--engine", "http://192.0.2.1", "--token-file", &place.token, "hi"]),
        77
    );
    let tcp = format!("http://{}", place.daemon.tcp());
    assert_eq!(code(&["ask", "--engine", &tcp, "--timeout", "5", "hi"]), 76);
    assert_eq!(code(&["ask", "hi"]), 69, "no daemon where the settings say");
    let late = place.ask(&["--timeout", "0.5", "slow"]);
    assert_eq!(late.code, 75, "{late:?}");
}

#[test]
fn what_answers_and_is_no_engine_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4_096];
        let _ = stream.read(&mut head).unwrap();
        let page = "<html>\u{1b}[2Jhello</html>";
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len()).unwrap();
    });
    let done = crate::harness::pipe(&["ask", "--engine", &url, "hi"], "");
    server.join().unwrap();
    assert_eq!(done.code, 76, "{done:?}");
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
}

#[test]
fn certificates_are_checked() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/tests/data/tls");
    let read = |name: &str| std::fs::read(data.join(name)).unwrap();
    let files = Home::new();
    let [cert, key, ca] =
        ["server.pem", "server.key", "ca.pem"].map(|name| files.write(name, read(name)));
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let place = Place::new(&["--tls-cert", &cert, "--tls-key", &key]);
    let port = place.daemon.word("http").rsplit(':').next().unwrap().to_owned();
    let url = format!("https://localhost:{port}");
    let ask = |more: &[&str]| {
        let args = ["ask", "--engine", &url, "--token-file", &place.token];
        place.home.run(&[&args[..], more, &["hi"]].concat())
    };
    ask(&["--ca", &ca]).prints("hello\n");
    let unknown = ask(&["--ca", &files.write("other.pem", "no certificate")]);
    assert_eq!(unknown.code, 66, "{unknown:?}");
    let client = files.write("client.pem", read("client.pem"));
    let stranger = ask(&["--ca", &client]);
    assert_eq!(stranger.code, 69, "{stranger:?}");
    assert!(stranger.stderr.contains("certificate"), "{stranger:?}");
}
