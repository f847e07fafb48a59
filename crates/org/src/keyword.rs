//! `#+KEY: value` lines: those of the file, and those affiliated to the element below them.

use crate::lines::Lines;
use crate::object::Caption;
use crate::text::{
    Span, drop_blanks, offset_in, rfind_pair, skip_blanks, strip_prefix_any_case, trim, word,
};

/// Affiliated keywords and the name that each goes by.
const AFFILIATED: &[(&str, &str)] = &[
    ("CAPTION", "CAPTION"),
    ("DATA", "NAME"),
    ("HEADER", "HEADER"),
    ("HEADERS", "HEADER"),
    ("LABEL", "NAME"),
    ("NAME", "NAME"),
    ("PLOT", "PLOT"),
    ("RESNAME", "NAME"),
    ("RESULT", "RESULTS"),
    ("RESULTS", "RESULTS"),
    ("SOURCE", "NAME"),
    ("SRCNAME", "NAME"),
    ("TBLNAME", "NAME"),
];

/// Those with a second value in brackets: `#+CAPTION[short]: long`.
const DUAL: &[&str] = &["CAPTION", "RESULTS"];

/// A line `#+KEY: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword<'t> {
    /// The key as written.
    pub key: &'t [u8],
    /// Text behind the colon, without blanks around it.
    pub value: &'t [u8],
    /// The line, from 1.
    pub line: usize,
    /// The line, with its end.
    pub span: Span,
}

impl Keyword<'_> {
    /// Whether the key is `key`, in whatever case.
    #[must_use]
    pub fn is(&self, key: &str) -> bool {
        self.key.eq_ignore_ascii_case(key.as_bytes())
    }

    /// Whether it is affiliated under `name`, by that key or by an older one.
    pub(crate) fn goes_by(&self, name: &str) -> bool {
        AFFILIATED.iter().any(|(key, official)| *official == name && self.is(key))
    }
}

/// Key and value, given what follows `#+`.
pub(crate) fn keyword(marked: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memrchr(b':', word(marked)).filter(|colon| *colon > 0)?;
    Some((&marked[..colon], trim(&marked[colon + 1..])))
}

/// Key and value of an affiliated keyword, given what follows `#+`.
pub(crate) fn affiliated(marked: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let (key, rest) = marked.split_at(marked.iter().take_while(is_key).count());
    let known = AFFILIATED.iter().any(|(name, _)| key.eq_ignore_ascii_case(name.as_bytes()));
    let attribute = strip_prefix_any_case(key, b"attr_").is_some_and(|rest| !rest.is_empty());
    if !known && !attribute {
        return None;
    }
    if let Some(value) = rest.strip_prefix(b":") {
        return Some((key, trim(value)));
    }
    let closed = rest.first() == Some(&b'[') && is_dual(key);
    let end = closed.then(|| last_bracket(rest)).flatten()?;
    Some((key, trim(&rest[end..])))
}

/// The caption on a line, if it is one.
pub(crate) fn caption(lines: &Lines<'_>, index: usize) -> Option<Caption> {
    let line = lines.content(index);
    let marked = crate::line::after_mark(line)?;
    affiliated(marked)?;
    let rest = strip_prefix_any_case(marked, b"caption")?;
    let (short, value) = match rest.first()? {
        b':' => (None, &rest[1..]),
        _ => {
            let end = last_bracket(rest)?;
            (Some(&rest[1..end - 2]), &rest[end..])
        }
    };
    let span = |part: &[u8]| {
        let start = lines.start(index) + offset_in(line, part);
        Span { start, end: start + part.len() }
    };
    Some(Caption { long: span(drop_blanks(skip_blanks(value))), short: short.map(span) })
}

/// Whether the line ends a paragraph above it. Of keys with something in brackets, `#+foo[bar]: x`, only those
/// that may have it do.
pub(crate) fn ends_paragraph(marked: &[u8]) -> bool {
    bracketed(marked).map_or_else(|| keyword(marked).is_some(), is_dual)
}

/// The key before the brackets in `#+key[value]: x`.
fn bracketed(marked: &[u8]) -> Option<&[u8]> {
    let end = last_bracket(marked)?;
    // Behind the last bracket there may be a colon of the word itself: `#+a[b]:c`.
    let head = word(marked);
    let open = memchr::memrchr(b'[', &head[..head.len().min(end)]);
    open.filter(|open| *open > 0).map(|open| &marked[..open])
}

/// Whether the line holds formulas, which belong to the table above it.
pub(crate) fn is_formula(marked: &[u8]) -> bool {
    strip_prefix_any_case(marked, b"tblfm: ").is_some()
}

/// The offset behind the last `]:`.
fn last_bracket(bytes: &[u8]) -> Option<usize> {
    rfind_pair(bytes, b']', b':').map(|at| at + 2)
}

fn is_dual(key: &[u8]) -> bool {
    DUAL.iter().any(|name| key.eq_ignore_ascii_case(name.as_bytes()))
}
