//! Hashes: what an approval is bound to, and what a set of policies is known by.
//!
//! BLAKE3 of canonical text, written as hex digits. Two types, so that neither is taken for the
//! other.

use std::fmt;

use bridle_sexp::Value;

use crate::event::Place;
use crate::field::{Fields, Text, Unreadable, text};
use crate::ids::Name;

/// Gives a hash its type.
macro_rules! hash {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The hash of a text.
            pub fn of(text: &str) -> Self {
                Self(*blake3::hash(text.as_bytes()).as_bytes())
            }

            /// Reads 64 hex digits.
            pub fn parse(digits: &str) -> Option<Self> {
                Some(Self(*blake3::Hash::from_hex(digits).ok()?.as_bytes()))
            }

            pub(crate) fn from_value(value: &Value, key: &'static str) -> Result<Self, Unreadable> {
                let digits = text(value, key)?;
                Self::parse(&digits).ok_or(Unreadable::new(key, "64 hex digits"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

hash! {
    /// The hash of a judged action: its target, its place and its payload.
    ActionHash
}

impl ActionHash {
    /// The hash of what is to be done: of the canonical text of target, place and payload.
    pub(crate) fn of_action(target: &Name, place: Place, payload: &Value) -> Self {
        let text = Text::new()
            .put_word("target", target.as_str())
            .put_word("place", place.word())
            .put_value("payload", payload);
        Self::of(&text.done())
    }
}

hash! {
    /// The hash of the text of a set of policies.
    PolicyHash
}
