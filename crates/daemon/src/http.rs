//! HTTP: the OpenHarness face of the engine.
//!
//! [`run`](crate::run()) binds the address and spawns [`accept_loop`]; what arrives is served by
//! hyper and an axum router. Messages and their rules are `bridle_wire::openharness`; sessions,
//! the record and the guard are the engine's, the same that framed connections use. In reading
//! order:
//!
//! - `serve`: connections, their limits and their end; `slow`: who does not take an answer; `strict`:
//!   heads that can be read in two ways
//! - `local`: the same on a Unix socket, for the user who started the daemon
//! - `gate`: who is let in, and as whom; `page`: web pages of other origins; `rate`: how often
//! - `post`: one exchange, from bytes to bytes; `body`, `marks`: what it is made of
//! - `signal`: what a session is told of a request; `place`: which session
//! - `run`: a request in its session until it is answered; a repeat finds the same answer
//! - `fold`: what was recorded becomes the answer; `approval`: a question as a directive
//! - `step`: how a run goes on that waits for a yes; `seals`: tokens that only this daemon makes
//! - `named`: an answer to a question that was asked elsewhere
//! - `calloff`: a run that is no longer wanted
//! - `stream`: an answer as events, while it is made; `replay`: those that were sent
//! - `files`: attachments, uploaded once and named by messages
//! - `ws`, `lines`: requests in frames of a WebSocket, and on lines of standard input; `inside`
//!   carries them out like those that are posted
//! - `pair`, `device`: a device gets its token, with a code of ours or with one that it shows
//! - `discovery`, `openapi`: what is offered
//! - `answer`: a message becomes a response of HTTP
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
pub use token_sealer::SealError as SealsError;
pub(crate) use token_sealer::TokenSealer;
pub(crate) use unix_socket::accept_loop as accept_on_socket;

use crate::access::pairing::PairingService;
use crate::access::tls::TlsAcceptor;
use crate::access::tokens::TokenRegistry;
use crate::shared::DaemonShared;

/// What all connections that speak HTTP have in common.
pub(crate) struct HttpService {
    shared: Arc<DaemonShared>,
    tokens: TokenRegistry,
    /// Where codes become tokens.
    desk: PairingService,
    /// `None`: in the clear.
    tls: Option<TlsAcceptor>,
    /// How much of a message is read.
    limits: MessageLimits,
    /// How often somebody may ask.
    rates: rate::HttpRateLimiter,
    /// The discovery documents, made once.
    discovery: discovery::DiscoveryDocuments,
    /// The OpenAPI document, likewise.
    openapi: String,
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
        f.debug_struct("Http").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl HttpService {
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
        let openapi = openapi::document();
        let (desk, seen) =
            (PairingService::new(&config.state), idempotency::RequestIdempotency::default());
        let followed = cancel::FollowedRuns::default();
        Arc::new(HttpService {
            shared,
            tokens,
            desk,
            tls,
            limits,
            rates,
            discovery,
            openapi,
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
            .merge(pairing())
            .route("/health", get(discovery::health))
            .route("/", get(discovery::health))
            .route("/metrics", get(discovery::metrics))
            .fallback(response::not_found)
            .method_not_allowed_fallback(response::method_not_allowed)
            .with_state(Arc::clone(self))
    }

    /// What answers where at the address that is for pairing alone.
    fn pair_router(self: &Arc<HttpService>) -> Router {
        pairing()
            .route("/health", get(discovery::health))
            .route("/pair/health", get(discovery::health))
            .fallback(response::not_found)
            .method_not_allowed_fallback(response::method_not_allowed)
            .with_state(Arc::clone(self))
    }
}

/// How devices get their tokens.
fn pairing() -> Router<Arc<HttpService>> {
    Router::new()
        .route("/v1/pair", on_post(code_pairing::redeem))
        .route("/pair/create", on_post(device_pairing::create))
        .route("/pair/confirm", on_post(device_pairing::confirm))
        .route("/pair/poll", on_post(device_pairing::poll))
        .route("/pair/refresh", on_post(device_pairing::refresh))
        .route("/pair/revoke", on_post(device_pairing::revoke))
}
