//! Properties of a skill: who it is, what wakes it, what it needs, what it may do.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// Bytes of a skill's id.
const MAX_ID_BYTES: usize = 64;

/// Name of the capability that a guard needs, as a target and an action.
const GUARD: (&str, &str) = ("guard", "decide");

/// Bytes of the compiled form of one pattern.
const MAX_PATTERN_BYTES: usize = 1 << 18;

/// Name of a skill: small letters, digits, `-`, `_` and `.`, at most 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId(Arc<str>);

/// A text that cannot be the id of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a skill id has 1 to 64 of the characters a-z 0-9 - _ . and begins with a letter or digit")]
pub struct InvalidSkillId;

impl SkillId {
    /// Takes a name; capital letters become small, and the prefix `org-skill-` is left out.
    ///
    /// # Errors
    /// A name that is empty, too long, or has other characters.
    pub fn new(name: &str) -> Result<Self, InvalidSkillId> {
        let name = name.trim().to_ascii_lowercase();
        let name = name.strip_prefix("org-skill-").unwrap_or(&name);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || name.len() > MAX_ID_BYTES || !name.bytes().all(fits) {
            return Err(InvalidSkillId);
        }
        Ok(Self(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reason to wake a skill, besides its commands.
#[derive(Debug, Clone)]
pub enum SkillTrigger {
    /// A signal of this sensor.
    Sensor(String),
    /// A prompt that the expression finds something in, capital or small.
    Pattern(Regex),
    /// A request of this `plugin_id`.
    Plugin(String),
    /// A request that goes on with the procedure of this `sop_id`.
    Procedure(String),
    /// A signal with this tag, or a prompt with `#tag` in it.
    Tag(String),
    /// A time of this schedule.
    Schedule(String),
    /// A proposal of this kind of action, for `decide`.
    Action(Capability),
}

/// Signal, as triggers look at it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillStimulus<'s> {
    /// Name of its sensor.
    pub sensor: &'s str,
    /// Text of a prompt.
    pub text: Option<&'s str>,
    /// `plugin_id` of a request.
    pub plugin: &'s str,
    /// `sop_id` of a request.
    pub procedure: &'s str,
    /// Tags, in small letters.
    pub tags: &'s [String],
    /// Schedule whose time has come.
    pub schedule: &'s str,
}

impl SkillTrigger {
    /// Reads the expression of a pattern.
    ///
    /// # Errors
    /// A text that is no expression, or one that is too large.
    pub(crate) fn pattern(text: &str) -> Result<Self, String> {
        let mut builder = RegexBuilder::new(text);
        let built = builder.case_insensitive(true).size_limit(MAX_PATTERN_BYTES).build();
        let built = built.map_err(|error| {
            let reason = error.to_string();
            let last = reason.lines().next_back().unwrap_or_default();
            format!("`{text}` is no pattern: {}", last.trim_start_matches("error: "))
        });
        built.map(Self::Pattern)
    }

    /// Whether a signal wakes it.
    pub fn fits(&self, stimulus: &SkillStimulus<'_>) -> bool {
        match self {
            Self::Sensor(name) => name == stimulus.sensor,
            Self::Pattern(pattern) => stimulus.text.is_some_and(|text| pattern.is_match(text)),
            Self::Plugin(id) => id == stimulus.plugin,
            Self::Procedure(id) => id == stimulus.procedure,
            Self::Tag(tag) => stimulus.tags.contains(tag),
            Self::Schedule(schedule) => schedule == stimulus.schedule,
            Self::Action(_) => false,
        }
    }

    /// Whether a proposal of this action is what it is about.
    pub fn fits_action(&self, target: &str, action: &str) -> bool {
        matches!(self, Self::Action(kind) if kind.covers(target, Some(action)))
    }
}

impl PartialEq for SkillTrigger {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for SkillTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sensor(name) => write!(f, "sensor {name}"),
            Self::Pattern(pattern) => write!(f, "pattern {pattern}"),
            Self::Plugin(id) => write!(f, "plugin {id}"),
            Self::Procedure(id) => write!(f, "procedure {id}"),
            Self::Tag(tag) => write!(f, "tag {tag}"),
            Self::Schedule(schedule) => write!(f, "schedule {schedule}"),
            Self::Action(action) => write!(f, "action {action}"),
        }
    }
}

/// A kind of action that a skill may ask for: `TARGET/ACTION`, or `TARGET/*` for all of a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability {
    target: String,
    /// `None` is every action.
    action: Option<String>,
}

impl Capability {
    /// Reads `TARGET/ACTION` or `TARGET/*`.
    pub fn parse(text: &str) -> Option<Self> {
        let (target, action) = text.split_once('/')?;
        let fits = |name: &str| {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !name.is_empty() && name.bytes().all(is_name)
        };
        if !fits(target) || !(action == "*" || fits(action)) {
            return None;
        }
        let action = (action != "*").then(|| action.to_ascii_lowercase());
        Some(Self { target: target.to_ascii_lowercase(), action })
    }

    fn covers(&self, target: &str, action: Option<&str>) -> bool {
        self.target == target && (self.action.is_none() || self.action.as_deref() == action)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.target, self.action.as_deref().unwrap_or("*"))
    }
}

/// All that a skill may ask for. What it asks for is then judged like any other proposal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapabilitySet(BTreeSet<Capability>);

impl CapabilitySet {
    pub(crate) fn insert(&mut self, capability: Capability) {
        self.0.insert(capability);
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it may ask for this action.
    pub fn allows(&self, target: &str, action: &str) -> bool {
        self.0.iter().any(|capability| capability.covers(target, Some(action)))
    }

    /// In the order of the alphabet.
    pub fn iter(&self) -> impl Iterator<Item = &Capability> {
        self.0.iter()
    }

    /// Whether it lets a skill be a guard.
    pub fn allows_guard(&self) -> bool {
        self.allows(GUARD.0, GUARD.1)
    }

    /// Those that go beyond `before`.
    pub fn wider_than(&self, before: &Self) -> Vec<Capability> {
        let is_new = |capability: &&Capability| {
            !before.0.iter().any(|old| old.covers(&capability.target, capability.action.as_deref()))
        };
        self.0.iter().filter(is_new).cloned().collect()
    }
}

impl Capability {
    /// The capability that a guard needs.
    pub(crate) fn guard() -> Self {
        Self { target: GUARD.0.to_owned(), action: Some(GUARD.1.to_owned()) }
    }
}

impl FromIterator<Capability> for CapabilitySet {
    fn from_iter<I: IntoIterator<Item = Capability>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

/// Properties of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillManifest {
    /// Its name: `:ID:`, else that of its file.
    pub id: SkillId,
    /// `#+TITLE:`, without `SKILL:`.
    pub title: String,
    /// `:PRIORITY:`, 0 where there is none; the greatest comes first.
    pub priority: i64,
    /// Reasons to wake it.
    pub triggers: Vec<SkillTrigger>,
    /// `:GUARD:`: whether nothing goes on without the word of its `decide`.
    pub is_guard: bool,
    /// `#+DEPENDS_ON:`.
    pub depends_on: Vec<SkillId>,
    /// `:CAPABILITIES:`.
    pub capabilities: CapabilitySet,
}

#[cfg(test)]
mod tests;
