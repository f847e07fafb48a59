//! Descriptions of actions: what an actuator can do, and which arguments that takes.
//!
//! Made by actuators of the host and by shells in their hello; given to thinkers, which offer them to models
//! as tools. Nothing is judged by them: an action is read from its payload, whatever was said about it. The
//! State keeps the digest alone; the record has each description once.

mod known;
mod value;

use bridle_sexp::Value;

use crate::hash::TextDigest;
use crate::ids::KeywordName;

/// Actions of one actuator.
pub const MAX_ACTION_SPECS: usize = 128;

/// Arguments of one action.
pub const MAX_ARGUMENT_SPECS: usize = 32;

/// Bytes of one text of a description.
pub const MAX_SPEC_TEXT_BYTES: usize = 4 << 10;

/// Bytes of the description of one actuator, as text.
pub const MAX_ACTUATOR_SPEC_BYTES: usize = 64 << 10;

/// Description of all that an actuator does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActuatorSpec {
    /// Name of the actuator.
    pub name: KeywordName,
    /// Its actions.
    pub actions: Vec<ActionSpec>,
}

/// Description of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// Value of `:action` in its payload.
    pub name: KeywordName,
    /// Tool that it calls, for the action `tool`: each tool of each server has a description of its own.
    pub tool: Option<ToolName>,
    /// Purpose, in words for people and models.
    pub about: Box<str>,
    /// Arguments, in the order in which they are shown.
    pub arguments: Vec<ArgumentSpec>,
}

/// Name of a tool of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName {
    /// Server, as the user's files name it.
    pub server: Box<str>,
    /// Tool, as the server names it.
    pub tool: Box<str>,
}

/// Description of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentSpec {
    /// Its key in the payload.
    pub name: Box<str>,
    /// Shape of its value.
    pub shape: ArgumentShape,
    /// Whether the action fails without it.
    pub required: bool,
    /// Meaning, in words for people and models.
    pub about: Box<str>,
}

/// Shape of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentShape {
    /// String.
    Text,
    /// Whole number.
    Integer,
    /// Number, with or without a fraction.
    Number,
    /// `t`, or nothing.
    Flag,
    /// List of strings.
    Texts,
    /// One of these keywords.
    Choice(Vec<Box<str>>),
    /// Property list whose keys the text about it names.
    Plist,
    /// Any value.
    Any,
    /// Value that this JSON Schema describes, in the words of whoever made the tool.
    Json(Box<str>),
}

/// Flaw of a description that a shell sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSpec(String);

impl InvalidSpec {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl ActuatorSpec {
    /// Hash of its text, by which sessions and records name it.
    pub fn digest(&self) -> TextDigest {
        TextDigest::of(&self.to_value().to_string())
    }

    /// Names of its actions, each once.
    pub fn action_names(&self) -> Vec<KeywordName> {
        let mut names: Vec<KeywordName> = Vec::new();
        for action in &self.actions {
            if !names.contains(&action.name) {
                names.push(action.name.clone());
            }
        }
        names
    }

    /// Reads what a shell says about an actuator: `:actions`, a list of names and of plists with `:name`,
    /// `:about` and `:arguments`.
    ///
    /// # Errors
    /// When `actions` is something else, or larger than a description may be.
    pub fn declared(name: KeywordName, actions: &Value) -> Result<Self, InvalidSpec> {
        value::declared(name, actions)
    }
}

impl ActionSpec {
    /// A description of an action of this crate; of any other, its name alone.
    pub fn known(name: &str) -> Self {
        known::find(name).unwrap_or_else(|| Self::bare(KeywordName::new(name)))
    }

    /// Descriptions of several actions.
    pub fn known_all(names: &[&str]) -> Vec<Self> {
        names.iter().map(|name| Self::known(name)).collect()
    }

    /// A description that says nothing but the name.
    pub fn bare(name: KeywordName) -> Self {
        Self { name, tool: None, about: Box::default(), arguments: Vec::new() }
    }

    /// A description of an action.
    pub fn new(name: &str, about: &str, arguments: Vec<ArgumentSpec>) -> Self {
        Self { name: KeywordName::new(name), tool: None, about: about.into(), arguments }
    }
}

impl ArgumentSpec {
    /// An argument that the action fails without.
    pub fn required(name: &str, shape: ArgumentShape, about: &str) -> Self {
        Self { name: name.into(), shape, required: true, about: about.into() }
    }

    /// An argument that may be left out.
    pub fn optional(name: &str, shape: ArgumentShape, about: &str) -> Self {
        Self { required: false, ..Self::required(name, shape, about) }
    }
}

#[cfg(test)]
mod tests;
