//! A request that comes in a frame or on a line, carried out like one that was posted.
//!
//! Used by `ws` and `lines`. What was sent goes through the same router, and so through the same
//! gate, the same limits and the same repeats; only the form of the answer differs. Nothing is
//! decided here.

mod events;
mod results;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use axum::response::Response;
use bridle_wire::openharness::event::{OpenHarnessEvent, StreamFinal};
use bridle_wire::openharness::ids::{RequestId, StreamId};
use bridle_wire::openharness::socket::ShellFrame;
use bridle_wire::openharness::{
    ErrorObject, JsonShape as _, MessageLimits, OpenHarnessCode, RefusedMessage, RequestEcho,
    ResponseMessage, read_response,
};
use tokio::sync::mpsc;
use tower_service::Service as _;

use super::HttpService;
use super::auth::HttpPeer;
use super::body::{self, BodyRead};
use super::exchange::PATH;
use crate::byte_budget::ConnectionBytes;
use events::{EventBlocks, frame_of, typed};
use results::RequestContexts;

/// Requests of one connection that run beside each other.
pub(super) const MAX_RUNNING: usize = 32;

/// Texts of one connection that wait to be written; then its answers wait.
pub(super) const MAX_UNWRITTEN: usize = 32;

/// The largest envelope around a request, in bytes: `{"type":"request","message":}` and blanks.
const ENVELOPE: usize = 1 << 10;

/// A frame of more bytes is read on another thread, as the body of a request is.
const LARGE: usize = 64 << 10;

/// Largest answer that is no stream, in bytes: what a turn may say, escaped.
const MAX_ANSWER: usize = 16 << 20;

/// The stream of an answer that began none.
const NO_STREAM: &str = "none";

const CANCEL: &str = "/v1/openharness/cancel";

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageStyle {
    /// As the last event of a stream that has no other.
    Events,
    /// As it is.
    Messages,
}

/// A connection whose requests are carried out.
#[derive(Debug)]
pub(super) struct InProcessClient {
    http: Arc<HttpService>,
    router: Router,
    peer: Arc<HttpPeer>,
    /// What the shell said when it connected: host, origin, credential.
    headers: HeaderMap,
    style: MessageStyle,
    /// What results are told apart by; touched by every request of the connection.
    contexts: Mutex<RequestContexts>,
}

/// Where the answers of a connection go.
pub(super) type Out = mpsc::Sender<String>;

/// What a shell sent, read.
pub(super) type Sent = Result<ShellFrame, Box<RefusedMessage>>;

/// Says with a request that it goes on with what this one began: calling that off ends it, too.
#[derive(Clone, Debug)]
pub(super) struct ContinuedRequest(pub(super) RequestId);

/// Nobody takes answers any more.
struct ReceiverGone;

impl InProcessClient {
    /// A connection of a peer that said this about itself.
    pub(super) fn new(
        http: Arc<HttpService>,
        router: Router,
        peer: Arc<HttpPeer>,
        said: &HeaderMap,
        style: MessageStyle,
    ) -> InProcessClient {
        let mut headers = HeaderMap::new();
        for name in [HOST, ORIGIN, AUTHORIZATION] {
            for value in said.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        InProcessClient { http, router, peer, headers, style, contexts: Mutex::default() }
    }

    /// Tells whether its peer is still somebody: a token may have been revoked.
    pub(super) async fn is_known(&self) -> bool {
        self.peer.known(&self.http, &self.headers).await.is_some()
    }

    /// Largest frame or line that is read, in bytes.
    pub(super) fn most(&self) -> usize {
        self.http.limits.bytes + ENVELOPE
    }

    /// Reads what a shell sent; `None` if that failed for no fault of its own.
    pub(super) async fn read(&self, bytes: Vec<u8>) -> Option<Sent> {
        let limits = MessageLimits { bytes: self.most(), ..self.http.limits };
        let read = match self.style {
            MessageStyle::Events => ShellFrame::read,
            MessageStyle::Messages => ShellFrame::read_line,
        };
        if bytes.len() <= LARGE {
            return Some(read(&bytes, &limits));
        }
        let apart = tokio::task::spawn_blocking(move || read(&bytes, &limits)).await;
        apart.inspect_err(|error| tracing::error!(%error, "a frame could not be read apart")).ok()
    }

    /// Carries out what a shell sent and hands over what is answered.
    pub(super) async fn carry_out(&self, sent: Option<Sent>, out: &Out) {
        // Who left is told nothing more.
        let _ = self.try_carry_out(sent, out).await;
    }

    /// Refuses what a shell sent.
    pub(super) async fn refuse(&self, sent: Option<Sent>, code: OpenHarnessCode, out: &Out) {
        let echo = match sent {
            Some(Ok(ShellFrame::Request(posted))) => posted.received.echo.clone(),
            Some(Ok(ShellFrame::Cancel(cancel))) => of_id(Some(cancel.request_id)),
            Some(Ok(ShellFrame::Results(results))) => of_id(results.request_id),
            Some(Err(refused)) => refused.echo,
            None => RequestEcho::default(),
        };
        let message = ResponseMessage::error(&echo, ErrorObject::of(code));
        let _ = self.say(message, None, out).await;
    }

    async fn try_carry_out(&self, sent: Option<Sent>, out: &Out) -> Result<(), ReceiverGone> {
        match sent {
            Some(Ok(ShellFrame::Request(posted))) => {
                self.contexts().note(&posted.received.message);
                let response = self.post(PATH, posted.body.into(), None).await;
                self.pass_on(response, posted.received.echo.request_id.as_ref(), out).await
            }
            Some(Ok(ShellFrame::Cancel(cancel))) => {
                let response = self.post(CANCEL, cancel.to_text(), None).await;
                self.pass_on(response, Some(&cancel.request_id), out).await
            }
            Some(Ok(ShellFrame::Results(results))) => {
                let id = results.request_id.clone();
                let message = self.contexts().message(results);
                let of = id.clone().map(ContinuedRequest);
                let response = self.post(PATH, message.to_text(), of).await;
                self.pass_on(response, id.as_ref(), out).await
            }
            Some(Err(refused)) => {
                // What is broken counts like what is not.
                let message = match self.peer.principal(&self.http, &self.headers).await {
                    Ok(_) => refused.response(),
                    Err(code) => ResponseMessage::error(&refused.echo, ErrorObject::of(code)),
                };
                self.say(message, None, out).await
            }
            None => self.say(failed(), None, out).await,
        }
    }

    fn contexts(&self) -> std::sync::MutexGuard<'_, RequestContexts> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a text to ourselves.
    async fn post(&self, to: &'static str, text: String, of: Option<ContinuedRequest>) -> Response {
        let mut request = Request::new(Body::from(text));
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, Uri::from_static(to));
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        request.extensions_mut().insert(Arc::clone(&self.peer));
        if let Some(of) = of {
            request.extensions_mut().insert(of);
        }
        // A router is always ready, and always answers.
        let Ok(response) = self.router.clone().call(request).await;
        response
    }

    /// Hands a response on, piece by piece as it comes.
    async fn pass_on(
        &self,
        response: Response,
        id: Option<&RequestId>,
        out: &Out,
    ) -> Result<(), ReceiverGone> {
        let (head, body) = response.into_parts();
        let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if kind == Some(b"text/event-stream") {
            let mut blocks = EventBlocks::new(body);
            while let Some(block) = blocks.next().await {
                if let Some(frame) = frame_of(&block, id) {
                    out.send(frame).await.map_err(|_| ReceiverGone)?;
                }
            }
            return Ok(());
        }
        let deadline = self.http.shared.config.limits.write_deadline;
        let mut held = ConnectionBytes::new(Arc::clone(&self.http.shared.budget));
        let BodyRead::Whole(bytes) = body::read(body, MAX_ANSWER, deadline, &mut held).await else {
            return self.say(failed(), id, out).await;
        };
        if head.status == StatusCode::ACCEPTED {
            let text = String::from_utf8_lossy(&bytes);
            return out
                .send(typed("canceled", None, text.trim_end()))
                .await
                .map_err(|_| ReceiverGone);
        }
        let limits = MessageLimits { bytes: MAX_ANSWER, ..self.http.limits };
        let message = read_response(&bytes, &limits).unwrap_or_else(|_| failed());
        self.say(message, id, out).await
    }

    /// Says a message that is not part of a stream.
    async fn say(
        &self,
        mut message: ResponseMessage,
        id: Option<&RequestId>,
        out: &Out,
    ) -> Result<(), ReceiverGone> {
        let request_id = message.request_id.take().or_else(|| id.cloned());
        message.request_id.clone_from(&request_id);
        let text = match self.style {
            MessageStyle::Messages => message.to_text(),
            MessageStyle::Events => {
                let stream_id = StreamId::new(NO_STREAM).expect("our names are short");
                let message = Box::new(message);
                OpenHarnessEvent::StreamFinal(StreamFinal {
                    stream_id,
                    seq: 0,
                    request_id,
                    message,
                })
                .to_frame()
            }
        };
        out.send(text).await.map_err(|_| ReceiverGone)
    }
}

fn of_id(request_id: Option<RequestId>) -> RequestEcho {
    RequestEcho { request_id, ..RequestEcho::default() }
}

fn failed() -> ResponseMessage {
    ResponseMessage::error(&RequestEcho::default(), ErrorObject::of(OpenHarnessCode::InternalError))
}
