//! The two things that fetching needs of the system: what addresses a name has, and a connection.
//!
//! Apart, so that tests answer for names and lead every connection to this machine; what may be
//! connected to was decided before.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::TcpStream;

/// Future of the system's resolver or connector.
pub type Later<'n, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'n>>;

/// The network.
pub trait FetchNetwork: fmt::Debug + Send + Sync {
    /// The addresses of a host.
    fn resolve<'n>(&'n self, host: &'n str) -> Later<'n, Vec<IpAddr>>;

    /// A connection to an address, and to no other.
    fn connect(&self, address: SocketAddr) -> Later<'_, TcpStream>;
}

/// The network of this machine.
#[derive(Debug)]
pub(super) struct SystemNetwork;

impl FetchNetwork for SystemNetwork {
    fn resolve<'n>(&'n self, host: &'n str) -> Later<'n, Vec<IpAddr>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    fn connect(&self, address: SocketAddr) -> Later<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}
