//! Between the engine's errors and those of the protocol.
//!
//! Called by `conversation` for everything that the engine refuses.

use bridle_wire::OacpCode;
use bridle_wire::oacp::{ErrorReply, MessagePath};

use crate::engine::{EngineError, EngineErrorCode};

/// Returns the protocol's code for an error of the engine.
pub(crate) fn oacp_code(code: EngineErrorCode) -> OacpCode {
    match code {
        EngineErrorCode::InvalidValue => OacpCode::InvalidValue,
        EngineErrorCode::Unsupported => OacpCode::Unsupported,
        EngineErrorCode::UnknownId => OacpCode::UnknownId,
        EngineErrorCode::IdConflict => OacpCode::IdConflict,
        EngineErrorCode::UnknownSession => OacpCode::UnknownSession,
        EngineErrorCode::UnknownTarget => OacpCode::UnknownTarget,
        EngineErrorCode::NotPermitted => OacpCode::NotPermitted,
        EngineErrorCode::Overloaded => OacpCode::Overloaded,
        EngineErrorCode::StoreUnavailable => OacpCode::StoreUnavailable,
        EngineErrorCode::ShuttingDown => OacpCode::ShuttingDown,
        EngineErrorCode::Internal => OacpCode::Internal,
    }
}

/// Returns the error frame's contents for an error of the engine.
pub(crate) fn error_reply(error: EngineError) -> ErrorReply {
    let EngineError { code, reason, field } = error;
    let path = field.map_or(MessagePath::ROOT, |key| MessagePath::of(&["payload", key]));
    ErrorReply { path, ..ErrorReply::because(oacp_code(code), reason) }
}

#[cfg(test)]
mod tests {
    use super::{error_reply, oacp_code};
    use crate::engine::{EngineError, EngineErrorCode};
    use bridle_wire::oacp::ErrorReply;

    #[test]
    fn a_code_of_the_engine_has_the_name_and_the_explanation_of_the_protocol() {
        for code in EngineErrorCode::ALL {
            assert_eq!(code.as_str(), oacp_code(code).as_str());
            assert_eq!(error_reply(code.into()), ErrorReply::new(oacp_code(code)));
        }
    }

    #[test]
    fn a_field_becomes_a_path_in_the_payload() {
        let reply = error_reply(EngineError::invalid("file", "expected a name"));
        assert_eq!(reply.path.to_string(), "(:payload :file)");
        assert_eq!(reply.message, "expected a name");
    }
}
