//! Frames to and from one process: six hexadecimal digits of length in bytes, then one form.

use std::time::{Duration, Instant};

use bridle_jail::{ChildInput, JailedChild, OutputStream};
use bridle_sexp::{Value, read_one};
use bridle_skill::{SkillFault, SkillFaultKind};

/// Digits of a length.
const HEAD_BYTES: usize = 6;

/// Bytes of a message.
const MAX_MESSAGE_BYTES: usize = 0xff_ffff;

/// Bytes of standard error that are kept for the reason of a failure.
const MAX_ERROR_BYTES: usize = 2 << 10;

/// The two ends of a process.
pub(super) struct ProcessChannel {
    child: JailedChild,
    input: ChildInput,
    /// Bytes that came and were not read yet.
    unread: Vec<u8>,
    errors: Vec<u8>,
}

impl ProcessChannel {
    pub(super) fn new(mut child: JailedChild) -> Result<Self, SkillFault> {
        let input = child.take_input().ok_or_else(|| broken("it has no standard input"))?;
        Ok(Self { child, input, unread: Vec::new(), errors: Vec::new() })
    }

    /// Sends a message and waits for the answer.
    ///
    /// # Errors
    /// The process ended, said nothing in time, or said what is no message.
    pub(super) fn ask(&mut self, message: &Value, time: Duration) -> Result<Value, SkillFault> {
        self.send_text(&message.to_string())?;
        self.receive(Instant::now() + time)
    }

    /// Sends a text as a frame.
    ///
    /// # Errors
    /// The process ended, or does not read.
    pub(super) fn send_text(&mut self, text: &str) -> Result<(), SkillFault> {
        if text.len() > MAX_MESSAGE_BYTES {
            let reason =
                format!("a message of {} bytes, expected at most {MAX_MESSAGE_BYTES}", text.len());
            return Err(SkillFault::new(SkillFaultKind::Limit, reason));
        }
        let frame = format!("{:06x}{text}", text.len());
        let until = Instant::now() + SEND_TIME;
        let sent = self.input.write_until(frame.as_bytes(), until);
        sent.map_err(|_| self.ended("the process does not read"))
    }

    fn receive(&mut self, deadline: Instant) -> Result<Value, SkillFault> {
        loop {
            if let Some(text) = self.frame()? {
                let tree = read_one(&text);
                let tree =
                    tree.map_err(|error| broken(&format!("what it said is no form: {error}")))?;
                return Ok(tree.root().to_value());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.child.next_piece(left) {
                Some(piece) if piece.stream == OutputStream::Stdout => {
                    self.unread.extend(piece.bytes);
                }
                Some(piece) => {
                    let room = MAX_ERROR_BYTES.saturating_sub(self.errors.len());
                    self.errors.extend(piece.bytes.iter().take(room));
                }
                None if Instant::now() >= deadline => {
                    let reason = "time limit reached: the process did not answer";
                    return Err(SkillFault::new(SkillFaultKind::Limit, reason));
                }
                None => return Err(self.ended("the process ended")),
            }
        }
    }

    /// The text of a frame that is there whole.
    fn frame(&mut self) -> Result<Option<String>, SkillFault> {
        let Some(head) = self.unread.get(..HEAD_BYTES) else { return Ok(None) };
        let is_head = head.iter().all(u8::is_ascii_hexdigit);
        let length = std::str::from_utf8(head).ok().filter(|_| is_head);
        let length = length.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let length = length.ok_or_else(|| broken("it wrote what is no frame"))?;
        let Some(body) = self.unread.get(HEAD_BYTES..HEAD_BYTES + length) else {
            return Ok(None);
        };
        let text = String::from_utf8(body.to_vec());
        let text = text.map_err(|_| broken("it wrote what is no UTF-8"))?;
        self.unread.drain(..HEAD_BYTES + length);
        Ok(Some(text))
    }

    fn ended(&mut self, what: &str) -> SkillFault {
        while let Some(piece) = self.child.next_piece(Duration::from_millis(50)) {
            let room = MAX_ERROR_BYTES.saturating_sub(self.errors.len());
            self.errors.extend(piece.bytes.iter().take(room));
        }
        let said = String::from_utf8_lossy(&self.errors);
        let last = said.trim().lines().next_back().unwrap_or_default().to_owned();
        broken(&if last.is_empty() { what.to_owned() } else { format!("{what}: {last}") })
    }
}

/// Time for the process to read a message.
const SEND_TIME: Duration = Duration::from_secs(10);

fn broken(reason: &str) -> SkillFault {
    SkillFault::new(SkillFaultKind::Run, reason)
}
