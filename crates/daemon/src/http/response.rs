//! OpenHarness messages as HTTP responses.
//!
//! Every handler uses it. The body is always an envelope, whatever the status; the status is that
//! of the error's code.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_wire::openharness::json::JsonWriter;
use bridle_wire::openharness::{
    ErrorObject, JsonShape as _, OpenHarnessCode, RequestEcho, ResponseMessage,
};

use super::HttpService;
use super::auth::HttpPeer;
use super::trace_headers::TraceHeaders;

/// The type of every message.
const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// `Retry-After` of a busy daemon, in seconds.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Capacity for a message, in bytes: a screen of text fits in twice. It is sent at once; events of a
/// stream, which wait, get less.
const MESSAGE_CAPACITY: usize = 4 << 10;

/// Response of a connection for which there is no slot.
pub(super) const NO_SLOT_RESPONSE: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\n",
    "retry-after: 1\r\nconnection: close\r\ncontent-length: 195\r\n\r\n",
    "{\"protocol_version\":\"1.0.0\",\"supported_protocol_versions\":[\"1.0.0\"],",
    "\"response\":{\"status\":\"error\",\"error\":{\"code\":\"engine_overloaded\",",
    "\"message\":\"the engine has too much to do\",\"retryable\":true}}}\n",
);

/// Writes a message.
pub(super) fn message(message: &ResponseMessage, marks: TraceHeaders) -> Response {
    let code = message.response.error.as_ref().map(ErrorObject::known);
    let mut out = JsonWriter::with_room(MESSAGE_CAPACITY);
    message.write(&mut out);
    let mut text = out.finish();
    text.push('\n');
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    marks.put(headers);
    if let Some(code) = code {
        let code = code.unwrap_or(OpenHarnessCode::InternalError);
        put(code, headers);
        let status = StatusCode::from_u16(code.http_status());
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    }
    response
}

/// Writes an error that is no more than its code.
pub(super) fn error(code: OpenHarnessCode, echo: &RequestEcho, marks: TraceHeaders) -> Response {
    message(&ResponseMessage::error(echo, ErrorObject::of(code)), marks)
}

/// Writes a document that is no message.
pub(super) fn document(status: StatusCode, kind: HeaderValue, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Writes a JSON document that is no message.
pub(super) fn json(status: StatusCode, text: impl Into<Body>) -> Response {
    document(status, JSON, text)
}

/// Answers a path that no route has.
pub(super) async fn not_found(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    headers: HeaderMap,
) -> Response {
    refuse(&http, &peer, &headers, OpenHarnessCode::NotFound)
}

/// Answers a method that a route does not have; the router names the right ones.
pub(super) async fn method_not_allowed(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    headers: HeaderMap,
) -> Response {
    refuse(&http, &peer, &headers, OpenHarnessCode::MethodNotAllowed)
}

fn refuse(
    http: &HttpService,
    peer: &HttpPeer,
    headers: &HeaderMap,
    code: OpenHarnessCode,
) -> Response {
    let code = peer.check(headers).err().unwrap_or(code);
    http.shared.metrics.http(code.http_status());
    error(code, &RequestEcho::default(), TraceHeaders::of(headers))
}

/// Adds the headers of a code.
fn put(code: OpenHarnessCode, headers: &mut HeaderMap) {
    match code {
        OpenHarnessCode::Unauthenticated => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        OpenHarnessCode::RateLimited | OpenHarnessCode::EngineOverloaded => {
            headers.insert(RETRY_AFTER, RETRY_SECONDS);
        }
        _ => {}
    }
}

/// Has a connection end behind an answer: what the peer still sends is not worth reading.
pub(super) fn close_after(response: &mut Response) {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
}

#[cfg(test)]
mod tests {
    use super::NO_SLOT_RESPONSE;
    use bridle_wire::openharness::{MessageLimits, OpenHarnessCode, read_response};

    #[test]
    fn what_a_crowd_gets_is_a_whole_response() {
        let (head, body) = NO_SLOT_RESPONSE.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        assert_eq!(length.parse(), Ok(body.len()));
        let message = read_response(body.as_bytes(), &MessageLimits::default()).unwrap();
        assert_eq!(
            message.response.error.unwrap().known(),
            Some(OpenHarnessCode::EngineOverloaded)
        );
    }
}
