//! Bytes to a tape of values: strict RFC 8259, duplicate keys and lone surrogates refused, no
//! recursion, nothing allocated ahead of received bytes. Called by `Document::read`.

use super::fault::{Broken, Fault};
use super::node::{Document, Entry, Kind, Node};
use super::string::plain;
use crate::openharness::Limits;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a value and of what is around it, about: room on the tape from the start.
const USUAL_VALUE: usize = 12;

/// Values of short names and words beyond that: most messages are small, and all of these.
const FEW_VALUES: usize = 8;

/// Up to so many keys without escapes, comparing each with each is quicker than sorting.
const FEW_KEYS: usize = 8;

pub(super) fn read<'t>(bytes: &'t [u8], limits: &Limits) -> Result<Document<'t>, Broken> {
    // Spans are kept in 32 bits.
    let most = limits.bytes.min(u32::MAX as usize);
    if bytes.len() > most {
        return Err(Broken::at(most, Fault::TooLarge));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(Broken::at(0, Fault::ByteOrderMark));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Broken::at(error.valid_up_to(), Fault::NotUtf8))?;
    let mut scan = Scan {
        bytes,
        at: 0,
        open: Vec::new(),
        left: limits.values,
        document: Document {
            text,
            tape: Vec::with_capacity(bytes.len() / USUAL_VALUE + FEW_VALUES),
        },
    };
    scan.run()?;
    Ok(scan.document)
}

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Tape positions of the containers that are not closed yet.
    open: Vec<u32>,
    /// How many more values may come.
    left: usize,
    document: Document<'t>,
}

/// What the grammar has next.
#[derive(Clone, Copy)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    After,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), Broken> {
        let mut next = Next::Value;
        self.blanks();
        if self.at == self.bytes.len() {
            return Err(self.fault(Fault::Empty));
        }
        loop {
            self.blanks();
            next = match next {
                Next::Value => self.value()?,
                Next::ValueOrEnd if self.peek() == Some(b']') => self.close()?,
                Next::ValueOrEnd => self.value()?,
                Next::KeyOrEnd if self.peek() == Some(b'}') => self.close()?,
                Next::Key | Next::KeyOrEnd => self.key()?,
                Next::After => match self.open.last() {
                    Some(&container) => self.separator(container)?,
                    None if self.at == self.bytes.len() => return Ok(()),
                    None => return Err(self.fault(Fault::TrailingBytes)),
                },
            };
        }
    }

    fn value(&mut self) -> Result<Next, Broken> {
        let Some(byte) = self.peek() else { return Err(self.fault(Fault::Incomplete)) };
        let start = self.at;
        match byte {
            b'{' => return self.begin(Kind::Object, Next::KeyOrEnd),
            b'[' => return self.begin(Kind::Array, Next::ValueOrEnd),
            b'"' => {
                let escaped = self.string()?;
                self.push(Kind::String, start, escaped)?;
            }
            b'-' | b'0'..=b'9' => {
                self.number()?;
                self.push(Kind::Number, start, false)?;
            }
            b'n' => self.word("null", Kind::Null)?,
            b't' => self.word("true", Kind::True)?,
            b'f' => self.word("false", Kind::False)?,
            b'N' | b'I' => return Err(self.fault(Fault::NotANumber)),
            _ => return Err(self.fault(Fault::Syntax)),
        }
        Ok(Next::After)
    }

    fn begin(&mut self, kind: Kind, next: Next) -> Result<Next, Broken> {
        let start = self.at;
        self.at += 1;
        self.open.push(narrow(self.document.tape.len()));
        self.push(kind, start, false)?;
        Ok(next)
    }

    fn key(&mut self) -> Result<Next, Broken> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(self.fault(Fault::Syntax)),
            None => return Err(self.fault(Fault::Incomplete)),
        }
        let escaped = self.string()?;
        self.push(Kind::String, start, escaped)?;
        self.blanks();
        self.expect(b':')?;
        Ok(Next::Value)
    }

    fn separator(&mut self, container: u32) -> Result<Next, Broken> {
        let is_object = self.document.tape[container as usize].kind == Kind::Object;
        match (self.peek(), is_object) {
            (Some(b','), true) => {
                self.at += 1;
                Ok(Next::Key)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(Next::Value)
            }
            (Some(b'}'), true) | (Some(b']'), false) => self.close(),
            (Some(_), _) => Err(self.fault(Fault::Syntax)),
            (None, _) => Err(self.fault(Fault::Incomplete)),
        }
    }

    fn close(&mut self) -> Result<Next, Broken> {
        self.at += 1;
        let (end, after) = (narrow(self.at), narrow(self.document.tape.len()));
        let Some(container) = self.open.pop() else { return Err(self.fault(Fault::Syntax)) };
        let entry = &mut self.document.tape[container as usize];
        entry.end = end;
        entry.after = after;
        if entry.kind == Kind::Object {
            self.unique(container as usize)?;
        }
        Ok(Next::After)
    }

    /// Refuses the second of two equal keys. Keys are compared as what they mean, escapes undone.
    fn unique(&self, object: usize) -> Result<(), Broken> {
        let node = Node::new(&self.document, object);
        let keys = node.members().map(|(key, _)| key);
        let are_few = keys.enumerate().all(|(n, key)| n < FEW_KEYS && key.is_verbatim());
        let twice = if are_few {
            let second = |(n, (key, value)): (usize, (Node<'_>, Node<'_>))| {
                let is_same = |elder: Node<'_>| elder.source_bytes() == key.source_bytes();
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
        twice.map_or(Ok(()), |offset| Err(Broken::at(offset, Fault::DuplicateKey)))
    }

    fn push(&mut self, kind: Kind, start: usize, escaped: bool) -> Result<(), Broken> {
        self.left = match self.left.checked_sub(1) {
            Some(left) => left,
            None => return Err(Broken::at(start, Fault::TooManyValues)),
        };
        let after = narrow(self.document.tape.len() + 1);
        let (start, end) = (narrow(start), narrow(self.at));
        self.document.tape.push(Entry { kind, escaped, start, end, after });
        Ok(())
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<(), Broken> {
        let start = self.at;
        for byte in word.bytes() {
            self.expect(byte)?;
        }
        self.push(kind, start, false)
    }

    /// Steps over a string; tells whether it has escapes.
    fn string(&mut self) -> Result<bool, Broken> {
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
                Some(_) => return Err(self.fault(Fault::ControlCharacter)),
                None => return Err(self.fault(Fault::Incomplete)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Broken> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => match self.unit(start)? {
                0xd800..=0xdbff => {
                    let second = self.at;
                    if self.peek().is_none() {
                        return Err(self.fault(Fault::Incomplete));
                    }
                    if self.bytes[self.at..].starts_with(b"\\u") {
                        self.at += 1;
                        if (0xdc00..=0xdfff).contains(&self.unit(second)?) {
                            return Ok(());
                        }
                    }
                    return Err(Broken::at(start, Fault::LoneSurrogate));
                }
                0xdc00..=0xdfff => return Err(Broken::at(start, Fault::LoneSurrogate)),
                _ => {}
            },
            Some(_) => return Err(Broken::at(start, Fault::BadEscape)),
            None => return Err(self.fault(Fault::Incomplete)),
        }
        Ok(())
    }

    /// The four hex digits behind the `u` at the cursor.
    fn unit(&mut self, start: usize) -> Result<u32, Broken> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else { return Err(self.fault(Fault::Incomplete)) };
            let digit = char::from(byte).to_digit(16);
            unit = unit * 16 + digit.ok_or(Broken::at(start, Fault::BadEscape))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), Broken> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            Some(b'I' | b'N') => return Err(self.fault(Fault::NotANumber)),
            Some(_) => return Err(self.fault(Fault::Syntax)),
            None => return Err(self.fault(Fault::Incomplete)),
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
    fn digits(&mut self) -> Result<(), Broken> {
        match self.peek() {
            Some(b'0'..=b'9') => {}
            Some(_) => return Err(self.fault(Fault::Syntax)),
            None => return Err(self.fault(Fault::Incomplete)),
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Broken> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.fault(Fault::Syntax)),
            None => Err(self.fault(Fault::Incomplete)),
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

    fn fault(&self, fault: Fault) -> Broken {
        Broken::at(self.at, fault)
    }
}

/// Positions fit, since the length was checked first and a value has at least one byte.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).expect("the length of the text was checked")
}
