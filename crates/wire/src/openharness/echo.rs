//! What an answer repeats of its request: found even in bytes that are no message, as far as they can
//! be told apart, so that no error loses its pair. Called before and beside the reader; decides
//! nothing.
//!
//! [`RequestEcho::salvage`] steps over values instead of reading them. It goes past what only spoils a value
//! (a duplicate key, a lone surrogate, `NaN`, too many levels, bytes that are not UTF-8) and stops
//! where nobody can tell any more what is a key. A key that comes twice names nothing.

use std::borrow::Cow;

use super::ids::{CorrelationId, RequestId};
use super::json::{JsonNode, unescape_checked};
use super::limits::MAX_VERSION;
use super::request::RequestMessage;

/// Fields of a request that its answer repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestEcho {
    /// The id of the request.
    pub request_id: Option<RequestId>,
    /// The trace of the request.
    pub correlation_id: Option<CorrelationId>,
    /// The version that the request says, whether or not it is one.
    pub protocol_version: Option<Cow<'static, str>>,
}

impl RequestEcho {
    /// Takes the ids out of a message that is JSON.
    pub fn of(message: JsonNode<'_>) -> Self {
        let text = |key| message.get(key).and_then(JsonNode::as_str).map(Cow::into_owned);
        RequestEcho {
            request_id: text("request_id").and_then(request_id),
            correlation_id: text("correlation_id").and_then(correlation_id),
            protocol_version: text("protocol_version").and_then(version),
        }
    }

    /// Echo of a message that was read whole.
    pub(super) fn of_request(request: &RequestMessage) -> Self {
        RequestEcho {
            request_id: request.request_id.clone(),
            correlation_id: request.correlation_id.clone(),
            protocol_version: Some(request.protocol_version.text()),
        }
    }

    /// Looks for the ids in any bytes, the beginning of a message included.
    pub fn salvage(bytes: &[u8]) -> Self {
        let mut found = [EchoValue::Nothing, EchoValue::Nothing, EchoValue::Nothing];
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        // `None` only says where it stopped; what was found until then counts.
        let _ = JsonSkim { bytes, at: 0 }.message(&mut found);
        let [request, correlation, protocol] = found.map(EchoValue::text);
        RequestEcho {
            request_id: request.and_then(request_id),
            correlation_id: correlation.and_then(correlation_id),
            protocol_version: protocol.and_then(version),
        }
    }
}

fn request_id(text: String) -> Option<RequestId> {
    RequestId::new(text).ok()
}

fn correlation_id(text: String) -> Option<CorrelationId> {
    CorrelationId::new(text).ok()
}

fn version(text: String) -> Option<Cow<'static, str>> {
    (text.len() <= MAX_VERSION).then(|| text.into())
}

/// The keys to look for, in the order of the fields.
const KEYS: [&str; 3] = ["request_id", "correlation_id", "protocol_version"];

/// Knowledge about a key while a text is skimmed.
enum EchoValue {
    Nothing,
    Text(String),
    /// The value is no string, or the key came twice.
    Undecided,
}

impl EchoValue {
    fn text(self) -> Option<String> {
        if let EchoValue::Text(text) = self { Some(text) } else { None }
    }
}

/// Steps over values, from left to right; every step is `None` where the text ends or makes no sense.
struct JsonSkim<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> JsonSkim<'b> {
    fn message(&mut self, found: &mut [EchoValue; 3]) -> Option<()> {
        self.blanks();
        self.take(b'{')?;
        loop {
            self.blanks();
            let key = text(self.string()?);
            self.blanks();
            self.take(b':')?;
            self.blanks();
            let value = self.value()?;
            if let Some(index) = key.and_then(|key| KEYS.iter().position(|wanted| *wanted == key)) {
                found[index] = match (&found[index], value.and_then(text)) {
                    (EchoValue::Nothing, Some(text)) => EchoValue::Text(text),
                    _ => EchoValue::Undecided,
                };
            }
            self.blanks();
            self.take(b',')?;
        }
    }

    /// Steps over a value; returns what is between the quotes of a string.
    fn value(&mut self) -> Option<Option<&'b [u8]>> {
        match self.peek()? {
            b'"' => self.string().map(Some),
            b'{' | b'[' => self.container().map(|()| None),
            _ => self.scalar().map(|()| None),
        }
    }

    fn string(&mut self) -> Option<&'b [u8]> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return self.bytes.get(start..self.at - 1);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn container(&mut self) -> Option<()> {
        let mut open = Vec::new();
        loop {
            let byte = self.peek()?;
            if byte == b'"' {
                self.string()?;
                continue;
            }
            match byte {
                b'{' => open.push(b'}'),
                b'[' => open.push(b']'),
                b'}' | b']' => (open.pop()? == byte).then_some(())?,
                _ => {}
            }
            self.at += 1;
            if open.is_empty() {
                return Some(());
            }
        }
    }

    /// A number, a word, or what somebody took for one.
    fn scalar(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte.is_ascii_whitespace() || b",:{}[]\"".contains(&byte) {
                break;
            }
            self.at += 1;
        }
        (self.at > start && self.at < self.bytes.len()).then_some(())
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        if self.peek()? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// The meaning of what is between two quotes; `None` when it is not well formed.
fn text(inner: &[u8]) -> Option<String> {
    unescape_checked(std::str::from_utf8(inner).ok()?)
}
