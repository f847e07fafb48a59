//! Skills that are providers: a request to a model is made into one of its server, an answer is read.
//!
//! They run where they can do nothing at all: every action is denied.

use std::sync::Arc;

use bridle_sexp::Value;
use bridle_skill::{PartKind, Skill, SkillCall, SkillId};

use crate::caller;
use crate::registry::SkillRegistry;

/// Principal for whom a provider saves.
const PRINCIPAL: &str = "provider";

/// Reason why an action is denied.
const NO_ACTIONS: &str = "a provider cannot ask for actions";

/// Stage of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderStage {
    /// A request is made into one of the server.
    Encode,
    /// An answer of the server is read.
    Decode,
}

impl ProviderStage {
    const fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Decode => "decode",
        }
    }
}

fn find(registry: &SkillRegistry, skill: &str) -> Option<Arc<Skill>> {
    let id = SkillId::new(skill).ok()?;
    Some(Arc::clone(&registry.table().find(&id)?.skill))
}

/// Whether a skill has this stage; `None` when no skill of this name serves.
pub fn has_provider_stage(
    registry: &SkillRegistry,
    skill: &str,
    stage: ProviderStage,
) -> Option<bool> {
    Some(find(registry, skill)?.has(PartKind::Codec, stage.name()))
}

/// Calls a stage of a skill. Blocks.
///
/// # Errors
/// No such skill serves, or it failed.
pub fn call_provider(
    registry: &SkillRegistry,
    skill: &str,
    stage: ProviderStage,
    value: Value,
) -> Result<Value, String> {
    let skill = find(registry, skill).ok_or("it does not serve")?;
    let call = match stage {
        ProviderStage::Encode => SkillCall::Encode { request: value },
        ProviderStage::Decode => SkillCall::Decode { answer: value },
    };
    caller::run_without_actions(registry, &skill, &call, PRINCIPAL, NO_ACTIONS)
}
