//! One way to look at a message, whether it is still a tree over the text or already owned data.
//!
//! The checks of this room are written once against [`MessageView`]. Over a tree they know the place of
//! every fault and build nothing; over a [`Value`] they know no place. Not public: callers see
//! `OacpMessage::from_tree` and `OacpMessage::from_value`.

use bridle_sexp::{Kind, Node, Place, Value};

use super::OacpCode;
use super::invalid::{InvalidMessage, MessagePath};

/// A value inside a message.
pub(crate) trait MessageView: Copy {
    fn kind(self) -> Kind;
    /// Elements of a proper list or a vector; nothing for everything else.
    fn items(self) -> impl Iterator<Item = Self>;
    fn is_keyword(self, name: &str) -> bool;
    fn as_i64(self) -> Option<i64>;
    fn place(self) -> Option<Place>;
    fn to_value(self) -> Value;

    fn is_nil(self) -> bool {
        matches!(self.kind(), Kind::Nil)
    }

    /// The name of a keyword, without the colon and the marks that protect its case.
    fn name(self) -> Option<Box<str>> {
        match self.to_value() {
            Value::Keyword(keyword) => Some(keyword.name().into()),
            _ => None,
        }
    }

    /// The value of the first key that matches ignoring case. Only for checked plists.
    fn get(self, key: &str) -> Option<Self> {
        let mut items = self.items();
        while let (Some(name), Some(value)) = (items.next(), items.next()) {
            if name.is_keyword(key) {
                return Some(value);
            }
        }
        None
    }

    /// Like `get`; in Lisp an absent key and a nil one are the same.
    fn get_some(self, key: &str) -> Option<Self> {
        self.get(key).filter(|value| !value.is_nil())
    }
}

impl MessageView for Node<'_> {
    fn kind(self) -> Kind {
        Node::kind(&self)
    }

    fn items(self) -> impl Iterator<Item = Self> {
        let proper = matches!(Node::kind(&self), Kind::List | Kind::Vector);
        proper.then(|| self.children()).into_iter().flatten()
    }

    fn is_keyword(self, name: &str) -> bool {
        Node::is_keyword(&self, name)
    }

    fn as_i64(self) -> Option<i64> {
        Node::as_i64(&self)
    }

    fn place(self) -> Option<Place> {
        Some(Node::place(&self))
    }

    fn to_value(self) -> Value {
        Node::to_value(&self)
    }
}

impl MessageView for &Value {
    fn kind(self) -> Kind {
        Value::kind(self)
    }

    fn items(self) -> impl Iterator<Item = Self> {
        match self {
            Value::List(items) | Value::Vector(items) => items.as_slice(),
            _ => &[],
        }
        .iter()
    }

    fn is_keyword(self, name: &str) -> bool {
        Value::is_keyword(self, name)
    }

    fn as_i64(self) -> Option<i64> {
        Value::as_i64(self)
    }

    fn place(self) -> Option<Place> {
        None
    }

    fn to_value(self) -> Value {
        self.clone()
    }
}

/// Refuses everything but a plist: a proper list of even length with keywords in all key places.
/// nil is the empty plist.
pub(crate) fn check_plist<V: MessageView>(
    view: V,
    path: &MessagePath,
) -> Result<(), InvalidMessage> {
    let refuse = |place: Option<Place>, message: &str| {
        Err(InvalidMessage::new(OacpCode::NotAPlist, path.clone(), message).at(place))
    };
    match view.kind() {
        Kind::Nil => return Ok(()),
        Kind::List => {}
        Kind::Dotted => return refuse(view.place(), "expected a plist, got a dotted list"),
        other => {
            return refuse(view.place(), &format!("expected a plist, got {}", a_kind(other)));
        }
    }
    let mut items = view.items();
    while let Some(key) = items.next() {
        if !matches!(key.kind(), Kind::Keyword) {
            let got = a_kind(key.kind());
            return refuse(key.place(), &format!("expected a keyword as key, got {got}"));
        }
        if items.next().is_none() {
            return refuse(key.place(), "the last key has no value");
        }
    }
    Ok(())
}

/// The kind of a value with its article, for sentences.
pub(crate) fn a_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Nil => "nil",
        Kind::T => "t",
        Kind::Symbol => "a symbol",
        Kind::Keyword => "a keyword",
        Kind::String => "a string",
        Kind::Integer => "an integer",
        Kind::Ratio => "a ratio",
        Kind::Float => "a float",
        Kind::Char => "a character",
        Kind::List => "a list",
        Kind::Dotted => "a dotted list",
        Kind::Vector => "a vector",
        Kind::Propertized => "a propertized string",
    }
}
