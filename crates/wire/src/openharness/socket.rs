//! What a shell sends on a WebSocket, profile `dev.bridle.ws.1`: a request, a cancellation, or results
//! of directives, each in a frame that says which. The engine answers with events.

use super::echo::Echo;
use super::exchange::CancelRequest;
use super::feedback::DirectiveResult;
use super::ids::RequestId;
use super::limits::Limits;
use super::receive::{self, Received, Refused};
use super::request::Continuation;
use super::shape::{At, Shape as _, record};

/// A frame of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellFrame {
    /// A request, as it would be posted.
    Request(Box<Received>),
    /// Calls a request off.
    Cancel(CancelRequest),
    /// Results of directives.
    Results(Results),
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
        let root = document.root();
        let at = At::root(limits);
        let echo = || root.get("message").map_or_else(|| Echo::of(root), Echo::of);
        let kind: String = at
            .object(root)
            .and_then(|object| at.field(object, "type"))
            .map_err(|invalid| receive::refused(echo(), invalid))?;
        let invalid = |invalid| receive::refused(echo(), invalid);
        match kind.as_str() {
            "request" => match root.get("message") {
                Some(message) => {
                    receive::received(message, limits).map(|it| ShellFrame::Request(Box::new(it)))
                }
                None => Err(invalid(at.missing_field("message", "a request"))),
            },
            "cancel" => CancelRequest::read(root, &at).map(ShellFrame::Cancel).map_err(invalid),
            "results" => Results::read(root, &at).map(ShellFrame::Results).map_err(invalid),
            _ => Err(invalid(at.wrong_field("type", "`request`, `cancel` or `results`"))),
        }
    }
}
