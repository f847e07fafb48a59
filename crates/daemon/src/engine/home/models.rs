//! The language models of a home: providers in force, their keys, and the memory as prompts are told it.
//!
//! Made at the start, before there is a hub; asked by thoughts. The file of providers is looked at again and again.

use std::sync::Arc;

use bridle_host::Thinker;
use bridle_inference::{CodecSkills, KeyReader, ModelExchanger, SecretLookup};
use bridle_jail::SecretStore;
use bridle_model_host::{
    MemoryRecall, ModelCompleter, ModelPrices, ModelThinker, ModelThinkerSetup, PriceCatalog,
    PromptFiles, PromptPreviewer, ProviderApprovals, ProviderRegistry,
};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::config::DaemonConfig;

/// Ports of the schemes, where an address names none.
const SECRET_PORTS: [u16; 2] = [443, 80];

/// Completions that models make at a time: somebody types, and each costs money.
const MAX_MODEL_COMPLETIONS: usize = 2;

/// Providers and the thinker that asks them.
pub(in crate::engine) struct HomeModels {
    /// Providers in force.
    pub(in crate::engine) registry: Arc<ProviderRegistry>,
    /// Prices of their models.
    pub(in crate::engine) prices: Arc<ModelPrices>,
    /// Maker of exchanges, with the keys of this home.
    pub(in crate::engine) exchanger: ModelExchanger,
    /// Room for completions by a model; whoever finds none gets words of the memory.
    pub(in crate::engine) completions: Semaphore,
    recall: Arc<dyn MemoryRecall>,
    files: Arc<dyn PromptFiles>,
    /// Maker of previews.
    pub(in crate::engine) previewer: PromptPreviewer,
}

impl HomeModels {
    /// Reads the file of providers for the first time.
    pub(in crate::engine) async fn open(
        config: &DaemonConfig,
        recall: Arc<dyn MemoryRecall>,
        files: Arc<dyn PromptFiles>,
        skills: Arc<dyn CodecSkills>,
    ) -> Self {
        let approvals = ProviderApprovals::new(&config.state);
        let registry = Arc::new(ProviderRegistry::new(config.memex.as_deref(), approvals));
        refresh(&registry).await;
        let secrets = Arc::new(SealedKeys(config.secret_store()));
        // Whoever knows no program of its own has no child to ask.
        let program = config.effects.helper.as_ref().map(|helper| helper.path().to_owned());
        let catalog = program.map_or(PriceCatalog::Absent, PriceCatalog::Program);
        let prices = Arc::new(ModelPrices::new(catalog));
        let exchanger = ModelExchanger::new(KeyReader::new(secrets)).with_codec_skills(skills);
        let previewer = PromptPreviewer::new(
            Arc::clone(&registry),
            exchanger.clone(),
            Arc::clone(&prices) as _,
            Arc::clone(&recall),
            Arc::clone(&files),
        );
        Self {
            registry,
            prices,
            previewer,
            exchanger,
            completions: Semaphore::new(MAX_MODEL_COMPLETIONS),
            recall,
            files,
        }
    }

    /// The giver of completions.
    pub(in crate::engine) fn completer(&self) -> ModelCompleter {
        let recall = Arc::clone(&self.recall);
        ModelCompleter::new(Arc::clone(&self.registry), self.exchanger.clone(), recall)
    }

    /// Puts the models before a thinker.
    pub(in crate::engine) fn before(&self, inner: Box<dyn Thinker>) -> Box<dyn Thinker> {
        let setup = ModelThinkerSetup {
            registry: Arc::clone(&self.registry),
            exchanger: self.exchanger.clone(),
            recall: Arc::clone(&self.recall),
            prices: Arc::clone(&self.prices) as _,
            files: Arc::clone(&self.files),
        };
        Box::new(ModelThinker::new(setup, inner))
    }
}

/// Looks at the file; tells whether something changed.
pub(in crate::engine) async fn refresh(registry: &Arc<ProviderRegistry>) -> bool {
    let reading = Arc::clone(registry);
    let read = tokio::task::spawn_blocking(move || reading.refresh()).await;
    read.unwrap_or_else(|error| {
        tracing::error!(%error, "the file of providers could not be read");
        false
    })
}

/// Keys of providers from the sealed secrets.
struct SealedKeys(Arc<SecretStore>);

impl SecretLookup for SealedKeys {
    fn secret(&self, name: &str, host: &str) -> Result<Zeroizing<String>, String> {
        let mut last = format!("no secret is named `{name}`");
        for port in SECRET_PORTS {
            match self.0.for_host(name, host, port) {
                Ok(secret) => {
                    let text = std::str::from_utf8(secret.reveal());
                    let text = text.map_err(|_| format!("the secret `{name}` is no text"))?;
                    return Ok(Zeroizing::new(text.to_owned()));
                }
                Err(error) => last = error.to_string(),
            }
        }
        Err(last)
    }
}
