//! `GET /v1/openharness/ws`: profile `dev.bridle.ws.1`, requests and their events on one connection.
//!
//! The router calls [`upgrade`]. `frame` reads and writes the bytes; `frame_peer` carries out the
//! requests in them. One task a connection reads, writes and watches
//! over it; each request is a task of its own. Leaving a connection leaves its streams, as leaving
//! a stream does.

mod frame;

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::extract::{Extension, Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_wire::openharness::{ErrorObject, OpenHarnessCode, RequestEcho, ResponseMessage};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, MissedTickBehavior};

use super::auth::HttpPeer;
use super::frame_peer::{
    FramePeer, MAX_RUNNING_REQUESTS, MAX_UNWRITTEN_TEXTS, MessageStyle, TextSender,
};
use super::server::HttpConnection;
use super::trace_headers::TraceHeaders;
use super::{HttpService, response};
use crate::byte_budget::ConnectionBytes;
use bridle_sexp::byte_text::base64;
use frame::{WebSocketDecoder, WebSocketFault, WebSocketInput};

/// The subprotocol that a shell must offer.
const PROTOCOL: &str = "openharness.v1";

/// The version of WebSocket that there is.
const VERSION: &str = "13";

/// Letters of a key: sixteen bytes in base64.
const KEY_CHARS: usize = 24;

/// Text with which a key is hashed (RFC 6455).
const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Frames of one connection that are being refused; then nothing is read from it.
const MAX_REFUSED_FRAMES: usize = 32;

/// The right to take one frame.
type Turn = OwnedSemaphorePermit;

/// Bytes that are read at once.
const READ_CHUNK_BYTES: usize = 4 << 10;

/// Codes of a close (RFC 6455).
const AWAY: u16 = 1001;
const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED: u16 = 1003;
const NOT_UTF8: u16 = 1007;
const POLICY: u16 = 1008;
const TOO_LARGE: u16 = 1009;
const TRY_AGAIN: u16 = 1013;

/// Times a `frame-deadline` after which a peer of which nothing came is gone; it is asked for a sign
/// of life after each of them.
const MAX_SILENT_INTERVALS: u32 = 3;

/// Begins to speak WebSocket.
pub(super) async fn upgrade(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    Extension(link): Extension<Arc<HttpConnection>>,
    mut request: Request,
) -> Response {
    let upgrade = hyper::upgrade::on(&mut request);
    let headers = request.headers();
    let response = match admit(&http, &peer, headers).await {
        Ok(accept) => {
            let peer = Arc::new(peer.on_socket());
            let frames = FramePeer::new(Arc::clone(&http), peer, headers, MessageStyle::Events);
            http.shared.tasks.spawn(open(Arc::clone(&http), frames, upgrade, link));
            switching(accept)
        }
        Err(error) => {
            let marks = TraceHeaders::of(headers);
            let mut response =
                response::message(&ResponseMessage::error(&RequestEcho::default(), *error), marks);
            response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
            response
        }
    };
    http.shared.metrics.http(response.status().as_u16());
    response
}

/// Checks the peer and the handshake; returns the value of `Sec-WebSocket-Accept`.
async fn admit(
    http: &HttpService,
    peer: &HttpPeer,
    headers: &HeaderMap,
) -> Result<HeaderValue, Box<ErrorObject>> {
    let of = |code| Box::new(ErrorObject::of(code));
    peer.check(headers).map_err(of)?;
    peer.principal(http, headers).await.map_err(of)?;
    let wrong = |expected: &str| {
        Box::new(ErrorObject::of(OpenHarnessCode::InvalidRequest).with_detail("expected", expected))
    };
    if !lists(headers, &UPGRADE, "websocket") || !lists(headers, &CONNECTION, "upgrade") {
        return Err(wrong("an upgrade to websocket"));
    }
    if !lists(headers, &SEC_WEBSOCKET_VERSION, VERSION) {
        return Err(wrong("version 13 of websocket"));
    }
    if !lists(headers, &SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        return Err(wrong("the subprotocol openharness.v1"));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let key = key.filter(|key| key.len() == KEY_CHARS).ok_or_else(|| wrong("a key"))?;
    HeaderValue::from_str(&accept(key)).map_err(|_| of(OpenHarnessCode::InternalError))
}

/// Returns the proof that a key was read.
fn accept(key: &[u8]) -> String {
    let digest =
        ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &[key, ACCEPT_GUID].concat());
    base64(digest.as_ref())
}

/// Tells whether a header has a word among those with commas between them.
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|listed| listed.trim().eq_ignore_ascii_case(word))
}

fn switching(accept: HeaderValue) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// Serves a connection, which keeps its seat until it ends.
async fn open(
    http: Arc<HttpService>,
    frames: FramePeer,
    upgrade: OnUpgrade,
    _link: Arc<HttpConnection>,
) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => upgraded,
        Err(error) => return tracing::debug!(%error, "a connection did not become a websocket"),
    };
    Box::pin(WebSocketConnection::new(http, frames, TokioIo::new(upgraded)).serve()).await;
}

/// A connection.
struct WebSocketConnection {
    http: Arc<HttpService>,
    frames: Arc<FramePeer>,
    io: TokioIo<Upgraded>,
    decoder: WebSocketDecoder,
    running: Arc<Semaphore>,
    /// Turns for what runs and for what is refused; nothing is taken while there is none.
    turns: Arc<Semaphore>,
    /// Time of the last bytes from the peer.
    heard: Instant,
    /// Start of a message whose end has not come; `None` while nothing is read.
    began: Option<Instant>,
    /// Its share of the bytes in flight: what has come and was not taken.
    held: ConnectionBytes,
}

/// Reason for the end of a connection.
enum WebSocketEnd {
    /// Broken connection.
    Broken,
    /// Closed by the peer.
    Theirs(Option<u16>),
    /// Closed by the daemon.
    Ours(u16, &'static str),
    /// The daemon stops.
    Stop,
}

impl From<io::Error> for WebSocketEnd {
    fn from(error: io::Error) -> WebSocketEnd {
        tracing::debug!(%error, "a websocket broke off");
        WebSocketEnd::Broken
    }
}

impl From<WebSocketFault> for WebSocketEnd {
    fn from(fault: WebSocketFault) -> WebSocketEnd {
        match fault {
            WebSocketFault::Protocol => WebSocketEnd::Ours(PROTOCOL_ERROR, "this is no websocket"),
            WebSocketFault::Binary => WebSocketEnd::Ours(UNSUPPORTED, "text is expected"),
            WebSocketFault::NotUtf8 => WebSocketEnd::Ours(NOT_UTF8, "UTF-8 is expected"),
            WebSocketFault::TooLarge => WebSocketEnd::Ours(TOO_LARGE, "the frame is too large"),
        }
    }
}

impl WebSocketConnection {
    fn new(
        http: Arc<HttpService>,
        frames: FramePeer,
        io: TokioIo<Upgraded>,
    ) -> WebSocketConnection {
        let decoder = WebSocketDecoder::new(frames.max_frame_bytes());
        let running = Arc::new(Semaphore::new(MAX_RUNNING_REQUESTS));
        let turns = Arc::new(Semaphore::new(MAX_RUNNING_REQUESTS + MAX_REFUSED_FRAMES));
        let (frames, heard) = (Arc::new(frames), Instant::now());
        let held = ConnectionBytes::new(Arc::clone(&http.shared.budget));
        WebSocketConnection { http, frames, io, decoder, running, turns, heard, began: None, held }
    }

    async fn serve(mut self) {
        let (out, mut answers) = mpsc::channel(MAX_UNWRITTEN_TEXTS);
        let end = self.talk(&out, &mut answers).await;
        drop(out);
        let grace = self.http.shared.config.limits.shutdown_grace;
        let last = async {
            match end {
                WebSocketEnd::Broken => return Ok(()),
                WebSocketEnd::Theirs(code) => self.io.write_all(&frame::close_back(code)).await?,
                WebSocketEnd::Ours(code, why) => self.close(code, why).await?,
                WebSocketEnd::Stop => {
                    // What runs is told to end, and says so; then it is our turn.
                    while let Some(text) = answers.recv().await {
                        self.io.write_all(&frame::text(&text)).await?;
                    }
                    self.close(AWAY, "the daemon stops").await?;
                }
            }
            self.io.shutdown().await
        };
        match tokio::time::timeout(grace, last).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a websocket broke off at its end"),
            Err(_) => tracing::debug!("a websocket was not closed by both sides"),
        }
    }

    /// Says the end and waits until the peer has said the same; what it still asks for is not heard.
    async fn close(&mut self, code: u16, why: &str) -> io::Result<()> {
        self.io.write_all(&frame::close(code, why)).await?;
        self.io.flush().await?;
        let mut chunk = [0; READ_CHUNK_BYTES];
        loop {
            let count = self.io.read(&mut chunk).await?;
            if count == 0 {
                return Ok(());
            }
            self.decoder.push(&chunk[..count]);
            loop {
                match self.decoder.next() {
                    Ok(None) => break,
                    Ok(Some(WebSocketInput::Close(_))) => return Ok(()),
                    Ok(Some(_)) => {}
                    // What cannot be read is thrown away as it comes.
                    Err(_) => {
                        self.decoder = WebSocketDecoder::new(self.frames.max_frame_bytes());
                        break;
                    }
                }
            }
        }
    }

    /// Reads and writes until somebody has enough.
    async fn talk(
        &mut self,
        out: &TextSender,
        answers: &mut mpsc::Receiver<String>,
    ) -> WebSocketEnd {
        let stop = self.http.shared.stop.clone();
        let silence = self.http.shared.config.limits.frame_deadline;
        let mut looks = tokio::time::interval(silence);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.tick().await;
        let (mut chunk, mut turn) = ([0; READ_CHUNK_BYTES], None);
        loop {
            if let Err(end) = self.hear(&mut turn, out).await {
                return end;
            }
            self.count(turn.is_some());
            let late = self.began.unwrap_or_else(Instant::now) + silence;
            let done = tokio::select! {
                () = stop.cancelled() => return WebSocketEnd::Stop,
                () = tokio::time::sleep_until(late), if self.began.is_some() => Err(self.late()),
                next = Arc::clone(&self.turns).acquire_owned(), if turn.is_none() => {
                    // Never closed.
                    turn = next.ok();
                    Ok(())
                }
                count = more(&mut self.held, &self.decoder, &mut self.io, &mut chunk),
                    if turn.is_some() => match count {
                    Ok(0) => Err(WebSocketEnd::Broken),
                    Ok(count) => {
                        self.decoder.push(&chunk[..count]);
                        Ok(())
                    }
                    Err(error) => Err(error.into()),
                },
                Some(text) = answers.recv() => self.write(&frame::text(&text)).await,
                _ = looks.tick() => self.look(silence).await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Says how much is held, and notes when a message begins that is not whole.
    fn count(&mut self, takes: bool) {
        let held = self.decoder.held();
        self.held.set(held);
        self.began = match held > 0 && takes {
            true => self.began.or_else(|| Some(Instant::now())),
            false => None,
        };
    }

    /// Returns the end of a connection whose message was not whole in time.
    fn late(&self) -> WebSocketEnd {
        match self.held.is_waiting() {
            true => WebSocketEnd::Ours(TRY_AGAIN, "the engine has too much to do"),
            false => WebSocketEnd::Ours(POLICY, "the frame took too long"),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), WebSocketEnd> {
        // A peer that takes nothing in time breaks the connection: see `write_deadline`.
        self.io.write_all(bytes).await?;
        Ok(self.io.flush().await?)
    }

    /// Takes what has come, as long as there is a turn for it.
    async fn hear(
        &mut self,
        turn: &mut Option<Turn>,
        out: &TextSender,
    ) -> Result<(), WebSocketEnd> {
        while let Some(own) = turn.take() {
            let Some(heard) = self.decoder.next()? else {
                *turn = Some(own);
                return Ok(());
            };
            self.heard = Instant::now();
            match heard {
                WebSocketInput::Text(text) => {
                    self.take(text, own, out).await;
                    *turn = Arc::clone(&self.turns).try_acquire_owned().ok();
                    continue;
                }
                WebSocketInput::Ping(bytes) => self.write(&frame::pong(&bytes)).await?,
                WebSocketInput::Pong => {}
                WebSocketInput::Close(code) => return Err(WebSocketEnd::Theirs(code)),
            }
            *turn = Some(own);
        }
        Ok(())
    }

    async fn take(&mut self, text: String, turn: Turn, out: &TextSender) {
        let load = self.http.shared.budget.load(text.len());
        let sent = self.frames.read(text.into_bytes()).await;
        let (frames, out) = (Arc::clone(&self.frames), out.clone());
        let runs = Arc::clone(&self.running).try_acquire_owned();
        // Neither is waited for here: what they would wait behind is ours to write.
        self.http.shared.tasks.spawn(async move {
            match runs {
                Ok(_runs) => frames.carry_out(sent, &out).await,
                Err(_) => frames.refuse(sent, OpenHarnessCode::EngineOverloaded, &out).await,
            }
            drop((turn, load));
        });
    }

    /// Looks after a connection from time to time: that there is still somebody, and who.
    async fn look(&mut self, silence: Duration) -> Result<(), WebSocketEnd> {
        if self.heard.elapsed() >= silence * MAX_SILENT_INTERVALS {
            return Err(WebSocketEnd::Ours(AWAY, "nothing was heard"));
        }
        if !self.frames.is_known().await {
            return Err(WebSocketEnd::Ours(POLICY, "a valid credential is needed"));
        }
        self.write(&frame::ping()).await
    }
}

/// Reads more, as soon as there is room for it among the bytes in flight.
async fn more(
    held: &mut ConnectionBytes,
    decoder: &WebSocketDecoder,
    io: &mut TokioIo<Upgraded>,
    chunk: &mut [u8],
) -> io::Result<usize> {
    let room = poll_fn(|cx| match held.room(decoder.held(), cx) {
        0 => Poll::Pending,
        room => Poll::Ready(room),
    });
    let room = room.await.min(chunk.len());
    io.read(&mut chunk[..room]).await
}

#[cfg(test)]
mod tests {
    use super::accept;

    #[test]
    fn a_key_is_answered_as_the_protocol_says() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
