//! Common half of all decoders: numbers and closes texts and tool calls, bounds them, and sees to it that every
//! answer ends exactly once.

use super::{CallIdPrefix, CodecName};
use crate::event::{StopReason, StreamEvent};
use crate::failure::{FailureKind, ProviderFailure};
use crate::json::JsonText;
use crate::message::{OpaqueLifetime, OpaquePlacement, OpaqueState};
use crate::usage::ModelUsage;

/// Most tool calls of one answer; vendors allow 128.
const MAX_TOOL_CALLS: usize = 256;

/// Collector of events between a codec and its caller.
#[derive(Clone, Debug)]
pub(super) struct EventSink {
    codec: CodecName,
    model: String,
    call_ids: CallIdPrefix,
    events: Vec<StreamEvent>,
    text_open: bool,
    calls: Vec<CallState>,
    ended: bool,
}

/// Tool call that was begun. A codec names it by a key of its own: an index, an item's id.
#[derive(Clone, Debug)]
struct CallState {
    key: String,
    id: String,
    has_arguments: bool,
    is_open: bool,
}

impl EventSink {
    pub(super) fn new(codec: CodecName, model: &str, call_ids: CallIdPrefix) -> Self {
        Self {
            codec,
            model: model.to_owned(),
            call_ids,
            events: Vec::new(),
            text_open: false,
            calls: Vec::new(),
            ended: false,
        }
    }

    /// Takes the events so far.
    pub(super) fn take(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.text_open = true;
            self.push(StreamEvent::Text(piece.to_owned()));
        }
    }

    pub(super) fn end_text(&mut self) {
        if std::mem::take(&mut self.text_open) {
            self.push(StreamEvent::TextEnd);
        }
    }

    pub(super) fn reasoning(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.push(StreamEvent::Reasoning(piece.to_owned()));
        }
    }

    /// Begins a call unless this key has one already. An id that the server does not give, or gives twice, is made up.
    pub(super) fn begin_call(&mut self, key: &str, id: Option<&str>, name: &str) {
        if self.position(key).is_some() {
            return;
        }
        if self.calls.len() == MAX_TOOL_CALLS {
            let message = format!("more than {MAX_TOOL_CALLS} tool calls");
            return self.fail(ProviderFailure::local(FailureKind::TooLarge, message));
        }
        self.end_text();
        let number = self.calls.len();
        let is_taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let id = id.filter(|id| !id.is_empty() && !is_taken(id));
        let id = id.map_or_else(|| format!("{}-{number}", self.call_ids.0), str::to_owned);
        let state =
            CallState { key: key.to_owned(), id: id.clone(), has_arguments: false, is_open: true };
        self.calls.push(state);
        let index = index_of(number);
        self.push(StreamEvent::ToolCallBegin { index, id, name: name.to_owned() });
    }

    pub(super) fn call_arguments(&mut self, key: &str, piece: &str) {
        if piece.is_empty() {
            return;
        }
        if let Some(number) = self.position(key).filter(|number| self.calls[*number].is_open) {
            self.calls[number].has_arguments = true;
            let index = index_of(number);
            self.push(StreamEvent::ToolCallArguments { index, piece: piece.to_owned() });
        }
    }

    /// Whether pieces of the call's arguments came already.
    pub(super) fn has_arguments(&self, key: &str) -> bool {
        self.position(key).is_some_and(|number| self.calls[number].has_arguments)
    }

    pub(super) fn end_call(&mut self, key: &str) {
        if let Some(number) = self.position(key)
            && std::mem::take(&mut self.calls[number].is_open)
        {
            self.push(StreamEvent::ToolCallEnd { index: index_of(number) });
        }
    }

    pub(super) fn call_count(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn opaque(
        &mut self,
        placement: OpaquePlacement,
        lifetime: OpaqueLifetime,
        value: JsonText,
    ) {
        self.end_text();
        let (codec, model) = (self.codec, self.model.clone());
        self.push(StreamEvent::Opaque(OpaqueState { codec, model, placement, lifetime, value }));
    }

    pub(super) fn usage(&mut self, usage: ModelUsage) {
        if !usage.is_unknown() {
            self.push(StreamEvent::Usage(usage));
        }
    }

    /// Ends the answer. Many servers say that a turn ended where calls are to be made. Calls that are open in an answer
    /// that was cut stay open, and so are none.
    pub(super) fn finish(&mut self, stop: StopReason) {
        self.end_text();
        let is_cut = match stop {
            StopReason::MaxTokens
            | StopReason::ContextFull
            | StopReason::ContentFilter
            | StopReason::Refusal
            | StopReason::MalformedToolCall => true,
            StopReason::EndTurn
            | StopReason::ToolCalls
            | StopReason::StopSequence
            | StopReason::Paused
            | StopReason::Other(_) => false,
        };
        for number in 0..if is_cut { 0 } else { self.calls.len() } {
            if std::mem::take(&mut self.calls[number].is_open) {
                self.push(StreamEvent::ToolCallEnd { index: index_of(number) });
            }
        }
        let stop = match stop {
            StopReason::EndTurn if !self.calls.is_empty() => StopReason::ToolCalls,
            stop => stop,
        };
        self.push(StreamEvent::Finish(stop));
        self.ended = true;
    }

    /// Ends the answer with a failure, unless it has ended.
    pub(super) fn fail(&mut self, failure: ProviderFailure) {
        self.push(StreamEvent::Failure(failure));
        self.ended = true;
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.calls.iter().rposition(|call| call.key == key)
    }

    fn push(&mut self, event: StreamEvent) {
        if !self.ended {
            self.events.push(event);
        }
    }
}

fn index_of(number: usize) -> u32 {
    u32::try_from(number).expect("there are at most MAX_TOOL_CALLS calls")
}
