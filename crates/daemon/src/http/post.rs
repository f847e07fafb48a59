//! `POST /v1/openharness`: a request in the body of an HTTP request, its reply in the response.
//!
//! The router calls [`handle`], and `server` calls [`posted`] without a router. The sender is known by
//! the head alone; then the body is read before anything else is refused, so that refusals repeat the
//! ids that are in it. [`exchange`] carries the request out.

use std::sync::Arc;

use axum::body::{Bytes, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use bridle_wire::openharness::json::{BrokenJson, JsonFault};
use bridle_wire::openharness::{
    Capabilities, ErrorObject, OpenHarnessCode, RefusedMessage, RequestEcho, receive,
};

use super::auth::HttpPeer;
use super::body::{self, BodyRead};
use super::exchange::{
    self, ExchangeLog, ExchangeReply, ExchangeRequest, Received, ReplyFormat, echo_of,
};
use super::media_type::{EVENT_STREAM_RANGES, JSON_RANGES, accepts, is_json};
use super::trace_headers::TraceHeaders;
use super::{HttpService, response, sse};
use crate::access::principal::Principal;
use crate::byte_budget::ConnectionBytes;

/// Path of requests; the router knows more names of it.
pub(super) const PATH: &str = "/v1/openharness";

/// Header of a response whose answer was there before.
const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Header that may repeat the id of a request.
const IDEMPOTENCY_KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// Size above which a message is read on another thread, in bytes: some 200 us of work.
const SPAWN_BLOCKING_BYTES: usize = 64 << 10;

/// Answers a request that the router found.
pub(super) async fn handle(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    posted(&http, &peer, head, body).await
}

/// Tells whether a request is an exchange, by its head alone.
pub(super) fn is_exchange(head: &Parts) -> bool {
    head.method == Method::POST && head.uri.path() == PATH
}

/// Answers a request to [`PATH`] that took no router. The sender is let in or refused by the head,
/// before the body is read.
pub(super) async fn posted<B>(
    http: &Arc<HttpService>,
    peer: &HttpPeer,
    head: Parts,
    body: B,
) -> Response
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let who = match peer.let_in(http, &head.headers).await {
        Ok(who) => who,
        Err(code) => return refuse_by_head(http, &head, body, code).await,
    };
    let deadline = http.shared.config.limits.frame_deadline;
    let mut held = ConnectionBytes::new(Arc::clone(&http.shared.budget));
    match body::read(body, http.limits.bytes, deadline, &mut held).await {
        BodyRead::NoRoom => {
            let mut response = response::error(
                OpenHarnessCode::EngineOverloaded,
                &RequestEcho::default(),
                TraceHeaders::of(&head.headers),
            );
            response::close_after(&mut response);
            http.shared.metrics.http(response.status().as_u16());
            response
        }
        read => reply(http, (peer, who), head, (read, held)).await,
    }
}

/// Refuses a request whose sender is not let in. Its body is read to repeat the ids in it, as far as
/// a connection may hold it.
async fn refuse_by_head<B>(
    http: &Arc<HttpService>,
    head: &Parts,
    body: B,
    code: OpenHarnessCode,
) -> Response
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let most = body::MAX_ECHOED_BYTES;
    let upper = body.size_hint().upper().and_then(|upper| usize::try_from(upper).ok());
    let mut echo = None;
    if upper.is_some_and(|upper| upper <= most) {
        let deadline = http.shared.config.limits.frame_deadline.min(body::STRANGER_BODY_DEADLINE);
        let mut held = ConnectionBytes::new(Arc::clone(&http.shared.stranger_budget));
        if let BodyRead::Whole(bytes) = body::read(body, most, deadline, &mut held).await {
            let received = receive(&bytes, &http.limits);
            echo = Some(received.map_or_else(|refused| refused.echo, |received| received.echo));
        }
    }
    let is_read = echo.is_some();
    let echo = echo.unwrap_or_default();
    let marks = TraceHeaders::of(&head.headers).with(&echo);
    let mut response = response::error(code, &echo, marks);
    if !is_read {
        response::close_after(&mut response);
    }
    http.shared.metrics.http(response.status().as_u16());
    response
}

/// Answers a request whose body was read.
async fn reply(
    http: &Arc<HttpService>,
    (peer, who): (&HttpPeer, Principal),
    head: Parts,
    (read, held): (BodyRead, ConnectionBytes),
) -> Response {
    let log = ExchangeLog::start();
    let marks = TraceHeaders::of(&head.headers);
    let received = parse(http, read).await;
    let marks = marks.with(echo_of(&received));
    let request = check_headers((peer, who), &head.headers, received);
    // A part of the buffer of its connection: not held while the engine works. A message on its way
    // through the engine is counted by its weight.
    drop((head, held));
    let reply = match request {
        Ok(request) => exchange::carry_out(http, request).await,
        Err(refusal) => refusal,
    };
    log.finish(http, &reply, marks.correlation());
    match reply {
        ExchangeReply::Stream(events) => sse::respond(events, marks),
        ExchangeReply::Message { message, is_replay } => {
            let mut response = response::message(&message, marks);
            if is_replay {
                response.headers_mut().insert(REPLAYED_HEADER, HeaderValue::from_static("true"));
            }
            response
        }
    }
}

/// Reads the message; large ones on another thread.
async fn parse(http: &HttpService, read: BodyRead) -> Received {
    let (bytes, is_whole) = match read {
        BodyRead::Whole(bytes) => (bytes, true),
        BodyRead::TooLarge(mut bytes) => {
            // One byte more than is taken, so that the reader says so itself.
            bytes.push(b' ');
            (bytes.into(), true)
        }
        BodyRead::Broken(bytes) => (bytes, false),
        BodyRead::NoRoom => (Bytes::new(), false),
    };
    let (count, limits) = (bytes.len(), http.limits);
    // Passed on by several hands: in a place of its own.
    let read = move || receive(&bytes, &limits).map(Box::new);
    let received = if count <= SPAWN_BLOCKING_BYTES {
        read()
    } else {
        let apart = tokio::task::spawn_blocking(read).await;
        apart.unwrap_or_else(|error| {
            tracing::error!(%error, "a message could not be read apart");
            receive(b"", &limits).map(Box::new)
        })
    };
    match received {
        // What looks whole is not, as long as more was announced.
        Ok(received) if !is_whole => {
            let broken = BrokenJson { fault: JsonFault::Incomplete, offset: count };
            Err(Box::new(RefusedMessage { refusal: broken.into(), echo: received.echo }))
        }
        received => received.map(|received| (received, count)),
    }
}

/// Checks a message against the headers that came with it.
fn check_headers(
    (peer, who): (&HttpPeer, Principal),
    headers: &HeaderMap,
    received: Received,
) -> Result<ExchangeRequest, ExchangeReply> {
    let refuse = |echo, code| Err(ExchangeReply::error(echo, ErrorObject::of(code)));
    if !is_json(headers) {
        return refuse(echo_of(&received), OpenHarnessCode::UnsupportedMediaType);
    }
    let (received, bytes) =
        received.map_err(|refused| ExchangeReply::error(&refused.echo, refused.refusal.error()))?;
    let Some(format) = reply_format(peer, headers, received.message.capabilities.as_ref()) else {
        return refuse(&received.echo, OpenHarnessCode::NotAcceptable);
    };
    let id = received.message.request_id.as_ref();
    if let Some(key) = headers.get(IDEMPOTENCY_KEY_HEADER)
        && Some(key.as_bytes()) != id.map(|id| id.as_str().as_bytes())
    {
        return refuse(&received.echo, OpenHarnessCode::HeaderMismatch);
    }
    let host = exchange::host_of(&received.message, headers.get(HOST));
    Ok(ExchangeRequest { who, received, bytes, format, host, continues: None })
}

/// Returns the form that a shell asks for; a stream must be asked for in the capabilities and in
/// `Accept`. `None` if the shell accepts neither.
fn reply_format(
    peer: &HttpPeer,
    headers: &HeaderMap,
    asked: Option<&Capabilities>,
) -> Option<ReplyFormat> {
    if peer.follows(asked) && accepts(headers, &EVENT_STREAM_RANGES) {
        return Some(ReplyFormat::Stream(sse::last_event(headers)));
    }
    accepts(headers, &JSON_RANGES).then_some(ReplyFormat::Message)
}
