//! How the daemon makes OpenHarness messages, and what must not show in them; and that the tables of
//! `docs/protocol.md` are the code's. What is read and refused is vectors.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![allow(clippy::disallowed_methods, reason = "the document is a file")]

use std::fs;
use std::path::Path;

use bridle_wire::openharness::capability::{self, CapabilityOffer, DenialReason};
use bridle_wire::openharness::directive::ResultWish;
use bridle_wire::openharness::ids::{
    ApprovalId, ContinuationToken, DirectiveId, OptionId, RunId, Timestamp,
};
use bridle_wire::openharness::json::JsonFault;
use bridle_wire::openharness::limits::{self, MessageLimits};
use bridle_wire::openharness::payload::{ApprovalOption, OptionKind, RequestApproval, TextFormat};
use bridle_wire::openharness::request::{PrivacyTier, RunContinuation};
use bridle_wire::openharness::{
    Capabilities, Directive, ErrorObject, Json, JsonObject, JsonShape as _, OpenHarnessCode,
    ReadMode, ReceivedRequest, RequestEcho, ResponseMessage, VersionService, read, read_response,
    receive,
};

const STRICT: MessageLimits = MessageLimits {
    bytes: limits::DEFAULT_BYTES,
    depth: limits::DEFAULT_DEPTH,
    values: limits::DEFAULT_VALUES,
    inline_blob: limits::DEFAULT_INLINE_BLOB,
    mode: ReadMode::Strict,
};

fn received(text: &str) -> ReceivedRequest {
    receive(text.as_bytes(), &MessageLimits::default()).unwrap()
}

fn echo() -> RequestEcho {
    received(r#"{"protocol_version":"1.0.0","request_id":"r1","request":{"context":{"user_intent":"hi"}}}"#)
        .echo
}

fn check(response: &ResponseMessage, expected: &str) {
    assert_eq!(response.to_text(), expected);
    assert_eq!(&read_response(expected.as_bytes(), &STRICT).unwrap(), response);
}

#[test]
fn a_text_to_show() {
    let directive = Directive::render_message("hello", TextFormat::Plain)
        .with_id(DirectiveId::new("d1").unwrap(), ResultWish::None);
    assert_eq!(directive.text(), Some("hello"));
    check(
        &ResponseMessage::success(&echo(), vec![directive]),
        r#"{"protocol_version":"1.0.0","request_id":"r1","supported_protocol_versions":["1.0.0"],"response":{"status":"success","action_directives":[{"action_type":"render_message","priority":"normal","risk_tier":"safe","payload":{"text":"hello","message":"hello","format":"plain"},"extensions":{"dev.bridle":{"directive_id":"d1","result":"none"}}}]}}"#,
    );
}

#[test]
fn a_question_to_the_user() {
    let option = |id: &str, kind| ApprovalOption {
        option_id: OptionId::new(id).unwrap(),
        label: id.to_owned(),
        kind,
    };
    let approval = RequestApproval {
        approval_id: ApprovalId::new("a1").unwrap(),
        title: None,
        message: "really?".to_owned(),
        fallback_message: None,
        risk_tier: None,
        options: vec![option("y", OptionKind::AllowOnce), option("n", OptionKind::RejectOnce)],
        subject: None,
        response_schema: None,
        expires_at: Some(Timestamp::from_unix_ms(0)),
    };
    let directive = Directive::request_approval(&approval);
    let payload = Json::from(directive.payload.clone().unwrap()).to_text();
    assert_eq!(read::<RequestApproval>(payload.as_bytes(), &STRICT).unwrap(), approval);
    assert_eq!(directive.text(), Some("really?"), "a shell that does not know it shows this");
}

#[test]
fn a_step_to_go_on_with_is_said_twice() {
    let step = RunContinuation {
        run_id: Some(RunId::new("u1").unwrap()),
        sop_id: None,
        continuation_token: Some(ContinuationToken::new("OHCANARY").unwrap()),
        expires_at: None,
    };
    let response = ResponseMessage::success(&echo(), vec![]).with_continuation(step.clone());
    assert_eq!(response.response.continuation(), Some(&step));
    check(
        &response,
        r#"{"protocol_version":"1.0.0","request_id":"r1","supported_protocol_versions":["1.0.0"],"response":{"status":"success","continuation":{"run_id":"u1","continuation_token":"OHCANARY"},"extensions":{"dev.bridle":{"continuation":{"run_id":"u1","continuation_token":"OHCANARY"}}}}}"#,
    );
    assert!(!format!("{response:?}").contains("OHCANARY"), "a token shows in a log");
}

#[test]
fn an_error_has_its_code_and_no_directives() {
    let error = ErrorObject::of(OpenHarnessCode::RateLimited).with_detail("retry_after_ms", 250);
    check(
        &ResponseMessage::error(&echo(), error),
        r#"{"protocol_version":"1.0.0","request_id":"r1","supported_protocol_versions":["1.0.0"],"response":{"status":"error","error":{"code":"rate_limited","message":"too many requests","retryable":true,"details":{"retry_after_ms":250}}}}"#,
    );
}

#[test]
fn capabilities_are_offered_denied_or_ignored() {
    let asked = Capabilities(JsonObject::from_iter([
        (
            capability::STREAMING,
            Json::object([("profiles", Json::array(["dev.bridle.sse.1".into()]))]),
        ),
        (capability::RICH_CARDS, true.into()),
        (capability::PARALLEL, false.into()),
        ("com.example.teleport", true.into()),
    ]));
    let offers = [
        (capability::STREAMING, CapabilityOffer::Honored(true.into())),
        (capability::APPROVAL, CapabilityOffer::Honored(true.into())),
        (capability::RICH_CARDS, CapabilityOffer::Denied(DenialReason::NotSupported)),
        (capability::PARALLEL, CapabilityOffer::Denied(DenialReason::DisabledByPolicy)),
        (capability::UPLOAD, CapabilityOffer::Denied(DenialReason::NotSupported)),
    ];
    let (supported, denials) = capability::answer(Some(&asked), &offers);
    assert_eq!(
        supported.to_text(),
        r#"{"openharness.streaming":true,"openharness.ui.approval":true}"#
    );
    assert_eq!(
        denials.to_text(),
        r#"[{"capability":"openharness.ui.rich_cards","code":"not_supported"}]"#
    );
    assert!(asked.lists_profile(capability::STREAMING, "dev.bridle.sse.1"));
    assert!(!asked.lists_profile(capability::STREAMING, "dev.bridle.sse.2"));
    assert!(!asked.lists_profile(capability::RICH_CARDS, "dev.bridle.sse.1"));
    assert_eq!(capability::answer(None, &offers), (supported, vec![]));
}

#[test]
fn a_fingerprint_is_of_what_is_asked() {
    let of = |text: &str| received(text).fingerprint;
    let first = of(
        r#"{"protocol_version":"1.0.0","correlation_id":"a","request":{"context":{"user_intent":"hi","extensions":{"x":1.0}}}}"#,
    );
    let same = of(
        "{ \"request\": {\"context\":{\"extensions\":{\"x\":10e-1},\"user_intent\":\"\\u0068i\"}},\n\
         \"correlation_id\":\"b\",\"protocol_version\":\"1.0.0\" }",
    );
    assert_eq!(first, same, "blanks, order, spelling and the trace do not count");
    for other in [
        r#"{"protocol_version":"1.0.0","request":{"context":{"user_intent":"ho","extensions":{"x":1}}}}"#,
        r#"{"protocol_version":"1.0.0","request":{"context":{"user_intent":"hi","extensions":{"x":1,"y":0}}}}"#,
        r#"{"protocol_version":"1.0.0","ignored":1,"request":{"context":{"user_intent":"hi","extensions":{"x":1}}}}"#,
        r#"{"protocol_version":"1.0.0","request":{"correlation_id":"a","context":{"user_intent":"hi","extensions":{"x":1}}}}"#,
    ] {
        assert_ne!(of(other), first, "{other}");
    }
    let number = |digit| {
        format!(
            r#"{{"protocol_version":"1.0.0","request":{{"context":{{"user_intent":"hi","n":900719925474099{digit}}}}}}}"#
        )
    };
    assert_ne!(of(&number(2)), of(&number(3)), "equal as floats");
}

#[test]
fn what_is_private_does_not_show_in_debug() {
    let received = received(
        r#"{"protocol_version":"1.4.0","request":{"auth":{"credential_ref":"OHCANARY","session_id":"OHCANARY"},"context":{"user_intent":"OHCANARY","continuation":{"continuation_token":"OHCANARY"},"task_hint":{"x":"OHCANARY"},"environment_state":{"os":"OHCANARY","x":"OHCANARY"},"attachments":[{"uri":"OHCANARY","filename":"OHCANARY"}],"extensions":{"dev.bridle":{"directive_results":[{"directive_id":"d","outcome":"failed","output":"OHCANARY","error":{"code":"x","message":"OHCANARY"}}]}}}}}"#,
    );
    assert!(!format!("{received:?}").contains("OHCANARY"));
    assert_eq!(received.service, VersionService::Newer);
    let context = received.message.context().unwrap();
    assert_eq!(context.environment_state.as_ref().unwrap().tier(), PrivacyTier::Restricted);
    assert_eq!(context.directive_results().len(), 1);
}

fn document() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    fs::read_to_string(file).unwrap()
}

/// The rows of the table behind a heading, cell by cell.
fn table<'d>(document: &'d str, heading: &str) -> Vec<Vec<&'d str>> {
    let start = document.find(heading).unwrap_or_else(|| panic!("no `{heading}`"));
    let rest = &document[start + heading.len()..];
    rest[..rest.find("\n#").unwrap_or(rest.len())]
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

#[test]
fn the_list_of_codes_is_exact() {
    let document = document();
    let rows = table(&document, "### 15.3 Errors");
    let listed: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(listed, OpenHarnessCode::ALL.map(OpenHarnessCode::as_str));
    for (row, code) in rows.iter().zip(OpenHarnessCode::ALL) {
        assert_eq!(row[1], code.http_status().to_string(), "{code:?}");
        assert_eq!(row[2], if code.retryable() { "yes" } else { "no" }, "{code:?}");
        assert_eq!(row[3], code.explanation());
    }
}

#[test]
fn the_list_of_faults_is_exact() {
    let document = document();
    let rows = table(&document, "### 15.2 Text");
    let listed: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(listed, JsonFault::ALL.map(JsonFault::as_str));
}

#[test]
fn the_first_examples_of_the_document_are_read() {
    let document = document();
    let head = &document[..document.find("### 15.1").unwrap()];
    let examples: Vec<&str> =
        head.split("```json\n").skip(1).map(|part| part.lines().next().unwrap()).collect();
    let [request, success, failure] = examples[..] else { panic!("{examples:?}") };
    assert_eq!(receive(request.as_bytes(), &STRICT).unwrap().service, VersionService::Known);
    for answer in [success, failure] {
        read_response(answer.as_bytes(), &STRICT).unwrap();
    }
}
