//! Tells, byte by byte, whether the text so far closes the one form of a payload.
//!
//! Called by `walk` to find out what unit a peer counts in. It follows brackets, strings and
//! escapes and nothing else, so it needs neither a buffer nor a limit on depth, and text that the
//! real reader refuses for other reasons still keeps the connection in step. It is not the reader
//! and never judges a message.

/// The state of the scan; a fresh one stands before the first byte.
#[derive(Clone, Debug, Default)]
pub(super) struct FormScan {
    mode: ScanMode,
    /// Brackets open now.
    depth: usize,
    /// The last byte was an escaping backslash.
    escaped: bool,
    /// The last byte was `#`, so a bracket belongs to the same form.
    hash: bool,
}

/// Judgement of the text so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormVerdict {
    /// A list, vector or string, closed by the last byte.
    Complete,
    /// One whole form with blanks behind it: the end is not where the form ends.
    Trailing,
    /// More text is needed.
    Incomplete,
    /// Nothing can be concluded: a bare atom, a second form, or a bracket too many.
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScanMode {
    /// Before the form, or between the elements of a list.
    #[default]
    Between,
    /// In a symbol or number.
    Atom,
    /// In a string.
    Text,
    /// Between the bars of `|symbol|`.
    Bars,
    /// Right behind the form.
    Done,
    /// Behind blanks that are behind the form.
    Trailing,
    /// Not one form, whatever follows.
    Broken,
}

impl FormScan {
    /// Takes the next bytes of the text.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            if self.mode == ScanMode::Broken {
                return;
            }
            rest = tail;
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escape();
            } else if self.mode == ScanMode::Text {
                if byte == b'"' {
                    self.close();
                } else {
                    rest = &tail[plain_text(tail)..];
                }
            } else if self.mode == ScanMode::Bars {
                if byte == b'|' {
                    self.mode = ScanMode::Atom;
                }
            } else {
                self.outside(byte);
            }
        }
    }

    /// Judges the text so far.
    pub(super) fn verdict(&self) -> FormVerdict {
        match self.mode {
            ScanMode::Done => FormVerdict::Complete,
            ScanMode::Trailing => FormVerdict::Trailing,
            ScanMode::Broken => FormVerdict::Unknown,
            ScanMode::Atom if self.depth == 0 && !self.escaped => FormVerdict::Unknown,
            ScanMode::Between | ScanMode::Atom | ScanMode::Text | ScanMode::Bars => {
                FormVerdict::Incomplete
            }
        }
    }

    fn escape(&mut self) {
        self.escaped = true;
        self.hash = false;
        if !matches!(self.mode, ScanMode::Text | ScanMode::Bars) {
            self.begin(ScanMode::Atom);
        }
    }

    /// One byte that is in neither a string nor bars and not escaped.
    fn outside(&mut self, byte: u8) {
        let hash = std::mem::replace(&mut self.hash, byte == b'#');
        match byte {
            b' ' | b'\n' | b'\t' | b'\r' | 0x0C => {
                if self.mode == ScanMode::Atom {
                    self.close();
                }
                if self.mode == ScanMode::Done {
                    self.mode = ScanMode::Trailing;
                }
            }
            b'"' => self.open(hash, ScanMode::Text),
            b'(' | b'[' => {
                self.open(hash, ScanMode::Between);
                self.depth = self.depth.saturating_add(1);
            }
            b')' | b']' if self.depth > 0 => {
                self.depth -= 1;
                self.close();
            }
            // Comments are refused on the wire; what is behind one cannot be judged.
            b')' | b']' | b';' => self.mode = ScanMode::Broken,
            b'|' if hash => self.mode = ScanMode::Broken,
            b'|' => self.begin(ScanMode::Bars),
            b'\'' | b'`' | b',' if !self.ended() => {}
            _ => self.begin(ScanMode::Atom),
        }
    }

    /// Starts an element that ends an atom, except right behind the atom's own `#`.
    fn open(&mut self, hash: bool, mode: ScanMode) {
        if self.mode == ScanMode::Atom && !hash {
            self.close();
        }
        self.begin(mode);
    }

    fn begin(&mut self, mode: ScanMode) {
        self.mode = if self.ended() { ScanMode::Broken } else { mode };
    }

    fn ended(&self) -> bool {
        matches!(self.mode, ScanMode::Done | ScanMode::Trailing)
    }

    fn close(&mut self) {
        self.mode = if self.depth == 0 { ScanMode::Done } else { ScanMode::Between };
    }
}

/// Number of leading bytes that neither end a string nor escape.
fn plain_text(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == b'"' || byte == b'\\').unwrap_or(bytes.len())
}
