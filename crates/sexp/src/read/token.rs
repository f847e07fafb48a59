//! The classes of bytes that decide where a token ends and what it can be.
//!
//! The reader ORs the classes of a token's bytes; most tokens need no second look.

/// A decimal digit.
pub(crate) const DIGIT: u8 = 1;
/// Any other constituent without a meaning of its own.
pub(crate) const PLAIN: u8 = 2;
/// A colon.
pub(crate) const COLON: u8 = 4;
/// A `#` inside a token: a constituent in Lisp, the end of the token in Emacs.
pub(crate) const HASH: u8 = 8;
/// Part of a character outside ASCII.
pub(crate) const WIDE: u8 = 16;
/// `\` or `|`: the token needs the slow scan.
pub(crate) const ESCAPE: u8 = 64;
/// A byte that ends a token: blanks and delimiters.
pub(crate) const END: u8 = 128;
/// A control character: the slow scan refuses it inside a token.
pub(crate) const CONTROL: u8 = END | ESCAPE;

/// The class of every byte.
pub(crate) static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [PLAIN; 256];
    let mut byte = 0;
    while byte < 256 {
        if byte < 0x20 || byte == 0x7F {
            table[byte] = CONTROL;
        } else if byte >= 0x80 {
            table[byte] = WIDE;
        }
        byte += 1;
    }
    let mut digit = b'0';
    while digit <= b'9' {
        table[digit as usize] = DIGIT;
        digit += 1;
    }
    let ends = b" \n\t\r\x0C()[]{}\"';,`";
    let mut at = 0;
    while at < ends.len() {
        table[ends[at] as usize] = END;
        at += 1;
    }
    table[b':' as usize] = COLON;
    table[b'#' as usize] = HASH;
    table[b'\\' as usize] = ESCAPE;
    table[b'|' as usize] = ESCAPE;
    table
}

/// Whether a byte is one of the five blanks.
#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x0C)
}

/// Whether a character is refused outside strings, even behind an escape.
pub(crate) fn is_control(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) => c.is_control() && !is_blank(byte),
        Err(_) => false,
    }
}

/// Whether a character outside ASCII is refused as a bare constituent: SBCL takes U+00A0 for
/// a letter and Emacs for a blank, and a byte order mark is never meant.
pub(crate) fn is_ambiguous(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{FEFF}')
}
