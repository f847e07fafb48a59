//! Runs of bytes of one sort, looked at eight at a time.
//!
//! The scan asks here where a token or a string ends. A loop over single bytes mispredicts at the end
//! of nearly every token; arithmetic on a word of eight bytes finds that end without a branch. In such
//! a word each byte has its answer in its highest bit, and the first byte is the lowest.

/// Bytes of one word.
const WORD_BYTES: usize = 8;

/// The lowest bit of every byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The highest bit of every byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns the end of the run of letters, digits, `-`, `.` and `/` from `from` on. These are constituents of every
/// dialect, and most tokens have no others.
#[inline(always)]
pub(crate) fn simple(bytes: &[u8], from: usize) -> usize {
    run(bytes, from, not_simple)
}

/// Returns the end of the run of decimal digits from `from` on.
#[inline(always)]
pub(crate) fn digits(bytes: &[u8], from: usize) -> usize {
    run(bytes, from, not_digit)
}

/// The first quote or backslash among the sixteen bytes from `from` on, if there is one and all
/// sixteen are there.
#[inline(always)]
pub(crate) fn quote_or_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    let (words, _) =
        bytes.get(from..)?.first_chunk::<{ 2 * WORD_BYTES }>()?.as_chunks::<WORD_BYTES>();
    let mut at = from;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return Some(at + first(found));
        }
        at += WORD_BYTES;
    }
    None
}

#[inline(always)]
fn run(bytes: &[u8], from: usize, stops: impl Fn(u64) -> u64) -> usize {
    // Nearly every token is shorter than two words, and nearly every text longer.
    let Some((near, _)) =
        bytes.get(from..).and_then(<[u8]>::split_first_chunk::<{ 2 * WORD_BYTES }>)
    else {
        return run_on(bytes, from, stops);
    };
    let (words, _) = near.as_chunks::<WORD_BYTES>();
    let found = stops(u64::from_le_bytes(words[0]));
    if found != 0 {
        return from + first(found);
    }
    let found = stops(u64::from_le_bytes(words[1]));
    if found != 0 {
        return from + WORD_BYTES + first(found);
    }
    run_on(bytes, from + 2 * WORD_BYTES, stops)
}

/// Finds the next stop for long runs and at the end of the text.
#[inline(never)]
fn run_on(bytes: &[u8], from: usize, stops: impl Fn(u64) -> u64) -> usize {
    let mut at = from;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = stops(u64::from_le_bytes(*word));
        if found != 0 {
            return at + first(found);
        }
        at += WORD_BYTES;
    }
    while bytes.get(at).is_some_and(|&byte| stops(u64::from(byte)) & 0x80 == 0) {
        at += 1;
    }
    at
}

/// The place of the first byte whose highest bit is set.
#[inline(always)]
fn first(bits: u64) -> usize {
    bits.trailing_zeros() as usize / 8
}

// Below, sums may run over from a byte that stops the run into those above it. Nobody looks at those,
// and no byte that belongs to a run does that to its neighbor.

#[inline(always)]
fn not_simple(word: u64) -> u64 {
    let letters = within(word | (ONES * 0x20), b'a', b'z');
    // Three marks and the digits follow each other in ASCII.
    let others = within(word, b'-', b'9');
    (!(letters | others) | word) & HIGH
}

#[inline(always)]
fn not_digit(word: u64) -> u64 {
    // A digit becomes its value, and anything else more than nine.
    let values = word ^ (ONES * u64::from(b'0'));
    (values.wrapping_add(ONES * (0x7F - 9)) | values) & HIGH
}

/// Bytes from `low` to `high`, both ASCII.
#[inline(always)]
fn within(word: u64, low: u8, high: u8) -> u64 {
    let from_low = word.wrapping_add(ONES * u64::from(0x80 - low));
    let over_high = word.wrapping_add(ONES * u64::from(0x7F - high));
    from_low & !over_high
}

/// Zero bytes. Those above the first may be wrong, which nobody looks at.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use super::{digits, quote_or_backslash, simple};

    /// Every byte, at every place of a word, ends a run exactly when it does not belong to it,
    /// whatever stands before and behind it.
    #[test]
    fn every_byte_at_every_place() {
        for (byte, place) in (0..=u8::MAX).flat_map(|byte| (0..20).map(move |at| (byte, at))) {
            let is_simple = byte.is_ascii_alphanumeric() || b"-./".contains(&byte);
            for (before, behind) in
                [(b'7', b'7'), (b'z', 0xFF), (b'Z', 0), (b'-', b'~'), (b'9', b' ')]
            {
                let mut bytes = [behind; 24];
                bytes[..place].fill(before);
                bytes[place] = byte;
                let next = if behind == b'7' { bytes.len() } else { place + 1 };
                let end = if is_simple { next } else { place };
                assert_eq!(simple(&bytes, 0), end, "{byte} at {place}");
                if before.is_ascii_digit() {
                    let end = if byte.is_ascii_digit() { next } else { place };
                    assert_eq!(digits(&bytes, 0), end, "{byte} at {place}");
                }
                let found = (place < 16 && b"\"\\".contains(&byte)).then_some(place);
                assert_eq!(quote_or_backslash(&bytes, 0), found, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn runs_that_end_with_the_text() {
        assert_eq!(simple(b"abc", 0), 3);
        assert_eq!(simple(b"abc", 3), 3);
        assert_eq!(digits(b"12345678901234567", 1), 17);
        assert_eq!(quote_or_backslash(b"short\"", 0), None);
    }
}
