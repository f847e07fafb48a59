//! What a shell asks for, what the engine offers, and what it denies.
//!
//! A key with a truthy value asks; `false`, `null`, zero and the empty string do not. What bridle does
//! not know is ignored without a word; what it knows and cannot honor now is denied with a code.

use std::borrow::Cow;

use super::ids::{Label, Name};
use super::json::{Json, JsonNode, JsonObject, JsonWriter};
use super::schema::{SchemaBook, typed};
use super::shape::{JsonShape, ReadPosition, ShapeError, record};

/// The shell can follow a stream of events.
pub const STREAMING: &str = "openharness.streaming";
/// The shell can run directives beside each other.
pub const PARALLEL: &str = "openharness.actions.parallel";
/// The shell can supply references to attachments.
pub const UPLOAD: &str = "openharness.attachments.upload";
/// The shell can show cards.
pub const RICH_CARDS: &str = "openharness.ui.rich_cards";
/// The shell can ask its user for approval.
pub const APPROVAL: &str = "openharness.ui.approval";
/// The shell reports what became of directives.
pub const FEEDBACK: &str = "dev.bridle.feedback";

/// Capabilities by key; values mean what their key says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub JsonObject);

impl Capabilities {
    /// Tells whether a key is there with a truthy value.
    pub fn asks(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(Json::is_truthy)
    }

    /// Tells whether a streaming profile is among those that the value lists.
    pub fn lists_profile(&self, key: &str, profile: &str) -> bool {
        let mut listed = self.profiles(key).iter();
        listed.any(|listed| listed.as_str() == Some(profile))
    }

    /// Tells whether the value lists any profiles.
    pub fn lists_profiles(&self, key: &str) -> bool {
        !self.profiles(key).is_empty()
    }

    fn profiles(&self, key: &str) -> &[Json] {
        let profiles = self.0.get(key).and_then(Json::as_object).and_then(|it| it.get("profiles"));
        match profiles {
            Some(Json::Array(profiles)) => profiles,
            _ => &[],
        }
    }
}

impl JsonShape for Capabilities {
    fn expected() -> Cow<'static, str> {
        JsonObject::expected()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        JsonObject::read(node, at).map(Capabilities)
    }

    fn write(&self, out: &mut JsonWriter) {
        JsonShape::write(&self.0, out);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        typed("object")
    }
}

record! {
    /// A capability that the shell asked for and does not get.
    pub struct CapabilityDenial as "capabilityDenial" {
        /// The capability.
        capability: Name = "capability",
        /// Reason, for programs.
        code: Option<Label> = "code",
        /// Reason, for people.
        message: Option<String> = "message",
    }
}

/// Reason why a capability is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DenialReason {
    /// Absent from this engine.
    NotSupported,
    /// The engine supports the capability, and policy forbids it.
    DisabledByPolicy,
    /// The engine supports another version of the capability.
    VersionMismatch,
    /// The capability needs another one beside it.
    RequiresCapability,
}

impl DenialReason {
    /// Returns the code on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            DenialReason::NotSupported => "not_supported",
            DenialReason::DisabledByPolicy => "disabled_by_policy",
            DenialReason::VersionMismatch => "version_mismatch",
            DenialReason::RequiresCapability => "requires_capability",
        }
    }
}

/// Reaction of the engine to a capability that it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapabilityOffer {
    /// Honored; this is what it says about it.
    Honored(Json),
    /// Denied, if it is asked for.
    Denied(DenialReason),
}

/// Answers what a shell asked for: all that is honored, and a denial for each known key that was asked
/// for and is not.
pub fn answer(
    asked: Option<&Capabilities>,
    offers: &[(&str, CapabilityOffer)],
) -> (Capabilities, Vec<CapabilityDenial>) {
    let (mut supported, mut denials) = (Capabilities::default(), Vec::new());
    for (key, offer) in offers {
        match offer {
            CapabilityOffer::Honored(value) => supported.0.insert(*key, value.clone()),
            CapabilityOffer::Denied(denial) if asked.is_some_and(|asked| asked.asks(key)) => {
                denials.push(CapabilityDenial {
                    capability: Name::new(*key).expect("our keys are short"),
                    code: Label::new(denial.as_str()).ok(),
                    message: None,
                });
            }
            CapabilityOffer::Denied(_) => {}
        }
    }
    (supported, denials)
}
