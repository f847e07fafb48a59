//! Events of a reply as Server-Sent Events: profile `dev.bridle.sse.1`.
//!
//! [`post`](super::post) calls [`respond`] when the shell asks for a stream. The same request with
//! `Last-Event-ID` resumes it behind that event.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use http_body::Frame;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::event_stream::EventStream;
use super::trace_headers::TraceHeaders;

/// Header by which a shell names the event that it saw last.
const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");

/// Header that tells proxies to pass events on as they come.
const ACCEL_BUFFERING_HEADER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Time between two keep-alive comments: less than any proxy waits.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Comment that keeps a connection alive.
const KEEP_ALIVE_COMMENT: &[u8] = b": ka\n\n";

/// Returns the number of the event that a shell saw last; a header that is no number counts as none.
pub(super) fn last_event(headers: &HeaderMap) -> Option<u64> {
    headers.get(LAST_EVENT_HEADER)?.to_str().ok()?.parse().ok()
}

/// Writes a stream of events as a response.
pub(super) fn respond(events: EventStream, marks: TraceHeaders) -> Response {
    let mut keep_alive = interval_at(Instant::now() + KEEP_ALIVE_INTERVAL, KEEP_ALIVE_INTERVAL);
    keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut response = Response::new(Body::new(SseBody { events, keep_alive }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ACCEL_BUFFERING_HEADER, HeaderValue::from_static("no"));
    marks.put(headers);
    response
}

/// Body of a response: events as they come, and comments while none comes.
struct SseBody {
    events: EventStream,
    keep_alive: Interval,
}

impl HttpBody for SseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Poll::Ready(event) = self.events.poll_next(cx) {
            return Poll::Ready(event.map(|event| Ok(Frame::data(event.to_sse().into()))));
        }
        let tick = self.keep_alive.poll_tick(cx);
        tick.map(|_| Some(Ok(Frame::data(Bytes::from_static(KEEP_ALIVE_COMMENT)))))
    }
}
