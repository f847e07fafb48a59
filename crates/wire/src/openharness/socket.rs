//! What a shell sends on a WebSocket, profile `dev.bridle.ws.1`: a request, a cancellation, or results
//! of directives, each in a frame that says which. The engine answers with events.

use super::echo::RequestEcho;
use super::exchange::CancelRequest;
use super::feedback::DirectiveResult;
use super::ids::RequestId;
use super::json::JsonNode;
use super::limits::MessageLimits;
use super::receive::{self, ReceivedRequest, RefusedMessage};
use super::request::RunContinuation;
use super::shape::{JsonShape as _, ReadPosition, record};

/// A frame of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellFrame {
    /// A request, as it would be posted.
    Request(Box<PostedRequest>),
    /// Calls a request off.
    Cancel(CancelRequest),
    /// Results of directives.
    Results(DirectiveResults),
}

/// A request inside something larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedRequest {
    /// The request.
    pub received: ReceivedRequest,
    /// Size of its text in bytes.
    pub bytes: usize,
}

impl PostedRequest {
    fn read(
        message: JsonNode<'_>,
        limits: &MessageLimits,
    ) -> Result<ShellFrame, Box<RefusedMessage>> {
        let received = receive::received(message, limits)?;
        let bytes = message.source().len();
        Ok(ShellFrame::Request(Box::new(PostedRequest { received, bytes })))
    }
}

record! {
    /// Results of directives, while the request that they belong to is open or after it.
    pub struct DirectiveResults as "results" {
        /// The request that the directives came from.
        request_id: Option<RequestId> = "request_id",
        /// The step that goes on with them.
        continuation: Option<RunContinuation> = "continuation",
        /// Results of the directives.
        directive_results: Vec<DirectiveResult> = "directive_results",
    }
}

impl ShellFrame {
    /// Reads a frame.
    ///
    /// # Errors
    /// The frame is broken, of no known type, or its content is refused.
    pub fn read(bytes: &[u8], limits: &MessageLimits) -> Result<Self, Box<RefusedMessage>> {
        let document = receive::document(bytes, limits)?;
        ShellFrame::of(document.root(), limits)
    }

    /// Reads a line: a frame, or a request without one around it.
    ///
    /// # Errors
    /// As [`ShellFrame::read`].
    pub fn read_line(bytes: &[u8], limits: &MessageLimits) -> Result<Self, Box<RefusedMessage>> {
        let document = receive::document(bytes, limits)?;
        let root = document.root();
        let is_frame = root.get("type").is_some() && root.get("protocol_version").is_none();
        if is_frame { ShellFrame::of(root, limits) } else { PostedRequest::read(root, limits) }
    }

    fn of(root: JsonNode<'_>, limits: &MessageLimits) -> Result<Self, Box<RefusedMessage>> {
        let at = ReadPosition::root(limits);
        let echo = || root.get("message").map_or_else(|| RequestEcho::of(root), RequestEcho::of);
        let kind: String = at
            .object(root)
            .and_then(|object| at.field(object, "type"))
            .map_err(|invalid| receive::refused(echo(), invalid))?;
        let invalid = |invalid| receive::refused(echo(), invalid);
        match kind.as_str() {
            "request" => match root.get("message") {
                Some(message) => PostedRequest::read(message, limits),
                None => Err(invalid(at.missing_field("message", "a request"))),
            },
            "cancel" => CancelRequest::read(root, &at).map(ShellFrame::Cancel).map_err(invalid),
            "results" => {
                DirectiveResults::read(root, &at).map(ShellFrame::Results).map_err(invalid)
            }
            _ => Err(invalid(at.wrong_field("type", "`request`, `cancel` or `results`"))),
        }
    }
}
