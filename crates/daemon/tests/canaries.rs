//! A word that nobody else says, wherever a shell over HTTP can put it; then every kind of error
//! that the daemon can answer with. It must be in no answer, no log, no counter and no file.
//!
//! Exempt are the ids that an answer repeats (`request_id`, `correlation_id`) and a `session_id`
//! that is the name of a session: people look for those in logs and lists. So is the type of an
//! upload that was kept, which its answer says.
//!
//! A program of its own, with one test: the log is that of the whole process, threads for blocking
//! work included.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

#[path = "it/capture.rs"]
mod capture;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bridle_daemon::config::ThinkerChoice;
use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_wire::openharness::payload::REQUEST_APPROVAL;
use bridle_wire::openharness::{JsonShape as _, MessageLimits, OpenHarnessCode, read_response};
use tracing_subscriber::filter::LevelFilter;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpClient, HttpReply, ask, get, on, raw_post};
use bridle_test_support::websocket_client::{CLOSE, TEXT, WebSocketClient};
use capture::Log;

/// Stands for the word in what is written down here.
const MARK: &str = "CANARY";

/// A request with the word in every field that is not an id.
const WHOLE: &str = r#"{"protocol_version":"1.0.0","request_id":"ID","capabilities":{"CANARY":"CANARY","openharness.ui.rich_cards":{"CANARY":1}},"request":{"auth":{"token":"CANARY","api_key":"CANARY","tenant_id":"CANARY","credential_ref":"CANARY","session_id":"CANARY","CANARY":"CANARY"},"context":{"session_id":"no name CANARY","conversation_id":"CANARY","user_intent":"help me CANARY@example.com","task_hint":{"plugin_id":"CANARY","business_key":"CANARY","CANARY":"CANARY"},"environment_state":{"privacy_tier":"restricted","os":"CANARY","active_window":"CANARY","screen_hash":"CANARY","CANARY":{"CANARY":["CANARY"]}},"attachments":[{"asset_id":"CANARY","mime_type":"CANARY","filename":"CANARY","CANARY":"CANARY"},{"uri":"app:CANARY"}],"shell":{"shell_kind":"CANARY","shell_version":"CANARY","locale":"CANARY","timezone":"CANARY","CANARY":1},"extensions":{"CANARY":{"CANARY":"CANARY"},"dev.bridle":{"CANARY":"CANARY"}},"CANARY":"CANARY"},"extensions":{"CANARY":"CANARY"},"CANARY":"CANARY"},"CANARY":{"CANARY":"CANARY"}}"#;

/// What thinks here: it fails with what was said, is slow, wants what it may not, or says a word.
const RULES: &str = r#"
(rule :when "fail*" :error "because of $1" :retryable t)
(rule :when "slow*" :delay 5000 :say "done")
(rule :when "ask*" :propose ((:target :system :action :forget :session "victim" :then-think t)))
(rule :when "run*" :propose ((:target :exec :action :exec :argv ("$1"))))
(default :say "noted")
"#;

/// How long a question waits: long enough to say no to it, short enough to be waited for.
const QUESTION: Duration = Duration::from_secs(3);

/// Headers in which the word is of no use.
const HEADERS: &str = "content-type: application/json\r\nuser-agent: CANARY\r\ncookie: a=CANARY\r\n\
                       referer: http://CANARY/\r\nx-canary: CANARY\r\ntraceparent: CANARY\r\n\
                       accept-language: CANARY\r\nCANARY: CANARY\r\n";

/// Everything that came back.
#[derive(Default)]
struct Heard {
    text: String,
    codes: BTreeSet<&'static str>,
    count: usize,
}

impl Heard {
    fn take(&mut self, what: &str, reply: &HttpReply) {
        self.count += 1;
        self.text.push_str(&format!("--- {what}\n{}{}\n", reply.head, reply.body));
        let message = read_response(reply.body.as_bytes(), &MessageLimits::default());
        let error = message.ok().and_then(|message| message.response.error);
        self.codes.extend(error.and_then(|error| error.known()).map(OpenHarnessCode::as_str));
    }
}

/// A daemon and the word.
struct Trial {
    daemon: TestDaemon,
    canary: String,
    heard: Heard,
}

impl Trial {
    /// Sends a request with the word in place of its mark.
    async fn send(&mut self, request: &str) -> HttpReply {
        let what = request.lines().next().unwrap_or_default().to_owned();
        let reply = ask(&self.daemon, &request.replace(MARK, &self.canary)).await;
        self.heard.take(&what, &reply);
        reply
    }

    /// Sends a body with headers; the length is that of what is sent.
    async fn post(&mut self, headers: &str, body: &str) -> HttpReply {
        self.post_to("/v1/openharness", headers, body).await
    }

    /// The same to another path.
    async fn post_to(&mut self, path: &str, headers: &str, body: &str) -> HttpReply {
        let body = body.replace(MARK, &self.canary);
        let request = raw_post(&self.daemon, headers, &body);
        self.send(&request.replacen("/v1/openharness", path, 1)).await
    }

    /// How many messages were recorded.
    async fn admitted(&self) -> u64 {
        self.daemon.metric("bridle_messages_admitted_total").await
    }
}

/// The message, spoiled in every way that there is: what to replace, and by what.
const SPOILED: [(&str, &str); 26] = [
    ("\"1.0.0\"", "\"CANARY\""),
    ("\"1.0.0\"", "\"2.0.0-CANARY\""),
    ("\"1.0.0\"", "{\"CANARY\":1}"),
    ("\"auth\":{", "\"auth\":\"CANARY\",\"x\":{"),
    ("\"tenant_id\":\"CANARY\"", "\"tenant_id\":[\"CANARY\"]"),
    ("\"capabilities\":{", "\"capabilities\":\"CANARY\",\"x\":{"),
    ("\"user_intent\":\"help", "\"user_intent\":{\"CANARY\":1},\"x\":\"help"),
    ("\"user_intent\":\"help me CANARY@example.com\"", "\"user_intent\":\"fail CANARY\""),
    ("\"user_intent\":\"help me CANARY@example.com\"", "\"user_intent\":\"run CANARY\""),
    ("\"os\":\"CANARY\"", "\"os\":7"),
    ("\"privacy_tier\":\"restricted\"", "\"privacy_tier\":[\"CANARY\"]"),
    ("\"privacy_tier\":\"restricted\"", "\"privacy_tier\":\"CANARY\""),
    ("\"privacy_tier\":\"restricted\"", "\"privacy_tier\":\"secret\""),
    ("\"privacy_tier\":\"restricted\"", "\"privacy_tier\":\"public\""),
    ("[{\"asset_id\"", "[\"CANARY\",{\"asset_id\""),
    ("[{\"asset_id\"", "[{\"ref_id\":\"CANARY\"},{\"asset_id\""),
    ("[{\"asset_id\"", "[{\"uri\":\"https://CANARY/?CANARY\"},{\"asset_id\""),
    ("[{\"asset_id\"", "[{\"uri\":\"http://u:CANARY@localhost/CANARY\"},{\"asset_id\""),
    ("[{\"asset_id\"", "[{\"uri\":\"http://localhost/CANARY\"},{\"asset_id\""),
    ("\"plugin_id\":", "\"sop_id\":\"CANARY\",\"plugin_id\":"),
    (
        "\"shell\":{",
        "\"continuation\":{\"run_id\":\"CANARY\",\"sop_id\":\"CANARY\",\"continuation_token\":\"CANARY\",\"CANARY\":1},\"shell\":{",
    ),
    (
        "\"dev.bridle\":{",
        "\"dev.bridle\":{\"directive_results\":[{\"directive_id\":\"CANARY\",\"outcome\":\"CANARY\",\"output\":{\"CANARY\":\"CANARY\"},\"error\":{\"code\":\"CANARY\",\"message\":\"CANARY\"}}],",
    ),
    ("\"dev.bridle\":{", "\"dev.bridle\":{\"timeout_ms\":\"CANARY\","),
    ("\"shell\":{", "\"CANARY\":1,\"CANARY\":2,\"shell\":{"),
    ("\"CANARY\":{\"CANARY\":\"CANARY\"}}", "\"CANARY\":{\"CANARY\":\"CANARY"),
    ("\"CANARY\":{\"CANARY\":\"CANARY\"}}", "\"CANARY\":{\"CANARY\":CANARY}}"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_is_in_no_answer_no_log_no_counter_and_no_file() {
    let log = Log::default();
    let layer = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false);
    layer.with_max_level(LevelFilter::TRACE).init();
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        let file = dir.join("rules.script");
        std::fs::write(&file, RULES).unwrap();
        config.thinker = ThinkerChoice::Script(file);
        config.files.owner_files = 2;
        config.engine.approval = QUESTION;
        config.fetch.hosts = "localhost".parse().unwrap();
    })
    .await;
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    // A name of a host and of a header, too.
    let canary = format!("ohc{:016x}", u64::from_le_bytes(random));
    let mut trial = Trial { daemon, canary, heard: Heard::default() };
    messages(&mut trial).await;
    headers_and_paths(&mut trial).await;
    files(&mut trial).await;
    steps(&mut trial).await;
    called_off(&mut trial).await;
    frames(&mut trial).await;
    pairing(&mut trial).await;
    crowd(&mut trial).await;
    for path in ["/metrics", "/v1/openharness", "/health"] {
        let reply = get(&trial.daemon, path).await;
        trial.heard.take(path, &reply);
    }
    let mut peer = trial.daemon.unix_peer().await;
    trial.heard.text += &peer.ask("(:type :health-check :detail t)").await;
    check(trial, &log).await;
}

async fn check(trial: Trial, log: &Log) {
    let Trial { daemon, canary, heard } = trial;
    assert!(heard.count > 60, "{}", heard.count);
    let wanted: BTreeSet<&str> = OpenHarnessCode::ALL.iter().map(|code| code.as_str()).collect();
    let missing: Vec<_> = wanted.difference(&heard.codes).collect();
    assert!(missing.is_empty(), "not provoked: {missing:?}");
    let found = heard.text.to_ascii_lowercase().find(&canary);
    let around = found.map(|at| &heard.text[at.saturating_sub(800)..at + 40]);
    assert_eq!(around, None, "in an answer");
    let files = walk(&daemon.dir.path().join("state"), &canary);
    assert!(files > 3, "{files} files");
    let (ended, dir) = daemon.begin_stop();
    ended.await.unwrap().unwrap();
    walk(&dir.path().join("state"), &canary);
    let text = log.text().to_ascii_lowercase();
    assert!(text.contains("exchange"), "{text}");
    let line = text.lines().find(|line| line.contains(&canary));
    assert_eq!(line, None, "in the log");
}

/// Looks for the word in every file below a folder; returns how many there are.
fn walk(folder: &Path, canary: &str) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(!path.display().to_string().contains(canary), "{}", path.display());
        if path.is_dir() {
            count += walk(&path, canary);
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
            let found = bytes.windows(canary.len()).any(|bytes| bytes == canary.as_bytes());
            assert!(!found, "in {}", path.display());
            count += 1;
        }
    }
    count
}

async fn messages(trial: &mut Trial) {
    trial.post(HEADERS, &WHOLE.replace("ID", "whole")).await;
    for (index, (from, to)) in SPOILED.iter().enumerate() {
        assert!(WHOLE.contains(from), "{from}");
        let body = WHOLE.replacen(from, to, 1).replace("\"ID\"", &format!("\"s{index}\""));
        trial.post(HEADERS, &body).await;
    }
    // The same id with another body; a stream that was never begun, and one that is.
    let other = WHOLE.replace("ID", "whole").replace("help me", "help them");
    trial.post(HEADERS, &other).await;
    let streaming = r#""capabilities":{"openharness.streaming":{"profiles":["dev.bridle.sse.1"]},"#;
    let stream = WHOLE.replacen("\"capabilities\":{", streaming, 1);
    let accept = format!("{HEADERS}accept: text/event-stream\r\n");
    let resumed = format!("{accept}last-event-id: 3\r\n");
    trial.post(&resumed, &stream.replace("ID", "never")).await;
    let mut client = HttpClient::of(&trial.daemon).await;
    let closing = format!("{accept}connection: close\r\n");
    let request = raw_post(
        &trial.daemon,
        &closing.replace(MARK, &trial.canary),
        &stream.replace("ID", "stream").replace(MARK, &trial.canary),
    );
    client.send(&request).await;
    let text = client.rest().await;
    assert!(text.contains("event: final"), "{text}");
    trial.heard.text.push_str(&text);
    // Slow, large, and with a file inside.
    let slow = WHOLE.replace("help me", "slow").replacen(
        "\"dev.bridle\":{",
        "\"dev.bridle\":{\"timeout_ms\":1,",
        1,
    );
    trial.post(HEADERS, &slow.replace("ID", "slow")).await;
    let large = format!("{}{}", WHOLE.replace("ID", "large"), " CANARY".repeat(100_000));
    trial.post(HEADERS, &large).await;
    let blob = format!("\"screen_hash\":\"data:text/CANARY,{}\"", "CANARY".repeat(2_000));
    let blob = WHOLE.replacen("\"screen_hash\":\"CANARY\"", &blob, 1);
    trial.post(HEADERS, &blob.replace("ID", "blob")).await;
    for body in ["", "CANARY", "[\"CANARY\"]", "\"CANARY\"", "{\"CANARY\"", "\u{feff}CANARY"] {
        trial.post(HEADERS, body).await;
    }
}

async fn headers_and_paths(trial: &mut Trial) {
    let body = WHOLE.replace("ID", "headers");
    let json = "content-type: application/json\r\n";
    for header in [
        "authorization: Bearer CANARY\r\n",
        "authorization: CANARY\r\n",
        "authorization: Basic CANARY\r\nauthorization: CANARY\r\n",
        "idempotency-key: CANARY\r\n",
        "origin: http://CANARY\r\n",
        "accept: CANARY/CANARY\r\n",
    ] {
        trial.post(&format!("{json}{header}"), &body).await;
    }
    trial.post("content-type: CANARY/CANARY\r\n", &body).await;
    let watches = token(&trial.daemon, &[TokenScope::Observe]);
    trial.post(&format!("{json}{watches}"), &body).await;
    let host = trial.daemon.bound.http.unwrap();
    for line in [
        "GET /CANARY?CANARY=CANARY",
        "GET /v1/openharness/CANARY",
        "GET /v1/openharness?CANARY",
        "GET /metrics?CANARY",
        "DELETE /v1/openharness?CANARY",
        "CANARY /v1/openharness",
    ] {
        trial.send(&format!("{line} HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
    }
    trial.send("GET /v1/openharness HTTP/1.1\r\nhost: CANARY\r\n\r\n").await;
    // Too much of a head.
    trial.post(&format!("{json}x: {}\r\n", "CANARY ".repeat(5_000)), &body).await;
    // No HTTP at all.
    for line in ["CANARY\r\n\r\n", "GET CANARY CANARY/1.1\r\nCANARY\r\n\r\n"] {
        let mut client = HttpClient::of(&trial.daemon).await;
        client.send(&line.replace(MARK, &trial.canary)).await;
        trial.heard.text.push_str(&client.rest().await);
    }
}

async fn files(trial: &mut Trial) {
    const PATH: &str = "/v1/openharness/attachments";
    for headers in [
        "content-type: a/a\r\nx: CANARY\r\n",
        "content-type: CANARY\r\n",
        "content-type: a/b\r\ncontent-encoding: CANARY\r\n",
        "content-type: a/b\r\ndigest: CANARY\r\n",
        "content-type: a/b\r\ncontent-digest: sha-256=:CANARY:\r\n",
        "content-type: a/b\r\n",
        // One more than there is room for.
        "content-type: a/c\r\n",
    ] {
        trial.post_to(PATH, headers, "CANARY CANARY CANARY").await;
    }
    let host = trial.daemon.bound.http.unwrap();
    let missing = format!("GET {PATH}/CANARY?CANARY HTTP/1.1\r\nhost: {host}\r\n\r\n");
    trial.send(&missing).await;
}

async fn pairing(trial: &mut Trial) {
    let json = "content-type: application/json\r\n";
    for body in ["{\"code\":\"CANARY\",\"CANARY\":\"CANARY\"}", "CANARY", "{\"code\":7}"] {
        trial.post_to("/v1/pair", json, body).await;
    }
    // A fault of the daemon's own: where its codes are is something else.
    std::fs::create_dir(trial.daemon.dir.path().join("state/pairings")).unwrap();
    let failed = trial.post_to("/v1/pair", json, "{\"code\":\"ACDEFGHJ\",\"CANARY\":1}").await;
    assert_eq!(failed.code(), OpenHarnessCode::InternalError);
}

/// A request that asks for something which waits for a yes, of a shell that can ask.
fn asking(id: &str) -> String {
    let can = r#""capabilities":{"openharness.ui.approval":true,"dev.bridle.feedback":true,"#;
    let asking = WHOLE.replacen("\"capabilities\":{", can, 1).replacen("help me", "ask", 1);
    asking.replacen("\"ID\"", &format!("\"{id}\""), 1)
}

/// A request that comes back with the continuation of an answer, and says no.
fn coming_back(id: &str, asked: &HttpReply) -> String {
    let message = asked.message();
    let continuation = message.response.continuation.as_ref().expect("a continuation").to_text();
    let directives = &message.response.action_directives;
    let question = directives.iter().find(|it| it.action_type.as_str() == REQUEST_APPROVAL);
    let directive = question.and_then(|it| it.directive_id()).unwrap().as_str();
    let results = format!(
        r#""dev.bridle":{{"directive_results":[{{"directive_id":"{directive}","outcome":"rejected","output":{{"CANARY":"CANARY"}},"error":{{"code":"CANARY","message":"CANARY"}},"decision":{{"by":"user","option_id":"reject_once","CANARY":1}}}}],"#
    );
    let continuation = format!("\"continuation\":{continuation},\"shell\":{{");
    let body = asking(id).replacen("\"dev.bridle\":{", &results, 1);
    body.replacen("\"shell\":{", &continuation, 1)
}

/// Everything that can be wrong with a continuation.
async fn steps(trial: &mut Trial) {
    let headers =
        format!("{HEADERS}{}", token(&trial.daemon, &[TokenScope::Talk, TokenScope::Approve]));
    let victim = r#"{"protocol_version":"1.0.0","request":{"context":{"session_id":"victim","user_intent":"hi"}}}"#;
    trial.post(&headers, victim).await;
    // A slow machine may be too late for its own question: then it asks again.
    for round in 0.. {
        let asked = trial.post(&headers, &asking(&format!("a{round}"))).await;
        let elsewhere = coming_back(&format!("e{round}"), &asked).replacen("no name", "a name", 1);
        assert_eq!(
            trial.post(&headers, &elsewhere).await.code(),
            OpenHarnessCode::ContinuationMismatch
        );
        let stolen = coming_back(&format!("t{round}"), &asked);
        assert_eq!(
            trial.post(HEADERS, &stolen).await.code(),
            OpenHarnessCode::ContinuationMismatch
        );
        let no = trial.post(&headers, &coming_back(&format!("b{round}"), &asked)).await;
        if no.status == 200 {
            let again = trial.post(&headers, &coming_back(&format!("c{round}"), &asked)).await;
            assert_eq!(again.code(), OpenHarnessCode::ContinuationConsumed);
            break;
        }
        assert_eq!(no.code(), OpenHarnessCode::ContinuationExpired);
    }
    let asked = trial.post(&headers, &asking("late")).await;
    let mut peer = trial.daemon.unix_peer().await;
    let open = "(:type :REQUEST :id 1 :target :system :payload (:action :approvals))";
    while peer.ask(open).await.contains(":approval ") {}
    let late = trial.post(&headers, &coming_back("later", &asked)).await;
    assert_eq!(late.code(), OpenHarnessCode::ContinuationExpired);
}

/// A request that is no longer wanted.
async fn called_off(trial: &mut Trial) {
    let before = trial.admitted().await;
    let body = WHOLE.replace("ID", "off").replace("help me", "slow").replace(MARK, &trial.canary);
    let mut client = HttpClient::of(&trial.daemon).await;
    let headers = HEADERS.replace(MARK, &trial.canary);
    client.send(&raw_post(&trial.daemon, &headers, &body)).await;
    while trial.admitted().await == before {}
    let cancel = "/v1/openharness/cancel";
    for body in ["{\"request_id\":\"off\",\"CANARY\":\"CANARY\"}", "{\"CANARY\":1}", "CANARY"] {
        trial.post_to(cancel, HEADERS, body).await;
    }
    let reply = client.reply().await;
    assert_eq!(reply.code(), OpenHarnessCode::Canceled);
    trial.heard.take("off", &reply);
}

/// The same words in frames of a WebSocket.
async fn frames(trial: &mut Trial) {
    let whole = WHOLE.replace("ID", "framed");
    let mut shell = WebSocketClient::open(&trial.daemon).await;
    for text in [
        format!("{{\"type\":\"request\",\"CANARY\":1,\"message\":{whole}}}"),
        format!("{{\"type\":\"request\",\"message\":{}}}", whole.replace("1.0.0", "2.0.0")),
        "{\"type\":\"CANARY\"}".to_owned(),
        "{\"type\":\"results\",\"directive_results\":\"CANARY\"}".to_owned(),
        "{\"type\":\"cancel\",\"request_id\":[\"CANARY\"]}".to_owned(),
        "CANARY".to_owned(),
    ] {
        shell.say(&text.replace(MARK, &trial.canary)).await;
        trial.heard.text.push_str(&format!("{:?}\n", shell.answer().await));
    }
    for (kind, bytes) in [(CLOSE, "\u{3}CANARY"), (TEXT | 0x40, "CANARY"), (0x82, "CANARY")] {
        let mut shell = WebSocketClient::open(&trial.daemon).await;
        shell.send(kind, bytes.replace(MARK, &trial.canary).as_bytes()).await;
        while let Some((_, said)) = shell.frame().await {
            trial.heard.text.push_str(&String::from_utf8_lossy(&said));
        }
    }
}

/// Fills every place for an upload, so that one more is told to wait.
async fn crowd(trial: &mut Trial) {
    let host = trial.daemon.bound.http.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let mut client = HttpClient::of(&trial.daemon).await;
        let head = format!(
            "POST /v1/openharness/attachments HTTP/1.1\r\nhost: {host}\r\n\
             expect: 100-continue\r\ncontent-length: 9\r\n\r\n"
        );
        client.send(&head).await;
        client.head().await;
        waiting.push(client);
    }
    trial.post_to("/v1/openharness/attachments", "content-type: CANARY/a\r\n", "CANARY").await;
}

fn token(daemon: &TestDaemon, scopes: &[TokenScope]) -> String {
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
    let scopes = scopes.iter().copied().collect();
    let new =
        NewToken { name: "test".into(), owner: TokenOwner::this_user(), scopes, expires: None };
    let made = tokens.create(new, &TokenSeed::from_system().unwrap(), 1).unwrap();
    format!("authorization: Bearer {}\r\n", made.reveal())
}
