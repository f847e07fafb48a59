//! The inside of a JSON string: how far it is plain, and what it means. Called by `read` and `write`,
//! and by the salvage of ids, which has checked nothing.

/// Bytes that are looked at together: as many as fit a register of any processor of today.
const STRIDE_BYTES: usize = 16;

/// Number of leading bytes that stand for themselves: none is a quote, a backslash or a control.
pub(super) fn plain(bytes: &[u8]) -> usize {
    // Not lazily: all bytes of a stride in a few instructions.
    let has_special = |stride: &[u8; STRIDE_BYTES]| {
        stride.iter().fold(false, |found, byte| found | is_special(*byte))
    };
    let (strides, _) = bytes.as_chunks::<STRIDE_BYTES>();
    let far = strides.iter().position(has_special).unwrap_or(strides.len()) * STRIDE_BYTES;
    let rest = &bytes[far..];
    let (words, _) = rest.as_chunks::<WORD_BYTES>();
    for (idx, word) in words.iter().enumerate() {
        if let Some(at) = first_special(*word) {
            return far + idx * WORD_BYTES + at;
        }
    }
    if words.len() * WORD_BYTES == rest.len() {
        return bytes.len();
    }
    // What is left is the end of one more word, all before which is plain.
    if let Some(word) = bytes.last_chunk() {
        return first_special(*word).map_or(bytes.len(), |at| bytes.len() - WORD_BYTES + at);
    }
    bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len())
}

/// Whether a byte does not stand for itself in a string.
pub(super) const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Bytes of a number of the processor.
const WORD_BYTES: usize = 8;

/// Index of the first byte that does not stand for itself.
fn first_special(word: [u8; WORD_BYTES]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; WORD_BYTES]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    // A subtraction borrows only from what is above the byte that it is less than: the lowest mark is
    // always right, and no other is asked for.
    let below = |bytes: u64, least: u8| bytes.wrapping_sub(ONES * u64::from(least)) & !bytes;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let marks = (below(word, 0x20) | is(b'"') | is(b'\\')) & HIGH;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

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
