//! Strings: where they end, what their escapes mean, how they are written.
//!
//! The reader finds the end with [`end_of`] and, for Emacs text, checks escapes with
//! [`check_emacs`]; nodes decode with [`unescape`]; the printers write with [`write()`].

use memchr::{memchr, memchr2};

use crate::error::{Category, Fault};
use crate::limits::Dialect;
use crate::read::run;

/// Finds the closing quote of the string whose contents begin at `from`: its place, and
/// whether there are escapes before it. `None` when the text ends first.
#[inline]
pub(crate) fn end_of(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
    // Most strings end within the first look, where a call to `memchr` would cost more.
    let at = match run::quote_or_backslash(bytes, from) {
        Some(at) => at,
        None => from + memchr2(b'"', b'\\', &bytes[from..])?,
    };
    if bytes[at] == b'"' { Some((at, false)) } else { end_of_escaped(bytes, at) }
}

/// Finds the end of a string from its first backslash on.
#[cold]
fn end_of_escaped(bytes: &[u8], mut backslash: usize) -> Option<(usize, bool)> {
    loop {
        let from = backslash + 2;
        let at = from + memchr2(b'"', b'\\', bytes.get(from..)?)?;
        if bytes[at] == b'"' {
            return Some((at, true));
        }
        backslash = at;
    }
}

/// Decodes the contents of a string that the reader has accepted.
pub(crate) fn unescape(inner: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Lisp => unescape_lisp(inner),
        Dialect::Emacs => unescape_emacs(inner),
    }
}

/// Any character behind a backslash stands for itself, so only the backslashes are left out.
fn unescape_lisp(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    // The character at the start of `rest` is escaped when this is its length, else it is 0.
    let mut escaped = 0;
    while let Some(at) = memchr(b'\\', &rest.as_bytes()[escaped..]) {
        out.push_str(&rest[..escaped + at]);
        rest = &rest[escaped + at + 1..];
        escaped = rest.chars().next().map_or(0, char::len_utf8);
    }
    out.push_str(rest);
    out
}

fn unescape_emacs(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        // The reader has refused every string with a wrong escape.
        let Ok((c, length)) = emacs_escape(rest, EscapePlace::String) else { continue };
        out.extend(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Whether a string's source escapes nothing but `"` and `\`, which is how both dialects read and
/// the Lisp one writes them.
pub(crate) fn is_canonical(source: &str) -> bool {
    let mut rest = source.as_bytes();
    while let Some(at) = memchr(b'\\', rest) {
        match rest.get(at + 1) {
            Some(b'"' | b'\\') => rest = &rest[at + 2..],
            _ => return false,
        }
    }
    true
}

/// Refuses Emacs escapes that stand for no character; `at` is where the contents begin.
pub(crate) fn check_emacs(inner: &str, at: usize) -> Result<(), Fault> {
    let mut offset = 0;
    while let Some(found) = memchr(b'\\', &inner.as_bytes()[offset..]) {
        let backslash = offset + found;
        let (_, length) = emacs_escape(&inner[backslash + 1..], EscapePlace::String)
            .map_err(|reason| Fault::new(Category::Escape, at + backslash, reason))?;
        offset = backslash + 1 + length;
    }
    Ok(())
}

/// Place of an Emacs escape: some differ between strings and characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapePlace {
    /// In a string: line breaks vanish, values from 128 to 255 are raw bytes.
    String,
    /// After `?`: values from 128 to 255 are characters.
    Character,
}

/// Decodes the escape whose backslash stands before `rest`: the character, if it makes one,
/// and how many bytes it takes.
pub(crate) fn emacs_escape(
    rest: &str,
    place: EscapePlace,
) -> Result<(Option<char>, usize), &'static str> {
    let Some(first) = rest.chars().next() else { return Err("escape without a character") };
    let simple = |c| Ok((Some(c), 1));
    match first {
        'a' => simple('\x07'),
        'b' => simple('\x08'),
        'd' => simple('\x7F'),
        'e' => simple('\x1B'),
        'f' => simple('\x0C'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        's' if place == EscapePlace::Character && rest[1..].starts_with('-') => {
            Err("a modifier is no character")
        }
        's' => simple(' '),
        't' => simple('\t'),
        'v' => simple('\x0B'),
        ' ' | '\n' if place == EscapePlace::String => Ok((None, 1)),
        '\n' => Err("a line break is no character here"),
        '0'..='7' => number(rest, 0, 8, Some(3), place),
        'x' => number(rest, 1, 16, None, place),
        'u' => exact(rest, 4),
        'U' => exact(rest, 8),
        'N' => named(rest),
        '^' => control(rest, 1),
        'C' if rest[1..].starts_with('-') => control(rest, 2),
        'C' | 'M' | 'S' | 'H' | 'A' => Err("a modifier is no character"),
        other => Ok((Some(other), other.len_utf8())),
    }
}

/// Digits of `radix` after `skip` bytes, at most `most` of them.
fn number(
    rest: &str,
    skip: usize,
    radix: u32,
    most: Option<usize>,
    place: EscapePlace,
) -> Result<(Option<char>, usize), &'static str> {
    let digits = rest[skip..].chars().take_while(|c| c.is_digit(radix)).count();
    let digits = digits.min(most.unwrap_or(digits));
    let end = skip + digits;
    let value = u32::from_str_radix(&rest[skip..end], radix)
        .map_err(|_| "expected a character's number")?;
    if place == EscapePlace::String && (0x80..=0xFF).contains(&value) {
        return Err("a raw byte is no character");
    }
    char::from_u32(value).map(|c| (Some(c), end)).ok_or("no character has this number")
}

/// Exactly `length` hex digits after the letter.
fn exact(rest: &str, length: usize) -> Result<(Option<char>, usize), &'static str> {
    let digits = rest.get(1..=length).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
    let value = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
    let c = value.and_then(char::from_u32).ok_or("expected the hex digits of a character")?;
    Ok((Some(c), 1 + length))
}

/// `\N{U+3BB}`; names of characters are not resolved.
fn named(rest: &str) -> Result<(Option<char>, usize), &'static str> {
    const EXPECTED: &str = "expected `\\N{U+` and hex digits";
    let hex = rest.strip_prefix("N{U+").ok_or(EXPECTED)?;
    let (hex, _) = hex.split_once('}').ok_or(EXPECTED)?;
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(EXPECTED);
    }
    let value = u32::from_str_radix(hex, 16).map_err(|_| EXPECTED)?;
    let c = char::from_u32(value).ok_or("no character has this number")?;
    Ok((Some(c), "N{U+}".len() + hex.len()))
}

/// The control character of the one after `skip` bytes.
fn control(rest: &str, skip: usize) -> Result<(Option<char>, usize), &'static str> {
    let c = match rest.as_bytes().get(skip) {
        Some(b'?') => '\x7F',
        Some(b' ') => '\0',
        // A backslash here begins another escape in Emacs.
        Some(b'\\') => return Err("a modifier is no character"),
        Some(&byte @ (b'@'..=b'_' | b'a'..=b'z')) => char::from(byte & 0x1F),
        _ => return Err("no control character of this name"),
    };
    Ok((Some(c), skip + 1))
}

/// Writes a string with its quotes.
pub(crate) fn write(contents: &str, dialect: Dialect, out: &mut String) {
    out.reserve(contents.len() + 2);
    out.push('"');
    match dialect {
        Dialect::Lisp => write_lisp(contents, out),
        Dialect::Emacs => write_emacs(contents, out),
    }
    out.push('"');
}

fn write_lisp(contents: &str, out: &mut String) {
    let mut rest = contents;
    while let Some(at) = memchr2(b'"', b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push('\\');
        out.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn write_emacs(contents: &str, out: &mut String) {
    let mut copied = 0;
    for (at, byte) in contents.bytes().enumerate() {
        if !matches!(byte, b'"' | b'\\' | 0..=0x1F | 0x7F) {
            continue;
        }
        out.push_str(&contents[copied..at]);
        copied = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            control => out.push_str(&format!("\\{control:03o}")),
        }
    }
    out.push_str(&contents[copied..]);
}
