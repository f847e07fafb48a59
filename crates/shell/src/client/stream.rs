//! A TCP or Unix stream with a deadline over many reads and writes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::addr::Addr;
use crate::error::Error;

/// A connected stream.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Nobody listens there, or not within `timeout`.
    pub fn connect(addr: &Addr, timeout: Duration) -> Result<Stream, Error> {
        let socket = match addr {
            Addr::Tcp(name) => connect_tcp(name, timeout).map(Socket::Tcp),
            Addr::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
        };
        match socket {
            Ok(socket) => Ok(Stream { socket, deadline: None }),
            Err(error) => Err(Error::Connect { tried: vec![(addr.clone(), error)] }),
        }
    }

    /// Connects to the first address where somebody listens.
    ///
    /// # Errors
    ///
    /// Nobody does.
    pub fn connect_any(addrs: &[Addr], timeout: Duration) -> Result<Stream, Error> {
        let mut failed = Vec::new();
        for addr in addrs {
            match Stream::connect(addr, timeout) {
                Err(Error::Connect { tried }) => failed.extend(tried),
                result => return result,
            }
        }
        Err(Error::Connect { tried: failed })
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
    pub fn try_clone(&self) -> io::Result<Stream> {
        let socket = match &self.socket {
            Socket::Tcp(socket) => Socket::Tcp(socket.try_clone()?),
            Socket::Unix(socket) => Socket::Unix(socket.try_clone()?),
        };
        Ok(Stream { socket, deadline: self.deadline })
    }

    /// Says that nothing more will be written.
    pub fn end_writing(&self) {
        // Only fails when the connection is gone, which is what was wanted.
        let _ = match &self.socket {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
        };
    }

    /// What is left until the deadline; an error when it has passed.
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

impl From<TcpStream> for Stream {
    fn from(socket: TcpStream) -> Stream {
        Stream { socket: Socket::Tcp(socket), deadline: None }
    }
}

impl From<UnixStream> for Stream {
    fn from(socket: UnixStream) -> Stream {
        Stream { socket: Socket::Unix(socket), deadline: None }
    }
}

fn connect_tcp(name: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
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

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &mut self.socket {
            Socket::Tcp(socket) => {
                socket.set_read_timeout(left)?;
                socket.read(buffer)
            }
            Socket::Unix(socket) => {
                socket.set_read_timeout(left)?;
                socket.read(buffer)
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &mut self.socket {
            Socket::Tcp(socket) => {
                socket.set_write_timeout(left)?;
                socket.write(bytes)
            }
            Socket::Unix(socket) => {
                socket.set_write_timeout(left)?;
                socket.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
