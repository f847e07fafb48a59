//! Provenance: where the words of a proposed act come from.
//!
//! The daemon finds it out when a draft arrives, while the texts are at hand, and it is recorded with the
//! proposal; so policies, replays and rehearsals need no texts. Nothing here looks into a text, and nothing of
//! it is part of the hash that a yes is bound to: the same act with other origins is the same act.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::plist_codec::{
    FieldSink, PlistBuilder, UnreadableValue, element_name, flag, list, name, text,
};
use crate::privacy::Privacy;

/// Most values of one act that are traced; one with more is trusted in none of them.
pub const MAX_TRACED_VALUES: usize = 48;

/// Longest text of a value that is kept, in bytes; a longer one has no source.
pub const MAX_TRACED_BYTES: usize = 512;

/// Word for a value that no known text contains.
const MODEL: &str = "model";

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TracedKind {
    /// Name of a host.
    Host,
    /// A whole address of the web.
    Address,
    /// Path of a file or folder.
    Path,
    /// Person or thing that is sent to.
    Recipient,
    /// Word of a command, or an argument of a tool.
    Word,
}

/// Origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextSource {
    /// Words of the owner in this session.
    User,
    /// Files that the owner configures the daemon with.
    Configuration,
    /// Grants of the owner.
    Grant,
    /// The memory.
    Memory,
    /// Output of programs, files, tools and shells.
    Tool,
    /// Text of other machines.
    Web,
}

/// One value of an act, and the sources that contain it whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TracedValue {
    /// Kind.
    pub kind: TracedKind,
    /// The value, as it was looked for.
    pub text: Box<str>,
    /// Sources, in their order; none if the model alone said it.
    pub sources: Vec<TextSource>,
}

/// Origins of the values of an act.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Provenance {
    /// Values, in the order of the act.
    pub values: Vec<TracedValue>,
    /// Whether there were more.
    pub is_cut: bool,
}

/// Origin of a proposal: its values, and the label of what its author had read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProposalOrigin {
    /// `None` where nobody looked.
    pub(crate) provenance: Option<Arc<Provenance>>,
    pub(crate) privacy: Privacy,
}

impl TracedKind {
    const ALL: [Self; 5] = [Self::Host, Self::Address, Self::Path, Self::Recipient, Self::Word];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Address => "address",
            Self::Path => "path",
            Self::Recipient => "recipient",
            Self::Word => "word",
        }
    }
}

impl TextSource {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::User, Self::Configuration, Self::Grant, Self::Memory, Self::Tool, Self::Web];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Configuration => "configuration",
            Self::Grant => "grant",
            Self::Memory => "memory",
            Self::Tool => "tool",
            Self::Web => "web",
        }
    }

    /// Whether what it says is what the owner wants.
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::User | Self::Configuration | Self::Grant)
    }
}

impl TracedValue {
    /// Whether a source contains it that speaks for the owner.
    pub fn is_trusted(&self) -> bool {
        self.sources.iter().any(|source| source.is_trusted())
    }

    fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_word("kind", self.kind.word())
            .put_str("value", &self.text)
            .put_words("sources", self.sources.iter().map(|source| source.word()))
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let kind = name(value, "kind")?;
        let kind = TracedKind::ALL.into_iter().find(|one| one.word() == kind.as_str());
        let sources = list(value, "sources", element_name)?;
        let source = |word: &crate::ids::KeywordName| {
            let found = TextSource::ALL.into_iter().find(|one| one.word() == word.as_str());
            found.ok_or(UnreadableValue::new("sources", "sources of a value"))
        };
        Ok(Self {
            kind: kind.ok_or(UnreadableValue::new("kind", "the kind of a value"))?,
            text: text(value, "value")?,
            sources: sources.iter().map(source).collect::<Result<_, _>>()?,
        })
    }
}

impl Provenance {
    /// The values that no source contains which speaks for the owner.
    pub fn untrusted(&self) -> impl Iterator<Item = &TracedValue> {
        self.values.iter().filter(|value| !value.is_trusted())
    }

    /// Whether the owner said every value in this session.
    pub fn is_of_user(&self) -> bool {
        let is_said = |value: &TracedValue| value.sources.contains(&TextSource::User);
        !self.is_cut && !self.values.is_empty() && self.values.iter().all(is_said)
    }

    /// Words for the sources of the untrusted values, each once.
    pub fn untrusted_sources(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        for value in self.untrusted() {
            let own = value.sources.iter().map(|source| source.word());
            let alone = value.sources.is_empty().then_some(MODEL);
            for word in own.chain(alone) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        words
    }

    /// The provenance as a plist.
    pub fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_each("values", &self.values, |inside, value| value.put(inside))
            .put_flag("cut", self.is_cut)
    }

    /// Reads what [`Provenance::to_value`] wrote.
    ///
    /// # Errors
    /// When a key is missing or has another type.
    pub fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            values: list(value, "values", TracedValue::from_value)?,
            is_cut: flag(value, "cut")?,
        })
    }

    /// Writes it under `:provenance`, if it is known.
    pub(crate) fn put_under<F: FieldSink>(known: Option<&Arc<Self>>, fields: F) -> F {
        match known {
            Some(known) => fields.put_fields("provenance", |inside| known.put(inside)),
            None => fields,
        }
    }

    /// Reads what stands under `:provenance`; records that came before it have none.
    pub(crate) fn under(value: &Value) -> Result<Option<Arc<Self>>, UnreadableValue> {
        let known = value.get("provenance").map(Self::from_value).transpose()?;
        Ok(known.map(Arc::new))
    }
}

impl ProposalOrigin {
    /// Whether a value is somebody or something that is sent to.
    pub(crate) fn names_receiver(&self) -> bool {
        let is_receiver = |value: &TracedValue| {
            matches!(value.kind, TracedKind::Host | TracedKind::Address | TracedKind::Recipient)
        };
        self.provenance.as_ref().is_some_and(|known| known.values.iter().any(is_receiver))
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        self.privacy.put(Provenance::put_under(self.provenance.as_ref(), fields))
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self { provenance: Provenance::under(value)?, privacy: Privacy::from_value(value)? })
    }
}

#[cfg(test)]
mod tests;
