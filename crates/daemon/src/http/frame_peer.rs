//! A peer that sends requests in frames: on a WebSocket, or on lines of standard input.
//!
//! `websocket` and `json_lines` read and write the bytes; a [`FramePeer`] reads what is in a frame, has
//! [`exchange`] carry it out, and writes replies and events as frames. Nothing is
//! decided here that is not decided for requests over HTTP.

mod request_contexts;

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use bridle_wire::openharness::event::{OpenHarnessEvent, StreamFinal};
use bridle_wire::openharness::exchange::CancelRequest;
use bridle_wire::openharness::ids::{RequestId, StreamId};
use bridle_wire::openharness::json::{BrokenJson, JsonFault};
use bridle_wire::openharness::socket::{PostedRequest, ShellFrame};
use bridle_wire::openharness::{
    ErrorObject, JsonShape as _, MessageLimits, OpenHarnessCode, ReceivedRequest, RefusedMessage,
    RequestEcho, ResponseMessage, receive,
};
use tokio::sync::mpsc;

use super::auth::HttpPeer;
use super::event_stream::EventStream;
use super::exchange::{
    self, ExchangeLog, ExchangeReply, ExchangeRequest, Received, ReplyFormat, echo_of,
};
use super::trace_headers::TraceHeaders;
use super::{HttpService, cancel};
use request_contexts::RequestContexts;

/// Requests of one connection that run beside each other.
pub(super) const MAX_RUNNING_REQUESTS: usize = 32;

/// Texts of one connection that wait to be written; then its answers wait.
pub(super) const MAX_UNWRITTEN_TEXTS: usize = 32;

/// Largest envelope around a request, in bytes: `{"type":"request","message":}` and blanks.
const MAX_ENVELOPE_BYTES: usize = 1 << 10;

/// Size above which a frame is read on another thread, in bytes, as the body of a request is.
const SPAWN_BLOCKING_BYTES: usize = 64 << 10;

/// Stream id of a message that belongs to no stream.
const NO_STREAM: &str = "none";

/// Form of a message that is not part of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageStyle {
    /// The last event of a stream without others.
    Events,
    /// The message itself.
    Messages,
}

/// A peer whose frames are carried out.
#[derive(Debug)]
pub(super) struct FramePeer {
    http: Arc<HttpService>,
    peer: Arc<HttpPeer>,
    /// Headers with which the shell connected: host, origin, credential.
    headers: HeaderMap,
    style: MessageStyle,
    /// Contexts of the latest requests, for their results.
    contexts: Mutex<RequestContexts>,
}

/// Way of the answers of a connection to its writer.
pub(super) type TextSender = mpsc::Sender<String>;

/// A frame that was read, or its refusal.
pub(super) type FrameRead = Result<ShellFrame, Box<RefusedMessage>>;

/// The writer of the connection has ended.
struct ReceiverGone;

impl FramePeer {
    /// Makes a peer that connected with these headers.
    pub(super) fn new(
        http: Arc<HttpService>,
        peer: Arc<HttpPeer>,
        headers: &HeaderMap,
        style: MessageStyle,
    ) -> FramePeer {
        let mut kept = HeaderMap::new();
        for name in [HOST, ORIGIN, AUTHORIZATION] {
            for value in headers.get_all(&name) {
                kept.append(&name, value.clone());
            }
        }
        FramePeer { http, peer, headers: kept, style, contexts: Mutex::default() }
    }

    /// Tells whether its principal is still known: a token may have been revoked.
    pub(super) async fn is_known(&self) -> bool {
        self.peer.known(&self.http, &self.headers).await.is_some()
    }

    /// Returns the size of the largest frame or line that is read, in bytes.
    pub(super) fn max_frame_bytes(&self) -> usize {
        self.http.limits.bytes + MAX_ENVELOPE_BYTES
    }

    /// Reads a frame; `None` if that failed for no fault of its sender.
    pub(super) async fn read(&self, bytes: Vec<u8>) -> Option<FrameRead> {
        let limits = MessageLimits { bytes: self.max_frame_bytes(), ..self.http.limits };
        let read = match self.style {
            MessageStyle::Events => ShellFrame::read,
            MessageStyle::Messages => ShellFrame::read_line,
        };
        if bytes.len() <= SPAWN_BLOCKING_BYTES {
            return Some(read(&bytes, &limits));
        }
        let task = tokio::task::spawn_blocking(move || read(&bytes, &limits)).await;
        task.inspect_err(|error| tracing::error!(%error, "a frame could not be read")).ok()
    }

    /// Carries a frame out and sends the reply.
    pub(super) async fn carry_out(&self, frame: Option<FrameRead>, out: &TextSender) {
        // A peer that has left gets nothing more.
        let _ = self.try_carry_out(frame, out).await;
    }

    /// Refuses a frame.
    pub(super) async fn refuse(
        &self,
        frame: Option<FrameRead>,
        code: OpenHarnessCode,
        out: &TextSender,
    ) {
        let echo = match frame {
            Some(Ok(ShellFrame::Request(request))) => request.received.echo,
            Some(Ok(ShellFrame::Cancel(cancel))) => echo_of_id(Some(cancel.request_id)),
            Some(Ok(ShellFrame::Results(results))) => echo_of_id(results.request_id),
            Some(Err(refused)) => refused.echo,
            None => RequestEcho::default(),
        };
        let message = ResponseMessage::error(&echo, ErrorObject::of(code));
        let _ = self.send_message(message, None, out).await;
    }

    async fn try_carry_out(
        &self,
        frame: Option<FrameRead>,
        out: &TextSender,
    ) -> Result<(), ReceiverGone> {
        match frame {
            Some(Ok(ShellFrame::Request(request))) => {
                self.contexts().note(&request.received.message);
                let PostedRequest { received, bytes } = *request;
                let received = match bytes > self.http.limits.bytes {
                    false => Ok((Box::new(received), bytes)),
                    true => Err(self.too_large(received)),
                };
                self.exchange(received, None, out).await
            }
            Some(Ok(ShellFrame::Cancel(cancel))) => self.cancel(cancel, out).await,
            Some(Ok(ShellFrame::Results(results))) => {
                let id = results.request_id.clone();
                let text = self.contexts().message(results).to_text();
                let received = receive(text.as_bytes(), &self.http.limits);
                let received = received.map(|received| (Box::new(received), text.len()));
                self.exchange(received, id, out).await
            }
            // A broken frame counts against the rate like any other.
            Some(Err(refused)) => self.exchange(Err(refused), None, out).await,
            None => {
                let error = ErrorObject::of(OpenHarnessCode::InternalError);
                let message = ResponseMessage::error(&RequestEcho::default(), error);
                self.send_message(message, None, out).await
            }
        }
    }

    /// Returns the refusal of a message that fits its frame but not the limit of messages.
    fn too_large(&self, received: ReceivedRequest) -> Box<RefusedMessage> {
        let broken = BrokenJson { fault: JsonFault::TooLarge, offset: self.http.limits.bytes };
        Box::new(RefusedMessage { refusal: broken.into(), echo: received.echo })
    }

    /// Carries out a request and sends its reply. Results of directives name the request that they
    /// belong to in `continues`; their reply carries its id.
    async fn exchange(
        &self,
        received: Received,
        continues: Option<RequestId>,
        out: &TextSender,
    ) -> Result<(), ReceiverGone> {
        let log = ExchangeLog::start();
        let echo = echo_of(&received);
        let id = echo.request_id.clone().or_else(|| continues.clone());
        let marks = TraceHeaders::default().with(echo);
        let who = self.peer.principal(&self.http, &self.headers).await;
        let reply = match (who, received) {
            (Err(code), received) => {
                ExchangeReply::error(echo_of(&received), ErrorObject::of(code))
            }
            (Ok(_), Err(refused)) => ExchangeReply::error(&refused.echo, refused.refusal.error()),
            (Ok(who), Ok((received, bytes))) => {
                let format = match self.peer.follows(received.message.capabilities.as_ref()) {
                    true => ReplyFormat::Stream(None),
                    false => ReplyFormat::Message,
                };
                let host = exchange::host_of(&received.message, self.headers.get(HOST));
                let request = ExchangeRequest { who, received, bytes, format, host, continues };
                Box::pin(exchange::carry_out(&self.http, request)).await
            }
        };
        log.finish(&self.http, &reply, marks.correlation());
        match reply {
            ExchangeReply::Message { message, .. } => {
                self.send_message(*message, id.as_ref(), out).await
            }
            ExchangeReply::Stream(events) => send_events(events, id.as_ref(), out).await,
        }
    }

    /// Cancels a request.
    async fn cancel(&self, asked: CancelRequest, out: &TextSender) -> Result<(), ReceiverGone> {
        let who = self.peer.principal(&self.http, &self.headers).await;
        match who {
            Ok(who) => {
                let accepted = cancel::call_off(&self.http, who, asked.request_id).await;
                self.http.shared.metrics.http(202);
                out.send(accepted.to_frame()).await.map_err(|_| ReceiverGone)
            }
            Err(code) => {
                self.http.shared.metrics.http(code.http_status());
                let error = ErrorObject::of(code);
                let message = ResponseMessage::error(&RequestEcho::default(), error);
                self.send_message(message, Some(&asked.request_id), out).await
            }
        }
    }

    fn contexts(&self) -> std::sync::MutexGuard<'_, RequestContexts> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message that is not part of a stream; one without a request id gets `id`.
    async fn send_message(
        &self,
        mut message: ResponseMessage,
        id: Option<&RequestId>,
        out: &TextSender,
    ) -> Result<(), ReceiverGone> {
        let request_id = message.request_id.take().or_else(|| id.cloned());
        message.request_id.clone_from(&request_id);
        let text = match self.style {
            MessageStyle::Messages => message.to_text(),
            MessageStyle::Events => {
                let stream_id = StreamId::new(NO_STREAM).expect("our names are short");
                let message = Box::new(message);
                let last = StreamFinal { stream_id, seq: 0, request_id, message };
                OpenHarnessEvent::StreamFinal(last).to_frame()
            }
        };
        out.send(text).await.map_err(|_| ReceiverGone)
    }
}

/// Sends events as they come, until the last one.
async fn send_events(
    mut events: EventStream,
    id: Option<&RequestId>,
    out: &TextSender,
) -> Result<(), ReceiverGone> {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            // Leaves the stream, also while no event comes.
            () = out.closed() => return Err(ReceiverGone),
        };
        let Some(event) = event else { return Ok(()) };
        out.send(event.to_frame_of(id)).await.map_err(|_| ReceiverGone)?;
    }
}

fn echo_of_id(request_id: Option<RequestId>) -> RequestEcho {
    RequestEcho { request_id, ..RequestEcho::default() }
}
