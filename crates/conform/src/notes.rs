//! What was sent and what came back while a case was checked.
//!
//! Peers write it, reports show it. Bounded: a peer that floods is noted as one that did.

use std::collections::BTreeSet;

use bridle_wire::plain::is_hidden;

/// Longest line that is kept, in characters: enough to see what a message is.
const MAX_LINE: usize = 600;

/// Lines that are kept of a case; later ones are counted.
const MAX_LINES: usize = 60;

/// Sessions that are kept of a case.
const MAX_SESSIONS: usize = 256;

/// Bytes of a name that may be one of a session.
const MAX_SESSION_NAME: usize = 64;

/// Direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteDirection {
    /// To the peer.
    Sent,
    /// From the peer.
    Came,
    /// Neither: a connection opened, an end seen.
    Noted,
}

impl NoteDirection {
    /// The mark before a line.
    pub fn mark(self) -> char {
        match self {
            NoteDirection::Sent => '>',
            NoteDirection::Came => '<',
            NoteDirection::Noted => '-',
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteLine {
    /// Direction of the message.
    pub way: NoteDirection,
    /// Text of the message, cut to a bound and without control characters.
    pub text: String,
}

/// All that happened in one case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseNotes {
    lines: Vec<NoteLine>,
    more: usize,
    /// Sessions of the peer that were heard of, whether they were named by the kit or by the peer.
    sessions: BTreeSet<String>,
}

impl CaseNotes {
    /// Notes bytes that went out.
    pub fn sent(&mut self, bytes: &[u8]) {
        self.add(NoteDirection::Sent, &String::from_utf8_lossy(bytes));
    }

    /// Notes bytes that came.
    pub fn came(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if self.sessions.len() < MAX_SESSIONS {
            self.sessions.extend(sessions_in(&text));
        }
        self.add(NoteDirection::Came, &text);
    }

    /// Notes something else.
    pub fn noted(&mut self, what: &str) {
        self.add(NoteDirection::Noted, what);
    }

    fn add(&mut self, way: NoteDirection, text: &str) {
        if self.lines.len() >= MAX_LINES {
            self.more += 1;
            return;
        }
        self.lines.push(NoteLine { way, text: shown(text) });
    }

    /// Sessions of the peer that were heard of.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(String::as_str)
    }

    /// Messages and remarks, in order.
    pub fn lines(&self) -> &[NoteLine] {
        &self.lines
    }

    /// Lines that were too many to keep.
    pub fn more(&self) -> usize {
        self.more
    }
}

/// Names of sessions in what a peer says: in the meta of a message, or in the id of a directive,
/// which bridle begins with the session.
fn sessions_in(text: &str) -> Vec<String> {
    let behind = |mark: &str| -> Vec<String> {
        let pieces = text.split(mark).skip(1).take(MAX_SESSIONS);
        pieces.filter_map(|piece| Some(piece.split_once('"')?.0.to_owned())).collect()
    };
    let run_of = |id: String| {
        let (run, _) = id.rsplit_once('.')?;
        run.rsplit_once('-').map(|(session, _)| session.to_owned())
    };
    let named = behind(":session \"").into_iter();
    let found = named.chain(behind("\"directive_id\":\"").into_iter().filter_map(run_of));
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    let is_name =
        |name: &String| (1..=MAX_SESSION_NAME).contains(&name.len()) && name.bytes().all(is_letter);
    found.filter(is_name).collect()
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
    use super::{CaseNotes, MAX_LINES, shown};

    #[test]
    fn a_line_is_bounded_and_obeyed_by_no_terminal() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b\n"), "a\\u{1b}[2J\\u{202e}b\\n");
        let long = shown(&"é".repeat(10_000));
        assert!(long.ends_with("(20000 bytes in all)"), "{long}");
        assert!(long.chars().count() < 700);
    }

    #[test]
    fn sessions_are_heard_of_in_both_protocols() {
        let mut notes = CaseNotes::default();
        notes.came(
            b"(:type :RESPONSE :meta (:session \"s1.a\" :seq 2) :payload (:session \"../x\"))",
        );
        notes.came(br#"{"action_directives":[{"directive_id":"oh-12-3.0"},{"directive_id":"x"}]}"#);
        assert_eq!(notes.sessions().collect::<Vec<_>>(), ["oh-12", "s1.a"]);
    }

    #[test]
    fn a_flood_is_counted() {
        let mut notes = CaseNotes::default();
        for _ in 0..MAX_LINES + 5 {
            notes.came(b"x");
        }
        assert_eq!((notes.lines().len(), notes.more()), (MAX_LINES, 5));
    }
}
