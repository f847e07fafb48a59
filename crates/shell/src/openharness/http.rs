//! Messages over HTTP/1.1: blocking, one connection a message, TLS with rustls; on TCP or a Unix socket.
//!
//! `engine` posts with it. It follows no redirect and knows no proxy and no cookie: a token goes to
//! the address that was named and nowhere else. Bodies are bounded while they are read, and every
//! read has a deadline. What the bytes mean is for `shell`.

mod body;
mod place;
mod tls;

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::sse::SseParser;
use body::{ResponseHead, ResponseStream};

pub use place::{EngineUrl, InvalidEngineUrl, PATH};

/// Bytes of an answer.
pub const MAX_BODY: usize = 4 << 20;

/// Longest wait for a connection.
pub const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// Longest wait for an answer, or for the next bytes of a stream. An Engine of bridle gives up after
/// ten minutes, and sends something every 15 s while it streams.
pub const ANSWER_WAIT: Duration = Duration::from_secs(660);

/// Bytes taken from a connection at once.
const CHUNK_BYTES: usize = 16 << 10;

/// Reason why nothing, or not all, came back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The host has no address.
    #[error("`{host}` has no address")]
    NoAddress {
        /// The host.
        host: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Nobody listens there.
    #[error("cannot connect to `{authority}`")]
    Connect {
        /// Host and port.
        authority: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The connection broke, or its certificate is not believed.
    #[error("the connection to `{authority}` broke")]
    Broken {
        /// Host and port.
        authority: String,
        /// Error of the system, or of TLS.
        source: io::Error,
    },
    /// Nothing came in time.
    #[error("`{authority}` did not answer in time")]
    Late {
        /// Host and port.
        authority: String,
    },
    /// The body ended before its time.
    #[error("`{authority}` closed the connection before the answer was complete")]
    Cut {
        /// Host and port.
        authority: String,
    },
    /// The answer is not HTTP/1.
    #[error("`{authority}` does not speak HTTP")]
    NotHttp {
        /// Host and port.
        authority: String,
    },
    /// Authorities cannot be used.
    #[error("`{}` contains no CA certificate", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
    },
    /// No file of authorities is where systems keep them.
    #[error("no CA certificates found on this system")]
    NoAuthorities,
    /// A token that is no header.
    #[error("a token is visible ASCII, at least one character")]
    BadToken,
    /// A token that everybody on the way could read.
    #[error("a token is sent over https, or on this machine")]
    TokenInTheClear,
}

/// Piece of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingBody {
    /// One whole message.
    Message {
        /// Bytes of the body; `None` when there are more than [`MAX_BODY`].
        body: Option<Vec<u8>>,
        /// The header `Retry-PostCommit`.
        retry_after: Option<String>,
    },
    /// A stream begins.
    Opened,
    /// An event of it.
    Event {
        /// Name of the event.
        name: String,
        /// Data of the event.
        data: Vec<u8>,
    },
}

/// Whether more is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadDemand {
    /// Yes.
    More,
    /// No: the connection is closed.
    Enough,
}

/// A message on its way.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingPost<'p> {
    /// Bytes of the body.
    pub body: &'p [u8],
    /// Whether a stream is asked for.
    pub stream: bool,
    /// The event after which a stream is taken up again.
    pub last_event_id: Option<i64>,
    /// Moment to give up.
    pub until: Option<Instant>,
}

/// Carries messages to an Engine.
pub trait EngineTransport {
    /// Posts a message and hands over what comes back, until it ends or is enough.
    ///
    /// # Errors
    /// Nobody is there, or what came is not whole.
    fn post(
        &mut self,
        post: OutgoingPost<'_>,
        take: &mut dyn FnMut(IncomingBody) -> ReadDemand,
    ) -> Result<(), TransportError>;
}

/// Options for reaching an engine.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// A bearer token.
    pub token: Option<String>,
    /// A PEM file of authorities, instead of those of the system.
    pub authorities: Option<PathBuf>,
}

/// An Engine over HTTP.
#[derive(Clone)]
pub struct HttpTransport {
    place: EngineUrl,
    token: Option<String>,
    tls: Option<Arc<ClientConfig>>,
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("place", &self.place).finish_non_exhaustive()
    }
}

impl HttpTransport {
    /// Prepares to talk to the Engine at a place.
    ///
    /// # Errors
    /// The token would travel in the clear or is none; the authorities cannot be used.
    pub fn new(place: EngineUrl, options: HttpOptions) -> Result<HttpTransport, TransportError> {
        let HttpOptions { token, authorities } = options;
        if token
            .as_ref()
            .is_some_and(|it| it.is_empty() || !it.bytes().all(|it| it.is_ascii_graphic()))
        {
            return Err(TransportError::BadToken);
        }
        if token.is_some() && !place.https && !place.is_local() {
            return Err(TransportError::TokenInTheClear);
        }
        let tls = if place.https { Some(tls::config(authorities.as_deref())?) } else { None };
        Ok(HttpTransport { place, token, tls })
    }

    fn head(&self, post: OutgoingPost<'_>) -> String {
        let EngineUrl { path, authority, .. } = &self.place;
        let accept =
            if post.stream { "text/event-stream, application/json" } else { "application/json" };
        let length = post.body.len();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
             Accept: {accept}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             User-Agent: bridle/{}\r\n",
            env!("CARGO_PKG_VERSION")
        );
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if let Some(id) = post.last_event_id {
            head.push_str(&format!("Last-Event-ID: {id}\r\n"));
        }
        head + "\r\n"
    }

    fn connect(&self, until: Option<Instant>) -> Result<HttpLink, TransportError> {
        let EngineUrl { host, port, socket, .. } = &self.place;
        if let Some(socket) = socket {
            let stream = UnixStream::connect(socket);
            let failed = |source| TransportError::Connect { authority: self.place.shown(), source };
            return Ok(HttpLink { stream: ByteStream::Unix(stream.map_err(failed)?), until });
        }
        let found = (host.as_str(), *port).to_socket_addrs();
        let no_address = |source| TransportError::NoAddress { host: host.clone(), source };
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in found.map_err(no_address)? {
            match TcpStream::connect_timeout(&address, CONNECT_WAIT.min(left(until))) {
                Ok(stream) => return self.secured(stream, until),
                Err(error) => last = error,
            }
        }
        Err(TransportError::Connect { authority: self.place.shown(), source: last })
    }

    fn secured(
        &self,
        stream: TcpStream,
        until: Option<Instant>,
    ) -> Result<HttpLink, TransportError> {
        let broken = |source| self.broken(source);
        stream.set_nodelay(true).map_err(broken)?;
        let Some(config) = &self.tls else {
            return Ok(HttpLink { stream: ByteStream::Plain(stream), until });
        };
        let name = rustls::pki_types::ServerName::try_from(self.place.host.clone());
        let name = name.map_err(|error| broken(io::Error::other(error)))?;
        let tls = ClientConnection::new(Arc::clone(config), name);
        let tls = tls.map_err(|error| broken(io::Error::other(error)))?;
        let stream = ByteStream::Tls(Box::new(StreamOwned::new(tls, stream)));
        Ok(HttpLink { stream, until })
    }

    fn broken(&self, source: io::Error) -> TransportError {
        let authority = self.place.shown();
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                TransportError::Late { authority }
            }
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                TransportError::Cut { authority }
            }
            io::ErrorKind::InvalidInput => TransportError::NotHttp { authority },
            _ => TransportError::Broken { authority, source },
        }
    }

    fn exchange(
        &self,
        link: &mut HttpLink,
        post: OutgoingPost<'_>,
        take: &mut dyn FnMut(IncomingBody) -> ReadDemand,
    ) -> io::Result<()> {
        link.write_all(self.head(post).as_bytes())?;
        link.write_all(post.body)?;
        link.flush()?;
        let (head, rest) = ResponseHead::read(link)?;
        let mut body = ResponseStream::new(&head, rest);
        if !head.is_stream() {
            let body = body.whole(link, MAX_BODY)?;
            take(IncomingBody::Message { body, retry_after: head.retry_after });
            return Ok(());
        }
        if take(IncomingBody::Opened) == ReadDemand::Enough {
            return Ok(());
        }
        let mut parser = SseParser::default();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = body.read(link, &mut chunk)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let events = parser.feed(&chunk[..count]).map_err(io::Error::other)?;
            for event in events {
                let (name, data) = (event.name, event.data);
                if take(IncomingBody::Event { name, data }) == ReadDemand::Enough {
                    return Ok(());
                }
            }
        }
    }
}

impl EngineTransport for HttpTransport {
    fn post(
        &mut self,
        post: OutgoingPost<'_>,
        take: &mut dyn FnMut(IncomingBody) -> ReadDemand,
    ) -> Result<(), TransportError> {
        let mut link = self.connect(post.until)?;
        self.exchange(&mut link, post, take).map_err(|error| self.broken(error))
    }
}

/// One connection.
struct HttpLink {
    stream: ByteStream,
    until: Option<Instant>,
}

enum ByteStream {
    Plain(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl HttpLink {
    /// Bounds the next read or write.
    fn wait(&self) -> io::Result<()> {
        let wait = ANSWER_WAIT.min(left(self.until));
        let socket = match &self.stream {
            ByteStream::Plain(socket) => socket,
            ByteStream::Tls(stream) => &stream.sock,
            ByteStream::Unix(socket) => {
                socket.set_read_timeout(Some(wait))?;
                return socket.set_write_timeout(Some(wait));
            }
        };
        socket.set_read_timeout(Some(wait))?;
        socket.set_write_timeout(Some(wait))
    }
}

impl Read for HttpLink {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        match &mut self.stream {
            ByteStream::Plain(stream) => stream.read(buffer),
            ByteStream::Unix(stream) => stream.read(buffer),
            ByteStream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for HttpLink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        match &mut self.stream {
            ByteStream::Plain(stream) => stream.write(bytes),
            ByteStream::Unix(stream) => stream.write(bytes),
            ByteStream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.stream {
            ByteStream::Plain(stream) => stream.flush(),
            ByteStream::Unix(stream) => stream.flush(),
            ByteStream::Tls(stream) => stream.flush(),
        }
    }
}

/// Time that is left; never nothing, which would mean forever to a socket.
fn left(until: Option<Instant>) -> Duration {
    let left = until.map_or(ANSWER_WAIT, |until| until.saturating_duration_since(Instant::now()));
    left.max(Duration::from_millis(1))
}
