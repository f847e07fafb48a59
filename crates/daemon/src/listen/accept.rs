//! The accept loop of every listener, and how framed connections are let in.

use std::future::poll_fn;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bridle_wire::OacpCode;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use super::{tcp, unix};
use crate::access::principal::Principal;
use crate::connection_slots::{ConnectionSlot, PeerStanding};
use crate::oacp::connection::{OacpConnection, PeerOrigin, PeerStream};
use crate::shared::DaemonShared;

/// First pause after a failed accept; doubled up to [`MAX_PAUSE`]. Without it a daemon that is
/// out of file descriptors would spin.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// Longest pause after failed accepts in a row.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A bound listener.
#[derive(Debug)]
pub(crate) enum BoundListener {
    /// TCP.
    Tcp(TcpListener),
    /// Unix socket.
    Unix(UnixListener),
}

/// Accepts until the daemon stops.
pub(crate) async fn accept_loop(listener: BoundListener, shared: Arc<DaemonShared>) {
    let poll = |cx: &mut Context<'_>| listener.poll_accept(cx, &shared);
    accept_each(&shared.stop, poll, |arrival| admit(arrival, &shared)).await;
}

/// Accepts with `poll` and hands each connection to `admit`, until the daemon stops.
pub(crate) async fn accept_each<T>(
    stop: &CancellationToken,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
    mut admit: impl FnMut(T),
) {
    let mut pause = AcceptBackoff::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = poll_fn(&mut poll) => accepted,
        };
        match accepted {
            Ok(connection) => {
                pause = AcceptBackoff::default();
                admit(connection);
            }
            Err(error) => {
                if pause.after(&error, stop).await.is_break() {
                    return;
                }
            }
        }
    }
}

/// How long to wait after a failed accept.
#[derive(Debug)]
struct AcceptBackoff(Duration);

impl Default for AcceptBackoff {
    fn default() -> Self {
        AcceptBackoff(MIN_PAUSE)
    }
}

impl AcceptBackoff {
    /// Waits after a failed accept, unless it was the fault of one peer; breaks when the daemon
    /// stops.
    async fn after(&mut self, error: &io::Error, stop: &CancellationToken) -> ControlFlow<()> {
        if is_about_one_peer(error) {
            tracing::debug!(%error, "a peer left before it was accepted");
            return ControlFlow::Continue(());
        }
        tracing::warn!(%error, pause_ms = self.0.as_millis(), "cannot accept, pausing");
        tokio::select! {
            () = stop.cancelled() => return ControlFlow::Break(()),
            () = tokio::time::sleep(self.0) => {}
        }
        self.0 = (self.0 * 2).min(MAX_PAUSE);
        ControlFlow::Continue(())
    }
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
                tcp::prepare(&stream, shared.config.keepalive);
                let origin = PeerOrigin::Tcp(peer);
                Ok(AcceptedStream { stream: PeerStream::Tcp(stream), origin, refused: None })
            }
            BoundListener::Unix(listener) => {
                let (stream, _) = ready!(listener.poll_accept(cx))?;
                let uid = unix::peer_uid(&stream);
                let refused = match uid {
                    Some(uid) if unix::admits(uid, shared.own_uid) => None,
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

fn admit(arrival: AcceptedStream, shared: &Arc<DaemonShared>) {
    let AcceptedStream { stream, origin, refused } = arrival;
    if let Some(code) = refused {
        tracing::warn!(%origin, code = code.as_str(), "connection refused");
        return shared.refuse(stream, origin, code);
    }
    let (standing, who) = match origin {
        PeerOrigin::Tcp(peer) => {
            let (standing, uid) = shared.look_at(peer, stream.local_addr());
            (standing, uid.map(|uid| Principal::of_socket(uid, shared.own_uid)))
        }
        PeerOrigin::Unix(_) | PeerOrigin::Stdio => (PeerStanding::Unix, None),
    };
    match ConnectionSlot::take(shared, standing) {
        Some(seat) => match OacpConnection::new(stream, origin, who, seat) {
            Ok(connection) => drop(shared.tasks.spawn(connection)),
            Err(error) => tracing::error!(%error, "cannot serve a connection"),
        },
        None => shared.refuse(stream, origin, OacpCode::TooManyConnections),
    }
}

fn is_about_one_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
