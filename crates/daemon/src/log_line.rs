//! Lines of the log about what others said: one line each, and nothing of the text.
//!
//! Used where a message is traced and where the actuator `:log` writes. A log is read by more people and
//! programs than the record: a message is told by its type, its size and a hash that means nothing to
//! another run of the daemon; a note keeps its text, on one line and without what a terminal obeys.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

use bridle_wire::oacp::MessageType;

/// Bytes of a message in which its type is looked for.
const MAX_LOOKED_AT: usize = 256;

/// Bytes of a note that are logged; the record has all of it.
const MAX_NOTE_BYTES: usize = 4 << 10;

/// The outline of a message: its type, its size, and a hash to find the same text again.
pub(crate) fn outline(bytes: &[u8], secret: &RandomState) -> String {
    let (kind, hash) = (kind_of(bytes), secret.hash_one(bytes));
    format!("{kind} {} bytes {hash:016x}", bytes.len())
}

/// A text of others as one line: control characters, and those that turn the direction of writing or
/// are not seen, are written as escapes.
pub(crate) fn one_line(text: &str) -> String {
    let shown = &text[..text.floor_char_boundary(MAX_NOTE_BYTES)];
    let mut line = String::with_capacity(shown.len());
    for letter in shown.chars() {
        if is_plain(letter) {
            line.push(letter);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(line, "{}", letter.escape_unicode());
        }
    }
    if shown.len() < text.len() {
        line.push_str(" ..");
    }
    line
}

fn is_plain(letter: char) -> bool {
    let turns_or_hides = matches!(letter,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{61c}' | '\u{ad}');
    !letter.is_control() && !turns_or_hides
}

/// The type of a message, if it is one of the protocol's: any other word is somebody's text.
fn kind_of(bytes: &[u8]) -> &'static str {
    let start = &bytes[..bytes.len().min(MAX_LOOKED_AT)];
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let Some((_, rest)) = text.split_once(":type") else { return "unknown" };
    let Some(rest) = rest.trim_start().strip_prefix(':') else { return "unknown" };
    let word = rest.split(|letter: char| letter.is_whitespace() || letter == ')').next();
    let known = MessageType::ALL.into_iter().map(MessageType::as_str);
    known
        .into_iter()
        .find(|kind| word.is_some_and(|word| kind.eq_ignore_ascii_case(word)))
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use super::{one_line, outline};

    #[test]
    fn a_note_is_one_line() {
        assert_eq!(one_line("a\nINFO b\r\u{1b}[31m"), "a\\u{a}INFO b\\u{d}\\u{1b}[31m");
        assert_eq!(one_line("\u{202e}x\u{200b}\u{2028}é"), "\\u{202e}x\\u{200b}\\u{2028}é");
        assert!(one_line(&"é".repeat(5000)).len() < 5000);
    }

    #[test]
    fn an_outline_has_nothing_of_the_text() {
        let secret = RandomState::new();
        let told = |text: &str| outline(text.as_bytes(), &secret);
        assert!(told("(:TYPE :log :payload (:text \"hunter2\"))").starts_with("LOG 39 bytes "));
        assert!(told("(:type :hunter2 :id 1)").starts_with("unknown 22 bytes "));
        assert!(told("hunter2").starts_with("unknown 7 bytes "));
        assert_eq!(told("(:type :LOG)"), told("(:type :LOG)"));
        assert_ne!(told("(:type :LOG)"), outline(b"(:type :LOG)", &RandomState::new()));
    }
}
