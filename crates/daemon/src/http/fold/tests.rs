//! Answers made from what is recorded.

use std::sync::Arc;

use bridle_loop::{Name, SessionId};
use bridle_wire::openharness::{Code, Echo, ResponseMessage};

use super::{Reader, answer};
use crate::engine::{Kind, StreamEvent};
use crate::http::run::Ran;
use crate::http::signal::About;

fn ran(payload: &str) -> Ran {
    let body = Some(format!("(:answers 1 :payload {payload})").into());
    let said = StreamEvent { seq: 2, record: 9, at: 1_040, kind: Kind::Say, body, origin: None };
    Ran {
        session: SessionId::parse("s").unwrap(),
        seq: 1,
        began: 1_000,
        said: Arc::new(said),
        is_replay: false,
        is_step: false,
    }
}

/// What a shell that cannot ask is told.
fn heard(ran: &Ran, about: &About) -> ResponseMessage {
    answer(ran, Reader { echo: &Echo::default(), about, asks: None })
}

#[test]
fn words_become_a_message_and_the_latency_is_the_recorded_one() {
    let said = ran("(:status :success :action :message :text \"hi\")");
    let message = heard(&said, &About::default());
    assert_eq!(message.response.engine_latency_ms.unwrap().0, 40);
    assert_eq!(message.response.action_directives[0].text(), Some("hi"));
    let again = heard(&said, &About::default());
    assert_eq!(message, again);
}

#[test]
fn a_terminal_gets_nothing_that_it_would_obey() {
    let said = ran("(:status :success :action :message :text \"a\u{1b}[31mb\tc\")");
    let about = About { kind: Some(Name::new("command_shell")), ..About::default() };
    let message = heard(&said, &about);
    let directive = &message.response.action_directives[0];
    assert_eq!(directive.text(), Some("a[31mb\tc"));
    let format = directive.payload.as_ref().unwrap().get("format").unwrap();
    assert_eq!(format.as_str(), Some("plain"));
}

#[test]
fn an_error_says_its_code_and_nothing_that_was_recorded() {
    for (word, code, retryable) in [
        ("refused", Code::Forbidden, "nil"),
        ("cancelled", Code::Canceled, "nil"),
        ("expired", Code::EngineTimeout, "nil"),
        ("overloaded", Code::EngineOverloaded, "t"),
        ("engine-failed", Code::UpstreamError, "t"),
        ("unknown-target", Code::UpstreamError, "nil"),
    ] {
        let said = ran(&format!(
            "(:status :error :code :{word} :message \"canary\" :retryable {retryable})"
        ));
        let message = heard(&said, &About::default());
        let error = message.response.error.unwrap();
        assert_eq!(error.known(), Some(code), "{word}");
        assert_eq!(error.retryable, Some(retryable == "t"), "{word}");
        assert!(!error.message.unwrap().contains("canary"));
    }
}

#[test]
fn what_was_erased_is_gone() {
    let mut said = ran("nil");
    said.said = Arc::new(StreamEvent {
        seq: 2,
        record: 9,
        at: 1,
        kind: Kind::Say,
        body: None,
        origin: None,
    });
    let message = heard(&said, &About::default());
    assert_eq!(message.response.error.unwrap().known(), Some(Code::StreamExpired));
}
