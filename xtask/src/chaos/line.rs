//! One connection of a shell or of the auditor to the daemon: blocking, with a short read timeout, so
//! that one thread can both listen and speak. Frames are made and taken apart by `bridle-wire`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use bridle_sexp::{Value, read_one};
use bridle_wire::frame::{
    DecodeStep, DecoderOptions, FrameDecoder, FrameEncoder, LengthUnit, UnknownUnitPolicy,
};

/// Time that one read waits: short, for the thread has prompts to send too.
const READ_WAIT: Duration = Duration::from_millis(4);

/// Time that one write may be stuck before the connection counts as dead.
const WRITE_WAIT: Duration = Duration::from_secs(5);

/// Bytes taken from the socket at once.
const CHUNK: usize = 16 * 1024;

/// Address at which a daemon listens.
#[derive(Debug, Clone)]
pub(crate) enum ListenPlace {
    Tcp(String),
    Unix(PathBuf),
}

enum LineSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// An open connection.
pub(crate) struct OpenLine {
    socket: LineSocket,
    decoder: FrameDecoder,
    encoder: FrameEncoder,
    buffer: Vec<u8>,
}

/// Result of a look at the connection.
pub(crate) enum LineInput {
    /// Messages that came, perhaps none.
    Messages(Vec<Value>),
    /// The end of the connection.
    Gone,
}

impl OpenLine {
    pub(crate) fn open(place: &ListenPlace) -> io::Result<Self> {
        let socket = match place {
            ListenPlace::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(READ_WAIT))?;
                stream.set_write_timeout(Some(WRITE_WAIT))?;
                LineSocket::Tcp(stream)
            }
            ListenPlace::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(READ_WAIT))?;
                stream.set_write_timeout(Some(WRITE_WAIT))?;
                LineSocket::Unix(stream)
            }
        };
        let options = DecoderOptions { unit: Some(LengthUnit::Bytes), ..DecoderOptions::default() };
        let mut encoder = FrameEncoder::new(UnknownUnitPolicy::Bytes);
        encoder.set_unit(LengthUnit::Bytes);
        Ok(Self { socket, decoder: FrameDecoder::new(options), encoder, buffer: Vec::new() })
    }

    /// The bytes of a frame with this message.
    pub(crate) fn frame(&mut self, message: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encoder
            .encode(&message.to_string(), &mut bytes)
            .expect("the harness sends short messages");
        bytes
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.socket {
            LineSocket::Tcp(stream) => stream.write_all(bytes),
            LineSocket::Unix(stream) => stream.write_all(bytes),
        }
    }

    pub(crate) fn send(&mut self, message: &Value) -> io::Result<()> {
        let bytes = self.frame(message);
        self.write(&bytes)
    }

    /// Waits a moment for bytes and returns the messages that are whole. What the daemon sends must be
    /// readable: a frame that is not is returned as an error text.
    pub(crate) fn hear(&mut self) -> Result<LineInput, String> {
        let mut chunk = [0; CHUNK];
        let got = match &mut self.socket {
            LineSocket::Tcp(stream) => stream.read(&mut chunk),
            LineSocket::Unix(stream) => stream.read(&mut chunk),
        };
        match got {
            Ok(0) => return Ok(LineInput::Gone),
            Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => return Ok(LineInput::Gone),
            },
        }
        self.messages().map(LineInput::Messages)
    }

    /// Both ends of a TCP connection, own first; `None` for a Unix socket or one that was never whole.
    pub(crate) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let LineSocket::Tcp(stream) = &self.socket else { return None };
        Some((stream.local_addr().ok()?, stream.peer_addr().ok()?))
    }

    /// Ends the connection at once, whatever is under way.
    pub(crate) fn cut(&self) {
        // It may be gone already.
        let _ = match &self.socket {
            LineSocket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            LineSocket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    fn messages(&mut self) -> Result<Vec<Value>, String> {
        let (mut messages, mut start) = (Vec::new(), 0);
        loop {
            let decoded = self.decoder.decode(&self.buffer[start..]);
            match decoded.map_err(|lost| format!("framing lost: {}", lost.error))? {
                DecodeStep::Need { skip, .. } => {
                    self.buffer.drain(..start + skip);
                    return Ok(messages);
                }
                DecodeStep::Refused { error, .. } => return Err(format!("a bad frame: {error}")),
                DecodeStep::Frame { payload, consumed } => {
                    let bytes = &self.buffer[start + payload.start..start + payload.end];
                    let text = String::from_utf8_lossy(bytes);
                    let tree = read_one(&text).map_err(|error| format!("{error}: {text}"))?;
                    messages.push(tree.root().to_value());
                    start += consumed;
                }
            }
        }
    }
}
