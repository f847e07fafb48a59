//! Bytes as text: hex digits and base64.
//!
//! Tokens, fingerprints and names of sessions are hex in lower case; HTTP headers carry base64.

/// Writes bytes as hex digits in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |digit: u8| DIGITS[usize::from(digit)];
    let mut text = vec![0; 2 * bytes.len()];
    for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    String::from_utf8(text).expect("hex digits are text")
}

/// Reads hex digits in lower case; `None` for anything else, upper case included.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Reads hex digits in lower case as exactly `N` bytes.
pub(crate) fn unhex_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    unhex(text)?.try_into().ok()
}

/// Tells whether a text is made of hex digits in lower case alone.
pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes bytes as base64 with padding (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let index = (word >> (18 - 6 * place)) & 63;
            let letter = LETTERS.get(index as usize).copied().unwrap_or(b'=');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, hex, unhex};

    #[test]
    fn each_byte_is_two_hex_digits() {
        for (bytes, text) in [(&[0x00, 0x0f, 0xa5, 0xff][..], "000fa5ff"), (&[], "")] {
            assert_eq!(hex(bytes), text);
            assert_eq!(unhex(text).as_deref(), Some(bytes));
        }
        for bad in ["0", "0F", "0g", "+1", "é"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }

    #[test]
    fn base64_is_padded() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, expect) in cases {
            assert_eq!(base64(text.as_bytes()), expect);
        }
    }
}
