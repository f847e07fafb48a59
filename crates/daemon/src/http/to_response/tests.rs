//! Answers made from what is recorded; what is said in frames is what is said here, as a law.

use std::sync::Arc;

use bridle_loop::{KeywordName, SessionId};
use bridle_sexp::Value;
use bridle_wire::openharness::{
    JsonShape as _, MessageLimits, OpenHarnessCode, ReadMode, RequestEcho, ResponseMessage,
    read_response,
};
use proptest::prelude::*;

use super::{ApprovalOffer, ResponseReader, answer};
use crate::access::principal::Principal;
use crate::engine::{StreamEvent, StreamEventKind};
use crate::http::run::FinishedRun;
use crate::http::run_location::RunLocation;
use crate::http::shell_description::ShellDescription;
use crate::http::token_sealer::TokenSealer;

fn ran(payload: &str) -> FinishedRun {
    let body = Some(format!("(:answers 1 :payload {payload})").into());
    let said = StreamEvent {
        seq: 2,
        record: 9,
        at: 1_040,
        kind: StreamEventKind::Say,
        body,
        origin: None,
    };
    FinishedRun {
        location: RunLocation { session: SessionId::parse("s").unwrap(), seq: 1 },
        began: 1_000,
        said: Arc::new(said),
        is_replay: false,
        is_step: false,
    }
}

/// What a shell that cannot ask is told.
fn heard(ran: &FinishedRun, about: &ShellDescription) -> ResponseMessage {
    answer(ran, ResponseReader { echo: &RequestEcho::default(), about, is_user: false, asks: None })
}

#[test]
fn words_become_a_message_and_the_latency_is_the_recorded_one() {
    let said = ran("(:status :success :action :message :text \"hi\")");
    let message = heard(&said, &ShellDescription::default());
    assert_eq!(message.response.engine_latency_ms.unwrap().0, 40);
    assert_eq!(message.response.action_directives[0].text(), Some("hi"));
    let again = heard(&said, &ShellDescription::default());
    assert_eq!(message, again);
}

#[test]
fn a_terminal_gets_nothing_that_it_would_obey() {
    let said = ran("(:status :success :action :message :text \"a\u{1b}[31mb\tc\")");
    let about = ShellDescription {
        kind: Some(KeywordName::new("command_shell")),
        ..ShellDescription::default()
    };
    let message = heard(&said, &about);
    let directive = &message.response.action_directives[0];
    assert_eq!(directive.text(), Some("a[31mb\tc"));
    let format = directive.payload.as_ref().unwrap().get("format").unwrap();
    assert_eq!(format.as_str(), Some("plain"));
}

#[test]
fn an_error_says_its_code_and_nothing_that_was_recorded() {
    for (word, code, retryable) in [
        ("refused", OpenHarnessCode::Forbidden, "nil"),
        ("cancelled", OpenHarnessCode::Canceled, "nil"),
        ("expired", OpenHarnessCode::EngineTimeout, "nil"),
        ("overloaded", OpenHarnessCode::EngineOverloaded, "t"),
        ("engine-failed", OpenHarnessCode::UpstreamError, "t"),
        ("unknown-target", OpenHarnessCode::UpstreamError, "nil"),
    ] {
        let said = ran(&format!(
            "(:status :error :code :{word} :message \"canary\" :retryable {retryable})"
        ));
        let message = heard(&said, &ShellDescription::default());
        let error = message.response.error.unwrap();
        assert_eq!(error.known(), Some(code), "{word}");
        assert_eq!(error.retryable, Some(retryable == "t"), "{word}");
        assert!(!error.message.unwrap().contains("canary"));
    }
}

#[test]
fn the_user_is_told_why_something_failed() {
    let said = ran("(:status :error :code :engine-failed :message \"out of credit\")");
    let reader = ResponseReader {
        echo: &RequestEcho::default(),
        about: &ShellDescription::default(),
        is_user: true,
        asks: None,
    };
    let error = answer(&said, reader).response.error.unwrap();
    assert_eq!(error.known(), Some(OpenHarnessCode::UpstreamError));
    assert_eq!(error.message.as_deref(), Some("out of credit"));
}

#[test]
fn what_was_erased_is_gone() {
    let mut said = ran("nil");
    said.said = Arc::new(StreamEvent {
        seq: 2,
        record: 9,
        at: 1,
        kind: StreamEventKind::Say,
        body: None,
        origin: None,
    });
    let message = heard(&said, &ShellDescription::default());
    assert_eq!(message.response.error.unwrap().known(), Some(OpenHarnessCode::StreamExpired));
}

/// A question of the guard as an answer has it.
fn question(effect: u64, wanted: &str) -> Value {
    Value::plist([
        ("approval", Value::str(format!("s-{effect}"))),
        ("question", Value::str("May I?")),
        ("action", Value::keyword("eval")),
        ("risk", Value::keyword("caution")),
        ("wanted", Value::str(wanted)),
        ("hash", Value::str("ab".repeat(32))),
        ("effect", Value::int(i64::try_from(effect).unwrap())),
        ("expires", Value::int(9_000)),
        ("who", Value::list([Value::str(ME.to_string())])),
    ])
}

/// Who answers in these tests.
const ME: Principal = Principal::LocalHttp(1000);

/// Codes of the engine, and what they are called over HTTP: the table of the protocol.
const CODES: [(&str, OpenHarnessCode); 6] = [
    ("refused", OpenHarnessCode::Forbidden),
    ("cancelled", OpenHarnessCode::Canceled),
    ("expired", OpenHarnessCode::EngineTimeout),
    ("overloaded", OpenHarnessCode::EngineOverloaded),
    ("engine-failed", OpenHarnessCode::UpstreamError),
    ("whatever-comes", OpenHarnessCode::UpstreamError),
];

/// A message as its shell gets it: through its text, read strictly.
fn through_text(message: &ResponseMessage) -> ResponseMessage {
    let limits = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
    let read = read_response(message.to_text().as_bytes(), &limits);
    read.unwrap_or_else(|error| panic!("{error}: {}", message.to_text()))
}

proptest! {
    #[test]
    fn what_is_said_in_frames_is_what_is_shown(text in "\\PC{0,60}", terminal: bool) {
        let payload = Value::plist([
            ("status", Value::keyword("success")),
            ("action", Value::keyword("message")),
            ("text", Value::str(&*text)),
        ]);
        let kind = terminal.then(|| KeywordName::new("command_shell"));
        let message = through_text(&heard(&ran(&payload.to_string()), &ShellDescription { kind, ..ShellDescription::default() }));
        prop_assert_eq!(message.response.error, None);
        let [directive] = &*message.response.action_directives else {
            panic!("{:?}", message.response.action_directives);
        };
        prop_assert_eq!(directive.directive_id().unwrap().as_str(), "s-1.0");
        // Back again: what was shown is what was said.
        let format = directive.payload.as_ref().unwrap().get("format").and_then(|it| it.as_str());
        prop_assert_eq!(format, Some(if terminal { "plain" } else { "markdown" }));
        prop_assert_eq!(directive.text(), Some(&*text));
    }

    #[test]
    fn an_error_in_frames_is_its_code_here(row in 0..CODES.len(), retryable: bool, text in "\\PC{1,60}") {
        let (word, code) = CODES[row];
        let payload = Value::plist([
            ("status", Value::keyword("error")),
            ("code", Value::keyword(word)),
            ("message", Value::str(format!("because {text}"))),
            ("retryable", if retryable { Value::T } else { Value::Nil }),
        ]);
        let message = through_text(&heard(&ran(&payload.to_string()), &ShellDescription::default()));
        let error = message.response.error.unwrap();
        prop_assert_eq!((error.known(), error.retryable), (Some(code), Some(retryable)));
        prop_assert!(message.response.action_directives.is_empty());
        prop_assert_eq!(error.message.as_deref(), Some(code.explanation()));
    }

    #[test]
    fn questions_in_frames_are_questions_here(
        wanted in proptest::collection::vec("\\PC{0,40}", 1..4),
        text in proptest::option::of("\\PC{1,20}"),
    ) {
        let questions = wanted.iter().zip(40..).map(|(wanted, effect)| question(effect, wanted));
        let mut pairs = vec![
            ("status", Value::keyword("pending-approval")),
            ("message", Value::str("it waits")),
            ("questions", Value::list(questions)),
        ];
        pairs.extend(text.as_ref().map(|text| ("text", Value::str(&**text))));
        let dir = tempfile::tempdir().unwrap();
        let seals = TokenSealer::open(dir.path()).unwrap();
        let asks = Some(ApprovalOffer { seals: &seals, who: &ME, place: "here" });
        let (echo, about) = (RequestEcho::default(), ShellDescription::default());
        let ran = ran(&Value::plist(pairs).to_string());
        let message = through_text(&answer(&ran, ResponseReader { echo: &echo, about: &about, is_user: false, asks }));
        prop_assert!(message.response.continuation.is_some());
        let shown = usize::from(text.is_some());
        let asked = &message.response.action_directives[shown..];
        prop_assert_eq!(asked.len(), wanted.len());
        for ((directive, wanted), effect) in asked.iter().zip(&wanted).zip(40..) {
            let payload = directive.payload.clone().unwrap();
            let of = |key: &str| payload.get(key).and_then(|it| it.as_str()).map(str::to_owned);
            // The name by which a framed shell answers, and what it is asked.
            prop_assert_eq!(of("approval_id"), Some(format!("s-{effect}")));
            prop_assert_eq!(of("message"), Some(format!("May I?: {wanted}")));
            prop_assert_eq!(of("expires_at"), Some("1970-01-01T00:00:09.000Z".to_owned()));
        }
        // Who cannot ask is told the same in words.
        let told = through_text(&answer(&ran, ResponseReader { echo: &echo, about: &about, is_user: false, asks: None }));
        let last = told.response.action_directives.last().unwrap();
        prop_assert_eq!(last.text(), Some("it waits"));
        prop_assert!(told.response.continuation.is_none());
    }
}
