//! An answer as a draft: text, proposals, cost, and how it ended. An answer that was cut, filtered or refused says so in
//! words of its own; one with nothing in it is a fault.

use bridle_host::{ThoughtChannel, ThoughtIo};
use bridle_loop::{Draft, DraftStop, KeywordName, ModelRef, TokenUsage};
use bridle_models::{ModelUsage, PriceSchedule, StopReason, ToolCall};

use super::exchange::{ModelAnswer, ShownAnswer};
use crate::prompt::{BuiltPrompt, ManifestHead, PromptPlan, manifest, opaque_text};

/// Everything that a draft is made of beside the answer.
pub(super) struct DraftSource<'s> {
    pub(super) plan: PromptPlan<'s>,
    pub(super) built: &'s BuiltPrompt,
    pub(super) because: &'s str,
    pub(super) price: Option<PriceSchedule>,
    pub(super) io: &'s ThoughtIo,
}

impl DraftSource<'_> {
    /// The draft of an answer.
    ///
    /// # Errors
    /// The answer has neither text nor calls; says why.
    pub(super) fn draft(&self, answer: ModelAnswer) -> Result<Draft, String> {
        let ModelAnswer { shown, finished } = answer;
        let response = finished.response;
        let ShownAnswer { mut text, citations, calls: from_text, .. } = shown;
        let calls: Vec<ToolCall> =
            response.message.tool_calls().cloned().chain(from_text).collect();
        let reason = response.end.map_err(|failure| failure.to_string())?;
        let stop = stop_of(&reason, &calls);
        if let Some(words) = self.words(&reason, &text, &calls)? {
            self.io.show(ThoughtChannel::Text, &words);
            text.push_str(&words);
        }
        let seat = self.plan.seat;
        let (bytes, tokens) = (finished.request_bytes, self.built.tokens);
        let head = ManifestHead { seat, because: self.because, bytes, tokens };
        let (codec, model) = (seat.provider.codec, &seat.model.name);
        let tier = seat.model.tiers.first().map(|tier| KeywordName::new(tier.as_str()));
        Ok(Draft {
            text: text.into(),
            calls: calls.iter().map(|call| self.plan.table.proposal(call)).collect(),
            model: Some(ModelRef { name: seat.name().into(), tier, ..ModelRef::default() }),
            usage: Some(self.usage(&response.usage)),
            stop,
            opaque: opaque_text(codec, model, &response.message),
            privacy: self.built.privacy,
            manifest: Some(manifest(&head, &self.built.parts, &citations).into()),
        })
    }

    /// Words behind an answer that did not end by itself.
    ///
    /// # Errors
    /// There is no answer.
    fn words(
        &self,
        reason: &StopReason,
        text: &str,
        calls: &[ToolCall],
    ) -> Result<Option<String>, String> {
        let is_empty = text.trim().is_empty() && calls.is_empty();
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let note = |words: &str| Ok(Some(format!("{gap}[{words}]")));
        match reason {
            StopReason::MaxTokens if is_empty => {
                Err("the model spent its largest answer on reasoning and said nothing".to_owned())
            }
            StopReason::MaxTokens => note("cut: the model reached the largest answer it may give"),
            StopReason::ContextFull if is_empty => {
                Err("prompt and answer fill the model's context, and nothing was said".to_owned())
            }
            StopReason::ContextFull => note("cut: prompt and answer fill the model's context"),
            StopReason::Refusal if is_empty => note("the model refuses to answer this"),
            StopReason::Refusal => note("the model refuses to go on"),
            StopReason::ContentFilter => {
                note("a content filter of the provider stopped the answer")
            }
            StopReason::MalformedToolCall if is_empty => {
                Err("the model called a tool in a way that its provider could not read".to_owned())
            }
            StopReason::Paused if is_empty => {
                Err("the provider paused the answer before anything was said".to_owned())
            }
            StopReason::ToolCalls if is_empty => {
                Err("the model announced a tool call and sent none".to_owned())
            }
            StopReason::Other(word) if is_empty => Err(match word.as_str() {
                "" => "the answer is empty".to_owned(),
                word => format!("the answer is empty, and it ended with `{word}`"),
            }),
            StopReason::EndTurn | StopReason::StopSequence if is_empty => {
                Err("the model answered with nothing".to_owned())
            }
            StopReason::EndTurn
            | StopReason::ToolCalls
            | StopReason::StopSequence
            | StopReason::Paused
            | StopReason::MalformedToolCall
            | StopReason::Other(_) => Ok(None),
        }
    }

    fn usage(&self, usage: &ModelUsage) -> TokenUsage {
        let cost = self.price.as_ref().and_then(|price| price.cost(usage));
        TokenUsage {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            reasoning: usage.reasoning_tokens,
            cost_microdollars: cost.and_then(|cost| i64::try_from(cost.0).ok()),
        }
    }
}

fn stop_of(reason: &StopReason, calls: &[ToolCall]) -> DraftStop {
    match reason {
        StopReason::MaxTokens | StopReason::ContextFull => DraftStop::Length,
        StopReason::Refusal => DraftStop::Refused,
        StopReason::ContentFilter => DraftStop::Filtered,
        _ if !calls.is_empty() => DraftStop::Calls,
        _ => DraftStop::End,
    }
}
