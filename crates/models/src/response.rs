//! One answer put together from its events: the message for the history, the token counts, how it ended. Called by
//! the host for streams and, through `decode_response`, for whole documents, so that both give the same.

use crate::arguments::ToolArguments;
use crate::event::{StopReason, StreamEvent};
use crate::failure::ProviderFailure;
use crate::message::{MessagePart, MessageRole, ModelMessage, ToolCall};
use crate::usage::ModelUsage;

/// Answer of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelResponse {
    /// Message for the history: texts, calls and opaque state in the order in which they began.
    pub message: ModelMessage,
    /// Reasoning, for showing.
    pub reasoning: String,
    /// Token counts.
    pub usage: ModelUsage,
    /// End: a reason or a failure; an answer that failed in the middle keeps what had come.
    pub end: Result<StopReason, ProviderFailure>,
}

impl ModelResponse {
    /// Corrects the end of an answer that has as many tokens as were allowed and is called complete all the same:
    /// llama.cpp's Responses API does that, and nobody would see that the answer is cut.
    pub fn correct_stop(&mut self, max_output_tokens: Option<u32>) {
        let allowed = max_output_tokens.map(u64::from);
        let is_full = self.usage.output_tokens.zip(allowed).is_some_and(|(used, max)| used >= max);
        if is_full && self.end == Ok(StopReason::EndTurn) {
            self.end = Ok(StopReason::MaxTokens);
        }
    }
}

/// Collector of the events of one answer.
#[derive(Clone, Debug, Default)]
pub struct ResponseAssembler {
    parts: Vec<CollectedPart>,
    text_open: bool,
    reasoning: String,
    usage: ModelUsage,
    end: Option<Result<StopReason, ProviderFailure>>,
}

#[derive(Clone, Debug)]
enum CollectedPart {
    Ready(MessagePart),
    Text(String),
    Call { index: u32, id: String, name: String, arguments: String, is_complete: bool },
}

impl ResponseAssembler {
    /// Takes the next event.
    pub fn add(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text(piece) => self.add_text(&piece),
            StreamEvent::TextEnd => self.text_open = false,
            StreamEvent::Reasoning(piece) => self.reasoning.push_str(&piece),
            StreamEvent::ToolCallBegin { index, id, name } => {
                self.text_open = false;
                let arguments = String::new();
                let call = CollectedPart::Call { index, id, name, arguments, is_complete: false };
                self.parts.push(call);
            }
            StreamEvent::ToolCallArguments { index, piece } => {
                if let Some((arguments, _)) = self.call(index) {
                    arguments.push_str(&piece);
                }
            }
            StreamEvent::ToolCallEnd { index } => {
                if let Some((_, is_complete)) = self.call(index) {
                    *is_complete = true;
                }
            }
            StreamEvent::Opaque(state) => {
                self.text_open = false;
                self.parts.push(CollectedPart::Ready(MessagePart::Opaque(state)));
            }
            StreamEvent::Usage(usage) => self.usage.update(usage),
            StreamEvent::Finish(stop) => self.end = Some(Ok(stop)),
            StreamEvent::Failure(failure) => self.end = Some(Err(failure)),
        }
    }

    /// Returns the text so far, for a shell that attaches in the middle.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            CollectedPart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the answer; `None` before its end. Of an answer that failed only the texts are kept: it will be asked
    /// for again, and must not act twice. Calls that were cut are left out: half a call is none.
    #[must_use]
    pub fn finish(self) -> Option<ModelResponse> {
        let end = self.end?;
        let parts = self.parts.into_iter().filter_map(|part| match part {
            CollectedPart::Text(text) => Some(MessagePart::Text(text)),
            _ if end.is_err() => None,
            CollectedPart::Ready(part) => Some(part),
            CollectedPart::Call { id, name, arguments, is_complete: true, .. } => {
                let arguments = ToolArguments::read(&arguments);
                Some(MessagePart::ToolCall(ToolCall { id, name, arguments }))
            }
            CollectedPart::Call { is_complete: false, .. } => None,
        });
        let message = ModelMessage::of(MessageRole::Assistant, parts.collect());
        Some(ModelResponse { message, reasoning: self.reasoning, usage: self.usage, end })
    }

    fn add_text(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(CollectedPart::Text(text)) if self.text_open => text.push_str(piece),
            _ => self.parts.push(CollectedPart::Text(piece.to_owned())),
        }
        self.text_open = true;
    }

    /// The text of a call's arguments, and whether it is complete.
    fn call(&mut self, wanted: u32) -> Option<(&mut String, &mut bool)> {
        self.parts.iter_mut().find_map(|part| match part {
            CollectedPart::Call { index, arguments, is_complete, .. } if *index == wanted => {
                Some((arguments, is_complete))
            }
            _ => None,
        })
    }
}

impl FromIterator<StreamEvent> for ResponseAssembler {
    fn from_iter<I: IntoIterator<Item = StreamEvent>>(events: I) -> Self {
        let mut assembler = Self::default();
        events.into_iter().for_each(|event| assembler.add(event));
        assembler
    }
}
