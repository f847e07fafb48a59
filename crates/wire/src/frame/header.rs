//! The six hex digits in front of every frame: read, written.
//!
//! Used by the decoder and encoder of this folder. Signs, blanks and digits of other scripts, which
//! a Lisp number parser takes, are refused here.

use super::{FrameError, HEADER_LEN};

/// Marks a byte that is no hex digit in [`HEX`].
const NOT_HEX: u8 = 0x80;

/// The value of each byte as a hex digit, or [`NOT_HEX`].
static HEX: [u8; 256] = hex_table();

const fn hex_table() -> [u8; 256] {
    let mut table = [NOT_HEX; 256];
    let mut digit = 0u8;
    while digit < 10 {
        table[(b'0' + digit) as usize] = digit;
        digit += 1;
    }
    let mut digit = 0u8;
    while digit < 6 {
        table[(b'a' + digit) as usize] = 10 + digit;
        table[(b'A' + digit) as usize] = 10 + digit;
        digit += 1;
    }
    table
}

/// The length in six hex digits, or `None` when one of them is something else.
#[inline]
pub(super) fn parse(digits: [u8; HEADER_LEN]) -> Option<usize> {
    let mut value = 0usize;
    let mut seen = 0u8;
    for digit in digits {
        let nibble = HEX[usize::from(digit)];
        seen |= nibble;
        value = value << 4 | usize::from(nibble & 0x0F);
    }
    (seen & NOT_HEX == 0).then_some(value)
}

/// The first byte of a whole or partial header that is no hex digit, as an error.
#[cold]
pub(super) fn check_partial(bytes: &[u8]) -> Result<(), FrameError> {
    match first_not_hex(bytes) {
        Some((index, byte)) => Err(FrameError::BadHeader { digit: index + 1, byte }),
        None => Ok(()),
    }
}

/// The place and value of the first byte that is no hex digit.
pub(crate) fn first_not_hex(bytes: &[u8]) -> Option<(usize, u8)> {
    bytes.iter().copied().enumerate().find(|&(_, byte)| HEX[usize::from(byte)] == NOT_HEX)
}

/// Decodes hex digits of either case into `out`; `None` unless there are exactly twice as many.
pub(crate) fn read_hex(digits: &[u8], out: &mut [u8]) -> Option<()> {
    if digits.len() != out.len() * 2 {
        return None;
    }
    for (pair, byte) in digits.chunks_exact(2).zip(out) {
        let (high, low) = (HEX[usize::from(pair[0])], HEX[usize::from(pair[1])]);
        if (high | low) & NOT_HEX != 0 {
            return None;
        }
        *byte = high << 4 | low;
    }
    Some(())
}

/// Writes `bytes` as lower-case hex digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(out.chunks_exact_mut(2)) {
        pair[0] = LOWER[usize::from(byte >> 4)];
        pair[1] = LOWER[usize::from(byte & 0x0F)];
    }
}

/// The header for `length`, which fits six digits.
pub(super) fn format(length: usize) -> [u8; HEADER_LEN] {
    let mut digits = [b'0'; HEADER_LEN];
    let mut rest = length;
    for digit in digits.iter_mut().rev() {
        *digit = LOWER[rest & 0x0F];
        rest >>= 4;
    }
    digits
}

const LOWER: &[u8; 16] = b"0123456789abcdef";
