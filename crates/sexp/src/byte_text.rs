//! Bytes as text: hex digits and base64.
//!
//! The one place for every crate above. Tokens, fingerprints and hashes are hex in lower case; HTTP headers, mail and
//! terminals carry base64.

const BASE64_LETTERS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes as hex digits in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |digit: u8| DIGITS[usize::from(digit)];
    let mut text = vec![0; 2 * bytes.len()];
    for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    String::from_utf8(text).expect("hex digits are text")
}

/// Reads hex digits in lower case; `None` for anything else, upper case included.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
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
#[must_use]
pub fn unhex_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    unhex(text)?.try_into().ok()
}

/// Tells whether a text is made of hex digits in lower case alone.
#[must_use]
pub fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes bytes as base64 with padding (RFC 4648, section 4).
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let index = (word >> (18 - 6 * place)) & 63;
            let letter = BASE64_LETTERS.get(index as usize).copied().unwrap_or(b'=');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Reads base64 with padding; `None` for anything else, and for bits behind the last byte that are not 0.
#[must_use]
pub fn unbase64(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in body.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 255) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{base64, hex, unbase64, unhex};

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
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("日本", "5pel5pys"),
        ];
        for (text, expect) in cases {
            assert_eq!(base64(text.as_bytes()), expect);
            assert_eq!(unbase64(expect).as_deref(), Some(text.as_bytes()));
        }
        for bad in ["Zg", "Zg=", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Z g=", "-_8="] {
            assert_eq!(unbase64(bad), None, "{bad}");
        }
    }
}
