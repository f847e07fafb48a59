//! Prints JSON: on one line for the wire, laid out for people. The same value always gives the same
//! bytes. Called by the shapes of messages and by `Json`.

/// JSON text in the making.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    /// A value was written at this level, so the next one needs a comma.
    comma: bool,
    /// A key was just written: the value belongs on its line.
    keyed: bool,
    layout: Option<usize>,
}

/// Room for a message from the start, in bytes.
const USUAL: usize = 1 << 10;

impl Writer {
    /// Writes on one line without blanks.
    pub fn compact() -> Self {
        Writer::with_room(USUAL)
    }

    /// The same with room for so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        Writer { out: String::with_capacity(bytes), ..Writer::default() }
    }

    /// Writes a line for each value, two blanks deeper for each level.
    pub fn pretty() -> Self {
        Writer { layout: Some(0), ..Writer::default() }
    }

    /// Returns the text.
    pub fn finish(self) -> String {
        self.out
    }

    pub(in crate::openharness) fn open(&mut self, bracket: char) {
        self.begin();
        self.out.push(bracket);
        self.comma = false;
        self.layout = self.layout.map(|level| level + 1);
    }

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

    pub(in crate::openharness) fn string(&mut self, text: &str) {
        self.begin();
        quote(text, &mut self.out);
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

/// Bytes that are looked at together: as many as fit a register of any processor of today.
const STRIDE: usize = 16;

/// How many bytes at the front need no escape.
fn plain(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    // Not lazily: all bytes of a stride in a few instructions.
    let has_special =
        |stride: &[u8; STRIDE]| stride.iter().fold(false, |found, byte| found | is_special(byte));
    let (strides, _) = bytes.as_chunks::<STRIDE>();
    let far = strides.iter().position(has_special).unwrap_or(strides.len()) * STRIDE;
    let near = bytes[far..].iter().position(is_special);
    near.map_or(bytes.len(), |near| far + near)
}
