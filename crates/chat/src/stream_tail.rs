//! Text that streams in and is in no record yet.

/// Bytes of a stream that are kept: the end of it is what is shown.
const MAX_TAIL_BYTES: usize = 1 << 20;

/// Streamed text of one thought.
#[derive(Debug, Default)]
pub struct StreamTail {
    thought: String,
    text: String,
    /// Bytes of the stream before `text`.
    dropped: usize,
}

impl StreamTail {
    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a piece belongs to another thought than this text.
    pub fn is_of_another(&self, thought: &str) -> bool {
        !self.is_empty() && self.thought != thought
    }

    /// Adds a piece; one that came before, by its offset, is added once.
    pub fn push(&mut self, thought: &str, offset: Option<usize>, text: &str) {
        if self.text.is_empty() {
            thought.clone_into(&mut self.thought);
            self.dropped = offset.unwrap_or(0);
        }
        let end = self.dropped + self.text.len();
        let known = offset.map_or(0, |offset| end.saturating_sub(offset).min(text.len()));
        if text.is_char_boundary(known) {
            self.text.push_str(&text[known..]);
        }
        if self.text.len() > MAX_TAIL_BYTES {
            let mut cut = self.text.len() - MAX_TAIL_BYTES / 2;
            while !self.text.is_char_boundary(cut) {
                cut += 1;
            }
            self.text.drain(..cut);
            self.dropped += cut;
        }
    }

    /// Takes the text out.
    pub fn take(&mut self) -> String {
        self.dropped = 0;
        std::mem::take(&mut self.text)
    }

    /// Whether a recorded text holds what was streamed: its letters in their order, since pieces may
    /// be missing for a slow reader.
    pub fn is_in(&self, recorded: &str) -> bool {
        let mut letters = recorded.chars().filter(|letter| !letter.is_whitespace());
        let mut streamed = self.text.chars().filter(|letter| !letter.is_whitespace());
        streamed.all(|wanted| letters.any(|letter| letter == wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::StreamTail;

    #[test]
    fn pieces_join_by_their_offset() {
        let mut tail = StreamTail::default();
        tail.push("1", Some(0), "hel");
        tail.push("1", Some(3), "lo");
        tail.push("1", Some(0), "hello");
        tail.push("1", Some(4), "o w");
        assert_eq!(tail.text(), "hello w");
        assert!(tail.is_of_another("2") && !tail.is_of_another("1"));
    }

    #[test]
    fn a_recorded_text_may_hold_more_than_was_heard() {
        let mut tail = StreamTail::default();
        tail.push("1", None, "the fox");
        assert!(tail.is_in("the quick\nfox jumps"));
        assert!(!tail.is_in("the cat"));
        tail.push("1", None, &"x".repeat(2 << 20));
        assert!(tail.text().len() <= 1 << 20);
    }
}
