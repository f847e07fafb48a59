//! The text of one answer: pieces as they stream, then the recorded text, so that the editor shows every word
//! once.
//!
//! The pieces are in no record: a daemon that dies streams an answer again from its front, and one whose reader is
//! slow leaves some out. So after a lost connection pieces are held back until they reach what was shown, and the
//! recorded text settles the rest. ACP cannot take text back: where the two do not fit, the recorded text is a new
//! message.

/// Most bytes of streamed text that are remembered; an answer that is longer is settled by a new message.
const MAX_REMEMBERED: usize = 4 << 20;

/// Overlap in bytes that is no coincidence.
const SURE_OVERLAP: usize = 24;

/// Text of the answer under way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AnswerText {
    /// Turn and thought that the text belongs to.
    stream: String,
    /// Text that the editor shows.
    shown: String,
    /// Text that came since the connection was lost; `None` while nothing is in doubt.
    again: Option<String>,
    /// Whether the pieces of the answer under way were heard from the first.
    front: StreamFront,
    /// Number of the message, for its id.
    message: u64,
}

/// Begin of the answer under way, as far as this side heard it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum StreamFront {
    /// All pieces come, from the first.
    #[default]
    Heard,
    /// Middle of a session: an answer may be under way.
    Unknown,
    /// Stream that was under way already; its pieces are left to the recorded text.
    Missed(String),
}

/// Text to show, and whether it begins a new message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPiece {
    /// Text to append.
    pub(crate) text: String,
    /// Number of the message that it belongs to.
    pub(crate) message: u64,
}

impl AnswerText {
    /// Takes a streamed piece; returns what is new in it.
    pub(crate) fn streamed(&mut self, stream: &str, text: &str) -> Option<TextPiece> {
        match &self.front {
            StreamFront::Heard => {}
            StreamFront::Unknown => {
                self.front = StreamFront::Missed(stream.to_owned());
                return None;
            }
            StreamFront::Missed(missed) if missed == stream => return None,
            StreamFront::Missed(_) => self.front = StreamFront::Heard,
        }
        if self.stream != stream && self.again.is_none() {
            self.begin(stream);
        }
        let Some(again) = &mut self.again else {
            return self.show(text.to_owned());
        };
        if again.len() + text.len() > MAX_REMEMBERED {
            return None;
        }
        again.push_str(text);
        // Behind what was shown: it goes on from there.
        let rest = again.strip_prefix(self.shown.as_str())?.to_owned();
        self.again = None;
        stream.clone_into(&mut self.stream);
        self.show(rest)
    }

    /// Says that pieces may be missing or come again.
    pub(crate) fn doubt(&mut self) {
        match self.shown.is_empty() {
            true => self.front = StreamFront::Unknown,
            false => self.again = Some(String::new()),
        }
    }

    /// Says that the next pieces are the first of an answer, unless one is known to be under way.
    pub(crate) fn expect_front(&mut self) {
        if self.front == StreamFront::Unknown {
            self.front = StreamFront::Heard;
        }
    }

    /// Takes the recorded text; returns what the editor does not show yet, and is ready for the next answer.
    pub(crate) fn recorded(&mut self, text: &str) -> Option<TextPiece> {
        let piece = match self.missing(text) {
            Some(rest) => self.show(rest.to_owned()),
            None => {
                self.message += 1;
                self.show(text.to_owned())
            }
        };
        self.end();
        piece
    }

    /// Ends the answer without a text.
    pub(crate) fn end(&mut self) {
        self.begin("");
    }

    fn begin(&mut self, stream: &str) {
        if !self.shown.is_empty() {
            self.message += 1;
        }
        self.shown.clear();
        self.again = None;
        self.front = StreamFront::Heard;
        stream.clone_into(&mut self.stream);
    }

    fn show(&mut self, text: String) -> Option<TextPiece> {
        if text.is_empty() {
            return None;
        }
        if self.shown.len() + text.len() <= MAX_REMEMBERED {
            self.shown.push_str(&text);
        }
        Some(TextPiece { text, message: self.message })
    }

    /// The end of the recorded text that is not shown; `None` where the two do not fit.
    fn missing<'t>(&self, text: &'t str) -> Option<&'t str> {
        let overlap = overlap(self.shown.as_bytes(), text.as_bytes());
        let is_sure = overlap == text.len() || overlap == self.shown.len();
        if is_sure || overlap >= SURE_OVERLAP { text.get(overlap..) } else { None }
    }
}

/// Bytes in the longest end of `shown` that is a beginning of `text`.
fn overlap(shown: &[u8], text: &[u8]) -> usize {
    // For each beginning of the text, its longest proper end that is a beginning, too (Knuth, Morris, Pratt).
    let mut borders = vec![0; text.len()];
    let mut length = 0;
    for at in 1..text.len() {
        while length > 0 && text[at] != text[length] {
            length = borders[length - 1];
        }
        length += usize::from(text[at] == text[length]);
        borders[at] = length;
    }
    let mut length = 0;
    for &byte in &shown[shown.len().saturating_sub(text.len())..] {
        while length > 0 && (length == text.len() || byte != text[length]) {
            length = borders[length - 1];
        }
        length += usize::from(length < text.len() && text[length] == byte);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::AnswerText;

    /// What the editor shows: `|` between messages. `!` among the pieces is a lost connection, and a piece that
    /// begins with `=` is the recorded text.
    fn check(pieces: &[&str], shown: &str) {
        let (mut answer, mut out, mut last) = (AnswerText::default(), String::new(), 0);
        for piece in pieces {
            let new = match piece.strip_prefix('=') {
                Some(text) => answer.recorded(text),
                None if *piece == "!" => {
                    answer.doubt();
                    None
                }
                None => answer.streamed("1", piece),
            };
            let Some(new) = new else { continue };
            if new.message != last {
                out.push('|');
                last = new.message;
            }
            out.push_str(&new.text);
        }
        assert_eq!(out, shown, "{pieces:?}");
    }

    #[test]
    fn the_recorded_text_is_not_doubled() {
        check(&["one ", "two", "=one two"], "one two");
        check(&["=one two"], "one two");
        check(&["one ", "=one two"], "one two");
        check(&["looking. ", "four five", "=four five"], "looking. four five");
        check(&["a", "=a", "b", "=b"], "a|b");
        check(&["a", "="], "a");
    }

    #[test]
    fn a_text_that_does_not_fit_is_a_new_message() {
        check(&["begun ", "=something else"], "begun |something else");
        // A letter in common is a coincidence.
        check(&["looking at iT", "=The end"], "looking at iT|The end");
        check(&["he lo", "=hello"], "he lo|hello");
    }

    #[test]
    fn an_answer_that_is_streamed_again_goes_on_where_it_was() {
        check(&["one two ", "!", "one ", "two ", "three", "=one two three"], "one two three");
        check(&["one two ", "!", "one two three", "=one two three"], "one two three");
        // The connection was lost, the daemon was not: the middle is missing.
        check(&["one ", "!", "three ", "four", "=one two three four"], "one two three four");
        check(&["one ", "!", "=one two"], "one two");
        check(&["!", "one ", "=one two"], "one two");
        check(&["one ", "!", "!", "one two", "=one two"], "one two");
    }

    #[test]
    fn an_answer_whose_front_was_missed_is_left_to_the_record() {
        let mut answer = AnswerText::default();
        answer.doubt();
        assert_eq!(answer.streamed("1", "two "), None);
        assert_eq!(answer.streamed("1", "three"), None);
        let text = |piece: Option<super::TextPiece>| piece.map(|it| it.text);
        assert_eq!(text(answer.recorded("one two three")).as_deref(), Some("one two three"));
        assert_eq!(text(answer.streamed("2", "four")).as_deref(), Some("four"));
        // Another stream is heard from its first piece, and so is one that an own prompt begins.
        let mut answer = AnswerText::default();
        answer.doubt();
        assert_eq!(answer.streamed("1", "two "), None);
        assert_eq!(text(answer.streamed("2", "a")).as_deref(), Some("a"));
        let mut answer = AnswerText::default();
        answer.doubt();
        answer.expect_front();
        assert_eq!(text(answer.streamed("1", "one")).as_deref(), Some("one"));
    }

    #[test]
    fn letters_of_many_bytes_are_not_cut() {
        check(&["né", "=née"], "née");
        check(&["日", "!", "日本", "=日本語"], "日本語");
        check(&["\u{e9}", "=\u{e8}"], "\u{e9}|\u{e8}");
    }
}
