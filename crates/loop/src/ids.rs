//! Names and numbers: one type for each, so that none is taken for another.
//!
//! Used by every file of this crate and by whoever feeds [`crate::step()`]. No registry: a name
//! says nothing about whether the thing exists.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bridle_sexp::{Keyword, Value};

/// The longest name of a session, in bytes: it becomes part of file names and of request ids.
const MAX_SESSION_NAME_BYTES: usize = 64;

/// The name of a session: 1 to 64 ASCII letters, digits, `.`, `_` and `-`. Shared, because every
/// context and every decision has it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

/// Flaw of a text that names no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSessionName {
    /// Empty, or longer than it may be.
    #[error("a session's name of {0} bytes, expected 1 to {MAX_SESSION_NAME_BYTES}")]
    Length(usize),
    /// A character outside of the few that are allowed.
    #[error("`{0}` in a session's name, expected letters, digits, `.`, `_` or `-`")]
    Character(char),
}

impl SessionId {
    /// Takes a name.
    ///
    /// # Errors
    /// When its length or a character is not allowed.
    pub fn parse(name: &str) -> Result<Self, InvalidSessionName> {
        if name.is_empty() || name.len() > MAX_SESSION_NAME_BYTES {
            return Err(InvalidSessionName::Length(name.len()));
        }
        let is_allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        match name.chars().find(|c| !is_allowed(c)) {
            Some(bad) => Err(InvalidSessionName::Character(bad)),
            None => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of an actuator, an action, a sensor or a kind of shell: a keyword in lower case. One that
/// this crate knows is not allocated: each proposal is named a dozen times.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeywordName(Cow<'static, str>);

impl KeywordName {
    /// The name of these characters, ASCII case folded; what no keyword can hold is replaced.
    pub fn new(name: &str) -> Self {
        if let Some(known) = known(name) {
            return Self(Cow::Borrowed(known));
        }
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !name.is_empty() && name.bytes().all(is_plain) {
            return Self(Cow::Owned(name.into()));
        }
        let name = Keyword::from_name(name).name().to_ascii_lowercase();
        Self(Cow::Owned(name))
    }

    /// The name of a word of this crate: lower-case letters, digits and `-`.
    pub(crate) const fn of_word(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }

    /// The name of a keyword; `None` for any other value.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Keyword(keyword) => Some(Self::new(&keyword.name())),
            _ => None,
        }
    }

    /// The characters, without a colon.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The keyword.
    pub fn to_value(&self) -> Value {
        Value::keyword(&self.0)
    }
}

impl fmt::Display for KeywordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeywordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }
}

/// The word of a proposal without an allocation, if it is one of those that most proposals are made of.
fn known(name: &str) -> Option<&'static str> {
    let words: &[&'static str] = match name.len() {
        3 => &["log"],
        4 => &["eval", "exec", "read"],
        5 => &["asker", "emacs", "write"],
        6 => &["memory", "notify", "system"],
        7 => &["message"],
        8 => &["complete", "schedule"],
        10 => &["user-input"],
        11 => &["user-prompt"],
        12 => &["chat-message", "user-command"],
        13 => &["insert-at-end"],
        _ => &[],
    };
    words.iter().copied().find(|word| *word == name)
}

/// The place of an event in its session's stream; dense, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Seq(pub u64);

/// A turn of a session, from 1: what happens from a signal to its answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TurnId(pub u64);

/// An effect whose result is awaited; counts within its session, from 1, and is never used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EffectId(pub u64);

/// Name of a call, as its thinker gave it: the outcome goes back under the same name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CallId(Box<str>);

/// The longest name of a call, in bytes; a longer one is cut.
const MAX_CALL_ID_BYTES: usize = 256;

impl CallId {
    /// Takes a name; of one that is too long, the beginning.
    pub fn new(name: &str) -> Self {
        Self(name[..name.floor_char_boundary(MAX_CALL_ID_BYTES)].into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Milliseconds since the beginning of 1970.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// The time so many milliseconds later; the end of time at most.
    #[must_use]
    pub fn after(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

#[cfg(test)]
mod tests;
