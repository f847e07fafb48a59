//! Clipboard of the terminal, by the sequence OSC 52: it works over ssh, where no other clipboard does.

/// Most bytes that are offered: terminals drop what is longer.
pub const MAX_COPIED_BYTES: usize = 74_000;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The sequence that puts a text on the clipboard; `None` if it is too long.
pub fn sequence(text: &str) -> Option<String> {
    (text.len() <= MAX_COPIED_BYTES)
        .then(|| format!("\u{1b}]52;c;{}\u{1b}\\", base64(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MAX_COPIED_BYTES, base64, sequence};

    #[test]
    fn texts_are_coded_as_others_do() {
        let coded = ["", "f", "fo", "foo", "foob", "日本"].map(|text| base64(text.as_bytes()));
        assert_eq!(coded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "5pel5pys"]);
        assert_eq!(sequence("f").expect("short"), "\u{1b}]52;c;Zg==\u{1b}\\");
        assert_eq!(sequence(&"x".repeat(MAX_COPIED_BYTES + 1)), None);
    }
}
