//! The language models of a home: providers in force, their keys, and the memory as prompts are told it.
//!
//! Made at the start, before there is a hub; asked by thoughts. The file of providers is looked at again and again.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bridle_host::{HostFuture, Readership, Thinker};
use bridle_inference::{KeyReader, ModelExchanger, SecretLookup};
use bridle_jail::SecretStore;
use bridle_loop::{SessionAccess, SignalContext};
use bridle_memex::{MemexAsker, MemexQuestion, PrivateAccess};
use bridle_model_host::{
    MemoryRecall, ModelCompleter, ModelPrices, ModelThinker, ModelThinkerSetup, PriceCatalog,
    ProviderApprovals, ProviderRegistry, RecallQuestion, RecallReach,
};
use bridle_sexp::Value;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::access::principal::Principal;
use crate::config::DaemonConfig;
use crate::engine::home::Home;
use crate::engine::queries::facts::HubFacts;

/// Time between two looks at the file of providers.
const MODELS_FILE_INTERVAL: Duration = Duration::from_millis(300);

const DAY_MS: i64 = 86_400_000;

/// Ports of the schemes, where an address names none.
const SECRET_PORTS: [u16; 2] = [443, 80];

/// Providers and the thinker that asks them.
pub(in crate::engine) struct HomeModels {
    /// Providers in force.
    pub(in crate::engine) registry: Arc<ProviderRegistry>,
    /// Prices of their models.
    pub(in crate::engine) prices: Arc<ModelPrices>,
    /// Maker of exchanges, with the keys of this home.
    pub(in crate::engine) exchanger: ModelExchanger,
    recall: Arc<HubRecall>,
    project: Option<PathBuf>,
}

impl HomeModels {
    /// Reads the file of providers for the first time.
    pub(in crate::engine) async fn open(config: &DaemonConfig, facts: &Arc<HubFacts>) -> Self {
        let approvals = ProviderApprovals::new(&config.state);
        let registry = Arc::new(ProviderRegistry::new(config.memex.as_deref(), approvals));
        refresh(&registry).await;
        let secrets = Arc::new(SealedKeys(config.secret_store()));
        let recall = Arc::new(HubRecall {
            facts: Arc::clone(facts),
            folder: RwLock::new(config.memex.clone()),
        });
        // Whoever knows no program of its own has no child to ask.
        let program = config.effects.helper.as_ref().map(|helper| helper.path().to_owned());
        let catalog = program.map_or(PriceCatalog::Absent, PriceCatalog::Program);
        let models = Self {
            registry,
            prices: Arc::new(ModelPrices::new(catalog)),
            exchanger: ModelExchanger::new(KeyReader::new(secrets)),
            recall,
            project: config.effects.project.clone(),
        };
        facts.introduce_completer(models.completer());
        models
    }

    /// The giver of completions.
    fn completer(&self) -> ModelCompleter {
        let recall = Arc::clone(&self.recall) as _;
        ModelCompleter::new(Arc::clone(&self.registry), self.exchanger.clone(), recall)
    }

    /// Puts the models before a thinker.
    pub(in crate::engine) fn before(&self, inner: Box<dyn Thinker>) -> Box<dyn Thinker> {
        let setup = ModelThinkerSetup {
            registry: Arc::clone(&self.registry),
            exchanger: self.exchanger.clone(),
            recall: Arc::clone(&self.recall) as _,
            prices: Arc::clone(&self.prices) as _,
            project: self.project.clone(),
        };
        Box::new(ModelThinker::new(setup, inner))
    }
}

/// Takes up what changes in the file of providers, until the daemon stops.
pub(in crate::engine) async fn watch(
    models: Arc<HomeModels>,
    facts: Arc<HubFacts>,
    quit: CancellationToken,
) {
    let HomeModels { registry, prices, .. } = &*models;
    let mut has_folder = false;
    let mut priced_day = None;
    let mut has_changed = true;
    loop {
        // Prices have dates.
        let now = facts.hub().map(|hub| hub.home.now());
        let day = now.map(|now| now.div_euclid(DAY_MS));
        if let Some(now) = now
            && (has_changed || priced_day != day)
        {
            prices.learn(&registry.current(), now).await;
            priced_day = day;
        }
        tokio::select! {
            () = quit.cancelled() => return,
            () = tokio::time::sleep(MODELS_FILE_INTERVAL) => {}
        }
        // The folder may be chosen while the daemon runs.
        if !has_folder
            && let Some(hub) = facts.hub()
            && let Some(memory) = hub.home.memory()
        {
            has_folder = true;
            registry.open_folder(memory.root());
        }
        has_changed = refresh(registry).await;
    }
}

/// Looks at the file; tells whether something changed.
async fn refresh(registry: &Arc<ProviderRegistry>) -> bool {
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

/// Memory of the hub, which is made after this.
struct HubRecall {
    facts: Arc<HubFacts>,
    folder: RwLock<Option<PathBuf>>,
}

impl MemoryRecall for HubRecall {
    fn is_open(&self) -> bool {
        self.facts.hub().is_some_and(|hub| hub.home.memex_service().is_some())
    }

    fn folder(&self) -> Option<PathBuf> {
        let known = self.folder.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.or_else(|| {
            let found = self.facts.hub()?.home.memory()?.root().to_owned();
            *self.folder.write().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
            Some(found)
        })
    }

    fn reach<'a>(&'a self, context: &'a SignalContext) -> HostFuture<'a, Option<RecallReach>> {
        Box::pin(async move {
            let hub = self.facts.hub()?;
            let from = &context.signal.from;
            if !may_recall(&hub.home, context) {
                return None;
            }
            let session = hub.find(&context.session).await.ok().flatten()?;
            Some(match Principal::readership(from, &session.session.owner) {
                Readership::Owners => RecallReach::Whole,
                Readership::Others => RecallReach::Open,
            })
        })
    }

    fn answer(
        &self,
        question: RecallQuestion,
        reach: RecallReach,
    ) -> HostFuture<'_, Option<Value>> {
        Box::pin(async move {
            let hub = self.facts.hub()?;
            let access = match reach {
                RecallReach::Open => PrivateAccess::Public,
                RecallReach::Whole => PrivateAccess::Owner,
            };
            let question = read(question)?;
            let service = hub.home.memex_service()?;
            service.answer(question, MemexAsker { access }).await.ok()
        })
    }
}

fn may_recall(home: &Home, context: &SignalContext) -> bool {
    home.may_ask(&context.signal.from, SessionAccess::Recall, &context.session)
}

/// The question as `:context` reads it.
fn read(question: RecallQuestion) -> Option<MemexQuestion> {
    let limit = |limit: usize| Value::int(i64::try_from(limit).unwrap_or(i64::MAX));
    let query = |text: String, most: usize, mode: &str| {
        let payload = Value::plist([
            ("action", Value::keyword("query")),
            ("text", Value::str(text)),
            ("mode", Value::keyword(mode)),
            ("limit", limit(most)),
            ("snippets", Value::Nil),
        ]);
        MemexQuestion::of(&payload).ok()
    };
    match question {
        RecallQuestion::Ask { text, limit } => query(text, limit, "question"),
        RecallQuestion::Begin { prefix, limit } => query(format!("{prefix}*"), limit, "words"),
        RecallQuestion::Object(name) => Some(MemexQuestion::Object(name)),
        RecallQuestion::Source(path) => Some(MemexQuestion::Source(path)),
    }
}
