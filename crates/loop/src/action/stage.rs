//! Actions of `:stage`: what becomes of the changes that wait there.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::text;
use super::effect_facts::EffectFacts;

/// Longest name of a stage or of a hash, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// An act on a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRequest {
    /// Name of the stage.
    pub stage: Box<str>,
    /// Operation on it.
    pub operation: StageOperation,
    /// Facts that the daemon found out.
    pub facts: EffectFacts,
}

/// Operation on a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageOperation {
    /// Put its changes into the project: exactly those with this hash.
    Commit {
        /// Hash of the changes; absent before the daemon has looked.
        hash: Option<Box<str>>,
    },
    /// Throw it away.
    Discard,
    /// Show its changes.
    Changes,
}

/// All that `:stage` can do beside taking commits back.
pub const STAGE_ACTIONS: &[&str] = &["commit", "discard", "changes"];

impl StageRequest {
    /// Reads the act of this name; `None` if no such act has it.
    pub(super) fn from_payload(name: &str, payload: &Value) -> Result<Option<Self>, InvalidAction> {
        let Some(action) = STAGE_ACTIONS.iter().copied().find(|action| *action == name) else {
            return Ok(None);
        };
        let stage = text(payload, action, "stage")?;
        let is_name = |text: &str| {
            (1..=MAX_NAME_BYTES).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if !is_name(&stage) {
            let expected = "the name of a stage";
            return Err(InvalidAction::Argument { action, key: "stage", expected });
        }
        let hash = payload.get("hash").and_then(Value::as_str).filter(|hash| is_name(hash));
        let operation = match action {
            "commit" => StageOperation::Commit { hash: hash.map(Into::into) },
            "discard" => StageOperation::Discard,
            _ => StageOperation::Changes,
        };
        Ok(Some(Self { stage, operation, facts: EffectFacts::of(payload) }))
    }

    /// The name of the action.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.operation {
            StageOperation::Commit { .. } => "commit",
            StageOperation::Discard => "discard",
            StageOperation::Changes => "changes",
        }
    }
}
