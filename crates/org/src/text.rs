//! Spans and the classes of bytes that the grammar speaks of. Used by every other
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

/// Returns the beginning of `inner`, a part of `outer`, in it.
pub(crate) fn offset_in(outer: &[u8], inner: &[u8]) -> usize {
    inner.as_ptr().addr().saturating_sub(outer.as_ptr().addr())
}

/// Returns the first place at which the two bytes stand side by side. For so short a pattern, setting up a search
/// costs more than this.
pub(crate) fn find_pair(bytes: &[u8], first: u8, second: u8) -> Option<usize> {
    memchr::memchr_iter(first, bytes).find(|at| bytes.get(at + 1) == Some(&second))
}

/// Returns the last place at which the two bytes stand side by side.
pub(crate) fn rfind_pair(bytes: &[u8], first: u8, second: u8) -> Option<usize> {
    memchr::memrchr_iter(first, bytes).find(|at| bytes.get(at + 1) == Some(&second))
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

/// Returns the text behind `prefix`, whatever its case.
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
    while let Some(first) = bytes.first() {
        let (letter, rest) = if first.is_ascii() {
            (Some(char::from(*first)), &bytes[1..])
        } else {
            first_char(bytes).unwrap_or((None, &[]))
        };
        if !letter.is_some_and(&accepted) {
            return false;
        }
        bytes = rest;
    }
    true
}
