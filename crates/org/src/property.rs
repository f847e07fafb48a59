//! What may stand right below a heading: the planning line and the drawer of properties.

use std::borrow::Cow;

use crate::line::is_drawer_end;
use crate::lines::{Class, Lines};
use crate::object::stamp_at;
use crate::syntax::{joins_word, letter_before};
use crate::text::{Span, drop_blanks, is_blank, skip_blanks, strip_prefix_any_case, trim, word};

/// One line `:KEY: value` of a drawer of properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property<'t> {
    /// The key as written, with the `+` of a key that adds to another.
    pub key: &'t [u8],
    /// The value, without blanks around it.
    pub value: &'t [u8],
    /// The line, from 1.
    pub line: usize,
}

/// The planning line of a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planning<'t> {
    /// The timestamp behind `SCHEDULED:`, with its brackets.
    pub scheduled: Option<&'t [u8]>,
    /// The timestamp behind `DEADLINE:`.
    pub deadline: Option<&'t [u8]>,
    /// The timestamp behind `CLOSED:`.
    pub closed: Option<&'t [u8]>,
    /// The line, with its end.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
}

/// The value of `name`: the first `:NAME:`, and every `:NAME+:` added behind it with a blank.
pub(crate) fn lookup<'t>(properties: &[Property<'t>], name: &str) -> Option<Cow<'t, [u8]>> {
    let name = name.as_bytes();
    let base = properties.iter().find(|property| property.key.eq_ignore_ascii_case(name));
    let added = properties.iter().filter(|property| {
        property.key.strip_suffix(b"+").is_some_and(|key| key.eq_ignore_ascii_case(name))
    });
    join(base.into_iter().chain(added).map(|property| property.value))
}

/// The values with a blank between them; `None` when there are none.
pub(crate) fn join<'t>(mut values: impl Iterator<Item = &'t [u8]>) -> Option<Cow<'t, [u8]>> {
    let first = Cow::Borrowed(values.next()?);
    Some(values.fold(first, |joined, value| {
        let mut joined = joined.into_owned();
        joined.push(b' ');
        joined.extend_from_slice(value);
        Cow::Owned(joined)
    }))
}

/// The value that lines `#+PROPERTY: NAME value` give a property: the last of them counts, and `NAME+` adds to what stands
/// before it. Given what follows the keyword.
pub(crate) fn set_by_keywords<'t>(
    settings: impl Iterator<Item = &'t [u8]>,
    name: &[u8],
) -> Option<Cow<'t, [u8]>> {
    let mut values: Vec<&'t [u8]> = Vec::new();
    for setting in settings {
        let length = setting.iter().position(|byte| is_blank(*byte));
        let Some((key, value)) = length.map(|length| setting.split_at(length)) else { continue };
        let base = key.strip_suffix(b"+");
        if !base.unwrap_or(key).eq_ignore_ascii_case(name) {
            continue;
        }
        if base.is_none() {
            values.clear();
        }
        values.push(trim(value));
    }
    join(values.into_iter())
}

/// The last line of the drawer of properties that begins at line `first`. A drawer with a line that is no
/// property is none.
pub(crate) fn drawer_end(lines: &Lines<'_>, first: usize, limit: usize) -> Option<usize> {
    if lines.class(first) != Class::Drawer || !is_drawer_start(lines.content(first)) {
        return None;
    }
    for index in first + 1..limit {
        let line = lines.content(index);
        if is_drawer_end(line) {
            return Some(index);
        }
        pair(line)?;
    }
    None
}

/// Whether the line can be the planning line of a heading.
pub(crate) fn is_planning(line: &[u8]) -> bool {
    let inner = skip_blanks(line);
    [&b"closed:"[..], b"deadline:", b"scheduled:"]
        .iter()
        .any(|word| strip_prefix_any_case(inner, word).is_some())
}

/// The planning line at `index`.
pub(crate) fn planning<'t>(lines: &Lines<'t>, index: usize) -> Planning<'t> {
    let line = lines.content(index);
    Planning {
        scheduled: timestamp(line, b"SCHEDULED:"),
        deadline: timestamp(line, b"DEADLINE:"),
        closed: timestamp(line, b"CLOSED:"),
        span: lines.span(index, index + 1),
        line: index + 1,
    }
}

fn is_drawer_start(line: &[u8]) -> bool {
    drop_blanks(skip_blanks(line)).eq_ignore_ascii_case(b":properties:")
}

/// Key and value of a line in a drawer: nothing but blanks, or a space, may follow the key.
pub(crate) fn pair(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = skip_blanks(line);
    let head = word(inner);
    let key = head.strip_prefix(b":")?.strip_suffix(b":").filter(|key| !key.is_empty())?;
    let rest = &inner[head.len()..];
    let fits = rest.first().is_none_or(|byte| *byte == b' ') || skip_blanks(rest).is_empty();
    fits.then(|| (key, drop_blanks(skip_blanks(rest))))
}

/// The last timestamp behind `keyword`, as written, a range with its end. What stands there last counts, timestamp or not.
fn timestamp<'t>(line: &'t [u8], keyword: &[u8]) -> Option<&'t [u8]> {
    // A bracket that closes nothing more is behind no further keyword either.
    let last_close = memchr::memrchr2(b'>', b']', line)?;
    let mut found = None;
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&line[from..], keyword).map(|at| at + from) {
        from = at + keyword.len();
        let open = from + line[from..].iter().take_while(|byte| **byte == b' ').count();
        let starts_word = at == 0 || !joins_word(letter_before(line, at));
        let opens =
            matches!(line.get(open..open + 2), Some([b'<' | b'[', next]) if !b">]".contains(next));
        if starts_word && opens && open < last_close {
            found = Some(open);
        }
    }
    found.and_then(|open| stamp_at(&line[open..]))
}
