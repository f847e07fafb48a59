//! Forms from a stream, one after another, each as soon as it is whole, with places that count
//! from the start of the stream. `frame encode` and `send` read their input with it.

use std::io::{self, Read};

use bridle_sexp::{Comments, Progress, Reader};

use crate::error::{InputFault, ShellError};

/// Largest text in bytes that is held while a form is not whole: four of the largest frames,
/// which is what the largest frame of a character counter may take.
pub const MAX_FORM: usize = 64 << 20;

/// Largest text in bytes that is read in one piece, ten times the tree of a 5 MB Org file.
pub const MAX_TEXT: usize = 256 << 20;

/// Bytes asked of the stream at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Text up to this many bytes is tried again after each read, so that a person who types gets an
/// answer per line. Longer text is tried again when it has grown by a quarter: the work stays in
/// proportion to the input.
const TRY_ALWAYS: usize = 64 << 10;

/// Reads all of `source` as UTF-8 text.
///
/// # Errors
///
/// A fault of category `invalid-utf8` with its place, or what the system said.
pub fn read_text(source: &mut dyn Read) -> Result<String, ShellError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX) + 1;
    source.take(limit).read_to_end(&mut bytes).map_err(ShellError::Read)?;
    if bytes.len() > MAX_TEXT {
        return Err(ShellError::TooMuch { max: MAX_TEXT });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid_up_to = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(&error.as_bytes()[..valid_up_to]);
        invalid_utf8(&StreamOffset::default(), &valid, error.as_bytes()[valid_up_to]).into()
    })
}

fn invalid_utf8(base: &StreamOffset, valid: &str, byte: u8) -> InputFault {
    let reason = format!("expected UTF-8, got byte `0x{byte:02x}`");
    base.fault("invalid-utf8".to_owned(), valid, valid.len(), reason)
}

/// A syntax error of the reader as a fault in the whole input.
pub fn fault_in(text: &str, error: &bridle_sexp::Error) -> InputFault {
    StreamOffset::default().of(text, error)
}

/// Length of the stream before the text at hand.
#[derive(Debug, Clone, Copy)]
struct StreamOffset {
    offset: u64,
    line: usize,
    column: usize,
}

impl Default for StreamOffset {
    fn default() -> StreamOffset {
        StreamOffset { offset: 0, line: 1, column: 1 }
    }
}

impl StreamOffset {
    fn of(&self, text: &str, error: &bridle_sexp::Error) -> InputFault {
        let (offset, category) = (error.place().offset, error.category().as_str().to_owned());
        self.fault(category, text, offset, error.reason().to_string())
    }

    fn fault(&self, category: String, text: &str, offset: usize, reason: String) -> InputFault {
        let at = self.after(&text[..floor(text, offset)]);
        let excerpt = Some(excerpt(text, floor(text, offset)));
        let StreamOffset { offset, line, column } = at;
        InputFault { category, line, column, offset, reason, excerpt }
    }

    /// The place after `text`.
    fn after(&self, text: &str) -> StreamOffset {
        let offset = self.offset + text.len() as u64;
        match text.rfind('\n') {
            None => {
                StreamOffset { offset, line: self.line, column: self.column + text.chars().count() }
            }
            Some(last) => {
                let lines = text.bytes().filter(|&byte| byte == b'\n').count();
                let column = 1 + text[last + 1..].chars().count();
                StreamOffset { offset, line: self.line + lines, column }
            }
        }
    }
}

fn floor(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Characters shown on each side of a fault.
const EXCERPT_CHARS: usize = 30;

/// The line around `at`, and a caret under the place. Controls are shown as blanks, so that bad
/// input cannot drive a terminal.
fn excerpt(text: &str, at: usize) -> [String; 2] {
    let tame = |c: char| if c.is_control() { ' ' } else { c };
    let mut before: Vec<char> =
        text[..at].chars().rev().take_while(|&c| c != '\n').take(EXCERPT_CHARS).map(tame).collect();
    before.reverse();
    let after = text[at..].chars().take_while(|&c| c != '\n').take(EXCERPT_CHARS).map(tame);
    let line = before.iter().copied().chain(after).collect::<String>();
    [format!("  {}", line.trim_end()), format!("  {}^", " ".repeat(before.len()))]
}

/// Forms of a stream.
#[derive(Debug)]
pub struct FormStream<R> {
    source: R,
    reader: Reader,
    /// Read and valid; handed out up to `start`.
    text: String,
    start: usize,
    /// Bytes at the end of what was read that do not make a character yet.
    tail: Vec<u8>,
    /// Place in the stream of `start`.
    base: StreamOffset,
    /// Length of what was not handed out when a whole form was last looked for.
    tried: usize,
    ended: bool,
}

impl<R: Read> FormStream<R> {
    /// Forms in the dialect of the wire.
    pub fn new(source: R) -> FormStream<R> {
        let reader = Reader::default().comments(Comments::Refuse);
        FormStream {
            source,
            reader,
            text: String::new(),
            start: 0,
            tail: Vec::new(),
            base: StreamOffset::default(),
            tried: 0,
            ended: false,
        }
    }

    /// The exact text of the next form; `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// A syntax fault, which ends the stream, or what the system said.
    pub fn next_form(&mut self) -> Result<Option<String>, ShellError> {
        loop {
            if self.worth_a_try()
                && let Some(form) = self.take_form()?
            {
                return Ok(Some(form));
            }
            if self.ended {
                return self.at_end();
            }
            self.fill()?;
        }
    }

    /// Whether text is at hand, so that the next form may not need the stream.
    pub fn has_buffered(&self) -> bool {
        !self.rest().trim_ascii_start().is_empty()
    }

    /// Text that was read and not handed out.
    fn rest(&self) -> &str {
        &self.text[self.start..]
    }

    fn worth_a_try(&self) -> bool {
        let length = self.rest().len();
        self.ended || length <= TRY_ALWAYS || (length - self.tried) * 4 >= length
    }

    fn take_form(&mut self) -> Result<Option<String>, ShellError> {
        self.skip_blanks();
        self.tried = self.rest().len();
        if self.tried == 0 {
            return Ok(None);
        }
        let form = match self.reader.read(self.rest()) {
            Ok(Progress::Incomplete) => return Ok(None),
            Ok(Progress::Done(tree)) => self.rest()[..tree.consumed()].to_owned(),
            Err(error) => return Err(self.base.of(self.rest(), &error).into()),
        };
        if form.len() == self.tried && !self.ended && !form.ends_with([')', ']', '"']) {
            // An atom at the edge of what was read may go on.
            return Ok(None);
        }
        self.hand_out(form.len());
        // What follows has not been looked at.
        self.tried = 0;
        Ok(Some(form))
    }

    /// Judges the rest when nothing more comes: blank, half a form, or half a character.
    fn at_end(&self) -> Result<Option<String>, ShellError> {
        if let Some(&byte) = self.tail.first() {
            return Err(invalid_utf8(&self.base, self.rest(), byte).into());
        }
        if self.rest().is_empty() {
            return Ok(None);
        }
        match self.reader.read_one(self.rest()) {
            Ok(_) => Ok(None),
            Err(error) => Err(self.base.of(self.rest(), &error).into()),
        }
    }

    fn skip_blanks(&mut self) {
        let blank = |c: char| matches!(c, ' ' | '\n' | '\t' | '\r' | '\u{c}');
        let blanks = self.rest().len() - self.rest().trim_start_matches(blank).len();
        self.hand_out(blanks);
    }

    fn hand_out(&mut self, n_bytes: usize) {
        self.base = self.base.after(&self.text[self.start..self.start + n_bytes]);
        self.start += n_bytes;
        // Moved to the front when most of it is used, so that a byte moves a bounded number of
        // times.
        if self.start > self.text.len() / 2 {
            self.text.drain(..self.start);
            self.start = 0;
        }
    }

    fn fill(&mut self) -> Result<(), ShellError> {
        if self.rest().len() > MAX_FORM {
            return Err(ShellError::TooMuch { max: MAX_FORM });
        }
        let mut chunk = [0; CHUNK_BYTES];
        let n_read = loop {
            match self.source.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result.map_err(ShellError::Read)?,
            }
        };
        if n_read == 0 {
            self.ended = true;
            return Ok(());
        }
        self.tail.extend_from_slice(&chunk[..n_read]);
        match std::str::from_utf8(&self.tail) {
            Ok(valid) => {
                self.text.push_str(valid);
                self.tail.clear();
            }
            Err(error) => {
                let valid = &self.tail[..error.valid_up_to()];
                self.text.push_str(&String::from_utf8_lossy(valid));
                self.tail.drain(..error.valid_up_to());
                // Forms before the bad byte are still handed out; then `at_end` names it.
                self.ended |= error.error_len().is_some();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
