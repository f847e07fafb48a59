//! Privacy: how far a text may travel.
//!
//! A label on signals, deeds, exchanges and answers. What is made of several texts has the strictest of
//! their labels. Nothing is left out here: whoever builds a prompt compares the label with what its model
//! may see.

use bridle_sexp::Value;

use crate::ids::KeywordName;
use crate::plist_codec::{FieldSink, UnreadableValue, optional_name};

/// Key of a label in records and in the State.
const PRIVACY_KEY: &str = "privacy";

/// Label of a text, the widest first. Records that came before labels have the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Privacy {
    /// Anybody may see it.
    Public,
    /// Whoever talks to the session may see it, and the models that its owner chose.
    #[default]
    Private,
    /// No remote model, no anonymous shell, no log.
    Secret,
}

impl Privacy {
    /// All labels, the widest first.
    pub const ALL: [Self; 3] = [Self::Public, Self::Private, Self::Secret];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Secret => "secret",
        }
    }

    /// The label of this word; `None` for every other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.word() == word)
    }

    /// The label that the sender of a payload gave it: `:privacy`, also of its `:environment`.
    pub(crate) fn of_signal(payload: &Value) -> Self {
        let said = |value: Option<&Value>| {
            let word = value?.get(PRIVACY_KEY).and_then(KeywordName::of)?;
            Self::parse(word.as_str())
        };
        let own = said(Some(payload)).unwrap_or_default();
        // What is around a prompt makes it no more public.
        said(payload.get("environment")).map_or(own, |around| own.max(around))
    }

    /// Writes a label that is not the default: older bodies have none.
    pub(crate) fn put<F: FieldSink>(self, fields: F) -> F {
        match self == Self::default() {
            true => fields,
            false => fields.put_word(PRIVACY_KEY, self.word()),
        }
    }

    /// Reads the label of a plist; the default where there is none.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let Some(word) = optional_name(value, PRIVACY_KEY)? else { return Ok(Self::default()) };
        let label = Self::parse(KeywordName::as_str(&word));
        label.ok_or(UnreadableValue::new(PRIVACY_KEY, "`public`, `private` or `secret`"))
    }
}
