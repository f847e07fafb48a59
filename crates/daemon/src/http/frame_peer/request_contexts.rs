//! Results of directives as the requests that they stand for.
//!
//! A frame of results names the request that the directives came from; where that was asked is
//! remembered here, for the latest requests of one connection.

use std::collections::VecDeque;

use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::request::{ContextBridle, ContextExtensions};
use bridle_wire::openharness::socket::DirectiveResults;
use bridle_wire::openharness::{JsonObject, JsonShape as _, MessageLimits, RequestMessage, read};

/// Requests of one connection whose results can be told apart.
const MAX_CONTEXTS: usize = 64;

/// Bytes of what is remembered of a request; of a larger one nothing is, and its results are posted.
const MAX_CONTEXT_BYTES: usize = 4 << 10;

/// Contexts of the latest requests, the oldest first.
#[derive(Debug, Default)]
pub(super) struct RequestContexts(VecDeque<(RequestId, RequestMessage)>);

impl RequestContexts {
    /// Remembers a request.
    pub(super) fn note(&mut self, asked: &RequestMessage) {
        let Some(id) = &asked.request_id else { return };
        let message = shared_context(asked);
        if id.as_str().len() + message.to_text().len() > MAX_CONTEXT_BYTES {
            return;
        }
        self.0.retain(|(known, _)| known != id);
        if self.0.len() == MAX_CONTEXTS {
            self.0.pop_front();
        }
        self.0.push_back((id.clone(), message));
    }

    /// The message that says what became of directives.
    pub(super) fn message(&self, results: DirectiveResults) -> RequestMessage {
        let DirectiveResults { request_id, continuation, directive_results } = results;
        let known = |id: RequestId| self.0.iter().rev().find(|(known, _)| *known == id);
        let known = request_id.and_then(known).map(|(_, message)| message.clone());
        let mut message = known.unwrap_or_else(nowhere);
        if let Some(context) = &mut message.request.context {
            context.continuation = continuation;
            let bridle = ContextBridle { directive_results, timeout_ms: None };
            let extensions = ContextExtensions { bridle: Some(bridle), rest: JsonObject::new() };
            context.extensions = Some(extensions);
        }
        message
    }
}

/// Returns the context that the results of a request share with it: shell, session and capabilities.
fn shared_context(asked: &RequestMessage) -> RequestMessage {
    let mut message = asked.clone();
    (message.request_id, message.correlation_id) = (None, None);
    message.request.extensions = None;
    let Some(context) = &mut message.request.context else { return nowhere() };
    (context.user_intent, context.task_hint, context.continuation) = (None, None, None);
    (context.environment_state, context.extensions) = (None, None);
    context.attachments.clear();
    message
}

/// A message of no session.
fn nowhere() -> RequestMessage {
    let text = br#"{"protocol_version":"1.0.0","request":{"context":{}}}"#;
    read(text, &MessageLimits::default()).expect("a message of ours is read by us")
}
