//! Previews: the request that a prompt would become, byte for byte, without sending it.

use std::sync::Arc;

use bridle_host::ThoughtIo;
use bridle_inference::{ExchangeOrder, ModelExchanger};
use bridle_loop::ThinkerPrompt;
use bridle_models::{CallIdPrefix, ModelUsage};
use bridle_sexp::Value;

use crate::price_book::PriceBook;
use crate::prompt::{ManifestHead, PromptBudget, PromptGatherer, PromptPlan, manifest};
use crate::prompt_files::PromptFiles;
use crate::recall::MemoryRecall;
use crate::registry::{ModelSeat, ProviderRegistry};
use crate::thinker::choice::{self, ModelCandidate};
use crate::tools::ToolTable;

/// Longest answer that is reckoned with where a model does not say, in tokens.
const ANSWER_TOKENS: u64 = 4_096;

/// Maker of previews.
pub struct PromptPreviewer {
    registry: Arc<ProviderRegistry>,
    exchanger: ModelExchanger,
    prices: Arc<dyn PriceBook>,
    gatherer: PromptGatherer,
}

/// A prompt as it would be sent, and what it was made of.
#[derive(Debug)]
pub struct PromptPreview {
    /// Model, and its provider.
    pub seat: ModelSeat,
    /// Body of the request.
    pub body: Vec<u8>,
    /// Parts, sizes and reasons.
    pub manifest: Value,
    /// Tokens, as estimated.
    pub tokens: u64,
    /// Longest answer, in tokens.
    pub answer_tokens: u64,
    /// Likely cost of the prompt alone in millionths of a dollar, if the price is known.
    pub prompt_microdollars: Option<u64>,
    /// Most that the exchange can cost.
    pub most_microdollars: Option<u64>,
}

impl PromptPreviewer {
    /// Previews prompts with what a thinker of models is made of.
    pub fn new(
        registry: Arc<ProviderRegistry>,
        exchanger: ModelExchanger,
        prices: Arc<dyn PriceBook>,
        recall: Arc<dyn MemoryRecall>,
        files: Arc<dyn PromptFiles>,
    ) -> Self {
        Self { registry, exchanger, prices, gatherer: PromptGatherer::new(recall, files) }
    }

    /// The request that a prompt would become. Sends nothing.
    ///
    /// # Errors
    /// No model can be asked, or the request cannot be written; in words.
    pub async fn preview(
        &self,
        prompt: &ThinkerPrompt,
        io: &ThoughtIo,
    ) -> Result<PromptPreview, String> {
        let candidates = choice::candidates(&self.registry, prompt)?;
        let first = candidates.into_iter().next();
        let ModelCandidate { seat, because } = first.ok_or("no model is in `models.org`")?;
        let context = self.gatherer.gather(prompt, io).await;
        let table = ToolTable::of(io.offered());
        let plan = PromptPlan { prompt, context: &context, table: &table, seat: &seat };
        let built = plan.build(PromptBudget::of(&seat));
        let order = ExchangeOrder {
            provider: seat.provider.clone(),
            model: seat.model.clone(),
            request: built.request.clone(),
            call_ids: CallIdPrefix(String::new()),
        };
        let http = self.exchanger.encode(&order).await.map_err(|error| error.to_string())?;
        let (bytes, tokens) = (http.body.len(), built.tokens);
        let head = ManifestHead { seat: &seat, because: &because, bytes, tokens };
        let manifest = manifest(&head, &built.parts, &[]);
        let price = self.prices.price(&seat, prompt.context.at.0);
        let answer_tokens = seat.model.max_output_tokens.map_or(ANSWER_TOKENS, u64::from);
        let (input_tokens, output_tokens) = (Some(tokens), Some(0));
        let usage = ModelUsage { input_tokens, output_tokens, ..ModelUsage::default() };
        let likely = price.as_ref().and_then(|price| price.cost(&usage));
        let most = price.as_ref().and_then(|price| price.reservation(tokens, answer_tokens));
        Ok(PromptPreview {
            body: http.body,
            manifest,
            tokens,
            answer_tokens,
            prompt_microdollars: likely.map(|cost| cost.0),
            most_microdollars: most.map(|cost| cost.0),
            seat,
        })
    }
}
