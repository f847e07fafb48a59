//! Standard input and output as lines of JSON, in a process of its own.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::process::{Command, Stdio};

use bridle_daemon::config::ThinkerChoice;
use bridle_daemon::{DaemonConfig, run};
use bridle_wire::openharness::capability::{STREAMING, UPLOAD};
use bridle_wire::openharness::{
    Json, MessageLimits, OpenHarnessCode, OpenHarnessEvent, ReadMode, ResponseMessage,
    read_response,
};

use bridle_test_support::http_client::{HttpClient, HttpReply, intent};
use bridle_test_support::valid_response;

/// Names the directory to the child; its presence makes this binary the child.
const CHILD: &str = "BRIDLE_TEST_LINES_STATE";

const RULES: &str = "(rule :when \"talk\" :stream (\"one \" \"two\") :pace 150 :say \"one two\")\n\
                     (rule :when \"slow\" :delay 500 :say \"at last\")\n\
                     (rule :when \"fast\" :say \"at once\")";

/// Set when the child is to serve HTTP, too.
const CHILD_HTTP: &str = "BRIDLE_TEST_LINES_HTTP";

/// The child: a daemon that ends with its input. Runs as a test of this binary, as that of frames.
#[tokio::test]
async fn child() {
    let Some(dir) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else { return };
    let rules = dir.join("rules");
    std::fs::write(&rules, RULES).unwrap();
    let thinker: ThinkerChoice = format!("script:{}", rules.display()).parse().unwrap();
    let state = dir.join("state");
    let http = std::env::var_os(CHILD_HTTP).map(|_| "127.0.0.1:0".to_owned());
    let config = DaemonConfig {
        tcp: None,
        http,
        stdio_json: true,
        state,
        thinker,
        ..DaemonConfig::default()
    };
    let ready = |bound: &bridle_daemon::BoundAddresses| {
        assert!(bound.stdio_json);
        if let Some(address) = bound.http {
            println!("\n{ADDRESS}{address}");
        }
    };
    run(config, ready, std::future::pending()).await.unwrap();
}

/// What the child says before the address that it serves HTTP at.
const ADDRESS: &str = "http at ";

/// The child, not started yet.
fn command(dir: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["stdio_lines::child", "--exact", "--nocapture", "--quiet"])
        .env(CHILD, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Runs the child with `input`; returns the lines that the daemon wrote.
fn converse(input: &[u8]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(dir.path()).spawn().unwrap();
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
    let limits = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
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
    let bad = OpenHarnessCode::InvalidRequest.as_str();
    let large = OpenHarnessCode::PayloadTooLarge.as_str();
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
    let events: Vec<OpenHarnessEvent> =
        lines.iter().filter_map(|line| valid_response::frame(line)).collect();
    match events.last() {
        Some(OpenHarnessEvent::StreamFinal(last)) => {
            assert_eq!(last.message.response.action_directives[0].text(), Some("one two"));
        }
        other => panic!("{other:?}"),
    }
}

/// A request that asks for an upload and for streams of these profiles.
fn wants(id: &str, profile: &str) -> String {
    let asks = format!(
        r#""capabilities":{{"{UPLOAD}":true,"{STREAMING}":{{"profiles":["{profile}"]}}}},"request":{{"#
    );
    intent(id, "a", "fast").replacen("\"request\":{", &asks, 1)
}

/// What an answer offers of both, as text, and what it denies.
fn offered(message: &ResponseMessage) -> (Vec<String>, Vec<String>) {
    let supported = &message.supported_capabilities.as_ref().unwrap().0;
    let offered = [UPLOAD, STREAMING].into_iter().filter_map(|key| supported.get(key));
    let denied = message.capability_denials.iter().map(|denial| {
        let code = denial.code.as_ref().unwrap();
        format!("{} {}", denial.capability.as_str(), code.as_str())
    });
    (offered.map(Json::to_text).collect(), denied.collect())
}

fn owned<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

/// What lines offer, whether or not there is HTTP beside them.
fn assert_offers_lines(lines: &[String]) {
    let of = |id: &str| {
        let messages = lines.iter().map(|line| message(line));
        let of_id = |message: &ResponseMessage| message.request_id.as_ref().unwrap().as_str() == id;
        offered(&messages.into_iter().find(of_id).unwrap())
    };
    let upload = "openharness.attachments.upload not_supported";
    // Whoever asks for streams of HTTP gets none here.
    let (has, lacks) = of("r1");
    assert_eq!(has, owned([]));
    assert_eq!(lacks, owned(["openharness.streaming version_mismatch", upload]));
    let (has, lacks) = of("r2");
    assert_eq!(has, owned([r#"{"profiles":["dev.bridle.lines.1"]}"#]));
    assert_eq!(lacks, owned([upload]));
}

#[test]
fn lines_alone_offer_nothing_of_http() {
    // The second one says no profile: it would be answered with events otherwise.
    let any = wants("r2", "x").replacen(r#"{"profiles":["x"]}"#, "true", 1);
    let lines = converse(format!("{}\n{any}\n", wants("r1", "dev.bridle.sse.1")).as_bytes());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_offers_lines(&lines);
}

#[tokio::test]
async fn with_http_beside_them_each_offers_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(dir.path()).env(CHILD_HTTP, "1").spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let any = wants("r2", "x").replacen(r#"{"profiles":["x"]}"#, "true", 1);
    write!(stdin, "{}\n{any}\n", wants("r1", "dev.bridle.sse.1")).unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (mut address, mut lines) = (None, Vec::new());
    for line in stdout.lines().map(Result::unwrap) {
        if let Some(found) = line.strip_prefix(ADDRESS) {
            address = Some(found.parse().unwrap());
        } else if line.starts_with('{') {
            lines.push(line);
        }
        if lines.len() == 2 {
            break;
        }
    }
    assert_offers_lines(&lines);
    let address: std::net::SocketAddr = address.unwrap();
    let ask = async |request: String| -> HttpReply {
        let mut client = HttpClient::to(address).await;
        client.send(request).await;
        client.reply().await
    };
    let found = ask(format!("GET /v1/openharness HTTP/1.1\r\nhost: {address}\r\n\r\n")).await;
    let all = r#""profiles":["dev.bridle.sse.1","dev.bridle.ws.1","dev.bridle.lines.1"],"limits""#;
    assert!(found.body.contains(all), "{}", found.body);
    let body = wants("r3", "dev.bridle.lines.1");
    let posted = ask(format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    ))
    .await;
    // The same the other way round: lines are no profile that can be asked for over HTTP.
    let upload = r#"{"endpoint":"/v1/openharness/attachments"}"#;
    let (has, lacks) = offered(&posted.message());
    assert_eq!(has, owned([upload]));
    assert_eq!(lacks, owned(["openharness.streaming version_mismatch"]));
    child.kill().unwrap();
    child.wait().unwrap();
}
