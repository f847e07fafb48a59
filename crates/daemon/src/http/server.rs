//! Connections that speak HTTP: accepted, served, ended.
//!
//! One task a connection, one of the same slots that framed connections take. The limits are
//! theirs, too: time for a head and for a body, time to take an answer, the grace at the end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Context;

use axum::Router;
use axum::body::Body;
use axum::http::header::{HOST, TRANSFER_ENCODING, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bridle_wire::openharness::{OpenHarnessCode, RequestEcho};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service as _;

use super::HttpService;
use super::auth::{ConnectionKind, HttpPeer};
use super::cors::RequestingPage;
use super::post;
use super::request_heads::StrictStream;
use super::response::{NO_SLOT_RESPONSE, close_after, error};
use super::trace_headers::TraceHeaders;
use super::write_deadline::WriteDeadlineStream;
use crate::access::tls;
use crate::connection_slots::ConnectionSlot;
use crate::listen::{accept_each, prepare_tcp};

/// Bytes of a request's head, blanks around values not counted: thousands of headers are no request.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Bytes that are read before a head is known to end. hyper looks at this only between two reads, so
/// it is no limit of its own; whoever fills it gets 431 from there, without an envelope.
const MAX_UNPARSED_BYTES: usize = 64 << 10;

/// Headers of a request; more get 431.
const MAX_HEADERS: usize = 100;

/// Purpose of a listening address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressPurpose {
    /// Everything.
    Whole,
    /// Pairing alone.
    Pairing,
}

/// Parts that a connection keeps until its end, also when it becomes a WebSocket.
#[derive(Debug)]
pub(super) struct HttpConnection {
    /// Router of its requests.
    pub(super) router: Router,
    face: AddressPurpose,
    seat: ConnectionSlot,
}

impl HttpConnection {
    /// Makes the parts of a connection to everything.
    pub(super) fn whole(router: Router, seat: ConnectionSlot) -> Arc<HttpConnection> {
        Arc::new(HttpConnection { router, face: AddressPurpose::Whole, seat })
    }
}

/// Accepts until the daemon stops.
pub(crate) async fn accept_loop(
    listener: TcpListener,
    http: Arc<HttpService>,
    face: AddressPurpose,
) {
    let router = match face {
        AddressPurpose::Whole => http.router(),
        AddressPurpose::Pairing => http.pair_router(),
    };
    let poll = |cx: &mut Context<'_>| listener.poll_accept(cx);
    let admit = |(stream, remote)| admit(&http, (&router, face), stream, remote);
    accept_each(&http.shared.stop, poll, admit).await;
}

fn admit(
    http: &Arc<HttpService>,
    (router, face): (&Router, AddressPurpose),
    stream: TcpStream,
    remote: SocketAddr,
) {
    prepare_tcp(&stream, http.shared.config.keepalive);
    let local = match stream.local_addr() {
        Ok(local) => local,
        Err(error) => {
            tracing::debug!(%error, "a connection has no address");
            return;
        }
    };
    let (standing, uid) = http.shared.look_at(remote, Some(local));
    let Some(seat) = http.shared.take_slot(standing) else {
        // As much as fits the empty buffer of the socket, which is all of it.
        let _ = stream.try_write(NO_SLOT_RESPONSE.as_bytes());
        return;
    };
    let link = Arc::new(HttpConnection { router: router.clone(), face, seat });
    http.shared.tasks.spawn(serve(Arc::clone(http), link, stream, (remote, local, uid)));
}

/// Both addresses of a connection, and the uid of the peer's socket if the kernel was asked.
type Found = (SocketAddr, SocketAddr, Option<Option<u32>>);

async fn serve(
    http: Arc<HttpService>,
    link: Arc<HttpConnection>,
    stream: TcpStream,
    (remote, local, uid): Found,
) {
    let limits = &http.shared.config.limits;
    let stream = WriteDeadlineStream::new(stream, limits.write_deadline);
    let Some(acceptor) = &http.tls else {
        let peer = HttpPeer::new(remote, local, ConnectionKind::Plain).seated(
            &link.seat,
            uid,
            http.shared.own_uid(),
        );
        return speak(&http, link, stream, peer).await;
    };
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(limits.frame_deadline, acceptor.accept(stream)) => shaken,
        () = left(&link.seat) => return,
        () = http.shared.stop.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => {
            let way = ConnectionKind::Tls(tls::peer(stream.get_ref().1));
            let peer =
                HttpPeer::new(remote, local, way).seated(&link.seat, uid, http.shared.own_uid());
            Box::pin(speak(&http, link, stream, peer)).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
        Err(_) => tracing::debug!("a handshake took too long"),
    }
}

/// Serves requests until either side has enough.
pub(super) async fn speak<S>(
    http: &Arc<HttpService>,
    link: Arc<HttpConnection>,
    stream: S,
    peer: HttpPeer,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &http.shared.config.limits;
    let peer = Arc::new(peer.letting_in(Arc::clone(&http.shared.config.http_origins)));
    let (stream, is_ambiguous) = StrictStream::new(stream);
    let (io, served, own) = (TokioIo::new(stream), Arc::clone(http), Arc::clone(&link));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let is_ambiguous = is_ambiguous.load(Ordering::Acquire);
        let link = Arc::clone(&link);
        answer(Arc::clone(&served), link, Arc::clone(&peer), (request, is_ambiguous))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.frame_deadline)
        .max_buf_size(MAX_UNPARSED_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(io, service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = left(&own.seat) => Ok(()),
        () = http.shared.ended() => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(limits.shutdown_grace, connection).await {
                Ok(ended) => ended,
                Err(_) => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of HTTP broke off");
    }
}

/// Completes when a connection gives its place to another.
async fn left(seat: &ConnectionSlot) {
    match seat.stranger() {
        Some(stranger) => stranger.leave().cancelled().await,
        None => std::future::pending().await,
    }
    // A daemon that stops is noticed elsewhere, and has more patience.
    if !seat.is_leaving() {
        std::future::pending::<()>().await;
    }
}

/// Has a request answered; browsers learn whether the page may know.
async fn answer(
    http: Arc<HttpService>,
    link: Arc<HttpConnection>,
    peer: Arc<HttpPeer>,
    (request, is_ambiguous): (hyper::Request<Incoming>, bool),
) -> Result<Response, Infallible> {
    let (mut parts, body) = request.into_parts();
    name_host(&mut parts);
    let page = RequestingPage::of(&peer, &parts.headers);
    // Behind these it is not known for certain where the next request begins: there is none.
    let is_last = parts.headers.contains_key(TRANSFER_ENCODING);
    let is_upgrade = parts.headers.contains_key(UPGRADE);
    let caller = Arc::clone(&peer);
    let mut response = match early(&parts, is_ambiguous).or_else(|| page.preflight(&parts)) {
        Some(response) => {
            http.shared.metrics.http(response.status().as_u16());
            response
        }
        // What nearly all requests are needs no looking up.
        None if link.face == AddressPurpose::Whole && post::is_exchange(&parts) => {
            // In one piece of memory of its own, which a connection that waits does not hold.
            Box::pin(post::posted(&http, &peer, parts, body)).await
        }
        None => {
            let mut router = link.router.clone();
            parts.extensions.insert(peer);
            parts.extensions.insert(link);
            // A router is always ready.
            router.call(hyper::Request::from_parts(parts, Body::new(body))).await?
        }
    };
    page.mark(response.headers_mut());
    if is_last || (is_upgrade && response.status() != StatusCode::SWITCHING_PROTOCOLS) {
        close_after(&mut response);
    }
    caller.touch();
    Ok(response)
}

/// Refuses what no handler is to see, by its head alone.
fn early(parts: &Parts, is_ambiguous: bool) -> Option<Response> {
    let refuse = |code| error(code, &RequestEcho::default(), TraceHeaders::of(&parts.headers));
    if is_ambiguous {
        let mut response = refuse(OpenHarnessCode::InvalidRequest);
        close_after(&mut response);
        return Some(response);
    }
    if head_len(parts) > MAX_HEAD_BYTES {
        let mut response = refuse(OpenHarnessCode::PayloadTooLarge);
        *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        // What is behind such a head is not worth reading.
        close_after(&mut response);
        return Some(response);
    }
    is_in_unknown_code(&parts.headers).then(|| refuse(OpenHarnessCode::InvalidRequest))
}

/// Bytes of a head, as it would be written without a blank too many.
fn head_len(parts: &Parts) -> usize {
    // `GET / HTTP/1.1`, each line with its end, and an empty one.
    let target = parts.uri.path_and_query().map_or(1, |target| target.as_str().len());
    let line = parts.method.as_str().len() + target + "  HTTP/1.1\r\n\r\n".len();
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + value.len() + ": \r\n".len()
    };
    line + parts.headers.iter().map(header).sum::<usize>()
}

/// A target that names a host counts, and not the header beside it.
fn name_host(parts: &mut Parts) {
    let named = parts.uri.authority().map(|host| HeaderValue::from_str(host.as_str()));
    if let Some(Ok(host)) = named {
        parts.headers.insert(HOST, host);
    }
}

/// Tells whether a body is coded in a way that is not undone here: read as it comes, it would be
/// something else than for whoever passed it on.
fn is_in_unknown_code(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    !codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
}
