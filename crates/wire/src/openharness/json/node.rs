//! The tape that `read` makes, and how to walk it. A node is a position in it; children follow their
//! container, keys stand before their values. Called by the typed stage and by `canonical`.

use std::borrow::Cow;
use std::fmt;

use super::fault::BrokenJson;
use super::value::{Json, JsonNumber, JsonObject};
use super::{read, string};
use crate::openharness::MessageLimits;

/// One JSON text that was read whole: no key twice, no half of a surrogate pair, within the limits.
pub struct JsonDocument<'t> {
    pub(super) text: &'t str,
    pub(super) tape: Vec<NodeEntry>,
}

#[derive(Clone, Copy)]
pub(super) struct NodeEntry {
    pub(super) kind: NodeKind,
    /// Whether a string has escapes.
    pub(super) escaped: bool,
    /// The bytes of the value, quotes and brackets included.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The tape position behind the value and all that is in it.
    pub(super) after: u32,
}

/// Kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
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

impl NodeKind {
    /// The kind with its article, for "got" in a sentence.
    pub fn named(self) -> &'static str {
        match self {
            NodeKind::Null => "null",
            NodeKind::False | NodeKind::True => "a boolean",
            NodeKind::Number => "a number",
            NodeKind::String => "a string",
            NodeKind::Array => "an array",
            NodeKind::Object => "an object",
        }
    }
}

impl<'t> JsonDocument<'t> {
    /// Reads exactly one JSON text.
    ///
    /// # Errors
    /// The first rule that the bytes break.
    pub fn read(bytes: &'t [u8], limits: &MessageLimits) -> Result<Self, BrokenJson> {
        read::read(bytes, limits)
    }

    /// Returns the value of the text.
    pub fn root(&self) -> JsonNode<'_> {
        JsonNode::new(self, 0)
    }

    /// Text between the quotes of a string.
    fn inner(&self, string: NodeEntry) -> &str {
        &self.text[string.start as usize + 1..string.end as usize - 1]
    }

    /// Tells whether a string means that text.
    fn is_text(&self, string: NodeEntry, text: &str) -> bool {
        if string.escaped {
            return string::unescape(self.inner(string)) == text;
        }
        let (start, end) = (string.start as usize + 1, string.end as usize - 1);
        end - start == text.len() && self.text.as_bytes()[start..end] == *text.as_bytes()
    }
}

impl fmt::Debug for JsonDocument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} values)", self.tape.len())
    }
}

/// A value of a document.
#[derive(Clone, Copy)]
pub struct JsonNode<'d> {
    document: &'d JsonDocument<'d>,
    at: usize,
}

impl<'d> JsonNode<'d> {
    pub(super) fn new(document: &'d JsonDocument<'d>, at: usize) -> Self {
        JsonNode { document, at }
    }

    /// Tells what sort of value this is.
    pub fn kind(self) -> NodeKind {
        self.entry().kind
    }

    /// Tells whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == NodeKind::Null
    }

    /// Returns the text of a string, escapes undone.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let entry = self.entry();
        if entry.kind != NodeKind::String {
            return None;
        }
        let inner = self.document.inner(entry);
        Some(if entry.escaped { string::unescape(inner).into() } else { inner.into() })
    }

    /// Tells whether this is a string that was written without escapes: then its source is what any
    /// printer makes of it.
    pub(super) fn is_verbatim(self) -> bool {
        let entry = self.entry();
        entry.kind == NodeKind::String && !entry.escaped
    }

    /// Returns `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            NodeKind::True => Some(true),
            NodeKind::False => Some(false),
            _ => None,
        }
    }

    /// Returns a number as it is written.
    pub fn as_number(self) -> Option<JsonNumber> {
        (self.kind() == NodeKind::Number).then(|| JsonNumber::checked(self.source()))
    }

    /// Returns the exact text of the value.
    pub fn source(self) -> &'d str {
        let entry = self.entry();
        &self.document.text[entry.start as usize..entry.end as usize]
    }

    /// Source of the value, as bytes.
    pub(super) fn source_bytes(self) -> &'d [u8] {
        let entry = self.entry();
        &self.document.text.as_bytes()[entry.start as usize..entry.end as usize]
    }

    /// Returns the value of a key; `None` also when this is no object.
    pub fn get(self, key: &str) -> Option<JsonNode<'d>> {
        let container = self.entry();
        if container.kind != NodeKind::Object {
            return None;
        }
        let tape = &self.document.tape[..container.after as usize];
        let mut at = self.at + 1;
        // A key is a string without children, so its value lies right behind it.
        while let [name, value, ..] = tape.get(at..)? {
            if self.document.is_text(*name, key) {
                return Some(JsonNode { document: self.document, at: at + 1 });
            }
            at = value.after as usize;
        }
        None
    }

    /// Walks the keys and values of an object, in order; nothing in any other value.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, JsonNode<'d>)> {
        self.members().map_while(|(key, value)| Some((key.as_str()?, value)))
    }

    /// Members with keys as they stand in the text.
    pub(super) fn members(self) -> impl Iterator<Item = (JsonNode<'d>, JsonNode<'d>)> {
        let is_object = self.kind() == NodeKind::Object;
        let mut children = self.children(is_object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// Walks the elements of an array; nothing in any other value.
    pub fn items(self) -> impl Iterator<Item = JsonNode<'d>> {
        self.children(self.kind() == NodeKind::Array)
    }

    /// Walks all values inside this one and itself, keys included, in the order of the text.
    pub fn descendants(self) -> impl Iterator<Item = JsonNode<'d>> {
        let document = self.document;
        (self.at..self.entry().after as usize).map(move |at| JsonNode { document, at })
    }

    /// Copies the value out of the text; `None` when it has more than `levels` levels of containers.
    pub fn to_json(self, levels: usize) -> Option<Json> {
        // Bounded recursion: `levels` is a limit of ours, not of the input.
        Some(match self.kind() {
            NodeKind::Null => Json::Null,
            NodeKind::False => Json::Bool(false),
            NodeKind::True => Json::Bool(true),
            NodeKind::Number => Json::Number(JsonNumber::checked(self.source())),
            NodeKind::String => Json::String(self.as_str()?.into_owned()),
            NodeKind::Array => {
                let below = levels.checked_sub(1)?;
                Json::Array(self.items().map(|item| item.to_json(below)).collect::<Option<_>>()?)
            }
            NodeKind::Object => {
                let below = levels.checked_sub(1)?;
                let pair = |(key, value): (Cow<'_, str>, JsonNode<'_>)| {
                    Some((key.into_owned().into(), value.to_json(below)?))
                };
                Json::Object(JsonObject::checked(self.entries().map(pair).collect::<Option<_>>()?))
            }
        })
    }

    /// Start of this value's key in the text; meaningless for an element of an array.
    pub(super) fn key_start(self) -> usize {
        // A key is a string without children, so it lies right before its value.
        self.document.tape[self.at.saturating_sub(1)].start as usize
    }

    fn children(self, any: bool) -> impl Iterator<Item = JsonNode<'d>> {
        let document = self.document;
        let end = if any { self.entry().after as usize } else { 0 };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let node = JsonNode { document, at };
                at = node.entry().after as usize;
                node
            })
        })
    }

    fn entry(self) -> NodeEntry {
        self.document.tape[self.at]
    }
}

impl fmt::Debug for JsonNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.kind().named())
    }
}
