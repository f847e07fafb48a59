//! An AST is cut out of the message that brings it, while that is still text.
//!
//! Called by `talk` for every message. An AST as a value takes seventeen times its text, and what comes
//! back is to be the same text: so it never becomes a value.

use std::fmt;

use bridle_record::{RecordHash, hash_text};
use bridle_sexp::{Dialect, Node, Tree, Value};
use bridle_wire::OacpCode;
use bridle_wire::oacp::{ErrorReply, MessagePath, OacpMessage};

use super::place::{BufferPlace, MAX_PLACE};

/// Largest AST, in bytes: the largest message. Emacs prints about 12 bytes for each of an Org file.
pub(crate) const MAX_AST: usize = 64 << 20;

/// Keys of a `:buffer-update` that are not passed on: the AST, and what stands for it.
const CUT: [&str; 2] = ["ast", "overlay"];

/// An AST as it was sent.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SentAst {
    text: Box<str>,
    dialect: Dialect,
    hash: RecordHash,
}

/// What is known of one without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AstSummary {
    /// The dialect of its text.
    pub(crate) dialect: Dialect,
    /// The hash of its text.
    pub(crate) hash: RecordHash,
    /// The bytes of its text.
    pub(crate) bytes: usize,
}

impl fmt::Debug for SentAst {
    /// Says how large it is; what it holds is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ast").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

impl SentAst {
    fn new(text: &str, dialect: Dialect) -> SentAst {
        SentAst { text: text.into(), dialect, hash: hash_text(text) }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What is known without it.
    pub(crate) fn about(&self) -> AstSummary {
        AstSummary { dialect: self.dialect, hash: self.hash, bytes: self.text.len() }
    }
}

/// Reads a message from a tree over a client's text; the AST of a buffer is taken out of it.
///
/// # Errors
/// When it is no good message, or its AST cannot be kept.
pub(crate) fn read(
    tree: &Tree<'_>,
    dialect: Dialect,
) -> Result<(OacpMessage, Option<SentAst>), ErrorReply> {
    let Some(payload) = update(tree) else { return Ok((OacpMessage::from_tree(tree)?, None)) };
    let mut message = OacpMessage::from_tree_without(tree, &CUT)?;
    let Some(ast) = payload.get("ast").filter(|ast| !ast.is_nil()) else {
        return Ok((message, None));
    };
    let text = ast.source();
    check(text.len(), &message)?;
    let ast = SentAst::new(text, dialect);
    if let Some(Value::List(pairs)) = &mut message.payload {
        let AstSummary { hash, bytes, .. } = ast.about();
        let bytes = Value::int(i64::try_from(bytes).unwrap_or(i64::MAX));
        let stands = Value::plist([("hash", Value::str(hash.to_string())), ("bytes", bytes)]);
        pairs.extend([Value::keyword("overlay"), stands]);
    }
    Ok((message, Some(ast)))
}

/// The payload of an event that says something about a buffer.
fn update<'t>(tree: &'t Tree<'_>) -> Option<Node<'t>> {
    let root = tree.root();
    root.get("type").filter(|kind| kind.is_keyword("event"))?;
    let payload = root.get("payload")?;
    payload.get("sensor").filter(|sensor| sensor.is_keyword("buffer-update")).map(|_| payload)
}

fn check(bytes: usize, message: &OacpMessage) -> Result<(), ErrorReply> {
    let invalid = |key: &'static str, text: String| {
        let path = MessagePath::of(&["payload", key]);
        Err(ErrorReply { path, ..ErrorReply::because(OacpCode::InvalidValue, text) })
    };
    if bytes > MAX_AST {
        return invalid("ast", format!("expected an AST of at most {MAX_AST} bytes"));
    }
    if message.payload.as_ref().and_then(BufferPlace::of).is_none() {
        return invalid("file", format!("expected a name of at most {MAX_PLACE} bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
