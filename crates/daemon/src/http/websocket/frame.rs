//! Frames of a WebSocket (RFC 6455), as a server reads and writes them. `websocket` calls it: bytes
//! in, messages out, no IO.
//!
//! A frame is refused by its header: nothing is kept of one that is too large, not masked, or of a
//! kind that is not served. Extensions are not offered, so none of their bits may be set.

/// Most that a control frame holds, in bytes; the protocol says so.
const MAX_CONTROL: usize = 125;

/// Bytes that were taken and are still held, after which they are let go.
const KEPT_SLACK_BYTES: usize = 64 << 10;

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

/// Markers of a length of two bytes and of one of eight.
const MEDIUM: u8 = 126;
const LONG: u8 = 127;

/// The bit of a last frame.
const LAST: u8 = 0x80;

/// The bit of a payload under a mask.
const MASKED: u8 = 0x80;

/// Message of a peer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebSocketInput {
    /// A message.
    Text(String),
    /// Ping, to be answered with these bytes.
    Ping(Vec<u8>),
    /// Answer to a ping.
    Pong,
    /// End of the connection, with a code if the peer gave one.
    Close(Option<u16>),
}

/// Fault of the bytes, after which the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WebSocketFault {
    /// Not frames as they must be.
    Protocol,
    /// Not text.
    Binary,
    /// Not UTF-8.
    NotUtf8,
    /// More than is taken.
    TooLarge,
}

/// Finds messages in bytes.
#[derive(Debug)]
pub(super) struct WebSocketDecoder {
    /// Largest message, in bytes.
    most: usize,
    /// Bytes that came.
    bytes: Vec<u8>,
    /// Number of bytes that were taken.
    at: usize,
    /// The message whose last frame has not come.
    message: Option<Vec<u8>>,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug)]
struct WebSocketHeader {
    is_last: bool,
    kind: u8,
    /// Bytes of the payload.
    length: usize,
    /// Offset of the mask.
    mask: usize,
}

impl WebSocketDecoder {
    /// Takes messages of at most so many bytes.
    pub(super) fn new(most: usize) -> WebSocketDecoder {
        WebSocketDecoder { most, bytes: Vec::new(), at: 0, message: None }
    }

    /// Bytes that are held: of what is not whole yet, and of what was not taken yet.
    pub(super) fn held(&self) -> usize {
        self.bytes.len() - self.at + self.message.as_ref().map_or(0, Vec::len)
    }

    /// Adds bytes that came.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next of what came; `None` until more has come.
    pub(super) fn next(&mut self) -> Result<Option<WebSocketInput>, WebSocketFault> {
        loop {
            let Some(header) = self.header()? else { return Ok(None) };
            let Some(payload) = self.payload(header) else { return Ok(None) };
            match header.kind {
                PING => return Ok(Some(WebSocketInput::Ping(payload))),
                PONG => return Ok(Some(WebSocketInput::Pong)),
                CLOSE => return reason(&payload).map(WebSocketInput::Close).map(Some),
                _ => {}
            }
            let mut message = self.message.take().unwrap_or_default();
            message.extend_from_slice(&payload);
            if header.is_last {
                return String::from_utf8(message)
                    .map(WebSocketInput::Text)
                    .map(Some)
                    .map_err(|_| WebSocketFault::NotUtf8);
            }
            self.message = Some(message);
        }
    }

    /// Reads a header and judges it.
    fn header(&self) -> Result<Option<WebSocketHeader>, WebSocketFault> {
        let bytes = &self.bytes[self.at..];
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let (is_last, kind) = (first & LAST != 0, first & 0x0f);
        if first & 0x70 != 0 || second & MASKED == 0 {
            return Err(WebSocketFault::Protocol);
        }
        let (length, mask) = match second & !MASKED {
            MEDIUM => match rest.first_chunk::<2>() {
                Some(length) => (u64::from(u16::from_be_bytes(*length)), self.at + 4),
                None => return Ok(None),
            },
            LONG => match rest.first_chunk::<8>() {
                Some(length) => (u64::from_be_bytes(*length), self.at + 10),
                None => return Ok(None),
            },
            short => (u64::from(short), self.at + 2),
        };
        if !is_shortest(second & !MASKED, length) {
            return Err(WebSocketFault::Protocol);
        }
        let length = usize::try_from(length).map_err(|_| WebSocketFault::TooLarge)?;
        let held = self.message.as_ref().map(Vec::len);
        match (kind, held) {
            (CLOSE | PING | PONG, _) if is_last && length <= MAX_CONTROL => {}
            (CONTINUATION, Some(_)) | (TEXT, None) => {}
            (BINARY, None) => return Err(WebSocketFault::Binary),
            _ => return Err(WebSocketFault::Protocol),
        }
        if length > self.most - held.unwrap_or(0) {
            return Err(WebSocketFault::TooLarge);
        }
        Ok(Some(WebSocketHeader { is_last, kind, length, mask }))
    }

    /// Takes a payload from under its mask, once all of it has come.
    fn payload(&mut self, header: WebSocketHeader) -> Option<Vec<u8>> {
        let begin = header.mask + 4;
        let mask: [u8; 4] = self.bytes.get(header.mask..begin)?.try_into().ok()?;
        let payload = self.bytes.get(begin..begin.checked_add(header.length)?)?;
        let payload = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        let payload = payload.collect();
        self.at = begin + header.length;
        if self.at == self.bytes.len() {
            // A connection that rests holds no buffer.
            (self.bytes, self.at) = (Vec::new(), 0);
        } else if self.at > KEPT_SLACK_BYTES {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        Some(payload)
    }
}

/// Tells whether a length is written as the protocol wants it, in no more bytes than it needs.
fn is_shortest(form: u8, length: u64) -> bool {
    match form {
        MEDIUM => length >= u64::from(MEDIUM),
        // The first bit of eight bytes is never set.
        LONG => length > u64::from(u16::MAX) && length >> 63 == 0,
        _ => true,
    }
}

/// Reads the code of a close: one that may be sent, with words behind it.
fn reason(payload: &[u8]) -> Result<Option<u16>, WebSocketFault> {
    let Some((code, words)) = payload.split_first_chunk::<2>() else {
        return if payload.is_empty() { Ok(None) } else { Err(WebSocketFault::Protocol) };
    };
    let code = u16::from_be_bytes(*code);
    // 1004 to 1006 and 1015 stand for what no peer says; others below 3000 are not given away yet.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(WebSocketFault::Protocol);
    }
    str::from_utf8(words).map(|_| Some(code)).map_err(|_| WebSocketFault::NotUtf8)
}

/// A frame of text.
pub(super) fn text(text: &str) -> Vec<u8> {
    frame(TEXT, text.as_bytes())
}

/// Writes a ping.
pub(super) fn ping() -> Vec<u8> {
    frame(PING, &[])
}

/// Writes the answer to a ping.
pub(super) fn pong(bytes: &[u8]) -> Vec<u8> {
    frame(PONG, bytes)
}

/// Writes a close with its code and a few words.
pub(super) fn close(code: u16, why: &str) -> Vec<u8> {
    frame(CLOSE, &[&code.to_be_bytes(), why.as_bytes()].concat())
}

/// Writes the close that answers a peer's close.
pub(super) fn close_back(code: Option<u16>) -> Vec<u8> {
    code.map_or_else(|| frame(CLOSE, &[]), |code| close(code, ""))
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 10);
    frame.push(LAST | kind);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ 0..=125), _) => frame.push(length),
        (_, Ok(length)) => {
            frame.push(MEDIUM);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            frame.push(LONG);
            let length = u64::try_from(payload.len()).unwrap_or(u64::MAX);
            frame.extend_from_slice(&length.to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

#[cfg(test)]
mod tests;
