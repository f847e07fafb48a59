//! From a message of the protocol to what the engine takes in.
//!
//! Called by `conversation/payload_check` for every message. The AST of a buffer is cut out while the message is
//! still text (see [`SentAst::cut`]).

use bridle_loop::{KeywordName, SensorClass, SignalKind};
use bridle_sexp::{Dialect, Node, Tree, Value};
use bridle_wire::oacp::{ErrorReply, MessageId, MessagePath, MessageType, OacpMessage};

use crate::engine::{CUT_KEYS, SentAst, ShellSignal};
use crate::oacp::error_code::error_reply;

/// Reads a message from a tree over a client's text; the AST of a buffer is taken out of it.
///
/// # Errors
/// The message breaks a rule of its type, or its AST cannot be kept.
pub(crate) fn read_message(
    tree: &Tree<'_>,
    dialect: Dialect,
) -> Result<(OacpMessage, Option<SentAst>), ErrorReply> {
    let Some(payload) = buffer_update(tree) else {
        return Ok((OacpMessage::from_tree(tree)?, None));
    };
    let mut message = OacpMessage::from_tree_without(tree, &CUT_KEYS)?;
    let Some(ast) = payload.get("ast").filter(|ast| !ast.is_nil()) else {
        return Ok((message, None));
    };
    let ast = SentAst::cut(ast.source(), dialect, message.payload.as_mut()).map_err(error_reply)?;
    Ok((message, Some(ast)))
}

/// Makes the engine's signal of a message; `dropped` are the paths that were taken out of it. `None` for a message
/// of a type that is no signal.
pub(crate) fn to_signal(
    message: OacpMessage,
    dropped: &[MessagePath],
    ast: Option<SentAst>,
) -> Option<ShellSignal> {
    Some(ShellSignal {
        kind: signal_kind(message.kind)?,
        id: message.id.as_ref().map(MessageId::to_value),
        target: message.target.map(|target| KeywordName::new(target.as_str())),
        shell: message.meta.source.as_deref().map(KeywordName::new),
        payload: message.payload.unwrap_or(Value::Nil),
        dropped: dropped.iter().map(|path| path.to_string().into()).collect(),
        ast,
    })
}

/// Returns the protocol's id for one that the engine hands back; `None` for what no message has as its id.
pub(crate) fn message_id(id: &Value) -> Option<MessageId> {
    match id {
        Value::Int(number) => Some(MessageId::Int(*number)),
        Value::Str(text) => Some(MessageId::Str(text.clone())),
        _ => None,
    }
}

fn signal_kind(kind: MessageType) -> Option<SignalKind> {
    match kind {
        MessageType::Event => Some(SignalKind::Event),
        MessageType::Request => Some(SignalKind::Request),
        MessageType::Log => Some(SignalKind::Log),
        MessageType::Response
        | MessageType::Status
        | MessageType::HealthCheck
        | MessageType::HealthResponse => None,
    }
}

/// The payload of an event that says something about a buffer.
fn buffer_update<'t>(tree: &'t Tree<'_>) -> Option<Node<'t>> {
    let root = tree.root();
    root.get("type").filter(|kind| kind.is_keyword("event"))?;
    let payload = root.get("payload")?;
    let sensor = payload.get("sensor")?;
    let class = SensorClass::matching(|name| sensor.is_keyword(name));
    (class == SensorClass::Buffer).then_some(payload)
}

#[cfg(test)]
mod tests;
