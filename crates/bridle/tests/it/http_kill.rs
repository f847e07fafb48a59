//! OpenHarness over HTTP against the real binary, killed in the middle: nothing is lost, nothing is
//! done twice.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use bridle_wire::openharness::{
    JsonShape as _, MessageLimits, OpenHarnessEvent, ReadMode, ResponseMessage, read_response,
};

use bridle_test_support::server_process::ServerProcess;

use crate::harness::Home;
use bridle_test_support::valid_response;

const RULES: &str = r#"
(rule :when "talk" :propose ((:target :log :action :log :text "begun" :then-think t)))
(rule :when "talk" :result (:action :log :outcome :done)
      :stream ("one " "two " "three") :pace 400 :say "one two three")
(rule :when "clean up *"
      :propose ((:target :system :action :forget :session $1 :then-think t)))
(rule :when "clean up *" :result (:action :forget :outcome :done) :say "It is gone.")
(rule :when "clean up *" :result (:action :forget :outcome :unknown-outcome) :say "I cannot tell.")
(default :say "hello")
"#;

/// A home with a script, a token and a daemon that serves HTTP.
struct Place {
    home: Home,
    script: String,
    token: String,
}

impl Place {
    fn new() -> Place {
        let home = Home::new();
        let script = format!("script:{}", home.write("rules.script", RULES));
        let made = home.run(&["token", "create", "--scope", "talk", "--scope", "approve"]);
        assert_eq!(made.code, 0, "{made:?}");
        Place { home, script, token: made.stdout.trim().to_owned() }
    }

    fn up(&self) -> ServerProcess {
        self.home.up(&["--http", "127.0.0.1:0", "--thinker", &self.script])
    }

    /// How often something was done, as the record has it.
    fn done(&self, what: &str) -> usize {
        let effects = self.home.run(&["effects"]);
        assert_eq!(effects.code, 0, "{effects:?}");
        effects.stdout.lines().filter(|line| line.contains(what)).count()
    }

    /// Sends a request and leaves the connection open.
    fn send(&self, daemon: &ServerProcess, headers: &str, body: &str) -> TcpStream {
        let address = daemon.word("http");
        let mut stream = TcpStream::connect(&address).unwrap();
        let (token, length) = (&self.token, body.len());
        write!(
            stream,
            "POST /v1/openharness HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nconnection: close\r\n{headers}\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    /// Sends a request and reads its answer.
    fn ask(&self, daemon: &ServerProcess, body: &str) -> ResponseMessage {
        let mut stream = self.send(daemon, "", body);
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(valid_response::check(text.as_bytes()), 1, "{text}");
        let (_, answer) = text.split_once("\r\n\r\n").unwrap();
        let limits = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
        read_response(answer.as_bytes(), &limits).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

fn kill(daemon: ServerProcess) {
    daemon.signal("KILL");
    let (code, _) = daemon.wait();
    assert_eq!(code, None);
}

fn request(id: &str, capabilities: &str, context: &str) -> String {
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"{id}","capabilities":{{{capabilities}}},"request":{{"context":{{"session_id":"desk",{context}}}}}}}"#
    )
}

fn first_text(message: &ResponseMessage) -> &str {
    message.response.action_directives[0].text().unwrap()
}

#[test]
fn a_stream_goes_on_after_a_kill_and_its_effect_is_done_once() {
    let place = Place::new();
    let daemon = place.up();
    let streams = r#""openharness.streaming":{"profiles":["dev.bridle.sse.1"]}"#;
    let body = request("r1", streams, r#""user_intent":"talk""#);
    let accept = "accept: text/event-stream\r\n";
    let mut stream = place.send(&daemon, accept, &body);
    let mut seen = String::new();
    // Into the middle of the answer.
    while !seen.contains("one ") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.push(char::from(byte[0]));
    }
    kill(daemon);
    let daemon = place.up();
    let mut stream = place.send(&daemon, &format!("{accept}last-event-id: 2\r\n"), &body);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    for heard in [&seen, &text] {
        assert_eq!(valid_response::check(heard.as_bytes()), 1, "{heard}");
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    let Ok(Some(OpenHarnessEvent::StreamFinal(last))) =
        OpenHarnessEvent::read("final", data.as_bytes(), &MessageLimits::default())
    else {
        panic!("{text}");
    };
    assert_eq!(first_text(&last.message), "one two three");
    assert!(text.contains("\nid: 3\n"), "{text}");
    assert_eq!(*last.message, place.ask(&daemon, &body));
    assert_eq!(place.done("log to log"), 1);
}

#[test]
fn an_approval_over_http_survives_kills_and_is_done_at_most_once() {
    let place = Place::new();
    let mut daemon = place.up();
    let other = request("r0", "", r#""user_intent":"hi""#).replace("\"desk\"", "\"victim\"");
    assert_eq!(first_text(&place.ask(&daemon, &other)), "hello");
    let asks = r#""openharness.ui.approval":true,"dev.bridle.feedback":true"#;
    let first = request("r1", asks, r#""user_intent":"clean up victim""#);
    let asked = place.ask(&daemon, &first);
    kill(daemon);
    daemon = place.up();
    assert_eq!(place.ask(&daemon, &first), asked);
    let continuation = asked.response.continuation.as_ref().unwrap().to_text();
    let directive = asked.response.action_directives[0].directive_id().unwrap().as_str();
    let results = format!(
        r#""directive_results":[{{"directive_id":"{directive}","outcome":"completed","decision":{{"by":"user","option_id":"allow_once"}}}}]"#
    );
    let context =
        format!(r#""continuation":{continuation},"extensions":{{"dev.bridle":{{{results}}}}}"#);
    let yes = request("r2", asks, &context);
    // Whether it was taken before the end or not, the same request is the way to know.
    drop(place.send(&daemon, "", &yes));
    kill(daemon);
    daemon = place.up();
    let told = place.ask(&daemon, &yes);
    assert!(["It is gone.", "I cannot tell."].contains(&first_text(&told)), "{told:?}");
    assert_eq!(place.ask(&daemon, &yes), told);
    let again = place.ask(&daemon, &request("r3", asks, &context));
    let error = again.response.error.unwrap();
    assert_eq!(error.code.as_str(), "continuation_consumed");
    assert_eq!(place.done("forget to system"), 1);
}
