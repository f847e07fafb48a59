//! ASTs of buffers that shells have not saved: overlays of their sessions.

use std::sync::Arc;

use bridle_sexp::Value;
use bridle_wire::oacp::Failure;

use super::context::{Answering, Inquirer, Told, invalid};
use super::hub::Hub;

/// What a client is told that asks for an AST that nobody sent.
const NO_AST: &str = "no AST of this file in this session; a shell sends one with `:buffer-update`";

/// What a client is told that has sent nothing yet and so has no session.
const NO_SESSION: &str = "this connection has no session yet, so no AST; say hello to join one";

/// Answers `:get-ast`.
pub(super) fn get_ast(_: Arc<Hub>, from: Inquirer, payload: Value) -> Answering {
    Box::pin(async move { find(&from, &payload) })
}

fn find(from: &Inquirer, payload: &Value) -> Result<Told, Failure> {
    if from.own.is_none() {
        return Err(invalid("file", NO_SESSION));
    }
    match payload.get("file").and_then(Value::as_str) {
        Some(_) => Err(invalid("file", NO_AST)),
        None => Err(invalid("file", "expected a string, the name of a file")),
    }
}
