//! Binding the TCP address.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

use super::BACKLOG;
use crate::error::DaemonError;

/// Probes after which a silent peer counts as gone.
const KEEPALIVE_PROBES: u32 = 5;

/// Time between two of those probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Resolves `addr` and listens on the first address that works.
///
/// An address that other machines can reach is refused unless `signed`: without signatures
/// anyone on the network would be served.
pub(crate) async fn bind(addr: &str, signed: bool) -> Result<TcpListener, DaemonError> {
    let failed = |source| DaemonError::Tcp { addr: addr.to_owned(), source };
    let found: Vec<SocketAddr> = lookup_host(addr).await.map_err(failed)?.collect();
    if let Some(open) = found.iter().find(|a| !a.ip().is_loopback())
        && !signed
    {
        return Err(DaemonError::OpenToTheNetwork { addr: *open });
    }
    first(found).map_err(failed)
}

/// Resolves and listens for HTTP. An address that other machines can reach is refused unless `guarded`: what is
/// said there would be neither signed nor encrypted.
pub(crate) async fn bind_http(addr: &str, guarded: bool) -> Result<TcpListener, DaemonError> {
    let failed = |source| DaemonError::Http { addr: addr.to_owned(), source };
    let found: Vec<SocketAddr> = lookup_host(addr).await.map_err(failed)?.collect();
    if let Some(open) = found.iter().find(|a| !a.ip().is_loopback())
        && !guarded
    {
        return Err(DaemonError::HttpOpenToTheNetwork { addr: *open });
    }
    first(found).map_err(failed)
}

/// Listens on the first address that works.
fn first(found: Vec<SocketAddr>) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for one in found {
        match listen(one) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A daemon that restarts must not wait for the old connections' TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// Sets what every accepted stream needs. Failing is not worth losing the peer over.
pub(crate) fn prepare(stream: &TcpStream, keepalive: Option<Duration>) {
    let set = || -> io::Result<()> {
        stream.set_nodelay(true)?;
        if let Some(idle) = keepalive {
            rustix::net::sockopt::set_socket_keepalive(stream, true)?;
            rustix::net::sockopt::set_tcp_keepidle(stream, idle)?;
            rustix::net::sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
            rustix::net::sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)?;
        }
        Ok(())
    };
    if let Err(error) = set() {
        tracing::debug!(%error, "socket options not set");
    }
}
