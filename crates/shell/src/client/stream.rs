//! A TCP or Unix stream with a deadline over many reads and writes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::address::DaemonAddress;
use crate::error::ShellError;

/// A connected stream.
#[derive(Debug)]
pub struct ClientStream {
    socket: ClientSocket,
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum ClientSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl ClientStream {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Nobody listens there, or not within `timeout`.
    pub fn connect(addr: &DaemonAddress, timeout: Duration) -> Result<ClientStream, ShellError> {
        let socket = match addr {
            DaemonAddress::Tcp(name) => connect_tcp(name, timeout).map(ClientSocket::Tcp),
            DaemonAddress::Unix(path) => UnixStream::connect(path).map(ClientSocket::Unix),
        };
        match socket {
            Ok(socket) => Ok(ClientStream { socket, deadline: None }),
            Err(error) => Err(ShellError::Connect { tried: vec![(addr.clone(), error)] }),
        }
    }

    /// Connects to the first address where somebody listens.
    ///
    /// # Errors
    ///
    /// Nobody does.
    pub fn connect_any(
        addrs: &[DaemonAddress],
        timeout: Duration,
    ) -> Result<ClientStream, ShellError> {
        let mut failed = Vec::new();
        for addr in addrs {
            match ClientStream::connect(addr, timeout) {
                Err(ShellError::Connect { tried }) => failed.extend(tried),
                result => return result,
            }
        }
        Err(ShellError::Connect { tried: failed })
    }

    /// Reads and writes fail with a timeout after this moment.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// A second handle on the same connection.
    ///
    /// # Errors
    ///
    /// The system has no handle left.
    pub fn try_clone(&self) -> io::Result<ClientStream> {
        let socket = match &self.socket {
            ClientSocket::Tcp(socket) => ClientSocket::Tcp(socket.try_clone()?),
            ClientSocket::Unix(socket) => ClientSocket::Unix(socket.try_clone()?),
        };
        Ok(ClientStream { socket, deadline: self.deadline })
    }

    /// Says that nothing more will be written.
    pub fn end_writing(&self) {
        // Only fails when the connection is gone, which is what was wanted.
        let _ = match &self.socket {
            ClientSocket::Tcp(socket) => socket.shutdown(Shutdown::Write),
            ClientSocket::Unix(socket) => socket.shutdown(Shutdown::Write),
        };
    }

    /// Ends the connection in both directions, on every handle.
    pub fn close(&self) {
        // Only fails when the connection is gone, which is what was wanted.
        let _ = match &self.socket {
            ClientSocket::Tcp(socket) => socket.shutdown(Shutdown::Both),
            ClientSocket::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Time until the deadline; an error when it has passed.
    fn left(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else {
            return Ok(None);
        };
        match deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl From<TcpStream> for ClientStream {
    fn from(socket: TcpStream) -> ClientStream {
        ClientStream { socket: ClientSocket::Tcp(socket), deadline: None }
    }
}

impl From<UnixStream> for ClientStream {
    fn from(socket: UnixStream) -> ClientStream {
        ClientStream { socket: ClientSocket::Unix(socket), deadline: None }
    }
}

fn connect_tcp(name: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in name.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Read for ClientStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &mut self.socket {
            ClientSocket::Tcp(socket) => {
                socket.set_read_timeout(left)?;
                socket.read(buffer)
            }
            ClientSocket::Unix(socket) => {
                socket.set_read_timeout(left)?;
                socket.read(buffer)
            }
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &mut self.socket {
            ClientSocket::Tcp(socket) => {
                socket.set_write_timeout(left)?;
                socket.write(bytes)
            }
            ClientSocket::Unix(socket) => {
                socket.set_write_timeout(left)?;
                socket.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
