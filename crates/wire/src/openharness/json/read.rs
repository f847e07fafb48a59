//! Bytes to a tape of values: strict RFC 8259, duplicate keys and lone surrogates refused, no
//! recursion, nothing allocated ahead of received bytes. Called by `JsonDocument::read`.

use super::fault::{BrokenJson, JsonFault};
use super::node::{JsonDocument, JsonNode, NodeEntry, NodeKind};
use super::string::plain;
use crate::openharness::MessageLimits;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a value and of what is around it, about: room on the tape from the start.
const USUAL_VALUE: usize = 12;

/// Values of short names and words beyond that: most messages are small, and all of these.
const FEW_VALUES: usize = 8;

/// Up to so many keys without escapes, comparing each with each is quicker than sorting.
const FEW_KEYS: usize = 8;

pub(super) fn read<'t>(
    bytes: &'t [u8],
    limits: &MessageLimits,
) -> Result<JsonDocument<'t>, BrokenJson> {
    // Spans are kept in 32 bits.
    let most = limits.bytes.min(u32::MAX as usize);
    if bytes.len() > most {
        return Err(BrokenJson::at(most, JsonFault::TooLarge));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(BrokenJson::at(0, JsonFault::ByteOrderMark));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| BrokenJson::at(error.valid_up_to(), JsonFault::NotUtf8))?;
    let mut scan = JsonScan {
        bytes,
        at: 0,
        open: Vec::new(),
        left: limits.values,
        document: JsonDocument {
            text,
            tape: Vec::with_capacity(bytes.len() / USUAL_VALUE + FEW_VALUES),
        },
    };
    scan.run()?;
    Ok(scan.document)
}

struct JsonScan<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Tape positions of the containers that are not closed yet.
    open: Vec<u32>,
    /// Number of further values that may come.
    left: usize,
    document: JsonDocument<'t>,
}

/// Token that the grammar expects next.
#[derive(Clone, Copy)]
enum ExpectedToken {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    After,
}

impl JsonScan<'_> {
    fn run(&mut self) -> Result<(), BrokenJson> {
        let mut next = ExpectedToken::Value;
        self.blanks();
        if self.at == self.bytes.len() {
            return Err(self.fault(JsonFault::Empty));
        }
        loop {
            self.blanks();
            next = match next {
                ExpectedToken::Value => self.value()?,
                ExpectedToken::ValueOrEnd if self.peek() == Some(b']') => self.close()?,
                ExpectedToken::ValueOrEnd => self.value()?,
                ExpectedToken::KeyOrEnd if self.peek() == Some(b'}') => self.close()?,
                ExpectedToken::Key | ExpectedToken::KeyOrEnd => self.key()?,
                ExpectedToken::After => match self.open.last() {
                    Some(&container) => self.separator(container)?,
                    None if self.at == self.bytes.len() => return Ok(()),
                    None => return Err(self.fault(JsonFault::TrailingBytes)),
                },
            };
        }
    }

    fn value(&mut self) -> Result<ExpectedToken, BrokenJson> {
        let Some(byte) = self.peek() else { return Err(self.fault(JsonFault::Incomplete)) };
        let start = self.at;
        match byte {
            b'{' => return self.begin(NodeKind::Object, ExpectedToken::KeyOrEnd),
            b'[' => return self.begin(NodeKind::Array, ExpectedToken::ValueOrEnd),
            b'"' => {
                let escaped = self.string()?;
                self.push(NodeKind::String, start, escaped)?;
            }
            b'-' | b'0'..=b'9' => {
                self.number()?;
                self.push(NodeKind::Number, start, false)?;
            }
            b'n' => self.word("null", NodeKind::Null)?,
            b't' => self.word("true", NodeKind::True)?,
            b'f' => self.word("false", NodeKind::False)?,
            b'N' | b'I' => return Err(self.fault(JsonFault::NotANumber)),
            _ => return Err(self.fault(JsonFault::Syntax)),
        }
        Ok(ExpectedToken::After)
    }

    fn begin(&mut self, kind: NodeKind, next: ExpectedToken) -> Result<ExpectedToken, BrokenJson> {
        let start = self.at;
        self.at += 1;
        self.open.push(narrow(self.document.tape.len()));
        self.push(kind, start, false)?;
        Ok(next)
    }

    fn key(&mut self) -> Result<ExpectedToken, BrokenJson> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(self.fault(JsonFault::Syntax)),
            None => return Err(self.fault(JsonFault::Incomplete)),
        }
        let escaped = self.string()?;
        self.push(NodeKind::String, start, escaped)?;
        self.blanks();
        self.expect(b':')?;
        Ok(ExpectedToken::Value)
    }

    fn separator(&mut self, container: u32) -> Result<ExpectedToken, BrokenJson> {
        let is_object = self.document.tape[container as usize].kind == NodeKind::Object;
        match (self.peek(), is_object) {
            (Some(b','), true) => {
                self.at += 1;
                Ok(ExpectedToken::Key)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(ExpectedToken::Value)
            }
            (Some(b'}'), true) | (Some(b']'), false) => self.close(),
            (Some(_), _) => Err(self.fault(JsonFault::Syntax)),
            (None, _) => Err(self.fault(JsonFault::Incomplete)),
        }
    }

    fn close(&mut self) -> Result<ExpectedToken, BrokenJson> {
        self.at += 1;
        let (end, after) = (narrow(self.at), narrow(self.document.tape.len()));
        let Some(container) = self.open.pop() else { return Err(self.fault(JsonFault::Syntax)) };
        let entry = &mut self.document.tape[container as usize];
        entry.end = end;
        entry.after = after;
        if entry.kind == NodeKind::Object {
            self.unique(container as usize)?;
        }
        Ok(ExpectedToken::After)
    }

    /// Refuses the second of two equal keys. Keys are compared as what they mean, escapes undone.
    fn unique(&self, object: usize) -> Result<(), BrokenJson> {
        let node = JsonNode::new(&self.document, object);
        let keys = node.members().map(|(key, _)| key);
        let are_few = keys.enumerate().all(|(n, key)| n < FEW_KEYS && key.is_verbatim());
        let twice = if are_few {
            let second = |(n, (key, value)): (usize, (JsonNode<'_>, JsonNode<'_>))| {
                let is_same = |elder: JsonNode<'_>| elder.source_bytes() == key.source_bytes();
                let is_twice = node.members().take(n).any(|(elder, _)| is_same(elder));
                is_twice.then(|| value.key_start())
            };
            node.members().enumerate().find_map(second)
        } else {
            let keys = node.entries().map(|(key, value)| (key, value.key_start()));
            let mut keys: Vec<_> = keys.collect();
            keys.sort_unstable();
            let pairs = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0);
            pairs.map(|pair| pair[1].1).min()
        };
        twice.map_or(Ok(()), |offset| Err(BrokenJson::at(offset, JsonFault::DuplicateKey)))
    }

    fn push(&mut self, kind: NodeKind, start: usize, escaped: bool) -> Result<(), BrokenJson> {
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return Err(BrokenJson::at(start, JsonFault::TooManyValues)),
        };
        let after = narrow(self.document.tape.len() + 1);
        let (start, end) = (narrow(start), narrow(self.at));
        self.document.tape.push(NodeEntry { kind, escaped, start, end, after });
        Ok(())
    }

    fn word(&mut self, word: &str, kind: NodeKind) -> Result<(), BrokenJson> {
        let start = self.at;
        for byte in word.bytes() {
            self.expect(byte)?;
        }
        self.push(kind, start, false)
    }

    /// Steps over a string; tells whether it has escapes.
    fn string(&mut self) -> Result<bool, BrokenJson> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                // Nothing else stops what is plain.
                Some(_) => return Err(self.fault(JsonFault::ControlCharacter)),
                None => return Err(self.fault(JsonFault::Incomplete)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), BrokenJson> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => match self.unit(start)? {
                0xd800..=0xdbff => {
                    let second = self.at;
                    if self.peek().is_none() {
                        return Err(self.fault(JsonFault::Incomplete));
                    }
                    if self.bytes[self.at..].starts_with(b"\\u") {
                        self.at += 1;
                        if (0xdc00..=0xdfff).contains(&self.unit(second)?) {
                            return Ok(());
                        }
                    }
                    return Err(BrokenJson::at(start, JsonFault::LoneSurrogate));
                }
                0xdc00..=0xdfff => return Err(BrokenJson::at(start, JsonFault::LoneSurrogate)),
                _ => {}
            },
            Some(_) => return Err(BrokenJson::at(start, JsonFault::BadEscape)),
            None => return Err(self.fault(JsonFault::Incomplete)),
        }
        Ok(())
    }

    /// The four hex digits behind the `u` at the cursor.
    fn unit(&mut self, start: usize) -> Result<u32, BrokenJson> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else { return Err(self.fault(JsonFault::Incomplete)) };
            let digit = char::from(byte).to_digit(16);
            unit = unit * 16 + digit.ok_or(BrokenJson::at(start, JsonFault::BadEscape))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), BrokenJson> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            Some(b'I' | b'N') => return Err(self.fault(JsonFault::NotANumber)),
            Some(_) => return Err(self.fault(JsonFault::Syntax)),
            None => return Err(self.fault(JsonFault::Incomplete)),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), BrokenJson> {
        match self.peek() {
            Some(b'0'..=b'9') => {}
            Some(_) => return Err(self.fault(JsonFault::Syntax)),
            None => return Err(self.fault(JsonFault::Incomplete)),
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn expect(&mut self, wanted: u8) -> Result<(), BrokenJson> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.fault(JsonFault::Syntax)),
            None => Err(self.fault(JsonFault::Incomplete)),
        }
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fault(&self, fault: JsonFault) -> BrokenJson {
        BrokenJson::at(self.at, fault)
    }
}

/// Positions fit, since the length was checked first and a value has at least one byte.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).expect("the length of the text was checked")
}
