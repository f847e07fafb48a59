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

mod answer;
mod approval;
mod body;
mod calloff;
mod device;
mod discovery;
mod files;
mod fold;
mod gate;
mod inside;
mod lines;
mod local;
mod marks;
mod named;
mod openapi;
mod page;
mod pair;
mod place;
mod post;
mod rate;
mod replay;
mod run;
mod seals;
mod serve;
mod signal;
mod slow;
mod step;
mod stream;
mod strict;
mod ws;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post as on_post};
use bridle_wire::openharness::Limits;

pub(crate) use files::Files;
pub(crate) use files::sweep as sweep_files;
pub(crate) use lines::serve as serve_lines;
pub(crate) use local::accept_loop as accept_on_socket;
pub use seals::Error as SealsError;
pub(crate) use seals::Seals;
pub(crate) use serve::{Face, accept_loop};

use crate::access::pairing::Desk;
use crate::access::tls::TlsAcceptor;
use crate::access::tokens::Tokens;
use crate::shared::Shared;

/// What all connections that speak HTTP have in common.
pub(crate) struct Http {
    shared: Arc<Shared>,
    tokens: Tokens,
    /// Where codes become tokens.
    desk: Desk,
    /// `None`: in the clear.
    tls: Option<TlsAcceptor>,
    /// How much of a message is read.
    limits: Limits,
    /// How often somebody may ask.
    rates: rate::Rates,
    /// The discovery documents, made once.
    discovery: discovery::Documents,
    /// The OpenAPI document, likewise.
    openapi: String,
    seen: place::Seen,
    /// Attachments.
    files: Files,
    /// Makes and reads continuation tokens.
    seals: Seals,
    followed: calloff::Followed,
    /// Events of streams that may be taken up.
    sent: replay::SentStreams,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Http {
    /// Prepares to serve.
    pub(crate) fn new(
        shared: Arc<Shared>,
        tokens: Tokens,
        seals: Seals,
        tls: Option<TlsAcceptor>,
        files: Files,
    ) -> Arc<Http> {
        let limits = Limits::default();
        let (rates, config) = (rate::Rates::new(shared.config.http_rates), &shared.config);
        let discovery = discovery::Documents::new(&limits, config);
        let openapi = openapi::document();
        let (desk, seen) = (Desk::new(&config.state), place::Seen::default());
        let followed = calloff::Followed::default();
        Arc::new(Http {
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
            sent: replay::SentStreams::default(),
            files,
        })
    }

    /// What answers where.
    fn router(self: &Arc<Http>) -> Router {
        let exchange = || on_post(post::exchange).get(discovery::get);
        Router::new()
            .route(post::PATH, exchange())
            .route("/v1/openharness/", exchange())
            .route("/openharness", exchange())
            .route("/openharness/", exchange())
            .route("/v1/openharness/cancel", on_post(calloff::cancel))
            .route("/v1/openharness/openapi.json", get(openapi::serve))
            .route(files::PATH, on_post(files::upload))
            .route("/v1/openharness/attachments/{ref_id}", get(files::download))
            .route("/v1/openharness/ws", get(ws::upgrade))
            .route("/.well-known/openharness", get(discovery::get))
            .merge(pairing())
            .route("/health", get(discovery::health))
            .route("/", get(discovery::health))
            .route("/metrics", get(discovery::metrics))
            .fallback(answer::not_found)
            .method_not_allowed_fallback(answer::method_not_allowed)
            .with_state(Arc::clone(self))
    }

    /// What answers where at the address that is for pairing alone.
    fn pair_router(self: &Arc<Http>) -> Router {
        pairing()
            .route("/health", get(discovery::health))
            .route("/pair/health", get(discovery::health))
            .fallback(answer::not_found)
            .method_not_allowed_fallback(answer::method_not_allowed)
            .with_state(Arc::clone(self))
    }
}

/// How devices get their tokens.
fn pairing() -> Router<Arc<Http>> {
    Router::new()
        .route("/v1/pair", on_post(pair::redeem))
        .route("/pair/create", on_post(device::create))
        .route("/pair/confirm", on_post(device::confirm))
        .route("/pair/poll", on_post(device::poll))
        .route("/pair/refresh", on_post(device::refresh))
        .route("/pair/revoke", on_post(device::revoke))
}
