//! One model asked: the request sent, its answer shown as it comes, links marked on the way.

use std::sync::{Mutex, PoisonError};

use bridle_host::{ThoughtChannel, ThoughtIo};
use bridle_inference::{
    ExchangeOrder, ExchangePiece, FinishedExchange, InferenceError, ModelExchanger,
};
use bridle_models::{CallIdPrefix, ToolCall};

use crate::citation::{Citation, CitationMarker};
use crate::prompt::{BuiltPrompt, PromptPlan};
use crate::tools::text_call::TextCalls;

/// An answer as it was shown.
#[derive(Debug, Default)]
pub(super) struct ShownAnswer {
    /// Its text, with marks.
    pub(super) text: String,
    pub(super) citations: Vec<Citation>,
    /// Calls that stood in the text.
    pub(super) calls: Vec<ToolCall>,
    /// Whether somebody saw something of it, reasoning included.
    pub(super) has_shown: bool,
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct ModelAnswer {
    pub(super) shown: ShownAnswer,
    pub(super) finished: FinishedExchange,
}

/// Text on its way from the model to the shells.
struct AnswerStream<'b> {
    marker: CitationMarker<'b>,
    /// Divider of the text, for a model without tools.
    calls: Option<TextCalls>,
    text: String,
    has_shown: bool,
}

impl AnswerStream<'_> {
    /// Takes a piece of text; returns what can be shown.
    fn push(&mut self, piece: &str) -> String {
        let shown = match &mut self.calls {
            Some(calls) => self.marker.push(&calls.push(piece)),
            None => self.marker.push(piece),
        };
        self.text.push_str(&shown);
        self.has_shown |= !shown.is_empty();
        shown
    }
}

/// Asks a model.
///
/// # Errors
/// There is no complete answer; with what was shown of it.
pub(super) async fn ask(
    exchanger: &ModelExchanger,
    plan: PromptPlan<'_>,
    built: &BuiltPrompt,
    io: &ThoughtIo,
) -> Result<ModelAnswer, (ShownAnswer, InferenceError)> {
    let context = &plan.prompt.context;
    let number = plan.prompt.rounds.len() as u64 + plan.prompt.forgotten;
    let prefix = format!("t{}-{number}-", context.turn.0);
    let order = ExchangeOrder {
        provider: plan.seat.provider.clone(),
        model: plan.seat.model.clone(),
        request: built.request.clone(),
        call_ids: CallIdPrefix(prefix.clone()),
    };
    let stream = Mutex::new(AnswerStream {
        marker: CitationMarker::new(&built.book),
        calls: (!plan.seat.model.takes_tools).then(TextCalls::default),
        text: String::new(),
        has_shown: false,
    });
    let show = |piece: ExchangePiece<'_>| {
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        match piece {
            ExchangePiece::Text(text) => {
                let shown = stream.push(text);
                if !shown.is_empty() {
                    io.show(ThoughtChannel::Text, &shown);
                }
            }
            ExchangePiece::Reasoning(text) => {
                stream.has_shown = true;
                io.show(ThoughtChannel::Reasoning, text);
            }
        }
    };
    let asked = exchanger.exchange(&order, io.cancel(), &show).await;
    let shown = finish(stream.into_inner().unwrap_or_else(PoisonError::into_inner), &prefix, io);
    match asked {
        Ok(finished) => Ok(ModelAnswer { shown, finished }),
        Err(error) => Err((shown, error)),
    }
}

/// Shows the rest of an answer.
fn finish(stream: AnswerStream<'_>, prefix: &str, io: &ThoughtIo) -> ShownAnswer {
    let AnswerStream { mut marker, calls, mut text, has_shown } = stream;
    let (held, calls) = calls.map(|calls| calls.finish(prefix)).unwrap_or_default();
    let mut rest = marker.push(&held);
    let (last, citations) = marker.finish();
    rest.push_str(&last);
    if !rest.is_empty() {
        io.show(ThoughtChannel::Text, &rest);
        text.push_str(&rest);
    }
    ShownAnswer { has_shown: has_shown || !text.is_empty(), text, citations, calls }
}
