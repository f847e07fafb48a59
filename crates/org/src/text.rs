//! Spans, the table of lines, and the classes of bytes that the grammar speaks of. Used by every other
//! module; knows nothing of Org.

/// A range of bytes of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes of `source` in this span; empty where the span is not in it.
    #[must_use]
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// Where each line begins. A line ends with `\n`, with `\r\n`, or at the end of the text.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'t> {
    source: &'t [u8],
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(source: &'t [u8]) -> Self {
        let mut starts = Vec::new();
        if !source.is_empty() {
            starts.push(0);
        }
        let after = memchr::memchr_iter(b'\n', source).map(|newline| newline + 1);
        starts.extend(after.filter(|start| *start < source.len()));
        Self { source, starts }
    }

    pub(crate) fn source(&self) -> &'t [u8] {
        self.source
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The offset where the line begins; behind the last line, the end of the text.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(self.source.len())
    }

    /// The bytes of the lines from `first` to before `end`, line ends included.
    pub(crate) fn span(&self, first: usize, end: usize) -> Span {
        Span { start: self.start(first), end: self.start(end) }
    }

    /// The line without its end.
    pub(crate) fn content(&self, index: usize) -> &'t [u8] {
        let line = &self.source[self.start(index)..self.start(index + 1)];
        let Some(line) = line.strip_suffix(b"\n") else { return line };
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// The index of the line that holds the byte at `offset`.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}

/// Indents and separates: `[ \t]` of Org's expressions.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Ends a word: `\s-` of Org's expressions, in its ASCII part.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Without blanks in front.
pub(crate) fn skip_blanks(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| is_blank(**byte)).count()..]
}

/// Without blanks behind.
pub(crate) fn drop_blanks(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - bytes.iter().rev().take_while(|byte| is_blank(**byte)).count()]
}

/// Without blanks and line ends on both sides.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let outside = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n' | b'\r');
    let bytes = &bytes[bytes.iter().take_while(outside).count()..];
    &bytes[..bytes.len() - bytes.iter().rev().take_while(outside).count()]
}

/// The bytes before the first space.
pub(crate) fn word(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().take_while(|byte| !is_space(**byte)).count()]
}

/// What follows `prefix`, whatever its case.
pub(crate) fn strip_prefix_any_case<'t>(bytes: &'t [u8], prefix: &[u8]) -> Option<&'t [u8]> {
    let (start, rest) = bytes.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The first character and the bytes behind it; a byte that is no UTF-8 is a character of its own.
pub(crate) fn first_char(bytes: &[u8]) -> Option<(Option<char>, &[u8])> {
    let first = *bytes.first()?;
    if first.is_ascii() {
        return Some((Some(char::from(first)), &bytes[1..]));
    }
    let length = bytes.len().min(4);
    let chunk = bytes[..length].utf8_chunks().next()?;
    match chunk.valid().chars().next() {
        Some(letter) => Some((Some(letter), &bytes[letter.len_utf8()..])),
        None => Some((None, &bytes[1..])),
    }
}

/// Whether every character is `accepted`; bytes that are no UTF-8 never are.
pub(crate) fn all_chars(mut bytes: &[u8], accepted: impl Fn(char) -> bool) -> bool {
    while let Some((letter, rest)) = first_char(bytes) {
        if !letter.is_some_and(&accepted) {
            return false;
        }
        bytes = rest;
    }
    true
}
