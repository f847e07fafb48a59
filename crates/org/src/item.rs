//! The first line of an item: bullet, counter, checkbox, tag.

use crate::text::{Span, is_blank, rfind_pair, skip_blanks};

/// Parts of the first line of an item. Spans are in that line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemLine {
    /// The bullet with the blanks behind it.
    pub(crate) bullet: Span,
    /// Value of `[@5]`.
    pub(crate) counter: Option<Span>,
    /// `[ ]`, `[X]` or `[-]`.
    pub(crate) checkbox: Option<Span>,
    /// Text before ` :: `, of an item that is not numbered.
    pub(crate) tag: Option<Span>,
    /// Beginning of the text, behind blanks.
    pub(crate) body: usize,
}

/// The column where the text of an item begins, but for blanks.
pub(crate) fn body(line: &[u8]) -> usize {
    read(line).body
}

/// Reads the first line of an item.
pub(crate) fn read(line: &[u8]) -> ItemLine {
    let indent = line.len() - skip_blanks(line).len();
    let mark = line[indent..].iter().take_while(|byte| !is_blank(**byte)).count();
    let is_ordered = line.get(indent).is_some_and(u8::is_ascii_digit);
    let mut at = blanks_from(line, indent + mark);
    let bullet = Span { start: indent, end: at };
    let counter = counter(&line[at..]).map(|(start, end, behind)| {
        let span = Span { start: at + start, end: at + end };
        at = blanks_from(line, at + behind);
        span
    });
    let boxed = is_checkbox(&line[at..]).then(|| {
        let span = Span { start: at, end: at + 3 };
        at = blanks_from(line, at + 3);
        span
    });
    // Org passes over `[x]`, and takes it for nothing.
    let checkbox = boxed.filter(|span| line[span.start + 1] != b'x');
    let tag = tag(&line[at..])
        .map(|(length, behind)| (Span { start: at, end: at + length }, at + behind));
    match tag {
        Some((tag, behind)) if !is_ordered => {
            ItemLine { bullet, counter, checkbox, tag: Some(tag), body: behind }
        }
        _ => ItemLine { bullet, counter, checkbox, tag: None, body: at },
    }
}

fn blanks_from(line: &[u8], at: usize) -> usize {
    line.len() - skip_blanks(&line[at..]).len()
}

/// Returns the beginning and the end of the value of `[@5]`, `[@start:5]` or `[@b]`, and the end of the counter.
fn counter(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let inner = bytes.strip_prefix(b"[@")?;
    let rest = inner.strip_prefix(b"start:").unwrap_or(inner);
    let start = bytes.len() - rest.len();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let letter = usize::from(rest.first().is_some_and(u8::is_ascii_alphabetic));
    let length = if digits > 0 { digits } else { letter };
    let closed = length > 0 && rest.get(length) == Some(&b']');
    closed.then_some((start, start + length, start + length + 1))
}

fn is_checkbox(bytes: &[u8]) -> bool {
    matches!(bytes, [b'[', b' ' | b'X' | b'x' | b'-', b']', rest @ ..] if rest.first().is_none_or(|byte| is_blank(*byte)))
}

/// The length of the tag, and where what follows ` :: ` begins: the last ` :: ` counts.
fn tag(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut end = bytes.len();
    while let Some(colons) = rfind_pair(&bytes[..end], b':', b':') {
        let behind = bytes.get(colons + 2);
        let ends_word = behind.is_none_or(|byte| is_blank(*byte));
        if ends_word && colons > 0 && is_blank(bytes[colons - 1]) {
            // One blank belongs to the colons, the others to the tag: it is what can be longest.
            return Some((colons - 1, bytes.len() - skip_blanks(&bytes[colons + 2..]).len()));
        }
        // `:::` has two places for `::`.
        end = colons + 1;
    }
    None
}
