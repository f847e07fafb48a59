//! Skills that are providers, called for the language models of the home.

use std::sync::Arc;

use bridle_host::HostFuture;
use bridle_inference::{CodecSkills, CodecStage};
use bridle_sexp::Value;
use bridle_skill_host::{ProviderStage, call_provider, has_provider_stage};

use crate::engine::queries::facts::HubFacts;

/// Skills of the hub that these facts are of.
pub(in crate::engine) struct HubCodecSkills(pub(in crate::engine) Arc<HubFacts>);

fn stage_of(stage: CodecStage) -> ProviderStage {
    match stage {
        CodecStage::Encode => ProviderStage::Encode,
        CodecStage::Decode => ProviderStage::Decode,
    }
}

impl CodecSkills for HubCodecSkills {
    fn has(&self, skill: &str, stage: CodecStage) -> Option<bool> {
        has_provider_stage(&self.0.hub()?.home.abilities.skills, skill, stage_of(stage))
    }

    fn call<'a>(
        &'a self,
        skill: &'a str,
        stage: CodecStage,
        value: Value,
    ) -> HostFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let hub = self.0.hub().ok_or("the daemon is not there yet")?;
            let (registry, skill) = (Arc::clone(&hub.home.abilities.skills), skill.to_owned());
            let call = move || call_provider(&registry, &skill, stage_of(stage), value);
            let done = tokio::task::spawn_blocking(call).await;
            done.unwrap_or_else(|_| Err("it broke off".to_owned()))
        })
    }
}
