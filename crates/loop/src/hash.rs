//! Hashes: what an approval is bound to, and what a set of policies is known by.
//!
//! BLAKE3 of canonical text, written as hex digits. Two types, so that neither is taken for the
//! other.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use bridle_sexp::Value;

use crate::event::ActuatorLocation;
use crate::ids::KeywordName;
use crate::plist_codec::{FieldSink, PlistText, UnreadableValue, text};
use crate::value_size::weight;

/// Room for target, place and keys, in bytes.
const USUAL_FRAME_BYTES: usize = 96;

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

            pub(crate) fn from_value(value: &Value, key: &'static str) -> Result<Self, UnreadableValue> {
                let digits = text(value, key)?;
                Self::parse(&digits).ok_or(UnreadableValue::new(key, "64 hex digits"))
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
    pub(crate) fn of_action(
        target: &KeywordName,
        place: ActuatorLocation,
        payload: &Value,
    ) -> Self {
        let text = PlistText::with_room(USUAL_FRAME_BYTES + weight(payload))
            .put_word("target", target.as_str())
            .put_word("place", place.word())
            .put_value("payload", payload);
        Self::of(&text.done())
    }
}

/// The digits of the hash of an action, made when somebody looks at them: few policies do, and a long
/// answer takes a microsecond or two to be printed and hashed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionDigits {
    of: Option<(KeywordName, ActuatorLocation, Arc<Value>)>,
    digits: OnceLock<Box<str>>,
}

impl ActionDigits {
    /// Those of an action.
    pub(crate) fn of_action(
        target: &KeywordName,
        place: ActuatorLocation,
        payload: &Arc<Value>,
    ) -> Self {
        let of = Some((target.clone(), place, payload.clone()));
        Self { of, digits: OnceLock::new() }
    }

    /// The digits; none where nothing is done.
    pub(crate) fn as_str(&self) -> &str {
        self.digits.get_or_init(|| match &self.of {
            Some((target, place, payload)) => {
                ActionHash::of_action(target, *place, payload).to_string().into()
            }
            None => Box::default(),
        })
    }
}

impl From<&str> for ActionDigits {
    fn from(digits: &str) -> Self {
        Self { of: None, digits: OnceLock::from(Box::from(digits)) }
    }
}

impl PartialEq for ActionDigits {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ActionDigits {}

impl Hash for ActionDigits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

hash! {
    /// The hash of the text of a set of policies.
    PolicyHash
}

hash! {
    /// The hash of a recorded text, such as a result that the State names by its number.
    TextDigest
}
