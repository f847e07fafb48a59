//! HTTP on a Unix socket: how the user who started the daemon asks as the owner, without a token.
//!
//! `run` binds the socket with mode 0600 and spawns [`accept_loop`]. The system says
//! who connects; anybody but that user and root is closed without a word. Requests are served as on
//! TCP, by `serve`.

use std::sync::Arc;
use std::task::Context;

use axum::Router;
use tokio::net::{UnixListener, UnixStream};

use super::HttpService;
use super::auth::HttpPeer;
use super::response::NO_SLOT_RESPONSE;
use super::server::{HttpConnection, speak};
use super::write_deadline::WriteDeadlineStream;
use crate::connection_slots::PeerStanding;
use crate::listen::{accept_each, admits, peer_uid};

/// Accepts until the daemon stops.
pub(crate) async fn accept_loop(listener: UnixListener, http: Arc<HttpService>) {
    let router = http.router();
    let poll = |cx: &mut Context<'_>| listener.poll_accept(cx);
    accept_each(&http.shared.stop, poll, |(stream, _)| admit(&http, &router, stream)).await;
}

fn admit(http: &Arc<HttpService>, router: &Router, stream: UnixStream) {
    let uid = peer_uid(&stream);
    let Some(uid) = uid.filter(|uid| admits(*uid, http.shared.own_uid())) else {
        tracing::warn!(?uid, "another user is refused on the HTTP socket");
        return;
    };
    let Some(seat) = http.shared.take_slot(PeerStanding::Unix) else {
        // As much as fits the empty buffer of the socket, which is all of it.
        let _ = stream.try_write(NO_SLOT_RESPONSE.as_bytes());
        return;
    };
    let link = HttpConnection::whole(router.clone(), seat);
    let http = Arc::clone(http);
    http.shared.tasks.clone().spawn(async move {
        let stream = WriteDeadlineStream::new(stream, http.shared.config.limits.write_deadline);
        speak(&http, link, stream, HttpPeer::unix(uid)).await;
    });
}
