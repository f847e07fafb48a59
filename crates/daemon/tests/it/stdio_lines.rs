//! Standard input and output as lines of JSON, in a process of its own.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use bridle_daemon::config::ThinkerChoice;
use bridle_daemon::{Config, run};
use bridle_wire::openharness::{Code, Event, Limits, Mode, ResponseMessage, read_response};

use crate::http_client::intent;

/// Names the directory to the child; its presence makes this binary the child.
const CHILD: &str = "BRIDLE_TEST_LINES_STATE";

const RULES: &str = "(rule :when \"talk\" :stream (\"one \" \"two\") :pace 150 :say \"one two\")\n\
                     (rule :when \"slow\" :delay 500 :say \"at last\")\n\
                     (rule :when \"fast\" :say \"at once\")";

/// The child: a daemon that ends with its input. Runs as a test of this binary, as that of frames.
#[tokio::test]
async fn child() {
    let Some(dir) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else { return };
    let rules = dir.join("rules");
    std::fs::write(&rules, RULES).unwrap();
    let thinker: ThinkerChoice = format!("script:{}", rules.display()).parse().unwrap();
    let state = dir.join("state");
    let config = Config { tcp: None, stdio_json: true, state, thinker, ..Config::default() };
    run(config, |bound| assert!(bound.stdio_json), std::future::pending()).await.unwrap();
}

/// Runs the child with `input`; returns the lines that the daemon wrote.
fn converse(input: &[u8]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["stdio_lines::child", "--exact", "--nocapture", "--quiet"])
        .env(CHILD, dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    // Answers may fill the pipe before all is written.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    writer.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success(), "{output}");
    output.lines().filter(|line| line.starts_with('{')).map(str::to_owned).collect()
}

fn message(line: &str) -> ResponseMessage {
    let limits = Limits { mode: Mode::Strict, ..Limits::default() };
    read_response(line.as_bytes(), &limits).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Ids with the texts or codes of their answers, sorted.
fn answers(lines: &[String]) -> Vec<(String, String)> {
    let of = |line: &String| {
        let message = message(line);
        let id = message.request_id.map_or_else(|| "-".to_owned(), |id| id.as_str().to_owned());
        let said = match &message.response.error {
            Some(error) => error.known().unwrap().as_str().to_owned(),
            None => message.response.action_directives[0].text().unwrap().to_owned(),
        };
        (id, said)
    };
    let mut answers: Vec<_> = lines.iter().map(of).collect();
    answers.sort();
    answers
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(id, said)| ((*id).to_owned(), (*said).to_owned())).collect()
}

#[test]
fn lines_in_lines_out_and_the_end_of_input_waits_for_the_answers() {
    let input = format!(
        "{}\n\n  \n{}\n{{\"type\":\"request\",\"message\":{}}}",
        intent("r1", "a", "slow"),
        intent("r2", "b", "fast"),
        intent("r3", "c", "fast"),
    );
    let lines = converse(input.as_bytes());
    assert_eq!(message(lines.last().unwrap()).request_id.unwrap().as_str(), "r1", "{lines:?}");
    assert_eq!(answers(&lines), pairs(&[("r1", "at last"), ("r2", "at once"), ("r3", "at once")]));
}

#[test]
fn junk_is_answered_and_the_next_line_is_read() {
    let mut input = b"\xff\xfe\x00\x01junk\n[1,2]\n{\"type\":\"song\"}\n".to_vec();
    input.extend_from_slice(b"{\"protocol_version\":\"1.0.0\",\"request_id\":\"long\",\"x\":\"");
    input.extend(std::iter::repeat_n(b'y', 3 << 20));
    input.extend_from_slice(b"\"}\n");
    input.extend_from_slice(intent("r1", "a", "fast").as_bytes());
    let lines = converse(&input);
    let bad = Code::InvalidRequest.as_str();
    let large = Code::PayloadTooLarge.as_str();
    let expected = [("-", bad), ("-", bad), ("-", bad), ("long", large), ("r1", "at once")];
    assert_eq!(answers(&lines), pairs(&expected));
}

#[test]
fn more_requests_than_run_at_once_are_all_answered() {
    let ask = |n: usize| intent(&format!("r{n}"), &format!("s{n}"), "fast") + "\n";
    let input: String = (0..200).map(ask).collect();
    let lines = converse(input.as_bytes());
    assert_eq!(lines.len(), 200);
    assert!(answers(&lines).iter().all(|(_, said)| said == "at once"));
}

#[test]
fn events_are_for_who_asks_for_them() {
    let asks = r#""capabilities":{"openharness.streaming":{"profiles":["dev.bridle.lines.1"]}},"request":{"#;
    let input = intent("r1", "a", "talk").replacen("\"request\":{", asks, 1);
    let lines = converse(input.as_bytes());
    let names: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix("{\"type\":\"").unwrap().split('"').next().unwrap())
        .collect();
    assert_eq!((names[0], names[names.len() - 1]), ("open", "final"), "{lines:?}");
    let last = lines.last().unwrap();
    match Event::read("final", last.as_bytes(), &Limits::default()).unwrap() {
        Some(Event::Final(last)) => {
            assert_eq!(last.message.response.action_directives[0].text(), Some("one two"));
        }
        other => panic!("{other:?}"),
    }
}
