//! The memory as prompts are told it, the files of their shells, and the watch over the file of providers: all need the hub, which is made
//! behind the models.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bridle_host::{HostFuture, Readership};
use bridle_loop::{Privacy, RoundCall, SessionAccess, SessionId, SignalContext};
use bridle_memex::{MemexAsker, MemexQuestion, PrivateAccess};
use bridle_model_host::{MemoryRecall, PromptFiles, RecallQuestion, RecallReach};
use bridle_sexp::Value;
use tokio_util::sync::CancellationToken;

use crate::access::principal::Principal;
use crate::engine::home::Home;
use crate::engine::home::models::{self, HomeModels};
use crate::engine::queries::act_label;
use crate::engine::queries::facts::HubFacts;

/// Time between two looks at the file of providers.
const MODELS_FILE_INTERVAL: Duration = Duration::from_millis(300);

const DAY_MS: i64 = 86_400_000;

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
        has_changed = models::refresh(registry).await;
    }
}

/// Files and projects of the hub, which is made after this.
pub(in crate::engine) struct HubFiles(pub(in crate::engine) Arc<HubFacts>);

impl PromptFiles for HubFiles {
    fn content<'a>(
        &'a self,
        owner: &'a str,
        reference: &'a str,
    ) -> HostFuture<'a, Option<Vec<u8>>> {
        let (owner, reference) = (owner.to_owned(), reference.to_owned());
        Box::pin(async move {
            let files = Arc::clone(&self.0.hub()?.home.shelf);
            let reading = tokio::task::spawn_blocking(move || files.read(&owner, &reference));
            match reading.await.ok()? {
                Ok(found) => found.map(|(_, content)| content),
                Err(error) => {
                    tracing::warn!(%error, "a file of a prompt was not read");
                    None
                }
            }
        })
    }

    fn project(&self, session: &SessionId) -> Option<PathBuf> {
        self.0.hub()?.home.abilities.workspace.as_ref()?.project_of(session.as_str())
    }
}

/// Memory of the hub, which is made after this.
pub(in crate::engine) struct HubRecall {
    facts: Arc<HubFacts>,
    folder: RwLock<Option<PathBuf>>,
}

impl HubRecall {
    /// The memory of a hub that is not there yet.
    pub(in crate::engine) fn new(facts: &Arc<HubFacts>, folder: Option<PathBuf>) -> Self {
        Self { facts: Arc::clone(facts), folder: RwLock::new(folder) }
    }
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
            let found = hub.find(&context.session).await.ok()?;
            // A session that has yet to begin, as in a preview, will be of whoever asks.
            let owner = found.as_ref().map_or(&*from.principal, |found| &*found.session.owner);
            Some(match Principal::readership(from, owner) {
                Readership::Owners => RecallReach::Whole,
                Readership::Others => RecallReach::Open,
            })
        })
    }

    fn act_label<'a>(
        &'a self,
        session: &'a SessionId,
        call: &'a RoundCall,
    ) -> HostFuture<'a, Privacy> {
        Box::pin(async move {
            match self.facts.hub() {
                Some(hub) => act_label::label(&hub, session, call).await,
                None => Privacy::default(),
            }
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
