//! A connection to a daemon, byte by byte.
//!
//! Frames are cut and joined here without the code of the wire, so that a mistake in that does not
//! hide itself. Every wait is bounded, and all that goes out or comes in is noted.

use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bridle_shell::DaemonAddress;
use bridle_shell::client::ClientStream;

use super::heard::HeardMessage;
use crate::case::{CheckFinding, Checked};
use crate::notes::CaseNotes;

/// Digits of a header.
const HEADER: usize = 6;

/// Digits of a signature.
const SEAL: usize = 64;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// Blanks in a row that are skipped; more are a fault of the daemon.
const MAX_BLANKS: usize = 64 << 10;

/// A wait in which nothing is expected to come.
pub const QUIET: Duration = Duration::from_millis(150);

/// Unit of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountUnit {
    /// Bytes of UTF-8.
    Bytes,
    /// Characters.
    Chars,
}

/// Next frame or end of a connection.
#[derive(Debug)]
pub enum NextFrame {
    /// A message.
    Message(HeardMessage),
    /// The end.
    Closed,
    /// Nothing, within the time.
    Silence,
}

/// A connection.
#[derive(Debug)]
pub struct DaemonLink {
    stream: ClientStream,
    unread: Vec<u8>,
    timeout: Duration,
    unit: CountUnit,
    /// Digits between header and payload.
    seal: usize,
    /// The daemon's hello.
    pub hello: HeardMessage,
    notes: Rc<RefCell<CaseNotes>>,
}

impl DaemonLink {
    /// Connects and takes the hello.
    ///
    /// # Errors
    /// Nobody is there, or the first frame is no hello.
    pub fn open(
        addr: &DaemonAddress,
        timeout: Duration,
        notes: Rc<RefCell<CaseNotes>>,
    ) -> Result<DaemonLink, CheckFinding> {
        DaemonLink::connect(addr, timeout, notes, 0)
    }

    /// Connects where frames are signed. Signatures of the daemon are passed over, not checked.
    ///
    /// # Errors
    /// Nobody is there, or the first frame is no hello.
    pub fn open_signed(
        addr: &DaemonAddress,
        timeout: Duration,
        notes: Rc<RefCell<CaseNotes>>,
    ) -> Result<DaemonLink, CheckFinding> {
        DaemonLink::connect(addr, timeout, notes, SEAL)
    }

    fn connect(
        addr: &DaemonAddress,
        timeout: Duration,
        notes: Rc<RefCell<CaseNotes>>,
        seal: usize,
    ) -> Result<DaemonLink, CheckFinding> {
        let stream = ClientStream::connect(addr, timeout);
        let stream = stream.map_err(|error| CheckFinding::fault(error.to_string()))?;
        notes.borrow_mut().noted(&format!("connected to {addr}"));
        let hello = HeardMessage::nothing();
        let (unread, unit) = (Vec::new(), CountUnit::Bytes);
        let mut link = DaemonLink { stream, unread, timeout, unit, seal, hello, notes };
        link.hello = link.hear()?;
        if !link.hello.payload("action").is_keyword("handshake") {
            return Err(CheckFinding::fault("the first frame of the daemon is not its hello"));
        }
        Ok(link)
    }

    /// Counts in this unit from now on.
    pub fn count(&mut self, unit: CountUnit) {
        self.unit = unit;
    }

    /// Tells whether the daemon's hello offers something.
    pub fn offers(&self, capability: &str) -> bool {
        self.hello.lists("capabilities", capability)
    }

    /// Ends the case if the daemon's hello does not offer something.
    ///
    /// # Errors
    /// The daemon does not offer the capability.
    pub fn needs(&self, capability: &str) -> Checked {
        if self.offers(capability) {
            return Ok(());
        }
        Err(CheckFinding::unoffered(format!("the hello does not offer `:{capability}`")))
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The connection takes none.
    pub fn raw(&mut self, bytes: &[u8]) -> Checked {
        self.notes.borrow_mut().sent(bytes);
        self.stream.set_deadline(Some(Instant::now() + self.timeout));
        match self.stream.write_all(bytes) {
            Ok(()) => Ok(()),
            Err(error) => {
                Err(CheckFinding::fault(format!("the daemon took no more bytes: {error}")))
            }
        }
    }

    /// Sends a message in a frame.
    ///
    /// # Errors
    /// The connection takes none.
    pub fn say(&mut self, payload: &str) -> Checked {
        let frame = frame(payload, self.unit);
        self.raw(&frame)
    }

    /// Says that nothing more comes.
    pub fn end(&mut self) {
        self.notes.borrow_mut().noted("ended the sending side");
        self.stream.end_writing();
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// None comes.
    pub fn hear(&mut self) -> Result<HeardMessage, CheckFinding> {
        match self.next(self.timeout)? {
            NextFrame::Message(heard) => Ok(heard),
            NextFrame::Closed => Err(CheckFinding::fault("the daemon closed instead of answering")),
            NextFrame::Silence => {
                let after = self.timeout;
                Err(CheckFinding::fault(format!("no answer within {} s", after.as_secs_f32())))
            }
        }
    }

    /// Sends a message and waits for the one answer.
    ///
    /// # Errors
    /// None comes.
    pub fn ask(&mut self, payload: &str) -> Result<HeardMessage, CheckFinding> {
        self.say(payload)?;
        self.hear()
    }

    /// Waits for a message that fits; others are passed over.
    ///
    /// # Errors
    /// The message does not come.
    pub fn hear_until(
        &mut self,
        what: &str,
        fits: impl Fn(&HeardMessage) -> bool,
    ) -> Result<HeardMessage, CheckFinding> {
        let end = Instant::now() + self.timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.next(left)? {
                NextFrame::Message(heard) if fits(&heard) => return Ok(heard),
                NextFrame::Message(_) => {}
                NextFrame::Closed => {
                    return Err(CheckFinding::fault(format!("closed; expected {what}")));
                }
                NextFrame::Silence => {
                    return Err(CheckFinding::fault(format!("no sign of {what}")));
                }
            }
        }
    }

    /// Checks that the daemon still answers here.
    ///
    /// # Errors
    /// The connection does not answer.
    pub fn is_alive(&mut self) -> Checked {
        self.say("(:type :health-check)")?;
        let alive = self.hear_until("a health-response: the connection must live", |heard| {
            heard.is_type("health-response")
        });
        alive.map(|_| ())
    }

    /// Checks that the daemon closes; what it says before is passed over.
    ///
    /// # Errors
    /// The connection stays open.
    pub fn is_closed(&mut self) -> Checked {
        let end = Instant::now() + self.timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.next(left)? {
                NextFrame::Message(_) => {}
                NextFrame::Closed => return Ok(()),
                NextFrame::Silence => {
                    return Err(CheckFinding::fault("the connection is still open"));
                }
            }
        }
    }

    /// Checks that nothing comes.
    ///
    /// # Errors
    /// Something does.
    pub fn is_quiet(&mut self) -> Checked {
        match self.next(QUIET)? {
            NextFrame::Silence => Ok(()),
            NextFrame::Closed => Err(CheckFinding::fault("the daemon closed; expected silence")),
            NextFrame::Message(heard) => {
                Err(CheckFinding::fault(format!("expected silence, got {}", heard.brief())))
            }
        }
    }

    /// Reads the next frame, within a time.
    ///
    /// # Errors
    /// The next bytes are no frame.
    pub fn next(&mut self, wait: Duration) -> Result<NextFrame, CheckFinding> {
        self.stream.set_deadline(Some(Instant::now() + wait));
        loop {
            if let Some(payload) = self.cut()? {
                self.notes.borrow_mut().came(payload.as_bytes());
                return HeardMessage::read(payload).map(NextFrame::Message);
            }
            let mut chunk = vec![0; CHUNK];
            match self.stream.read(&mut chunk) {
                Ok(0) => return self.closed(),
                Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
                Err(error) if is_late(&error) => return Ok(NextFrame::Silence),
                Err(_) => return self.closed(),
            }
        }
    }

    fn closed(&self) -> Result<NextFrame, CheckFinding> {
        self.notes.borrow_mut().noted("the daemon closed the connection");
        if self.unread.iter().all(u8::is_ascii_whitespace) {
            return Ok(NextFrame::Closed);
        }
        Err(CheckFinding::fault("the daemon closed in the middle of a frame"))
    }

    /// Cuts one frame off what is unread.
    fn cut(&mut self) -> Result<Option<String>, CheckFinding> {
        let blanks = self.unread.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        if blanks > MAX_BLANKS {
            return Err(CheckFinding::fault("the daemon sends blanks without end"));
        }
        self.unread.drain(..blanks);
        let Some(header) = self.unread.first_chunk::<HEADER>() else { return Ok(None) };
        let digits = std::str::from_utf8(header).ok();
        let digits = digits.filter(|digits| digits.bytes().all(is_digit));
        let length = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(length) = length else {
            let header = String::from_utf8_lossy(header);
            return Err(CheckFinding::fault(format!(
                "expected six lower-case hex digits, got `{header}`"
            )));
        };
        let start = HEADER + self.seal;
        let Some(bytes) = self.bytes(start, length) else { return Ok(None) };
        let payload = self.unread[start..start + bytes].to_vec();
        let seal = &self.unread[HEADER..start];
        if !seal.iter().copied().all(is_digit) {
            return Err(CheckFinding::fault("expected a signature of 64 lower-case hex digits"));
        }
        self.unread.drain(..start + bytes);
        let payload = String::from_utf8(payload);
        payload.map(Some).map_err(|_| CheckFinding::fault("the payload of a frame is not UTF-8"))
    }

    /// Bytes of a payload of this length, once all have come.
    fn bytes(&self, start: usize, length: usize) -> Option<usize> {
        let rest = self.unread.get(start..)?;
        if self.unit == CountUnit::Bytes {
            return (rest.len() >= length).then_some(length);
        }
        let is_start = |byte: &u8| byte & 0xc0 != 0x80;
        let mut starts = rest.iter().enumerate().filter(|(_, byte)| is_start(byte));
        // The character after the last one has begun, or the bytes of the last one are all here.
        match starts.nth(length) {
            Some((at, _)) => Some(at),
            None => {
                let text = std::str::from_utf8(rest).ok()?;
                (text.chars().count() == length).then_some(rest.len())
            }
        }
    }
}

/// A frame in a unit.
pub fn frame(payload: &str, unit: CountUnit) -> Vec<u8> {
    let length = match unit {
        CountUnit::Bytes => payload.len(),
        CountUnit::Chars => payload.chars().count(),
    };
    format!("{length:06x}{payload}").into_bytes()
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
