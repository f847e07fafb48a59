//! Owned values: what a form means, without its text.
//!
//! Made from a [`Node`] or by hand; compared, hashed and kept. A value is in normal form: equal
//! values print equally, and what is printed reads back as an equal value.

use std::fmt;

use crate::limits::Dialect;
use crate::print::print;
use crate::read::character::{self, Char};
use crate::read::number;
use crate::symbol::{Keyword, Symbol};
use crate::tree::{Kind, Node};

/// A value of the data language.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// `nil`, which is also the empty list.
    Nil,
    /// `t`.
    T,
    /// A symbol that is not a keyword.
    Symbol(Symbol),
    /// A keyword.
    Keyword(Keyword),
    /// A string.
    Str(Box<str>),
    /// An integer of at most 64 bits.
    Int(i64),
    /// An integer of more than 64 bits, in decimal.
    BigInt(Box<str>),
    /// A ratio, not reduced.
    Ratio(Box<str>),
    /// A float, as it was written.
    Float(Float),
    /// A character.
    Char(Char),
    /// A proper list; never empty.
    List(Vec<Value>),
    /// At least one element and a tail that is neither a list nor `nil`.
    Dotted(Vec<Value>, Box<Value>),
    /// A vector.
    Vector(Vec<Value>),
    /// An Emacs string with text properties.
    Propertized {
        /// The string.
        text: Box<str>,
        /// Start, end and property list of each run, one after the other; never empty.
        runs: Vec<Value>,
    },
}

/// A float by its text: the two Lisps have three widths, infinities and not-a-numbers between
/// them, and none is lost.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Float(pub(crate) Box<str>);

impl Float {
    /// The float's text, such as `1.5d0`.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The number; `None` beyond the range of an `f64`.
    pub fn to_f64(&self) -> Option<f64> {
        number::float_to_f64(&self.0)
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<f64> for Float {
    fn from(float: f64) -> Self {
        let text = if float.is_nan() {
            "0.0e+NaN".into()
        } else if float.is_infinite() {
            if float > 0.0 { "1.0e+INF".into() } else { "-1.0e+INF".into() }
        } else {
            format!("{float:?}")
        };
        Self(text.into())
    }
}

impl Value {
    /// The keyword of this name, colon left out.
    pub fn keyword(name: &str) -> Self {
        Self::Keyword(Keyword::from_name(name))
    }

    /// The symbol of this name.
    pub fn symbol(name: &str) -> Self {
        Self::Symbol(Symbol::from_name(name))
    }

    /// A string.
    pub fn str(contents: impl Into<Box<str>>) -> Self {
        Self::Str(contents.into())
    }

    /// An integer.
    pub fn int(number: i64) -> Self {
        Self::Int(number)
    }

    /// A float.
    pub fn float(number: f64) -> Self {
        Self::Float(number.into())
    }

    /// `t` or `nil`.
    pub fn bool(truth: bool) -> Self {
        if truth { Self::T } else { Self::Nil }
    }

    /// A proper list; `nil` without elements.
    pub fn list(elements: impl IntoIterator<Item = Self>) -> Self {
        let elements: Vec<Self> = elements.into_iter().collect();
        if elements.is_empty() { Self::Nil } else { Self::List(elements) }
    }

    /// A list with this tail, in normal form: a tail that is a list continues the elements.
    pub fn dotted(elements: impl IntoIterator<Item = Self>, tail: Self) -> Self {
        let mut elements: Vec<Self> = elements.into_iter().collect();
        match tail {
            Self::Nil => Self::list(elements),
            Self::List(more) => {
                elements.extend(more);
                Self::List(elements)
            }
            Self::Dotted(more, end) => {
                elements.extend(more);
                Self::Dotted(elements, end)
            }
            atom if elements.is_empty() => atom,
            atom => Self::Dotted(elements, Box::new(atom)),
        }
    }

    /// A vector.
    pub fn vector(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Vector(elements.into_iter().collect())
    }

    /// A list of keywords, each with its value after it.
    pub fn plist<'k>(pairs: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        Self::list(pairs.into_iter().flat_map(|(key, value)| [Self::keyword(key), value]))
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Nil => Kind::Nil,
            Self::T => Kind::T,
            Self::Symbol(_) => Kind::Symbol,
            Self::Keyword(_) => Kind::Keyword,
            Self::Str(_) => Kind::String,
            Self::Int(_) | Self::BigInt(_) => Kind::Integer,
            Self::Ratio(_) => Kind::Ratio,
            Self::Float(_) => Kind::Float,
            Self::Char(_) => Kind::Char,
            Self::List(_) => Kind::List,
            Self::Dotted(..) => Kind::Dotted,
            Self::Vector(_) => Kind::Vector,
            Self::Propertized { .. } => Kind::Propertized,
        }
    }

    /// Whether it is `nil`.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// The contents, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(contents) => Some(contents),
            _ => None,
        }
    }

    /// The number, if it is an integer of at most 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The number, if it is an integer or float within the range of an `f64`.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => number::integer_to_f64(&number.to_string()),
            Self::BigInt(digits) => number::integer_to_f64(digits),
            Self::Float(float) => float.to_f64(),
            _ => None,
        }
    }

    /// The canonical spelling without its colon, if it is a keyword.
    pub fn as_keyword(&self) -> Option<&str> {
        match self {
            Self::Keyword(keyword) => Some(keyword.spelling()),
            _ => None,
        }
    }

    /// Whether it is the keyword `name`, ASCII case ignored.
    pub fn is_keyword(&self, name: &str) -> bool {
        matches!(self, Self::Keyword(keyword) if keyword.is(name))
    }

    /// The canonical spelling, if it is a symbol; `nil` and `t` are none, nor are keywords.
    pub fn as_symbol(&self) -> Option<&str> {
        match self {
            Self::Symbol(symbol) => Some(symbol.spelling()),
            _ => None,
        }
    }

    /// The elements of a list or vector; none for `nil`. Of a dotted list, those before the tail.
    pub fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Nil => Some(&[]),
            Self::List(elements) | Self::Dotted(elements, _) | Self::Vector(elements) => {
                Some(elements)
            }
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(contents: &str) -> Self {
        Self::Str(contents.into())
    }
}

impl From<String> for Value {
    fn from(contents: String) -> Self {
        Self::Str(contents.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::bool(truth)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        print(self, Dialect::Lisp, &mut text);
        f.write_str(&text)
    }
}

/// The canonical text: derived output would recurse several frames a level.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Node<'_> {
    /// The value, owned. Iterative, as deep as the tape.
    pub fn to_value(&self) -> Value {
        // Lists that are open: their kind, where they end, and the elements so far.
        let mut open: Vec<(Kind, u32, Vec<Value>)> = Vec::new();
        let mut index = self.index;
        loop {
            let node = Node { tree: self.tree, index };
            let entry = node.entry();
            index += 1;
            if entry.next > index {
                open.push((entry.kind, entry.next, Vec::new()));
                continue;
            }
            let mut value = node.atom();
            // Whatever ends here is an element of the list around it.
            loop {
                let Some((kind, next, elements)) = open.last_mut() else { return value };
                elements.push(value);
                if index < *next {
                    break;
                }
                value = collect(*kind, std::mem::take(elements));
                open.pop();
            }
        }
    }

    /// The value of a node without children.
    fn atom(self) -> Value {
        match self.kind() {
            Kind::Nil => Value::Nil,
            Kind::T => Value::T,
            Kind::Symbol => Value::Symbol(Symbol(self.symbol().unwrap_or_default().into())),
            Kind::Keyword => Value::Keyword(Keyword(self.keyword().unwrap_or_default().into())),
            Kind::String => Value::Str(self.as_str().unwrap_or_default().into()),
            Kind::Integer => match self.as_i64() {
                Some(number) => Value::Int(number),
                None => Value::BigInt(number::decimal(self.source()).into()),
            },
            Kind::Ratio => Value::Ratio(number::ratio(self.source()).into()),
            Kind::Float => Value::Float(Float(self.source().into())),
            Kind::Char => Value::Char(character::decode(self.source())),
            Kind::List | Kind::Dotted | Kind::Vector | Kind::Propertized => {
                Value::Vector(Vec::new())
            }
        }
    }
}

/// A list of this kind from its children.
fn collect(kind: Kind, mut elements: Vec<Value>) -> Value {
    match kind {
        Kind::Vector => Value::Vector(elements),
        Kind::Dotted => match elements.pop() {
            Some(tail) => Value::Dotted(elements, Box::new(tail)),
            None => Value::Nil,
        },
        Kind::Propertized => match elements.remove(0) {
            Value::Str(text) => Value::Propertized { text, runs: elements },
            _ => Value::Vector(elements),
        },
        _ => Value::List(elements),
    }
}
