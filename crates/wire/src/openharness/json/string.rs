//! The inside of a JSON string to text. Called on strings that `read` has checked, and by the salvage
//! of ids, which has checked nothing.

/// Undoes the escapes of a checked string. What cannot be in one becomes U+FFFD.
pub(super) fn unescape(inner: &str) -> String {
    decode(inner, Some('\u{fffd}')).unwrap_or_default()
}

/// Undoes the escapes of any string; `None` when it is not well formed.
pub(in crate::openharness) fn unescape_checked(inner: &str) -> Option<String> {
    if inner.bytes().any(|byte| byte < 0x20) {
        return None;
    }
    decode(inner, None)
}

fn decode(inner: &str, otherwise: Option<char>) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, used) = match escape(rest.as_bytes()) {
            Some(found) => found,
            None => (otherwise?, 1),
        };
        out.push(c);
        rest = &rest[used..];
    }
    out.push_str(rest);
    Some(out)
}

/// The character of the escape at the front, and how many bytes it takes.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let c = match bytes.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(bytes),
        _ => return None,
    };
    Some((c, 2))
}

fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = unit(bytes)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 6));
    }
    let second = unit(bytes.get(6..)?)?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    let c = char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
    Some((c, 12))
}

/// The number of a `\uXXXX` at the front.
fn unit(bytes: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(..6)? else { return None };
    digits.iter().try_fold(0, |unit, byte| Some(unit * 16 + char::from(*byte).to_digit(16)?))
}
