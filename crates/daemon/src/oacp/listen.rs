//! The listeners of framed connections, and how a peer is let in.
//!
//! `run` binds them and spawns one [`accept_loop`] for each.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bridle_wire::OacpCode;
use tokio::net::{TcpListener, UnixListener};

use crate::access::principal::Principal;
use crate::connection_slots::PeerStanding;
use crate::listen::{accept_each, admits, peer_uid, prepare_tcp};
use crate::oacp::connection::{OacpConnection, PeerOrigin, PeerStream};
use crate::oacp::service::OacpService;
use crate::shared::DaemonShared;

/// A bound listener.
#[derive(Debug)]
pub(crate) enum BoundListener {
    /// TCP.
    Tcp(TcpListener),
    /// Unix socket.
    Unix(UnixListener),
}

/// Accepts until the daemon stops.
pub(crate) async fn accept_loop(listener: BoundListener, service: Arc<OacpService>) {
    let poll = |cx: &mut Context<'_>| listener.poll_accept(cx, &service.daemon);
    accept_each(&service.daemon.stop, poll, |arrival| admit(arrival, &service)).await;
}

/// An accepted stream and who is at its other end.
struct AcceptedStream {
    stream: PeerStream,
    origin: PeerOrigin,
    /// The peer may not talk to this daemon.
    refused: Option<OacpCode>,
}

impl BoundListener {
    fn poll_accept(
        &self,
        cx: &mut Context<'_>,
        shared: &DaemonShared,
    ) -> Poll<io::Result<AcceptedStream>> {
        Poll::Ready(match self {
            BoundListener::Tcp(listener) => {
                let (stream, peer) = ready!(listener.poll_accept(cx))?;
                prepare_tcp(&stream, shared.config.keepalive);
                let origin = PeerOrigin::Tcp(peer);
                Ok(AcceptedStream { stream: PeerStream::Tcp(stream), origin, refused: None })
            }
            BoundListener::Unix(listener) => {
                let (stream, _) = ready!(listener.poll_accept(cx))?;
                let uid = peer_uid(&stream);
                let refused = match uid {
                    Some(uid) if admits(uid, shared.own_uid()) => None,
                    _ => Some(OacpCode::NotPermitted),
                };
                Ok(AcceptedStream {
                    stream: PeerStream::Unix(stream),
                    origin: PeerOrigin::Unix(uid),
                    refused,
                })
            }
        })
    }
}

fn admit(arrival: AcceptedStream, service: &Arc<OacpService>) {
    let shared = &service.daemon;
    let AcceptedStream { stream, origin, refused } = arrival;
    if let Some(code) = refused {
        tracing::warn!(%origin, code = code.as_str(), "connection refused");
        return service.refuse(stream, origin, code);
    }
    let (standing, who) = match origin {
        PeerOrigin::Tcp(peer) => {
            let (standing, uid) = shared.look_at(peer, stream.local_addr());
            (standing, uid.map(|uid| Principal::of_socket(uid, shared.own_uid())))
        }
        PeerOrigin::Unix(_) | PeerOrigin::Stdio => (PeerStanding::Unix, None),
    };
    match shared.take_slot(standing) {
        Some(seat) => match OacpConnection::new(stream, origin, who, seat, service) {
            Ok(connection) => drop(shared.tasks.spawn(connection)),
            Err(error) => tracing::error!(%error, "cannot serve a connection"),
        },
        None => service.refuse(stream, origin, OacpCode::TooManyConnections),
    }
}
