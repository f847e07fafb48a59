//! HTTP/1.1, byte by byte: a connection, what is sent, and what comes back.
//!
//! Written for the kit alone, so that requests can be as wrong as a case needs them, and answers
//! are seen as they came. Every wait has an end, every answer a bound.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::url::TargetUrl;
use crate::case::CheckFinding;

/// Largest head of an answer, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// Largest body of an answer, in bytes: more than any message needs.
const MAX_BODY: usize = 16 << 20;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// Largest file of authorities, in bytes: those of a whole operating system are less.
const MAX_PEM: u64 = 4 << 20;

/// Files in which systems keep the CA certificates that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// CA certificates to trust.
#[derive(Clone)]
pub struct ServerTrust(Arc<ClientConfig>);

impl fmt::Debug for ServerTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

/// Authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// Path of the file.
        path: String,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// The file holds no certificate.
    #[error("no certificates in `{0}`; expected PEM")]
    Empty(String),
    /// The system has no file where one is usual.
    #[error("no authorities on this system; name them with `--ca FILE`")]
    None,
    /// The versions of TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
}

impl ServerTrust {
    /// Believes the authorities of a file, else those of the system.
    ///
    /// # Errors
    /// There are none that can be used.
    pub fn load(file: Option<&Path>) -> Result<ServerTrust, TrustError> {
        let path = file.or_else(|| SYSTEM.iter().map(Path::new).find(|path| path.exists()));
        let path = path.ok_or(TrustError::None)?;
        let shown = path.display().to_string();
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_PEM).read_to_end(&mut text))
            .map_err(|error| TrustError::Read { path: shown.clone(), error })?;
        let mut roots = RootCertStore::empty();
        // A system has certificates that are too old to read; the others count.
        let found = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
        let (added, _) = roots.add_parsable_certificates(found);
        if added == 0 {
            return Err(TrustError::Empty(shown));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(TrustError::Tls)?.with_root_certificates(roots);
        Ok(ServerTrust(Arc::new(config.with_no_client_auth())))
    }
}

/// Route to an engine.
#[derive(Debug, Clone)]
pub struct HttpRoute {
    /// Address of the engine.
    pub url: TargetUrl,
    /// Trusted CA certificates; needed for `https`.
    pub trust: Option<ServerTrust>,
    /// Longest wait for an answer.
    pub timeout: Duration,
}

/// A connection.
#[derive(Debug)]
pub struct HttpClient {
    wire: HttpWire,
    unread: Vec<u8>,
    timeout: Duration,
}

#[derive(Debug)]
enum HttpWire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl HttpWire {
    fn socket(&self) -> &TcpStream {
        match self {
            HttpWire::Plain(socket) => socket,
            HttpWire::Tls(stream) => &stream.sock,
        }
    }

    fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            HttpWire::Plain(socket) => socket,
            HttpWire::Tls(stream) => stream.as_mut(),
        }
    }
}

trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// Status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Body, without its framing.
    pub body: Vec<u8>,
}

impl HttpReply {
    /// The first value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Head and body as text, for notes and for a look at everything that came.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&self.body));
        text
    }
}

/// Whether an answer has a body besides its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyPresence {
    /// To `HEAD`: never.
    Head,
    /// To anything else.
    Any,
}

impl HttpClient {
    /// Connects.
    ///
    /// # Errors
    /// Nobody is there, or nobody to believe.
    pub fn open(way: &HttpRoute) -> Result<HttpClient, CheckFinding> {
        let HttpRoute { url, trust, timeout } = way;
        let socket = connect(url, *timeout)
            .map_err(|error| CheckFinding::fault(format!("cannot connect to {url}: {error}")))?;
        let wire = if url.is_tls {
            let trust =
                trust.as_ref().ok_or_else(|| CheckFinding::fault("no authorities for https"))?;
            let name = ServerName::try_from(url.host.clone());
            let name =
                name.map_err(|_| CheckFinding::fault("the host cannot be in a certificate"))?;
            let session = ClientConnection::new(Arc::clone(&trust.0), name);
            let session =
                session.map_err(|error| CheckFinding::fault(format!("no TLS: {error}")))?;
            HttpWire::Tls(Box::new(StreamOwned::new(session, socket)))
        } else {
            HttpWire::Plain(socket)
        };
        Ok(HttpClient { wire, unread: Vec::new(), timeout: *timeout })
    }

    /// Sends bytes. What an engine does not take is no fault by itself: it may have answered
    /// before the end.
    pub fn send(&mut self, bytes: &[u8]) {
        let end = Instant::now() + self.timeout;
        for piece in bytes.chunks(CHUNK) {
            let left = end.saturating_duration_since(Instant::now());
            let _ = self.wire.socket().set_write_timeout(Some(left.max(Duration::from_millis(1))));
            let sent =
                self.wire.stream().write_all(piece).and_then(|()| self.wire.stream().flush());
            if sent.is_err() {
                return;
            }
        }
    }

    /// Says that nothing more will be sent.
    pub fn end(&mut self) {
        let _ = self.wire.socket().shutdown(Shutdown::Write);
    }

    /// Reads one answer; those that only say "go on" are passed over.
    ///
    /// # Errors
    /// None comes, or it is not HTTP.
    pub fn reply(&mut self, of: BodyPresence) -> Result<HttpReply, CheckFinding> {
        let end = Instant::now() + self.timeout;
        loop {
            let reply = self.head(end)?;
            if reply.status >= 200 || reply.status == 101 {
                return self.body(reply, of, end);
            }
        }
    }

    /// Reads the head of an answer whose body does not end by itself.
    ///
    /// # Errors
    /// None comes, or it is not HTTP.
    pub fn head_only(&mut self) -> Result<HttpReply, CheckFinding> {
        self.head(Instant::now() + self.timeout)
    }

    /// Reads until a condition on what is unread holds, or the end; takes everything.
    ///
    /// # Errors
    /// The condition does not hold within the time.
    pub fn until(
        &mut self,
        what: &str,
        is_there: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, CheckFinding> {
        let end = Instant::now() + self.timeout;
        while !is_there(&self.unread) && self.unread.len() < MAX_BODY {
            match self.more(end)? {
                MoreBytes::Bytes => {}
                MoreBytes::Closed => break,
                MoreBytes::Late => return Err(late(what, self.timeout)),
            }
        }
        Ok(std::mem::take(&mut self.unread))
    }

    /// Takes exactly so many bytes; `None` at the end.
    ///
    /// # Errors
    /// The bytes do not come within the time.
    pub fn exactly(&mut self, count: usize) -> Result<Option<Vec<u8>>, CheckFinding> {
        let end = Instant::now() + self.timeout;
        while self.unread.len() < count {
            match self.more(end)? {
                MoreBytes::Bytes => {}
                MoreBytes::Closed => return Ok(None),
                MoreBytes::Late => return Err(late("the rest of a frame", self.timeout)),
            }
        }
        Ok(Some(self.unread.drain(..count).collect()))
    }

    fn head(&mut self, end: Instant) -> Result<HttpReply, CheckFinding> {
        loop {
            if let Some(at) = find(&self.unread, b"\r\n\r\n") {
                let bytes: Vec<u8> = self.unread.drain(..at + 4).collect();
                return parse(&bytes[..at]);
            }
            if self.unread.len() > MAX_HEAD {
                return Err(CheckFinding::fault("the head of the answer has no end"));
            }
            match self.more(end)? {
                MoreBytes::Bytes => {}
                MoreBytes::Closed if self.unread.is_empty() => {
                    return Err(CheckFinding::fault(
                        "the engine closed the connection without an answer",
                    ));
                }
                MoreBytes::Closed => {
                    return Err(CheckFinding::fault("the answer is not HTTP, or was cut off"));
                }
                MoreBytes::Late => return Err(late("an answer", self.timeout)),
            }
        }
    }

    fn body(
        &mut self,
        mut reply: HttpReply,
        of: BodyPresence,
        end: Instant,
    ) -> Result<HttpReply, CheckFinding> {
        if of == BodyPresence::Head || matches!(reply.status, 101 | 204 | 304) {
            return Ok(reply);
        }
        let is_chunked = reply.header("transfer-encoding").is_some_and(|it| it.contains("chunked"));
        if is_chunked {
            loop {
                if let Some((body, used)) = unchunk(&self.unread)? {
                    self.unread.drain(..used);
                    reply.body = body;
                    return Ok(reply);
                }
                self.need(end)?;
            }
        }
        let Some(length) = reply.header("content-length") else {
            while !matches!(self.more(end)?, MoreBytes::Closed) {
                if Instant::now() >= end || self.unread.len() > MAX_BODY {
                    return Err(late("the end of the answer", self.timeout));
                }
            }
            reply.body = std::mem::take(&mut self.unread);
            return Ok(reply);
        };
        let length: usize =
            length.trim().parse().ok().filter(|length| *length <= MAX_BODY).ok_or_else(|| {
                CheckFinding::fault(format!("the answer's Content-Length is `{length}`"))
            })?;
        while self.unread.len() < length {
            self.need(end)?;
        }
        reply.body = self.unread.drain(..length).collect();
        Ok(reply)
    }

    fn need(&mut self, end: Instant) -> Result<(), CheckFinding> {
        if self.unread.len() > MAX_BODY {
            return Err(CheckFinding::fault("the answer has no end"));
        }
        match self.more(end)? {
            MoreBytes::Bytes => Ok(()),
            MoreBytes::Closed => Err(CheckFinding::fault("the answer was cut off")),
            MoreBytes::Late => Err(late("the rest of the answer", self.timeout)),
        }
    }

    fn more(&mut self, end: Instant) -> Result<MoreBytes, CheckFinding> {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(MoreBytes::Late);
        }
        let timed = self.wire.socket().set_read_timeout(Some(left));
        timed
            .map_err(|error| CheckFinding::fault(format!("cannot wait for an answer: {error}")))?;
        let mut chunk = vec![0; CHUNK];
        match self.wire.stream().read(&mut chunk) {
            Ok(0) => Ok(MoreBytes::Closed),
            Ok(count) => {
                self.unread.extend_from_slice(&chunk[..count]);
                Ok(MoreBytes::Bytes)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(MoreBytes::Late),
                io::ErrorKind::Interrupted => Ok(MoreBytes::Bytes),
                io::ErrorKind::InvalidData => Err(CheckFinding::fault(format!("no TLS: {error}"))),
                _ => Ok(MoreBytes::Closed),
            },
        }
    }
}

enum MoreBytes {
    Bytes,
    Closed,
    Late,
}

fn late(what: &str, timeout: Duration) -> CheckFinding {
    CheckFinding::fault(format!("{what} did not come within {} s", timeout.as_secs_f32()))
}

fn connect(url: &TargetUrl, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
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

fn parse(head: &[u8]) -> Result<HttpReply, CheckFinding> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ');
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let status = words.next().and_then(|word| word.parse().ok()).filter(|_| is_http);
    let Some(status) = status else {
        return Err(CheckFinding::fault(format!("the answer is not HTTP/1.1: `{first}`")));
    };
    let mut headers = Vec::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            return Err(CheckFinding::fault(format!("a header of the answer is none: `{line}`")));
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(HttpReply { status, headers, body: Vec::new() })
}

/// The chunks of a body put together, and how many bytes they took, once the last is there.
fn unchunk(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, CheckFinding> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else { return Ok(None) };
        let size = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
        let size = size.split(';').next().unwrap_or_default().trim().to_owned();
        let size = usize::from_str_radix(&size, 16).ok().filter(|size| *size <= MAX_BODY);
        let Some(size) = size else {
            return Err(CheckFinding::fault("a chunk of the answer has no size"));
        };
        let start = at + line + 2;
        let Some(chunk) = bytes.get(start..start + size + 2) else { return Ok(None) };
        body.extend_from_slice(&chunk[..size]);
        at = start + size + 2;
        if size == 0 {
            return Ok(Some((body, at)));
        }
    }
}

/// Offset of a text in bytes.
pub fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::{parse, unchunk};

    #[test]
    fn chunks_are_put_together_once_the_last_is_there() {
        let whole = b"3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\nnext";
        assert_eq!(unchunk(whole).unwrap(), Some((b"abcde".to_vec(), whole.len() - 4)));
        assert_eq!(unchunk(&whole[..12]).unwrap(), None);
        assert!(unchunk(b"zz\r\n").is_err());
    }

    #[test]
    fn a_head_is_a_status_and_headers() {
        let reply = parse(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX:").unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("a/b")));
        assert!(parse(b"SSH-2.0").is_err());
        assert!(parse(b"HTTP/1.1 200\r\nnone").is_err());
    }
}
