//! Events of an answer that is being made, in words that belong to no vendor. Made by the decoders, put together by
//! `response`. Every stream ends in exactly one [`StreamEvent::Finish`] or [`StreamEvent::Failure`].

use crate::failure::ProviderFailure;
use crate::message::OpaqueState;
use crate::usage::ModelUsage;

/// Event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// Piece of the answer's text.
    Text(String),
    /// End of a text; one that follows is a part of its own.
    TextEnd,
    /// Piece of reasoning, for showing. What the provider wants back comes as opaque state.
    Reasoning(String),
    /// Begin of a tool call.
    ToolCallBegin {
        /// Number of the call in this answer, from 0.
        index: u32,
        /// Id that its result repeats.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// Piece of the arguments' text.
    ToolCallArguments {
        /// Number of the call.
        index: u32,
        /// The piece.
        piece: String,
    },
    /// End of a tool call: its arguments are complete.
    ToolCallEnd {
        /// Number of the call.
        index: u32,
    },
    /// State that the provider wants back.
    Opaque(OpaqueState),
    /// Token counts so far; a later event replaces what it knows.
    Usage(ModelUsage),
    /// End of the answer.
    Finish(StopReason),
    /// End without an answer, or in the middle of one.
    Failure(ProviderFailure),
}

/// Reason why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// Tools are to be called.
    ToolCalls,
    /// The largest output is reached; the answer is cut.
    MaxTokens,
    /// A stop text of the request appeared.
    StopSequence,
    /// The model refuses to answer.
    Refusal,
    /// A filter of the provider cut or emptied the answer.
    ContentFilter,
    /// Prompt and answer fill the context; the answer is cut.
    ContextFull,
    /// The provider paused a long turn; sending the answer back goes on with it.
    Paused,
    /// A tool call that the provider itself could not read.
    MalformedToolCall,
    /// A reason that is not known here, in the vendor's word; empty when the server gave none.
    Other(String),
}
