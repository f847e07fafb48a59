//! The tape that `read` makes, and how to walk it. A node is a position in it; children follow their
//! container, keys stand before their values. Called by the typed stage and by `canonical`.

use std::borrow::Cow;
use std::fmt;

use super::fault::Broken;
use super::value::{Json, Number, Object};
use super::{read, string};
use crate::openharness::Limits;

/// One JSON text that was read whole: no key twice, no half of a surrogate pair, within the limits.
pub struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) tape: Vec<Entry>,
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Whether a string has escapes.
    pub(super) escaped: bool,
    /// The bytes of the value, quotes and brackets included.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The tape position behind the value and all that is in it.
    pub(super) after: u32,
}

/// What sort of value a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `false`.
    False,
    /// `true`.
    True,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind with its article, for "got" in a sentence.
    pub fn named(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::False | Kind::True => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

impl<'t> Document<'t> {
    /// Reads exactly one JSON text.
    ///
    /// # Errors
    /// The first rule that the bytes break.
    pub fn read(bytes: &'t [u8], limits: &Limits) -> Result<Self, Broken> {
        read::read(bytes, limits)
    }

    /// Returns the value of the text.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// What is between the quotes of a string.
    fn inner(&self, string: Entry) -> &str {
        &self.text[string.start as usize + 1..string.end as usize - 1]
    }

    /// Tells whether a string means that text.
    fn is_text(&self, string: Entry, text: &str) -> bool {
        if string.escaped {
            return string::unescape(self.inner(string)) == text;
        }
        let (start, end) = (string.start as usize + 1, string.end as usize - 1);
        end - start == text.len() && self.text.as_bytes()[start..end] == *text.as_bytes()
    }
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} values)", self.tape.len())
    }
}

/// A value of a document.
#[derive(Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document<'d>,
    at: usize,
}

impl<'d> Node<'d> {
    pub(super) fn new(document: &'d Document<'d>, at: usize) -> Self {
        Node { document, at }
    }

    /// Tells what sort of value this is.
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// Tells whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns the text of a string, escapes undone.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let entry = self.entry();
        if entry.kind != Kind::String {
            return None;
        }
        let inner = self.document.inner(entry);
        Some(if entry.escaped { string::unescape(inner).into() } else { inner.into() })
    }

    /// Tells whether this is a string that was written without escapes: then its source is what any
    /// printer makes of it.
    pub(super) fn is_verbatim(self) -> bool {
        let entry = self.entry();
        entry.kind == Kind::String && !entry.escaped
    }

    /// Returns `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// Returns a number as it is written.
    pub fn as_number(self) -> Option<Number> {
        (self.kind() == Kind::Number).then(|| Number::checked(self.source()))
    }

    /// Returns the exact text of the value.
    pub fn source(self) -> &'d str {
        let entry = self.entry();
        &self.document.text[entry.start as usize..entry.end as usize]
    }

    /// The same as bytes.
    pub(super) fn source_bytes(self) -> &'d [u8] {
        let entry = self.entry();
        &self.document.text.as_bytes()[entry.start as usize..entry.end as usize]
    }

    /// Returns the value of a key; `None` also when this is no object.
    pub fn get(self, key: &str) -> Option<Node<'d>> {
        let container = self.entry();
        if container.kind != Kind::Object {
            return None;
        }
        let tape = &self.document.tape[..container.after as usize];
        let mut at = self.at + 1;
        // A key is a string without children, so its value lies right behind it.
        while let [name, value, ..] = tape.get(at..)? {
            if self.document.is_text(*name, key) {
                return Some(Node { document: self.document, at: at + 1 });
            }
            at = value.after as usize;
        }
        None
    }

    /// Walks the keys and values of an object, in order; nothing in any other value.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, Node<'d>)> {
        self.members().map_while(|(key, value)| Some((key.as_str()?, value)))
    }

    /// The same with keys as they stand in the text.
    pub(super) fn members(self) -> impl Iterator<Item = (Node<'d>, Node<'d>)> {
        let is_object = self.kind() == Kind::Object;
        let mut children = self.children(is_object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// Walks the elements of an array; nothing in any other value.
    pub fn items(self) -> impl Iterator<Item = Node<'d>> {
        self.children(self.kind() == Kind::Array)
    }

    /// Walks all values inside this one and itself, keys included, in the order of the text.
    pub fn descendants(self) -> impl Iterator<Item = Node<'d>> {
        let document = self.document;
        (self.at..self.entry().after as usize).map(move |at| Node { document, at })
    }

    /// Copies the value out of the text; `None` when it has more than `levels` levels of containers.
    pub fn to_json(self, levels: usize) -> Option<Json> {
        // Bounded recursion: `levels` is a limit of ours, not of the input.
        Some(match self.kind() {
            Kind::Null => Json::Null,
            Kind::False => Json::Bool(false),
            Kind::True => Json::Bool(true),
            Kind::Number => Json::Number(Number::checked(self.source())),
            Kind::String => Json::String(self.as_str()?.into_owned()),
            Kind::Array => {
                let below = levels.checked_sub(1)?;
                Json::Array(self.items().map(|item| item.to_json(below)).collect::<Option<_>>()?)
            }
            Kind::Object => {
                let below = levels.checked_sub(1)?;
                let pair = |(key, value): (Cow<'_, str>, Node<'_>)| {
                    Some((key.into_owned().into(), value.to_json(below)?))
                };
                Json::Object(Object::checked(self.entries().map(pair).collect::<Option<_>>()?))
            }
        })
    }

    /// Where the key of this value stands in the text; meaningless for an element of an array.
    pub(super) fn key_start(self) -> usize {
        // A key is a string without children, so it lies right before its value.
        self.document.tape[self.at.saturating_sub(1)].start as usize
    }

    fn children(self, any: bool) -> impl Iterator<Item = Node<'d>> {
        let document = self.document;
        let end = if any { self.entry().after as usize } else { 0 };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let node = Node { document, at };
                at = node.entry().after as usize;
                node
            })
        })
    }

    fn entry(self) -> Entry {
        self.document.tape[self.at]
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.kind().named())
    }
}
