//! Bytes of a `text/event-stream` to events, as they come. Called by `http`; knows no event by name.

/// Bytes of one event: no longer than an answer that comes whole.
pub const MAX_EVENT: usize = 4 << 20;

/// One event: its name and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Name of the event.
    pub name: String,
    /// Data of the event, its lines joined.
    pub data: Vec<u8>,
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {MAX_EVENT} bytes")]
pub struct EventTooLong;

/// Takes bytes as they come.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a newline after it ends no further line.
    after_return: bool,
}

impl SseParser {
    /// Takes bytes; returns the events that are whole now.
    ///
    /// # Errors
    /// An event has no end.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLong> {
        let mut events = Vec::new();
        for byte in bytes {
            let skipped = std::mem::take(&mut self.after_return) && *byte == b'\n';
            match byte {
                b'\n' if skipped => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.take(&line));
                }
                _ => self.line.push(*byte),
            }
            if self.line.len() + self.data.len() > MAX_EVENT {
                return Err(EventTooLong);
            }
        }
        Ok(events)
    }

    fn take(&mut self, line: &[u8]) -> Option<SseEvent> {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            let name = if name.is_empty() { "message".to_owned() } else { name };
            return std::mem::take(&mut self.has_data).then_some(SseEvent { name, data });
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{EventTooLong, MAX_EVENT, SseEvent, SseParser};

    #[test]
    fn events_do_not_depend_on_how_bytes_come() {
        let text = b": ka\n\nid: 0\nevent: open\r\ndata: {\"a\":\ndata:  1}\n\ndata\n\nevent: x\r\rdata: last";
        let whole = SseParser::default().feed(text).unwrap();
        let names: Vec<&str> = whole.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["open", "message"]);
        assert_eq!(whole[0].data, b"{\"a\":\n 1}");
        let mut parser = SseParser::default();
        let each: Vec<SseEvent> =
            text.iter().flat_map(|byte| parser.feed(&[*byte]).unwrap()).collect();
        assert_eq!(each, whole);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut parser = SseParser::default();
        assert_eq!(parser.feed(&vec![b'x'; MAX_EVENT + 1]), Err(EventTooLong));
        let mut parser = SseParser::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; MAX_EVENT / 3], b"\n"].concat();
        assert_eq!(parser.feed(&line), Ok(Vec::new()));
        assert_eq!(parser.feed(&line), Ok(Vec::new()));
        assert_eq!(parser.feed(&line), Err(EventTooLong));
    }
}
