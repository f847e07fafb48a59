//! Bodies of records that the engine and the daemon write beside events and effects.
//!
//! Written by the engine, read by history. Readers are lenient, as those of `event/body.rs`.

use bridle_sexp::Value;

use crate::action_spec::ActuatorSpec;
use crate::hash::{PolicyHash, TextDigest};
use crate::ids::EffectId;
use crate::plist_codec::{FieldSink as _, PlistBuilder, view};
use crate::policy::GuardPolicies;

/// Body of a `started` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedBody {
    /// The order that is about to be carried out; `None` when its number cannot be read.
    pub effect: Option<EffectId>,
}

impl StartedBody {
    /// The text of a body.
    pub fn write(effect: EffectId) -> String {
        PlistBuilder::new().put_number("effect", effect.0).done().to_string()
    }

    /// Reads a body.
    pub fn read(value: &Value) -> Self {
        Self { effect: view::number(value, "effect").map(EffectId) }
    }
}

/// Body of a `shown` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownBody<'v> {
    /// Thought that shows it; `None` when its number cannot be read.
    pub effect: Option<EffectId>,
    /// Bytes of the text before this part.
    pub offset: Option<u64>,
    /// Part of the text.
    pub text: Option<&'v str>,
}

impl<'v> ShownBody<'v> {
    /// The text of a body.
    pub fn write(effect: EffectId, offset: u64, text: &str) -> String {
        let fields = PlistBuilder::new().put_number("effect", effect.0);
        fields.put_number("offset", offset).put("text", text).done().to_string()
    }

    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            effect: view::number(value, "effect").map(EffectId),
            offset: view::number(value, "offset"),
            text: view::text(value, "text"),
        }
    }
}

/// Body of a `mark` record, which older versions wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkBody<'v> {
    /// Hash of the whole text of a State: before there were digests.
    TextHash(&'v str),
    /// Digest of a State; empty when it cannot be read.
    Digest(&'v str),
}

impl<'v> MarkBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        match view::text(value, "state") {
            Some(hash) => MarkBody::TextHash(hash),
            None => MarkBody::Digest(view::text(value, "digest").unwrap_or_default()),
        }
    }
}

/// Body of a `policy` record: a set of policies, as it was installed.
#[derive(Clone, Copy, Debug)]
pub struct PolicyBody<'v> {
    /// Hash of the text.
    pub hash: Option<&'v str>,
    /// Name and version of the engine that installed it.
    pub engine: Option<&'v str>,
    /// Text.
    pub text: Option<&'v str>,
}

impl<'v> PolicyBody<'v> {
    /// The text of a body, for policies that this program installs.
    pub fn write(hash: PolicyHash, text: &str) -> String {
        let fields = PlistBuilder::new().put("hash", hash.to_string());
        fields.put("engine", GuardPolicies::engine()).put("text", text).done().to_string()
    }

    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            hash: view::text(value, "hash"),
            engine: view::text(value, "engine"),
            text: view::text(value, "text"),
        }
    }
}

/// Body of a `policy-refused` record.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRefusedBody;

impl PolicyRefusedBody {
    /// The text of a body; the file is nil for policies that came with a request.
    pub fn write(file: Option<&str>, reason: &str) -> String {
        let fields = PlistBuilder::new().put("file", file.map_or(Value::Nil, Value::str));
        fields.put("reason", reason).done().to_string()
    }
}

/// Body of a `catalog` record: the description of an actuator's actions, named by its hash.
#[derive(Clone, Debug)]
pub struct CatalogBody {
    /// Hash of the description.
    pub digest: Option<TextDigest>,
    /// Description; `None` when it cannot be read.
    pub spec: Option<ActuatorSpec>,
}

impl CatalogBody {
    /// The text of a body.
    pub fn write(spec: &ActuatorSpec) -> String {
        let fields = PlistBuilder::new().put("digest", spec.digest().to_string());
        fields.put("spec", spec.to_value()).done().to_string()
    }

    /// Reads a body.
    pub fn read(value: &Value) -> Self {
        Self {
            digest: view::text(value, "digest").and_then(TextDigest::parse),
            spec: value.get("spec").and_then(|spec| ActuatorSpec::from_value(spec).ok()),
        }
    }
}

/// Body of a `compacted` record.
#[derive(Clone, Copy, Debug)]
pub struct CompactedBody<'v> {
    /// Number of the first record that is gone.
    pub from: Option<u64>,
    /// Number of the last record that is gone.
    pub to: Option<u64>,
    sessions: &'v [Value],
}

impl<'v> CompactedBody<'v> {
    /// Reads a body.
    pub fn read(value: &'v Value) -> Self {
        Self {
            from: view::number(value, "from"),
            to: view::number(value, "to"),
            sessions: view::elements(value, "sessions"),
        }
    }

    /// Names of the sessions that the records belonged to.
    pub fn sessions(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        self.sessions.iter().filter_map(|it| it.get("session")?.as_str())
    }
}
