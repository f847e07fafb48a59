//! A connection of the client, byte by byte: the daemon's side of it, written anew.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bridle_sexp::{Value, read_one};
use bridle_wire::frame::{DecodeStep, FrameDecoder, FramingLost};

use crate::case::{CheckFinding, Checked};
use crate::notes::CaseNotes;

/// Digits of a length.
const HEADER: usize = 6;

/// Message of the client.
#[derive(Debug, Clone)]
pub struct ClientMessage {
    /// Text of the message.
    pub text: String,
    /// Form of the message, read.
    pub form: Value,
}

impl ClientMessage {
    pub(super) fn of(text: String) -> Result<ClientMessage, CheckFinding> {
        let form = read_one(&text).map(|tree| tree.root().to_value());
        let form =
            form.map_err(|error| CheckFinding::fault(format!("expected a form: {error}: {text}")))?;
        Ok(ClientMessage { text, form })
    }

    /// The value of a key of the message; nil if it has none.
    pub fn get(&self, key: &str) -> Value {
        self.form.get(key).cloned().unwrap_or(Value::Nil)
    }

    /// The value of a key of its payload; nil if it has none.
    pub fn payload(&self, key: &str) -> Value {
        self.get("payload").get(key).cloned().unwrap_or(Value::Nil)
    }

    /// A text of its payload.
    pub fn text_of(&self, key: &str) -> Option<String> {
        self.payload(key).as_str().map(str::to_owned)
    }

    /// Id of the message as it is written.
    pub fn id(&self) -> String {
        match self.get("id") {
            Value::Nil => "nil".to_owned(),
            id => id.to_string(),
        }
    }

    /// Tells whether it is a message of this type.
    pub fn is_type(&self, name: &str) -> bool {
        self.get("type").is_keyword(name)
    }
}

/// A connection.
#[derive(Debug)]
pub struct ClientLink {
    stream: TcpStream,
    unread: Vec<u8>,
    timeout: Duration,
    notes: Rc<RefCell<CaseNotes>>,
    /// Hello of the client.
    pub hello: ClientMessage,
}

impl ClientLink {
    pub(super) fn new(
        stream: TcpStream,
        timeout: Duration,
        notes: Rc<RefCell<CaseNotes>>,
    ) -> std::io::Result<ClientLink> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        let hello = ClientMessage { text: String::new(), form: Value::Nil };
        Ok(ClientLink { stream, unread: Vec::new(), timeout, notes, hello })
    }

    /// Says something in one frame.
    pub fn say(&mut self, text: &str) -> Checked {
        self.raw(format!("{:06x}{text}", text.len()).as_bytes())
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Checked {
        self.notes.borrow_mut().sent(bytes);
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        sent.map_err(|error| CheckFinding::fault(format!("the client does not listen: {error}")))
    }

    /// Cuts the connection.
    pub fn cut(self) {
        self.notes.borrow_mut().noted("cut the connection");
        // It may be gone already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// The next frame of the client.
    ///
    /// # Errors
    /// None comes, or what comes is none.
    pub fn hear(&mut self, expected: &str) -> Result<ClientMessage, CheckFinding> {
        let text = self.next(expected)?;
        ClientMessage::of(text)
    }

    /// The next message of a type; others are passed over.
    ///
    /// # Errors
    /// None comes.
    pub fn hear_type(&mut self, name: &str) -> Result<ClientMessage, CheckFinding> {
        loop {
            let said = self.hear(&format!("a message of type `{name}`"))?;
            if said.is_type(name) {
                return Ok(said);
            }
        }
    }

    /// Everything that the client says until it has been quiet for so long.
    pub fn drain(&mut self, quiet: Duration) -> Vec<ClientMessage> {
        let timeout = std::mem::replace(&mut self.timeout, quiet);
        let mut all = Vec::new();
        while let Ok(said) = self.hear("anything") {
            all.push(said);
        }
        self.timeout = timeout;
        all
    }

    fn next(&mut self, expected: &str) -> Result<String, CheckFinding> {
        let until = Instant::now() + self.timeout;
        loop {
            if let Some(payload) = self.cut_frame()? {
                self.notes.borrow_mut().came(payload.as_bytes());
                return Ok(payload);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(CheckFinding::fault(format!(
                    "expected {expected}, got nothing in time"
                )));
            }
            let mut chunk = vec![0; 64 << 10];
            let set = self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))));
            match set.and_then(|()| self.stream.read(&mut chunk)) {
                Ok(0) => {
                    return Err(CheckFinding::fault(format!(
                        "expected {expected}, the client closed"
                    )));
                }
                Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    return Err(CheckFinding::fault(format!(
                        "expected {expected}, the client left: {error}"
                    )));
                }
            }
        }
    }

    /// Takes a whole frame off what came: its length counts bytes.
    fn cut_frame(&mut self) -> Result<Option<String>, CheckFinding> {
        let blanks = self.unread.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.unread.drain(..blanks);
        let Some(header) = self.unread.get(..HEADER) else { return Ok(None) };
        let digits = std::str::from_utf8(header).ok();
        let digits = digits.filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let length = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(length) = length else {
            let got = String::from_utf8_lossy(header).into_owned();
            return Err(CheckFinding::fault(format!("expected six hex digits, got `{got}`")));
        };
        if self.unread.len() < HEADER + length {
            return Ok(None);
        }
        let frame: Vec<u8> = self.unread.drain(..HEADER + length).skip(HEADER).collect();
        let text = String::from_utf8(frame);
        text.map(Some).map_err(|_| CheckFinding::fault("expected UTF-8, cut at a character's edge"))
    }
}

impl ClientLink {
    /// The next signed frame of the client, as far as its signature fits.
    ///
    /// # Errors
    /// None comes, or its signature does not fit.
    pub(super) fn sealed(&mut self, decoder: &mut FrameDecoder) -> Result<String, CheckFinding> {
        let until = Instant::now() + self.timeout;
        loop {
            match decoder.decode(&self.unread) {
                Ok(DecodeStep::Frame { payload, consumed }) => {
                    let text = String::from_utf8_lossy(&self.unread[payload]).into_owned();
                    self.unread.drain(..consumed);
                    self.notes.borrow_mut().came(text.as_bytes());
                    return Ok(text);
                }
                Ok(DecodeStep::Need { skip, .. }) => drop(self.unread.drain(..skip)),
                Ok(DecodeStep::Refused { error, .. }) | Err(FramingLost { error, .. }) => {
                    return Err(CheckFinding::fault(format!("expected a signed frame: {error}")));
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            let mut chunk = vec![0; 64 << 10];
            let set = self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))));
            match set.and_then(|()| self.stream.read(&mut chunk)) {
                Ok(count @ 1..) => self.unread.extend_from_slice(&chunk[..count]),
                _ => return Err(CheckFinding::fault("expected a signed frame, got none")),
            }
        }
    }
}
