//! Prompts of a record, asked again of a model: with what the record has of them and nothing else. Nothing is looked up, and
//! nothing that is proposed is carried out.

use std::path::PathBuf;
use std::sync::Arc;

use bridle_host::{CancelFlag, DaemonFacts, HostFuture, OfferedAction, Thinker, ThoughtIo};
use bridle_inference::ModelExchanger;
use bridle_loop::{
    ActionSpec, ActuatorRef, Draft, KeywordName, Privacy, ReflexAdvice, RoundCall, SessionId,
    Signal, SignalContext, ThinkerFault, ThinkerPrompt,
};
use bridle_sexp::Value;

use crate::price_book::StatedPrices;
use crate::prompt_files::NoFiles;
use crate::recall::{MemoryRecall, RecallQuestion, RecallReach};
use crate::registry::ProviderRegistry;
use crate::thinker::{ModelThinker, ModelThinkerSetup};

/// A prompt of a record, and whom it is asked of now.
#[derive(Clone, Copy, Debug)]
pub struct RecordedPrompt<'p> {
    /// The prompt.
    pub prompt: &'p ThinkerPrompt,
    /// Actions that were offered, each with its actuator.
    pub offered: &'p [(ActuatorRef, ActionSpec)],
    /// Model, as `PROVIDER/MODEL`.
    pub model: &'p str,
}

/// Asks a model what was asked before.
///
/// # Errors
/// The model gave no draft; why.
pub async fn ask_again(
    registry: &Arc<ProviderRegistry>,
    exchanger: ModelExchanger,
    asked: RecordedPrompt<'_>,
) -> Result<Draft, ThinkerFault> {
    let setup = ModelThinkerSetup {
        registry: Arc::clone(registry),
        exchanger,
        recall: Arc::new(ForgottenMemory),
        prices: Arc::new(StatedPrices),
        files: Arc::new(NoFiles),
    };
    let thinker = ModelThinker::new(setup, Box::new(NoThinker));
    let offered = asked.offered.iter().map(|(actuator, spec)| OfferedAction {
        target: actuator.name.clone(),
        place: actuator.place,
        spec: spec.clone(),
    });
    let io = ThoughtIo::new(CancelFlag::new()).offering(offered.collect());
    thinker.think(&asked_of(asked.prompt, asked.model), &io).await
}

/// The prompt as if it had named this model.
fn asked_of(prompt: &ThinkerPrompt, model: &str) -> ThinkerPrompt {
    let mut prompt = prompt.clone();
    let signal = &prompt.context.signal;
    let pairs = signal.payload.pairs().into_iter().flatten();
    let others = pairs.filter(|(key, _)| !key.is_keyword("model"));
    let mut items: Vec<Value> =
        others.flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
    items.extend([Value::keyword("model"), Value::str(model)]);
    let signal = Signal { payload: Value::list(items), ..Signal::clone(signal) };
    prompt.context.signal = Arc::new(signal);
    prompt
}

/// Memory of a record: what was looked up then is in it as results alone. Nobody knows any more what was private in files
/// and programs, so all of it is.
struct ForgottenMemory;

impl MemoryRecall for ForgottenMemory {
    fn is_open(&self) -> bool {
        true
    }

    fn folder(&self) -> Option<PathBuf> {
        None
    }

    fn reach<'a>(&'a self, _: &'a SignalContext) -> HostFuture<'a, Option<RecallReach>> {
        Box::pin(async { None })
    }

    fn act_label<'a>(&'a self, _: &'a SessionId, call: &'a RoundCall) -> HostFuture<'a, Privacy> {
        let target = call.target.as_ref().map(KeywordName::as_str);
        let is_read =
            target.is_some_and(|it| ["memory", "file", "exec", "shell", "stage"].contains(&it));
        let label = if is_read { Privacy::Secret } else { Privacy::default() };
        Box::pin(async move { label })
    }

    fn answer(&self, _: RecallQuestion, _: RecallReach) -> HostFuture<'_, Option<Value>> {
        Box::pin(async { None })
    }
}

/// Thinker behind the models: nobody.
struct NoThinker;

impl Thinker for NoThinker {
    fn consult(&self, _: &SignalContext, _: &dyn DaemonFacts) -> ReflexAdvice {
        ReflexAdvice::default()
    }

    fn think<'a>(
        &'a self,
        _: &'a ThinkerPrompt,
        _: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        Box::pin(async {
            Err(ThinkerFault { reason: "no model is in `models.org`".into(), retryable: false })
        })
    }

    fn answers_prose(&self) -> bool {
        false
    }
}
