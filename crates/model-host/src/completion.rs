//! Completions of a text: by the quickest model within a moment, else by words of the memory.
//!
//! Called by the daemon for `:complete`. Only the text itself is sent; a model that is late, fails or says nothing fit
//! is as good as none.

use std::sync::Arc;
use std::time::Duration;

use bridle_host::CancelFlag;
use bridle_inference::{ExchangeOrder, ModelExchanger};
use bridle_models::{
    CacheHint, CallIdPrefix, ModelMessage, ModelRequest, ModelTier, ReasoningEffort, SystemPart,
};
use bridle_sexp::Value;

use crate::recall::{MemoryRecall, RecallQuestion, RecallReach};
use crate::registry::ProviderRegistry;

/// Time that a model has: a person is typing.
const MODEL_DEADLINE: Duration = Duration::from_millis(1_500);

/// Completions of one answer.
const MAX_SUGGESTIONS: usize = 8;

/// Longest completion, in bytes, and longest text that is completed.
const MAX_SUGGESTION_BYTES: usize = 200;
const MAX_PREFIX_BYTES: usize = 2 << 10;

/// Tokens of a model's answer.
const MAX_ANSWER_TOKENS: u32 = 128;

/// Objects of the memory whose words are looked at.
const MAX_OBJECTS: usize = 20;

/// The instruction.
const INSTRUCTION: &str = "\
Complete the user's text. Answer with up to five completions, one a line, each the whole text with its continuation. No other words.";

/// Giver of completions.
pub struct ModelCompleter {
    registry: Arc<ProviderRegistry>,
    exchanger: ModelExchanger,
    recall: Arc<dyn MemoryRecall>,
}

impl ModelCompleter {
    /// Makes one of a home's models and memory.
    pub fn new(
        registry: Arc<ProviderRegistry>,
        exchanger: ModelExchanger,
        recall: Arc<dyn MemoryRecall>,
    ) -> Self {
        Self { registry, exchanger, recall }
    }

    /// Completions of a text, the best first; the memory is asked as far as `reach` goes.
    pub async fn complete(&self, prefix: &str, reach: Option<RecallReach>) -> Vec<String> {
        let prefix = &prefix[..prefix.floor_char_boundary(MAX_PREFIX_BYTES)];
        if prefix.trim().is_empty() {
            return Vec::new();
        }
        let cancel = CancelFlag::new();
        let asked = tokio::time::timeout(MODEL_DEADLINE, self.by_model(prefix, &cancel)).await;
        cancel.cancel();
        match asked.unwrap_or_default() {
            found if !found.is_empty() => found,
            _ => complete_from_memory(&*self.recall, prefix, reach).await,
        }
    }

    async fn by_model(&self, prefix: &str, cancel: &CancelFlag) -> Vec<String> {
        let is_quick = |seat: &crate::ModelSeat| seat.model.tiers.contains(&ModelTier::Reflex);
        let seat = self.registry.cascade(ModelTier::Reflex).into_iter().find(is_quick);
        let Some(seat) = seat else { return Vec::new() };
        let mut request =
            ModelRequest::new(seat.model.name.clone(), vec![ModelMessage::user(prefix)]);
        request.system = vec![SystemPart { text: INSTRUCTION.to_owned(), cache: CacheHint::None }];
        request.max_output_tokens = Some(MAX_ANSWER_TOKENS);
        request.reasoning = ReasoningEffort::Off;
        let order = ExchangeOrder {
            provider: seat.provider,
            model: seat.model,
            request,
            call_ids: CallIdPrefix("complete".to_owned()),
        };
        let answer = self.exchanger.exchange(&order, cancel, &|_| {}).await;
        answer.map_or_else(|_| Vec::new(), |it| fitting(prefix, &it.response.message.text()))
    }
}

/// Completions of the last word of a text by words of the memory, as far as `reach` goes.
pub async fn complete_from_memory(
    recall: &dyn MemoryRecall,
    prefix: &str,
    reach: Option<RecallReach>,
) -> Vec<String> {
    let prefix = &prefix[..prefix.floor_char_boundary(MAX_PREFIX_BYTES)];
    let word = prefix.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let (Some(reach), false) = (reach, word.is_empty()) else { return Vec::new() };
    let ask = RecallQuestion::Begin { prefix: word.to_owned(), limit: MAX_OBJECTS };
    let Some(found) = recall.answer(ask, reach).await else { return Vec::new() };
    let objects = found.get("objects").and_then(Value::elements).unwrap_or_default();
    let texts = objects.iter().flat_map(|object| {
        ["title", "snippet"].into_iter().filter_map(|key| object.get(key)?.as_str())
    });
    let start = &prefix[..prefix.len() - word.len()];
    let mut suggestions = Vec::new();
    for text in texts {
        for found in text.split(|c: char| !c.is_alphanumeric() && c != '-') {
            let is_longer = found.len() > word.len() && found.len() <= MAX_SUGGESTION_BYTES;
            if is_longer && begins_with(found, word) {
                add(&mut suggestions, format!("{start}{found}"));
            }
        }
    }
    suggestions
}

/// Lines of an answer that complete a text.
fn fitting(prefix: &str, answer: &str) -> Vec<String> {
    let mut suggestions = Vec::new();
    for line in answer.lines() {
        let line = line.trim_start_matches(['-', '*', ' ']).trim_end();
        let line = line.trim_matches(['`', '"']);
        if line.len() > prefix.len()
            && line.len() <= MAX_SUGGESTION_BYTES + prefix.len()
            && let Some(rest) = line.strip_prefix(prefix)
        {
            add(&mut suggestions, format!("{prefix}{rest}"));
        }
    }
    suggestions
}

fn begins_with(word: &str, start: &str) -> bool {
    let mut letters = word.chars().flat_map(char::to_lowercase);
    start.chars().flat_map(char::to_lowercase).all(|letter| letters.next() == Some(letter))
}

fn add(suggestions: &mut Vec<String>, one: String) {
    if suggestions.len() < MAX_SUGGESTIONS && !suggestions.contains(&one) {
        suggestions.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::{begins_with, fitting};

    #[test]
    fn only_lines_that_go_on_with_the_text_are_completions() {
        let answer = "Sure, here:\n- defun-agent\n`defun-perceive`\ndefun-agent\ndefun\nother";
        assert_eq!(fitting("defun", answer), ["defun-agent", "defun-perceive"]);
        assert!(begins_with("Über", "üb") && !begins_with("Ub", "üb"));
    }
}
