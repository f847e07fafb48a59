//! From a message of the protocol to what the engine takes in.
//!
//! Called by `conversation/payload_check` for every message. The AST of a buffer is cut out while the message is
//! still text (see [`SentAst::cut`]).

use bridle_loop::{KeywordName, SensorClass, SignalKind};
use bridle_sexp::byte_text::unbase64;
use bridle_sexp::{Dialect, Node, Tree, Value};
use bridle_wire::OacpCode;
use bridle_wire::oacp::{ErrorReply, MessageId, MessagePath, MessageType, OacpMessage};

use crate::engine::{CUT_KEYS, SentAst, SentFile, ShellSignal};
use crate::oacp::error_code::error_reply;

/// Files inside one message.
pub(crate) const MAX_SENT_FILES: usize = 32;

/// Bytes of all files inside one message.
pub(crate) const MAX_SENT_FILES_BYTES: usize = 16 << 20;

/// Key of the list of files in a payload, of the content in an entry, and what the daemon alone says of a file.
const ATTACHMENTS: &str = "attachments";
const CONTENT: &str = "data";
const TOLD_BY_DAEMON: [&str; 4] = ["ref", "lost", "sha256", "bytes"];

/// Large contents that were cut out of a message.
#[derive(Debug, Default)]
pub(crate) struct CutContent {
    /// The AST of a buffer.
    pub(crate) ast: Option<SentAst>,
    /// Files.
    pub(crate) files: Vec<SentFile>,
}

/// Reads a message from a tree over a client's text; the AST of a buffer and files are taken out of it.
///
/// # Errors
/// The message breaks a rule of its type, or its AST or a file cannot be kept.
pub(crate) fn read_message(
    tree: &Tree<'_>,
    dialect: Dialect,
) -> Result<(OacpMessage, CutContent), ErrorReply> {
    let Some(payload) = buffer_update(tree) else {
        return read_with_files(tree);
    };
    let mut message = OacpMessage::from_tree_without(tree, &CUT_KEYS)?;
    let Some(ast) = payload.get("ast").filter(|ast| !ast.is_nil()) else {
        return Ok((message, CutContent::default()));
    };
    let ast = SentAst::cut(ast.source(), dialect, message.payload.as_mut()).map_err(error_reply)?;
    Ok((message, CutContent { ast: Some(ast), files: Vec::new() }))
}

/// Bytes of the text of a message that its files take: they go elsewhere.
pub(crate) fn file_bytes(tree: &Tree<'_>) -> usize {
    let entries = attachments(tree).map(|list| list.children()).into_iter().flatten();
    entries.filter_map(|entry| Some(content(&entry)?.source().len())).sum()
}

fn read_with_files(tree: &Tree<'_>) -> Result<(OacpMessage, CutContent), ErrorReply> {
    let Some(list) = attachments(tree).filter(|_| file_bytes(tree) > 0) else {
        return Ok((OacpMessage::from_tree(tree)?, CutContent::default()));
    };
    let mut message = OacpMessage::from_tree_without(tree, &[ATTACHMENTS])?;
    let (entries, files) = cut_files(list)?;
    if let Some(Value::List(pairs)) = &mut message.payload {
        pairs.extend([Value::keyword(ATTACHMENTS), Value::list(entries)]);
    }
    Ok((message, CutContent { ast: None, files }))
}

/// The entries of a list without their contents, and the contents.
fn cut_files(list: Node<'_>) -> Result<(Vec<Value>, Vec<SentFile>), ErrorReply> {
    let refused = |text: String| ErrorReply::because(OacpCode::InvalidValue, text);
    let (mut entries, mut files, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (place, entry) in list.children().enumerate() {
        let Some(data) = content(&entry).and_then(|data| data.as_str()) else {
            entries.push(entry.to_value());
            continue;
        };
        let content = unbase64(&data).ok_or_else(|| {
            refused(format!("expected base64 in `:data` of attachment {}", place + 1))
        })?;
        bytes += content.len();
        if files.len() >= MAX_SENT_FILES || bytes > MAX_SENT_FILES_BYTES {
            return Err(refused(format!(
                "expected at most {MAX_SENT_FILES} files of {MAX_SENT_FILES_BYTES} bytes together"
            )));
        }
        let mut kept = Vec::new();
        let mut items = entry.children();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            let is_cut = key.is_keyword(CONTENT);
            if !is_cut && !TOLD_BY_DAEMON.iter().any(|name| key.is_keyword(name)) {
                kept.extend([key.to_value(), value.to_value()]);
            }
        }
        files.push(SentFile::cut(place, content, &mut kept));
        entries.push(Value::list(kept));
    }
    Ok((entries, files))
}

/// The list of files of an event.
fn attachments<'t>(tree: &'t Tree<'_>) -> Option<Node<'t>> {
    let root = tree.root();
    root.get("type").filter(|kind| kind.is_keyword("event"))?;
    root.get("payload")?.get(ATTACHMENTS)
}

/// The content of a file, where an entry has one.
fn content<'t>(entry: &Node<'t>) -> Option<Node<'t>> {
    entry.get(CONTENT).filter(|data| data.as_str().is_some())
}

/// Makes the engine's signal of a message; `dropped` are the paths that were taken out of it. `None` for a message
/// of a type that is no signal.
pub(crate) fn to_signal(
    message: OacpMessage,
    dropped: &[MessagePath],
    cut: CutContent,
) -> Option<ShellSignal> {
    let CutContent { ast, files } = cut;
    Some(ShellSignal {
        kind: signal_kind(message.kind)?,
        id: message.id.as_ref().map(MessageId::to_value),
        target: message.target.map(|target| KeywordName::new(target.as_str())),
        shell: message.meta.source.as_deref().map(KeywordName::new),
        payload: message.payload.unwrap_or(Value::Nil),
        dropped: dropped.iter().map(|path| path.to_string().into()).collect(),
        ast,
        files,
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
