//! What a shell sends on a WebSocket, profile `dev.bridle.ws.1`: a request, a cancellation, or results
//! of directives, each in a frame that says which. The engine answers with events.

use super::echo::Echo;
use super::exchange::CancelRequest;
use super::feedback::DirectiveResult;
use super::ids::RequestId;
use super::json::Node;
use super::limits::Limits;
use super::receive::{self, Received, Refused};
use super::request::Continuation;
use super::shape::{At, Shape as _, record};

/// A frame of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellFrame {
    /// A request, as it would be posted.
    Request(Box<Posted>),
    /// Calls a request off.
    Cancel(CancelRequest),
    /// Results of directives.
    Results(Results),
}

/// A request inside something larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The request.
    pub received: Received,
    /// Its text, as it came.
    pub body: Box<str>,
}

impl Posted {
    fn read(message: Node<'_>, limits: &Limits) -> Result<ShellFrame, Box<Refused>> {
        let received = receive::received(message, limits)?;
        Ok(ShellFrame::Request(Box::new(Posted { received, body: message.source().into() })))
    }
}

record! {
    /// Results of directives, while the request that they belong to is open or after it.
    pub struct Results as "results" {
        /// The request that the directives came from.
        request_id: Option<RequestId> = "request_id",
        /// The step that goes on with them.
        continuation: Option<Continuation> = "continuation",
        /// What became of the directives.
        directive_results: Vec<DirectiveResult> = "directive_results",
    }
}

impl ShellFrame {
    /// Reads a frame.
    ///
    /// # Errors
    /// It is broken, of no known type, or what it holds is refused.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, Box<Refused>> {
        let document = receive::document(bytes, limits)?;
        ShellFrame::of(document.root(), limits)
    }

    /// Reads a line: a frame, or a request without one around it.
    ///
    /// # Errors
    /// As [`ShellFrame::read`].
    pub fn read_line(bytes: &[u8], limits: &Limits) -> Result<Self, Box<Refused>> {
        let document = receive::document(bytes, limits)?;
        let root = document.root();
        let is_frame = root.get("type").is_some() && root.get("protocol_version").is_none();
        if is_frame { ShellFrame::of(root, limits) } else { Posted::read(root, limits) }
    }

    fn of(root: Node<'_>, limits: &Limits) -> Result<Self, Box<Refused>> {
        let at = At::root(limits);
        let echo = || root.get("message").map_or_else(|| Echo::of(root), Echo::of);
        let kind: String = at
            .object(root)
            .and_then(|object| at.field(object, "type"))
            .map_err(|invalid| receive::refused(echo(), invalid))?;
        let invalid = |invalid| receive::refused(echo(), invalid);
        match kind.as_str() {
            "request" => match root.get("message") {
                Some(message) => Posted::read(message, limits),
                None => Err(invalid(at.missing_field("message", "a request"))),
            },
            "cancel" => CancelRequest::read(root, &at).map(ShellFrame::Cancel).map_err(invalid),
            "results" => Results::read(root, &at).map(ShellFrame::Results).map_err(invalid),
            _ => Err(invalid(at.wrong_field("type", "`request`, `cancel` or `results`"))),
        }
    }
}
