//! Errors as vendors and local servers send them, and what is made of each. The shapes are those of the vendors'
//! own documentation and, for llama.cpp and the mock server, of real processes (`cargo xtask models`).

use std::time::Duration;

use super::{FailureKind, ProviderFailure, ResponseHead};

fn failure(status: u16, headers: &[(&str, &str)], body: &str) -> ProviderFailure {
    let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    ProviderFailure::of_response(&ResponseHead { status, headers }, body.as_bytes())
}

#[track_caller]
fn check(status: u16, body: &str, kind: FailureKind, message: &str) {
    let failure = failure(status, &[], body);
    assert_eq!((failure.kind, failure.message.as_str()), (kind, message));
}

const CONTEXT: FailureKind =
    FailureKind::ContextTooLong { prompt_tokens: None, limit_tokens: None };

#[test]
fn openai_and_those_that_speak_like_it() {
    check(
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-abc12**********wxyz.","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        FailureKind::Authentication,
        "Incorrect API key provided: [key].",
    );
    check(
        429,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        FailureKind::QuotaExhausted,
        "You exceeded your current quota",
    );
    check(
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
        CONTEXT,
        "This model's maximum context length is 8192 tokens.",
    );
    check(
        400,
        r#"{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}"#,
        FailureKind::ContextTooLong { prompt_tokens: Some(4390), limit_tokens: Some(4096) },
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
    );
    check(
        500,
        r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
        CONTEXT,
        "Context size has been exceeded.",
    );
    check(404, r#"{"error":"model 'x' not found"}"#, FailureKind::NotFound, "model 'x' not found");
    check(
        400,
        r#"{"object":"error","message":"wrong","type":"BadRequestError","code":400}"#,
        FailureKind::BadRequest,
        "wrong",
    );
    check(
        403,
        r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["x"]}}}"#,
        FailureKind::ContentFilter,
        "flagged",
    );
    check(
        402,
        r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
        FailureKind::QuotaExhausted,
        "Insufficient credits",
    );
    check(422, r#"{"detail":[{"loc":["body"]}]}"#, FailureKind::BadRequest, "");
}

#[test]
fn anthropic() {
    let body = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    };
    check(529, &body("overloaded_error", "Overloaded"), FailureKind::Overloaded, "Overloaded");
    check(429, &body("rate_limit_error", "slow"), FailureKind::RateLimit, "slow");
    check(413, &body("request_too_large", "big"), FailureKind::RequestTooLarge, "big");
    check(500, &body("api_error", "internal"), FailureKind::ServerError, "internal");
    let long = "prompt is too long: 103078 tokens > 102398 maximum";
    check(400, &body("invalid_request_error", long), CONTEXT, long);
    let poor = "Your credit balance is too low to access the API";
    check(400, &body("invalid_request_error", poor), FailureKind::QuotaExhausted, poor);
    let read = failure(529, &[], &body("overloaded_error", "Overloaded"));
    assert_eq!(
        (read.request_id.as_deref(), read.code.as_str()),
        (Some("req_1"), "overloaded_error")
    );
}

#[test]
fn gemini() {
    let key = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#;
    check(400, key, FailureKind::Authentication, "API key not valid. Please pass a valid API key.");
    let limit = r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}]"#;
    let read = failure(429, &[], limit);
    assert_eq!(
        (read.kind, read.retry_after),
        (FailureKind::RateLimit, Some(Duration::from_millis(34_500)))
    );
    check(
        503,
        r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#,
        FailureKind::Overloaded,
        "busy",
    );
}

#[test]
fn bodies_of_proxies() {
    check(502, "<html><body>Bad Gateway</body></html>", FailureKind::ServerError, "");
    check(503, "", FailureKind::Overloaded, "");
    check(500, "upstream\r\nfailed\u{7}", FailureKind::ServerError, "upstream  failed");
    check(302, "", FailureKind::BadRequest, "");
    let long = failure(500, &[], &"x ".repeat(5000));
    assert_eq!(long.message.chars().count(), 403);
    assert_eq!(failure(504, &[], "\u{0}").kind, FailureKind::Timeout);
}

#[test]
fn waiting_is_told_in_seconds_milliseconds_and_dates() {
    let wait = |headers: &[(&str, &str)]| failure(429, headers, "{}").retry_after;
    let date = ("Date", "Wed, 18 Nov 2026 23:59:50 GMT");
    assert_eq!(wait(&[("Retry-After", "7")]), Some(Duration::from_secs(7)));
    assert_eq!(wait(&[("retry-after", "0.25")]), Some(Duration::from_millis(250)));
    assert_eq!(
        wait(&[("retry-after-ms", "1500"), ("retry-after", "2")]),
        Some(Duration::from_millis(1500))
    );
    assert_eq!(
        wait(&[date, ("Retry-After", "Wed, 18 Nov 2026 23:59:55 GMT")]),
        Some(Duration::from_secs(5))
    );
    assert_eq!(
        wait(&[date, ("Retry-After", "Thu, 19 Nov 2026 00:00:10 GMT")]),
        Some(Duration::from_secs(20))
    );
    assert_eq!(
        wait(&[date, ("Retry-After", "Wed, 18 Nov 2026 23:59:00 GMT")]),
        Some(Duration::ZERO)
    );
    assert_eq!(wait(&[("Retry-After", "Wed, 18 Nov 2026 23:59:55 GMT")]), None);
    for nonsense in ["-1", "soon", "", "1e3", "99999999999999999999999"] {
        assert_eq!(wait(&[("Retry-After", nonsense)]), None, "{nonsense}");
    }
}

#[test]
fn a_failure_is_a_sentence() {
    let read = failure(429, &[("x-request-id", "r1")], r#"{"error":{"message":"later"}}"#);
    assert_eq!(read.to_string(), "the provider's rate limit is reached, status 429: later");
    assert_eq!(read.request_id.as_deref(), Some("r1"));
    assert!(read.kind.is_retryable());
    assert!(!FailureKind::Authentication.is_retryable());
}
