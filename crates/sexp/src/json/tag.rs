//! Tags: which lists and objects stand for what, judged the same way in both directions.

use crate::canonical::canonical;
use crate::print::is_runs;
use crate::read::read_one;
use crate::symbol::Keyword;
use crate::tree::Kind;
use crate::value::{Float, Value};

/// Tag of an object that stands for something other than itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    List,
    Dotted,
    Symbol,
    Keyword,
    Char,
    Ratio,
    Float,
    Propertized,
}

impl Tag {
    const ALL: [Self; 8] = [
        Self::List,
        Self::Dotted,
        Self::Symbol,
        Self::Keyword,
        Self::Char,
        Self::Ratio,
        Self::Float,
        Self::Propertized,
    ];

    /// The key of a tagged object.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::List => "#list",
            Self::Dotted => "#dotted",
            Self::Symbol => "#symbol",
            Self::Keyword => "#keyword",
            Self::Char => "#char",
            Self::Ratio => "#ratio",
            Self::Float => "#float",
            Self::Propertized => "#propertized",
        }
    }

    /// The tag in a key that may have more than one `#`.
    pub(super) fn in_key(key: &str) -> Option<Self> {
        let name = key.strip_prefix('#')?.trim_start_matches('#');
        Self::ALL.into_iter().find(|tag| &tag.key()[1..] == name)
    }

    /// Whether an array under this tag is the tagged list itself, not a vector in it.
    pub(super) fn takes_array(self) -> bool {
        matches!(self, Self::List | Self::Dotted | Self::Propertized)
    }

    /// Whether `inner` is what this tag takes: exactly what writing some value puts there.
    pub(super) fn fits(self, inner: &Value) -> bool {
        match (self, inner) {
            (Self::List, Value::Vector(elements)) => Shape::of(elements) == Shape::Other,
            (Self::Dotted, Value::Vector(elements)) => {
                let is_list = |value: &Value| {
                    matches!(value, Value::Nil | Value::List(_) | Value::Dotted(..))
                };
                elements.len() >= 2 && elements.last().is_some_and(|tail| !is_list(tail))
            }
            (Self::Propertized, Value::Vector(elements)) => {
                matches!(elements.split_first(), Some((Value::Str(_), runs)) if is_runs(runs))
            }
            (Self::Symbol, Value::Str(text)) => is_canonical(text, Kind::Symbol),
            (Self::Keyword, Value::Str(text)) => {
                !matches!(&**text, "false" | "null") && is_keyword_spelling(text)
            }
            (Self::Char, Value::Str(text)) => is_canonical(&format!("#\\{text}"), Kind::Char),
            (Self::Ratio, Value::Str(text)) => is_canonical(text, Kind::Ratio),
            (Self::Float, Value::Str(text)) => {
                !is_json_fraction(text) && is_canonical(text, Kind::Float)
            }
            _ => false,
        }
    }

    /// The value that `inner`, which [`fits`](Self::fits), stands for.
    pub(super) fn unwrap(self, inner: Value) -> Value {
        match (self, inner) {
            (Self::List, Value::Vector(elements)) => Value::list(elements),
            (Self::Dotted, Value::Vector(mut elements)) => match elements.pop() {
                Some(tail) => Value::dotted(elements, tail),
                None => Value::Nil,
            },
            (Self::Propertized, Value::Vector(mut elements)) => {
                let runs = elements.split_off(1);
                match elements.pop() {
                    Some(Value::Str(text)) => Value::Propertized { text, runs },
                    _ => Value::Vector(runs),
                }
            }
            (Self::Symbol, Value::Str(text)) => Value::Symbol(crate::symbol::Symbol(text)),
            (Self::Keyword, Value::Str(text)) => Value::Keyword(Keyword(text)),
            (Self::Float, Value::Str(text)) => Value::Float(Float(text)),
            (Self::Ratio, Value::Str(text)) => Value::Ratio(text),
            (Self::Char, Value::Str(text)) => {
                Value::Char(crate::read::character::decode(&format!("#\\{text}")))
            }
            (_, other) => other,
        }
    }
}

/// Shape of a list in JSON, by its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `(:object)`.
    EmptyObject,
    /// Strings in all key places.
    Strings,
    /// Keywords in all key places.
    Keywords,
    /// Anything else, `nil` included.
    Other,
}

impl Shape {
    pub(super) fn of(elements: &[Value]) -> Self {
        if matches!(elements, [Value::Keyword(only)] if only.spelling() == "object") {
            return Self::EmptyObject;
        }
        if elements.is_empty() || !elements.len().is_multiple_of(2) {
            return Self::Other;
        }
        let keys = || elements.iter().step_by(2);
        if keys().all(|key| matches!(key, Value::Str(_))) {
            Self::Strings
        } else if keys().all(|key| matches!(key, Value::Keyword(_))) {
            Self::Keywords
        } else {
            Self::Other
        }
    }
}

/// Likeness of an object with string keys, which is kept apart from a tagged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// Like nothing else.
    Plain,
    /// Like this tag, with so many `#` before its name.
    Tagged(Tag, usize),
    /// Like a list with keywords for keys, with so many `:` before each name.
    Keywords(usize),
}

impl Looks {
    /// Judges alternating string keys and values.
    pub(super) fn of(elements: &[Value]) -> Self {
        if let [Value::Str(key), inner] = elements
            && let Some(tag) = Tag::in_key(key).filter(|tag| tag.fits(inner))
        {
            return Self::Tagged(tag, leading(key, '#'));
        }
        let mut levels = elements.iter().step_by(2).map(|key| key.as_str().and_then(colons));
        match levels.next().flatten() {
            Some(level) if levels.all(|other| other == Some(level)) => Self::Keywords(level),
            _ => Self::Plain,
        }
    }
}

/// Counts the colons before a keyword's canonical spelling; `None` if the key is none.
fn colons(key: &str) -> Option<usize> {
    let level = leading(key, ':');
    (level > 0 && is_keyword_spelling(&key[level..])).then_some(level)
}

fn leading(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

fn is_keyword_spelling(text: &str) -> bool {
    is_canonical(&format!(":{text}"), Kind::Keyword)
}

/// Whether `text` is the canonical text of an atom of this kind.
fn is_canonical(text: &str, kind: Kind) -> bool {
    let Ok(tree) = read_one(text) else { return false };
    let mut own = String::with_capacity(text.len());
    canonical(tree.root(), &mut own);
    tree.root().kind() == kind && own == text
}

/// Whether a float's text is also a JSON number.
pub(super) fn is_json_fraction(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(unsigned);
    if whole == 0 || whole > 1 && unsigned.starts_with('0') {
        return false;
    }
    let mut rest = &unsigned[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = &fraction[digits(fraction)..];
        if rest.len() == fraction.len() {
            return false;
        }
    } else if rest.is_empty() {
        return false;
    }
    let Some(power) = rest.strip_prefix(['e', 'E']) else { return rest.is_empty() };
    let power = power.strip_prefix(['+', '-']).unwrap_or(power);
    !power.is_empty() && digits(power) == power.len()
}
