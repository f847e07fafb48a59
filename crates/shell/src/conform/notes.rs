//! What was sent and what came back while a case was checked.
//!
//! Peers write it, reports show it. Bounded: a peer that floods is noted as one that did.

use crate::screen::neutral::is_hidden;

/// Longest line that is kept, in characters: enough to see what a message is.
const MAX_LINE: usize = 600;

/// Lines that are kept of a case; later ones are counted.
const MAX_LINES: usize = 60;

/// Which way something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the peer.
    Sent,
    /// From the peer.
    Came,
    /// Neither: a connection opened, an end seen.
    Noted,
}

impl Way {
    /// The mark before a line.
    pub fn mark(self) -> char {
        match self {
            Way::Sent => '>',
            Way::Came => '<',
            Way::Noted => '-',
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which way it went.
    pub way: Way,
    /// What it was, cut to a bound and without control characters.
    pub text: String,
}

/// All that happened in one case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    lines: Vec<Line>,
    more: usize,
}

impl Notes {
    /// Notes bytes that went out.
    pub fn sent(&mut self, bytes: &[u8]) {
        self.add(Way::Sent, &String::from_utf8_lossy(bytes));
    }

    /// Notes bytes that came.
    pub fn came(&mut self, bytes: &[u8]) {
        self.add(Way::Came, &String::from_utf8_lossy(bytes));
    }

    /// Notes something else.
    pub fn noted(&mut self, what: &str) {
        self.add(Way::Noted, what);
    }

    fn add(&mut self, way: Way, text: &str) {
        if self.lines.len() >= MAX_LINES {
            self.more += 1;
            return;
        }
        self.lines.push(Line { way, text: shown(text) });
    }

    /// What happened, in order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Lines that were too many to keep.
    pub fn more(&self) -> usize {
        self.more
    }
}

/// A text on one line: what a terminal would obey is spelled out, and a long one is cut.
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == MAX_LINE {
            out.push_str(&format!(" .. ({} bytes in all)", text.len()));
            break;
        }
        if is_hidden(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINES, Notes, shown};

    #[test]
    fn a_line_is_bounded_and_obeyed_by_no_terminal() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b\n"), "a\\u{1b}[2J\\u{202e}b\\n");
        let long = shown(&"é".repeat(10_000));
        assert!(long.ends_with("(20000 bytes in all)"), "{long}");
        assert!(long.chars().count() < 700);
    }

    #[test]
    fn a_flood_is_counted() {
        let mut notes = Notes::default();
        for _ in 0..MAX_LINES + 5 {
            notes.came(b"x");
        }
        assert_eq!((notes.lines().len(), notes.more()), (MAX_LINES, 5));
    }
}
