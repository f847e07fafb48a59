//! Clipboard of the terminal, by the sequence OSC 52: it works over ssh, where no other clipboard does.

use bridle_sexp::byte_text::base64;

/// Most bytes that are offered: terminals drop what is longer.
pub const MAX_COPIED_BYTES: usize = 74_000;

/// The sequence that puts a text on the clipboard; `None` if it is too long.
pub fn sequence(text: &str) -> Option<String> {
    (text.len() <= MAX_COPIED_BYTES)
        .then(|| format!("\u{1b}]52;c;{}\u{1b}\\", base64(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::{MAX_COPIED_BYTES, sequence};

    #[test]
    fn a_text_of_the_right_length_is_offered() {
        assert_eq!(sequence("f").expect("short"), "\u{1b}]52;c;Zg==\u{1b}\\");
        assert_eq!(sequence(&"x".repeat(MAX_COPIED_BYTES + 1)), None);
    }
}
