//! The byte stream under a connection, and where it came from.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// An accepted stream.
#[derive(Debug)]
pub(crate) enum PeerStream {
    /// From the TCP listener.
    Tcp(TcpStream),
    /// From the Unix socket, or our end of the standard streams.
    Unix(UnixStream),
}

/// Origin of a peer, for logs and for the rules that differ by listener.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerOrigin {
    /// A TCP peer.
    Tcp(SocketAddr),
    /// A peer on the Unix socket, with its uid if the system told it.
    Unix(Option<u32>),
    /// The parent process.
    Stdio,
}

impl fmt::Display for PeerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerOrigin::Tcp(peer) => write!(f, "tcp {peer}"),
            PeerOrigin::Unix(Some(uid)) => write!(f, "unix uid {uid}"),
            PeerOrigin::Unix(None) => f.write_str("unix uid unknown"),
            PeerOrigin::Stdio => f.write_str("stdio"),
        }
    }
}

impl PeerStream {
    /// The address at which a TCP peer was accepted.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            PeerStream::Tcp(stream) => stream.local_addr().ok(),
            PeerStream::Unix(_) => None,
        }
    }

    /// Reads into `buf`.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        let done = match self {
            PeerStream::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut buf),
            PeerStream::Unix(stream) => Pin::new(stream).poll_read(cx, &mut buf),
        };
        done.map_ok(|()| buf.filled().len())
    }

    /// Writes from `buf`.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            PeerStream::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            PeerStream::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    /// Says that nothing more will be written.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            PeerStream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            PeerStream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    /// Writes one small frame without waiting and closes.
    pub(crate) fn say_and_close(self, frame: &[u8]) -> io::Result<()> {
        // Unread bytes would make the close a reset, which some systems deliver before the
        // frame; what has already arrived is thrown away first.
        let mut sink = [0; 512];
        match self {
            PeerStream::Tcp(stream) => {
                let mut stream = stream.into_std()?;
                stream.write_all(frame)?;
                stream.shutdown(Shutdown::Write)?;
                let _ = stream.read(&mut sink);
            }
            PeerStream::Unix(stream) => {
                let mut stream = stream.into_std()?;
                stream.write_all(frame)?;
                stream.shutdown(Shutdown::Write)?;
                let _ = stream.read(&mut sink);
            }
        }
        Ok(())
    }
}
