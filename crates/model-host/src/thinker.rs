//! The thinker that asks language models: one exchange for each thought, with the first model that can be reached.
//!
//! Made by the daemon. What a model says is a draft like every other: it proposes, and is judged. Without any model the
//! memory is searched, and what it has not answered either is left to the thinker behind.
//!
//! In reading order:
//! - `choice`: which model is asked, and why
//! - `exchange`: one model asked, its answer shown as it comes
//! - `draft`: an answer as a draft, each way to end with its own words
//! - `search_answer`: the answer without a model

pub(crate) mod choice;
mod draft;
mod exchange;
mod search_answer;

use std::sync::Arc;

use bridle_host::{DaemonFacts, HostFuture, ProseSignal, Thinker, ThoughtIo};
use bridle_inference::{InferenceError, ModelExchanger};
use bridle_loop::{Draft, ReflexAdvice, SignalContext, ThinkerFault, ThinkerPrompt};
use bridle_models::{FailureKind, PriceSchedule, ProviderPrivacy};

use self::choice::ModelCandidate;
use crate::price_book::PriceBook;
use crate::prompt::{PromptBudget, PromptGatherer, PromptPlan};
use crate::prompt_files::PromptFiles;
use crate::recall::MemoryRecall;
use crate::registry::{ModelSeat, ProviderRegistry};
use crate::tools::ToolTable;

/// Share of an estimate that is tried after a provider said that the prompt is too long, in percent.
const SECOND_TRY_PERCENT: u64 = 60;

/// Parts that a thinker of models is made of.
pub struct ModelThinkerSetup {
    /// Providers in force.
    pub registry: Arc<ProviderRegistry>,
    /// Maker of exchanges.
    pub exchanger: ModelExchanger,
    /// Memory.
    pub recall: Arc<dyn MemoryRecall>,
    /// Prices.
    pub prices: Arc<dyn PriceBook>,
    /// Files that come with prompts, and projects, whose `AGENTS.md` is told as data.
    pub files: Arc<dyn PromptFiles>,
}

/// Asks language models.
pub struct ModelThinker {
    registry: Arc<ProviderRegistry>,
    exchanger: ModelExchanger,
    recall: Arc<dyn MemoryRecall>,
    prices: Arc<dyn PriceBook>,
    gatherer: PromptGatherer,
    /// Thinker of what neither models nor memory answer.
    inner: Box<dyn Thinker>,
}

/// Reason why one model gave no draft.
struct FailedModel {
    fault: ThinkerFault,
    /// Whether another one may be asked in its place.
    may_fall_over: bool,
}

impl ModelThinker {
    /// Puts models before a thinker.
    pub fn new(setup: ModelThinkerSetup, inner: Box<dyn Thinker>) -> Self {
        let ModelThinkerSetup { registry, exchanger, recall, prices, files } = setup;
        let gatherer = PromptGatherer::new(Arc::clone(&recall), files);
        Self { registry, exchanger, recall, prices, gatherer, inner }
    }

    async fn draft(&self, prompt: &ThinkerPrompt, io: &ThoughtIo) -> Result<Draft, ThinkerFault> {
        let candidates = choice::candidates(&self.registry, prompt).map_err(lasting)?;
        let context = self.gatherer.gather(prompt, io).await;
        let table = ToolTable::of(io.offered());
        let mut failed: Vec<ThinkerFault> = Vec::new();
        for ModelCandidate { seat, mut because } in candidates {
            if let Some(last) = failed.last() {
                because = format!("{because}; before it, {}", last.reason);
            }
            let plan = PromptPlan { prompt, context: &context, table: &table, seat: &seat };
            match self.ask(plan, &because, io).await {
                Ok(draft) => return Ok(draft),
                Err(FailedModel { fault, may_fall_over }) => {
                    failed.push(fault);
                    if !may_fall_over || io.is_canceled() {
                        break;
                    }
                }
            }
        }
        let retryable = failed.iter().any(|fault| fault.retryable);
        let reasons: Vec<&str> = failed.iter().map(|fault| &*fault.reason).collect();
        Err(ThinkerFault { reason: reasons.join("; ").into(), retryable })
    }

    /// Asks one model; a second time with a shorter prompt if it says that the first was too long.
    async fn ask(
        &self,
        plan: PromptPlan<'_>,
        because: &str,
        io: &ThoughtIo,
    ) -> Result<Draft, FailedModel> {
        let mut budget = PromptBudget::of(plan.seat);
        let mut has_compacted = false;
        loop {
            let built = plan.build(budget);
            let tokens = built.tokens;
            let asked = exchange::ask(&self.exchanger, plan, &built, io).await;
            let (answer, error) = match asked {
                Ok(answer) => {
                    let price = self.prices.price(plan.seat, plan.prompt.context.at.0);
                    let made = draft::DraftSource { plan, built: &built, because, price, io };
                    return made.draft(answer).map_err(|reason| FailedModel {
                        fault: fault_of(plan.seat, reason, true),
                        may_fall_over: false,
                    });
                }
                Err(failed) => failed,
            };
            let limit = too_long(&error).filter(|_| !has_compacted && !answer.has_shown);
            let Some(limit) = limit else {
                return Err(failure(plan.seat, &error, answer.has_shown));
            };
            has_compacted = true;
            let less = tokens.min(budget.tokens) * SECOND_TRY_PERCENT / 100;
            budget = PromptBudget { tokens: limit.map_or(less, |limit| limit * 3 / 4).min(less) };
        }
    }

    /// Whether asking a model costs something, or may.
    fn costs(&self, seat: &ModelSeat, at: i64) -> bool {
        if seat.provider.privacy == ProviderPrivacy::Local {
            return false;
        }
        let dearest = |price: PriceSchedule| price.reservation(1_000_000, 1_000_000);
        let most = self.prices.price(seat, at).and_then(dearest);
        most.is_none_or(|most| most.0 > 0)
    }
}

/// The limit that a provider tells with the reason that a prompt is too long.
fn too_long(error: &InferenceError) -> Option<Option<u64>> {
    let InferenceError::Provider(failure) = error else { return None };
    match failure.kind {
        FailureKind::ContextTooLong { limit_tokens, .. } => Some(limit_tokens),
        FailureKind::RequestTooLarge => Some(None),
        _ => None,
    }
}

/// Meaning of a failed exchange for the turn: nobody else is asked when something was shown, when the provider read the
/// prompt and said no to it, or when the user did not want it any more.
fn failure(seat: &ModelSeat, error: &InferenceError, has_shown: bool) -> FailedModel {
    if *error == InferenceError::Canceled {
        let fault = ThinkerFault { reason: "canceled".into(), retryable: false };
        return FailedModel { fault, may_fall_over: false };
    }
    let is_no = match error {
        InferenceError::Provider(failure) => {
            matches!(failure.kind, FailureKind::Refusal | FailureKind::ContentFilter)
        }
        _ => false,
    };
    // Of what was shown, nobody is to ask again by himself: it cost something already.
    let fault = fault_of(seat, error.to_string(), error.is_retryable() && !has_shown);
    FailedModel { fault, may_fall_over: !has_shown && !is_no }
}

fn fault_of(seat: &ModelSeat, reason: impl std::fmt::Display, retryable: bool) -> ThinkerFault {
    ThinkerFault { reason: format!("`{}`: {reason}", seat.name()).into(), retryable }
}

fn lasting(reason: impl Into<Box<str>>) -> ThinkerFault {
    ThinkerFault { reason: reason.into(), retryable: false }
}

impl Thinker for ModelThinker {
    fn consult(&self, context: &SignalContext, facts: &dyn DaemonFacts) -> ReflexAdvice {
        let thinks = ReflexAdvice { think: true, ..ReflexAdvice::default() };
        match ProseSignal::for_model(context, facts) {
            ProseSignal::Silent => ReflexAdvice::default(),
            ProseSignal::Command(advice) if self.registry.has_model() => advice,
            ProseSignal::Word | ProseSignal::Prose if self.registry.has_model() => thinks,
            ProseSignal::Prose if self.recall.is_open() => thinks,
            ProseSignal::Command(_) | ProseSignal::Word | ProseSignal::Prose => {
                self.inner.consult(context, facts)
            }
        }
    }

    fn think<'a>(
        &'a self,
        prompt: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        Box::pin(async move {
            if self.registry.has_model() {
                return self.draft(prompt, io).await;
            }
            search_answer::draft(&self.gatherer, &*self.recall, prompt, io).await
        })
    }

    fn is_paid(&self, prompt: &ThinkerPrompt) -> bool {
        let candidates = choice::candidates(&self.registry, prompt).unwrap_or_default();
        candidates.iter().any(|candidate| self.costs(&candidate.seat, prompt.context.at.0))
    }

    fn answers_prose(&self) -> bool {
        self.registry.has_model()
    }
}
