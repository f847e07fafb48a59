//! Prints JSON: on one line for the wire, laid out for people. The same value always gives the same
//! bytes. Called by the shapes of messages and by `Json`.

use std::ops::Range;

use bridle_sexp::print_count;

use super::string::{is_special, plain};

/// JSON text in the making.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: String,
    /// A value was written at this level, so the next one needs a comma.
    comma: bool,
    /// A key was just written: the value belongs on its line.
    keyed: bool,
    layout: Option<usize>,
}

/// Room for a message from the start, in bytes.
const USUAL_BYTES: usize = 1 << 10;

impl JsonWriter {
    /// Writes on one line without blanks.
    pub fn compact() -> Self {
        JsonWriter::with_room(USUAL_BYTES)
    }

    /// An empty text with room for so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        JsonWriter { out: String::with_capacity(bytes), ..JsonWriter::default() }
    }

    /// Writes a line for each value, two blanks deeper for each level.
    pub fn pretty() -> Self {
        JsonWriter { layout: Some(0), ..JsonWriter::default() }
    }

    /// Returns the text.
    pub fn finish(self) -> String {
        self.out
    }

    #[inline]
    pub(in crate::openharness) fn open(&mut self, bracket: char) {
        self.begin();
        self.out.push(bracket);
        self.comma = false;
        self.layout = self.layout.map(|level| level + 1);
    }

    #[inline]
    pub(in crate::openharness) fn close(&mut self, bracket: char) {
        self.layout = self.layout.map(|level| level.saturating_sub(1));
        // Empty ones stay on their line.
        if self.comma {
            self.line();
        }
        self.out.push(bracket);
        self.comma = true;
    }

    pub(in crate::openharness) fn key(&mut self, key: &str) {
        self.begin();
        quote(key, &mut self.out);
        self.out.push_str(if self.layout.is_some() { ": " } else { ":" });
        self.keyed = true;
    }

    /// Writes a key of ours, with its quotes and its colon around it.
    pub(in crate::openharness) fn quoted_key(&mut self, key: &str) {
        self.begin();
        self.out.push_str(key);
        if self.layout.is_some() {
            self.out.push(' ');
        }
        self.keyed = true;
    }

    /// Writes a value once more that stands in the text already.
    pub(in crate::openharness) fn again(&mut self, value: Range<usize>) {
        self.begin();
        self.out.extend_from_within(value);
        self.comma = true;
    }

    /// Bytes of the text so far.
    pub(in crate::openharness) fn len(&self) -> usize {
        self.out.len()
    }

    pub(in crate::openharness) fn string(&mut self, text: &str) {
        self.begin();
        quote(text, &mut self.out);
        self.comma = true;
    }

    /// Writes a count.
    pub(in crate::openharness) fn count(&mut self, count: u64) {
        self.begin();
        print_count(count, &mut self.out);
        self.comma = true;
    }

    /// Writes what needs no quotes: a number, `true`, `false`, `null`.
    pub(in crate::openharness) fn word(&mut self, word: &str) {
        self.begin();
        self.out.push_str(word);
        self.comma = true;
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.keyed) {
            return;
        }
        if self.comma {
            self.out.push(',');
        }
        if !self.out.is_empty() {
            self.line();
        }
    }

    fn line(&mut self) {
        if let Some(level) = self.layout {
            self.out.push('\n');
            (0..level).for_each(|_| self.out.push_str("  "));
        }
    }
}

/// Appends a string in quotes; only what must be escaped is.
pub(super) fn quote(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    loop {
        let plain = plain(rest.as_bytes());
        out.push_str(&rest[..plain]);
        let Some(byte) = rest.as_bytes().get(plain) else { break };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => out.push_str(&format!("\\u{byte:04x}")),
        }
        rest = &rest[plain + 1..];
    }
    out.push('"');
}

/// Whether a text is the same between quotes as without: asked of our own keys and words.
pub(in crate::openharness) const fn is_plain(text: &str) -> bool {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at < bytes.len() {
        if is_special(bytes[at]) {
            return false;
        }
        at += 1;
    }
    true
}
