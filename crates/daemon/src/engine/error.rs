//! The engine's own refusals: a code to match on, a sentence for people, and the field at fault.
//!
//! Made by every module of the engine. Each face turns them into the codes of its protocol: `oacp/error_code` and
//! `http/run`.

use std::fmt;

/// Kind of a refusal, for a face to match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EngineErrorCode {
    /// A field of the payload holds nothing that can be used.
    InvalidValue,
    /// The message is well formed, and nothing in the engine carries it out.
    Unsupported,
    /// An answer names something that was never asked.
    UnknownId,
    /// The id was used before with another body.
    IdConflict,
    /// No session of that name that this principal may see.
    UnknownSession,
    /// The target of a request is no actuator that can be reached.
    UnknownTarget,
    /// The principal may not do this.
    NotPermitted,
    /// An inbox or a budget is full.
    Overloaded,
    /// The record cannot be written or read now.
    StoreUnavailable,
    /// The daemon is stopping.
    ShuttingDown,
    /// A fault of the daemon; its log has the reason.
    Internal,
}

impl EngineErrorCode {
    /// All codes, for the tests of those who convert them.
    #[cfg(test)]
    pub(crate) const ALL: [EngineErrorCode; 11] = [
        EngineErrorCode::InvalidValue,
        EngineErrorCode::Unsupported,
        EngineErrorCode::UnknownId,
        EngineErrorCode::IdConflict,
        EngineErrorCode::UnknownSession,
        EngineErrorCode::UnknownTarget,
        EngineErrorCode::NotPermitted,
        EngineErrorCode::Overloaded,
        EngineErrorCode::StoreUnavailable,
        EngineErrorCode::ShuttingDown,
        EngineErrorCode::Internal,
    ];

    /// Returns the name as records of refused attempts have it.
    pub(crate) const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the reason of an error that gives none of its own.
    const fn explanation(self) -> &'static str {
        self.row().1
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            EngineErrorCode::InvalidValue => {
                ("invalid-value", "the value is out of range or not in the list")
            }
            EngineErrorCode::Unsupported => {
                ("unsupported", "well formed, but nothing here carries it out")
            }
            EngineErrorCode::UnknownId => {
                ("unknown-id", "an answer names an id that nobody asked with")
            }
            EngineErrorCode::IdConflict => {
                ("id-conflict", "the id was used before with another body")
            }
            EngineErrorCode::UnknownSession => {
                ("unknown-session", "no such session for this connection")
            }
            EngineErrorCode::UnknownTarget => {
                ("unknown-target", "no actuator of that name can be reached")
            }
            EngineErrorCode::NotPermitted => ("not-permitted", "this connection may not do that"),
            EngineErrorCode::Overloaded => ("overloaded", "a queue or a byte budget is full"),
            EngineErrorCode::StoreUnavailable => {
                ("store-unavailable", "the record takes nothing now; nothing was done")
            }
            EngineErrorCode::ShuttingDown => ("shutting-down", "the daemon is stopping"),
            EngineErrorCode::Internal => {
                ("internal", "a fault of the daemon; its log has the reason")
            }
        }
    }
}

impl fmt::Display for EngineErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Refusal of the engine: nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {reason}")]
pub(crate) struct EngineError {
    /// Kind to match on.
    pub(crate) code: EngineErrorCode,
    /// Sentence for people; repeats nothing that a peer sent.
    pub(crate) reason: String,
    /// Key of the payload at fault, without its colon.
    pub(crate) field: Option<&'static str>,
}

impl EngineError {
    /// Makes an error with a reason of its own.
    pub(crate) fn because(code: EngineErrorCode, reason: impl Into<String>) -> EngineError {
        EngineError { code, reason: reason.into(), field: None }
    }

    /// Makes an error about the value of a field of the payload.
    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> EngineError {
        let error = EngineError::because(EngineErrorCode::InvalidValue, reason);
        EngineError { field: Some(field), ..error }
    }
}

impl From<EngineErrorCode> for EngineError {
    fn from(code: EngineErrorCode) -> EngineError {
        EngineError::because(code, code.explanation())
    }
}
