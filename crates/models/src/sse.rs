//! Server-sent events out of bytes that come in pieces of any size (the event stream format of the HTML standard).
//! Lines end in CR LF, LF or CR; a byte order mark at the start and comments are skipped; `id` and `retry` are of no
//! use here. An old llama.cpp answers errors in a field `error`, which counts as the data of an event of that name.
//!
//! Bounded: an event above [`MAX_SSE_EVENT_BYTES`] ends the stream. Nothing is held but the event that is being read.

/// Largest event. The last event of the Responses API repeats the whole answer.
pub const MAX_SSE_EVENT_BYTES: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty for `message`.
    pub name: String,
    /// Its data lines with a line end between them.
    pub data: String,
}

/// Loss of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than [`MAX_SSE_EVENT_BYTES`].
    #[error("an event of the stream is larger than {MAX_SSE_EVENT_BYTES} bytes")]
    TooLarge,
    /// A line is not UTF-8.
    #[error("the stream is not UTF-8")]
    Encoding,
}

/// Decoder of a stream of events.
#[derive(Clone, Debug, Default)]
pub struct SseDecoder {
    /// The line that is being read.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was CR: an LF behind it belongs to the same line end.
    after_cr: bool,
    /// The first line was seen.
    begun: bool,
    /// An error was returned.
    lost: bool,
}

impl SseDecoder {
    /// Takes bytes; returns the events that are complete. An error is the last item, and what comes after it is not
    /// read: the stream cannot be followed any more.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Result<SseEvent, SseError>> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() && !self.lost {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(rest.len());
            if self.line.len() + self.event.data.len() + taken > MAX_SSE_EVENT_BYTES {
                self.lost = true;
                events.push(Err(SseError::TooLarge));
                break;
            }
            self.line.extend_from_slice(&rest[..taken]);
            let Some(end) = end else { break };
            self.after_cr = rest[end] == b'\r';
            let ended = self.end_line().transpose();
            self.lost = matches!(ended, Some(Err(_)));
            events.extend(ended);
            rest = &rest[end + 1..];
        }
        events
    }

    /// Returns the event that the end of the stream cut, if there is one: some servers leave out the last empty line.
    #[must_use]
    pub fn finish(&mut self) -> Option<SseEvent> {
        if self.lost {
            return None;
        }
        if !self.line.is_empty() {
            // What is cut in the middle of a character is cut.
            drop(self.end_line());
        }
        self.take_event()
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.take_event());
        }
        let line = std::str::from_utf8(line).map_err(|_| SseError::Encoding)?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add_data(value),
            "event" => value.clone_into(&mut self.event.name),
            "error" => {
                "error".clone_into(&mut self.event.name);
                self.add_data(value);
            }
            // A comment has the empty field.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &str) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(value);
    }

    /// The event, unless it has no data: such a one is none.
    fn take_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_SSE_EVENT_BYTES, SseDecoder, SseError, SseEvent};

    /// Events of the bytes whole, after it was checked that every split gives the same.
    fn events(bytes: &[u8]) -> Vec<(String, String)> {
        let read = |pieces: &[&[u8]]| {
            let mut decoder = SseDecoder::default();
            let mut events: Vec<SseEvent> =
                pieces.iter().flat_map(|piece| decoder.feed(piece)).map(Result::unwrap).collect();
            events.extend(decoder.finish());
            events
        };
        let whole = read(&[bytes]);
        for at in 0..=bytes.len() {
            assert_eq!(read(&[&bytes[..at], &bytes[at..]]), whole, "split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), whole);
        whole.into_iter().map(|event| (event.name, event.data)).collect()
    }

    #[track_caller]
    fn check(text: &str, expect: &[(&str, &str)]) {
        let expect: Vec<(String, String)> =
            expect.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect();
        assert_eq!(events(text.as_bytes()), expect);
    }

    #[test]
    fn line_ends_of_all_kinds() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["event: a", "data: 1", "", "data: 2", "data:  3", "", ""].join(end);
            check(&text, &[("a", "1"), ("", "2\n 3")]);
        }
        check("data: 1\r\n\ndata: 2\n\r\n", &[("", "1"), ("", "2")]);
    }

    #[test]
    fn marks_comments_and_other_fields_are_skipped() {
        check("\u{feff}data: 1\n\n", &[("", "1")]);
        check(": OPENROUTER PROCESSING\n\n: x\ndata: 1\nid: 7\nretry: 5\nx\n\n", &[("", "1")]);
        check("event: ping\n\n", &[]);
        check("data\n\n", &[("", "")]);
        check("data:ü✓\n\n", &[("", "ü✓")]);
    }

    #[test]
    fn the_last_empty_line_may_be_missing() {
        check("data: 1\n\ndata: 2\n", &[("", "1"), ("", "2")]);
        check("data: [DONE]", &[("", "[DONE]")]);
    }

    #[test]
    fn an_error_field_is_an_event() {
        check("error: {\"code\":500}\n\n", &[("error", "{\"code\":500}")]);
    }

    #[test]
    fn an_event_is_bounded() {
        let too_large = [Err(SseError::TooLarge)];
        let piece = vec![b'x'; 1024 * 1024];
        let mut decoder = SseDecoder::default();
        assert!((0..8).all(|_| decoder.feed(&piece).is_empty()));
        assert_eq!(decoder.feed(b"x"), too_large);
        assert_eq!((decoder.feed(b"\n\ndata: 1\n\n"), decoder.finish()), (vec![], None));
        let mut decoder = SseDecoder::default();
        let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
        let count = (0..20).take_while(|_| decoder.feed(&line).is_empty()).count();
        assert_eq!(count, MAX_SSE_EVENT_BYTES / piece.len() - 1);
    }

    #[test]
    fn what_is_not_text_ends_the_stream_behind_what_was_complete() {
        let events = SseDecoder::default().feed(b"data: 1\n\ndata: \xff\n\ndata: 2\n\n");
        let first = SseEvent { name: String::new(), data: "1".to_owned() };
        assert_eq!(events, [Ok(first), Err(SseError::Encoding)]);
    }
}
