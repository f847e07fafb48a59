//! The AST of a buffer, cut out of the message that brings it while that is still text.
//!
//! A face calls [`SentAst::cut`] before it makes values of a message: an AST as a value takes seventeen times its
//! text, and a shell gets back the text that it sent.

use std::fmt;

use bridle_record::{RecordHash, hash_text};
use bridle_sexp::{Dialect, Value};

use super::place::{BufferPlace, MAX_PLACE_BYTES};
use crate::engine::error::EngineError;

/// Largest AST, in bytes: the largest message. Emacs prints about 12 bytes for each of an Org file.
pub(crate) const MAX_AST_BYTES: usize = 64 << 20;

/// Keys of a `:buffer-update` that are not passed on: the AST, and what stands for it.
pub(crate) const CUT_KEYS: [&str; 2] = ["ast", "overlay"];

/// An AST as it was sent.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SentAst {
    text: Box<str>,
    dialect: Dialect,
    hash: RecordHash,
}

/// Facts about an AST without its text.
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
    /// Takes the text of an AST out of a message: `payload` is the rest of it, and gets what stands for the AST.
    ///
    /// # Errors
    /// The AST is longer than [`MAX_AST_BYTES`], or the payload names no buffer: the field at fault.
    pub(crate) fn cut(
        text: &str,
        dialect: Dialect,
        mut payload: Option<&mut Value>,
    ) -> Result<SentAst, EngineError> {
        check(text.len(), payload.as_deref())?;
        let ast = SentAst { text: text.into(), dialect, hash: hash_text(text) };
        if let Some(Value::List(pairs)) = payload.take() {
            let AstSummary { hash, bytes, .. } = ast.about();
            let bytes = Value::int(i64::try_from(bytes).unwrap_or(i64::MAX));
            let summary = Value::plist([("hash", Value::str(hash.to_string())), ("bytes", bytes)]);
            pairs.extend([Value::keyword("overlay"), summary]);
        }
        Ok(ast)
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the facts without the text.
    pub(crate) fn about(&self) -> AstSummary {
        AstSummary { dialect: self.dialect, hash: self.hash, bytes: self.text.len() }
    }
}

fn check(bytes: usize, payload: Option<&Value>) -> Result<(), EngineError> {
    if bytes > MAX_AST_BYTES {
        let text = format!("expected an AST of at most {MAX_AST_BYTES} bytes");
        return Err(EngineError::invalid("ast", text));
    }
    if payload.and_then(BufferPlace::of).is_none() {
        let text = format!("expected a name of at most {MAX_PLACE_BYTES} bytes");
        return Err(EngineError::invalid("file", text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MAX_AST_BYTES, check};
    use crate::engine::error::EngineErrorCode;
    use bridle_sexp::Value;

    #[test]
    fn an_ast_over_the_limit_is_refused_and_named() {
        let payload = Value::plist([("file", Value::str("a"))]);
        check(MAX_AST_BYTES, Some(&payload)).expect("just fits");
        let refused = check(MAX_AST_BYTES + 1, Some(&payload)).expect_err("refused");
        assert_eq!((refused.code, refused.field), (EngineErrorCode::InvalidValue, Some("ast")));
    }
}
