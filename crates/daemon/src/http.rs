//! HTTP: the OpenHarness face of the engine.
//!
//! `run` binds the address and spawns [`accept_loop`]; hyper and an axum router serve
//! the connections. Messages and their rules are `bridle_wire::openharness`; sessions, the record and
//! the guard are the engine's, the same that framed connections use. In reading order:
//!
//! - `server`: connections, their limits and their end; `write_deadline`: peers that do not read;
//!   `request_heads`: heads that can be read in two ways; `unix_socket`: the same on a Unix socket
//! - `auth`: the principal of a request; `cors`: web pages of other origins; `rate`: rate limits
//! - `post`: a request over HTTP and its response; `body`, `media_type`, `trace_headers`: its parts
//! - `exchange`: one request carried out, whatever brought it: a message or a stream of events
//! - `session_key`: the session of a request; `idempotency`: ids that came before
//! - `to_signal`: a request as a signal of its session; `shell_description`: the shell that sent it
//! - `run`, `run_location`: a request in its session until it is answered
//! - `to_response`: the recorded answer as a message; `approval`: a question as a directive
//! - `continuation`: runs that wait for approval; `token_sealer`: tokens that only this daemon makes
//! - `approval_by_id`: an answer to a question that was asked elsewhere
//! - `cancel`: runs that are called off, out of time, or left
//! - `event_stream`: an answer as typed events while it is made; `sent_events`: events to resume with
//! - `response`, `sse`: messages and events as HTTP responses
//! - `frame_peer`: requests and events in frames; `websocket`, `json_lines`: the bytes of the frames
//! - `attachments`: files, uploaded once and named by messages
//! - `code_pairing`, `device_pairing`: tokens for devices, by a code that bridle or the device shows
//! - `discovery`, `openapi`: descriptions of the service
//!
//! An answer is a fold of records and of nothing else: the same request gives the same answer
//! after a restart, because it is made again from the same events.

mod approval;
mod approval_by_id;
mod attachments;
mod auth;
mod body;
mod cancel;
mod code_pairing;
mod continuation;
mod cors;
mod device_pairing;
mod directive;
mod discovery;
mod event_stream;
mod exchange;
mod frame_peer;
mod idempotency;
mod json_lines;
mod media_type;
mod openapi;
mod post;
mod rate;
mod request_heads;
mod response;
mod run;
mod run_location;
mod sent_events;
mod server;
mod session_key;
mod shell_description;
mod sse;
mod to_response;
mod to_signal;
mod token_sealer;
mod trace_headers;
mod unix_socket;
mod websocket;
mod write_deadline;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post as on_post};
use bridle_wire::openharness::MessageLimits;

pub(crate) use attachments::AttachmentStore;
pub(crate) use attachments::sweep as sweep_files;
pub(crate) use json_lines::serve as serve_lines;
pub(crate) use server::{AddressPurpose, accept_loop};
pub use token_sealer::SealError;
pub(crate) use token_sealer::TokenSealer;
pub(crate) use unix_socket::accept_loop as accept_on_socket;

use crate::access::pairing::PairingService;
use crate::access::tls::TlsAcceptor;
use crate::access::tokens::TokenRegistry;
use crate::shared::DaemonShared;

/// State that all HTTP connections share.
pub(crate) struct HttpService {
    shared: Arc<DaemonShared>,
    tokens: TokenRegistry,
    /// Pairing of devices.
    pairing: PairingService,
    /// `None`: in the clear.
    tls: Option<TlsAcceptor>,
    /// Limits of messages.
    limits: MessageLimits,
    /// Rate limits.
    rates: rate::HttpRateLimiter,
    /// The documents that describe the service, made once.
    discovery: discovery::DiscoveryDocuments,
    seen: idempotency::RequestIdempotency,
    /// Attachments.
    files: AttachmentStore,
    /// Makes and reads continuation tokens.
    seals: TokenSealer,
    followed: cancel::FollowedRuns,
    /// Events of streams that may be taken up.
    sent: sent_events::SentStreams,
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl HttpService {
    /// Files that shells hand in.
    pub(in crate::http) fn shelf(&self) -> &crate::engine::KeptFiles {
        &self.shared.hub.home.shelf
    }

    /// Prepares to serve.
    pub(crate) fn new(
        shared: Arc<DaemonShared>,
        tokens: TokenRegistry,
        seals: TokenSealer,
        tls: Option<TlsAcceptor>,
        files: AttachmentStore,
    ) -> Arc<HttpService> {
        let limits = MessageLimits::default();
        let (rates, config) =
            (rate::HttpRateLimiter::new(shared.config.http_rates), &shared.config);
        let discovery = discovery::DiscoveryDocuments::new(&limits, config);
        let (pairing, seen) =
            (PairingService::new(&config.state), idempotency::RequestIdempotency::default());
        let followed = cancel::FollowedRuns::default();
        Arc::new(HttpService {
            shared,
            tokens,
            pairing,
            tls,
            limits,
            rates,
            discovery,
            seen,
            seals,
            followed,
            sent: sent_events::SentStreams::default(),
            files,
        })
    }

    /// Completes when the daemon stops and just enough time is left to say so.
    async fn stop_is_near(&self) {
        self.shared.ended().await;
        tokio::time::sleep(self.shared.config.limits.shutdown_grace / 2).await;
    }

    /// Routes of an address that is for everything.
    fn router(self: &Arc<HttpService>) -> Router {
        let exchange = || on_post(post::handle).get(discovery::get);
        Router::new()
            .route(post::PATH, exchange())
            .route("/v1/openharness/", exchange())
            .route("/openharness", exchange())
            .route("/openharness/", exchange())
            .route("/v1/openharness/cancel", on_post(cancel::cancel))
            .route("/v1/openharness/openapi.json", get(openapi::serve))
            .route(attachments::PATH, on_post(attachments::upload))
            .route("/v1/openharness/attachments/{ref_id}", get(attachments::download))
            .route("/v1/openharness/ws", get(websocket::upgrade))
            .route("/.well-known/openharness", get(discovery::get))
            .merge(pairing_routes())
            .route("/health", get(discovery::health))
            .route("/", get(discovery::health))
            .route("/metrics", get(discovery::metrics))
            .fallback(response::not_found)
            .method_not_allowed_fallback(response::method_not_allowed)
            .with_state(Arc::clone(self))
    }

    /// Routes of an address that is for pairing alone.
    fn pair_router(self: &Arc<HttpService>) -> Router {
        pairing_routes()
            .route("/health", get(discovery::health))
            .route("/pair/health", get(discovery::health))
            .fallback(response::not_found)
            .method_not_allowed_fallback(response::method_not_allowed)
            .with_state(Arc::clone(self))
    }
}

/// Routes of pairing.
fn pairing_routes() -> Router<Arc<HttpService>> {
    Router::new()
        .route("/v1/pair", on_post(code_pairing::redeem))
        .route("/pair/create", on_post(device_pairing::create))
        .route("/pair/confirm", on_post(device_pairing::confirm))
        .route("/pair/poll", on_post(device_pairing::poll))
        .route("/pair/refresh", on_post(device_pairing::refresh))
        .route("/pair/revoke", on_post(device_pairing::revoke))
}
