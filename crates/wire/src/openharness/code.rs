//! The closed list of error codes that bridle answers with, each with its HTTP status and whether the
//! same request may succeed later. A test holds the table in `docs/protocol.md` to this list.
//!
//! long: a table of codes.

/// Reason why a request was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenHarnessCode {
    /// Not JSON, or not the shape of a message.
    InvalidRequest,
    /// Another major version.
    ProtocolVersionUnsupported,
    /// A header and the body disagree.
    HeaderMismatch,
    /// No credential, or not a valid one.
    Unauthenticated,
    /// Not allowed.
    Forbidden,
    /// Nothing at this path.
    NotFound,
    /// Another method is needed.
    MethodNotAllowed,
    /// The accepted types cannot be produced.
    NotAcceptable,
    /// The id was used before, with another body.
    IdempotencyConflict,
    /// The token was not issued here, or was changed.
    ContinuationInvalid,
    /// The token was used before.
    ContinuationConsumed,
    /// The token belongs to another session or principal.
    ContinuationMismatch,
    /// The token is too old.
    ContinuationExpired,
    /// The events of the stream are gone.
    StreamExpired,
    /// The message is too large.
    PayloadTooLarge,
    /// A file is inside the message.
    EmbeddedBlob,
    /// The body is not JSON by its content type.
    UnsupportedMediaType,
    /// An attachment cannot be found or fetched.
    AttachmentUnresolved,
    /// Too many requests.
    RateLimited,
    /// A fault of the engine.
    InternalError,
    /// A model or a tool failed.
    UpstreamError,
    /// Too much to do, or stopping.
    EngineOverloaded,
    /// Not done in time.
    EngineTimeout,
    /// Called off by the shell.
    Canceled,
}

impl OpenHarnessCode {
    /// All codes, in the order of the table in `docs/protocol.md`.
    pub const ALL: [OpenHarnessCode; 24] = [
        OpenHarnessCode::InvalidRequest,
        OpenHarnessCode::ProtocolVersionUnsupported,
        OpenHarnessCode::HeaderMismatch,
        OpenHarnessCode::Unauthenticated,
        OpenHarnessCode::Forbidden,
        OpenHarnessCode::NotFound,
        OpenHarnessCode::MethodNotAllowed,
        OpenHarnessCode::NotAcceptable,
        OpenHarnessCode::IdempotencyConflict,
        OpenHarnessCode::ContinuationInvalid,
        OpenHarnessCode::ContinuationConsumed,
        OpenHarnessCode::ContinuationMismatch,
        OpenHarnessCode::ContinuationExpired,
        OpenHarnessCode::StreamExpired,
        OpenHarnessCode::PayloadTooLarge,
        OpenHarnessCode::EmbeddedBlob,
        OpenHarnessCode::UnsupportedMediaType,
        OpenHarnessCode::AttachmentUnresolved,
        OpenHarnessCode::RateLimited,
        OpenHarnessCode::InternalError,
        OpenHarnessCode::UpstreamError,
        OpenHarnessCode::EngineOverloaded,
        OpenHarnessCode::EngineTimeout,
        OpenHarnessCode::Canceled,
    ];

    /// Returns the code on the wire.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the HTTP status that goes with it.
    pub fn http_status(self) -> u16 {
        self.row().1
    }

    /// Returns the sentence for people.
    pub fn explanation(self) -> &'static str {
        self.row().2
    }

    /// Tells whether the same request may succeed later.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            OpenHarnessCode::RateLimited
                | OpenHarnessCode::UpstreamError
                | OpenHarnessCode::EngineOverloaded
                | OpenHarnessCode::EngineTimeout
        )
    }

    /// Finds a code, exactly as written.
    pub fn parse(text: &str) -> Option<Self> {
        OpenHarnessCode::ALL.into_iter().find(|code| code.as_str() == text)
    }

    fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            OpenHarnessCode::InvalidRequest => ("invalid_request", 400, "the request is not valid"),
            OpenHarnessCode::ProtocolVersionUnsupported => (
                "protocol_version_unsupported",
                400,
                "this engine serves version 1 of the protocol",
            ),
            OpenHarnessCode::HeaderMismatch => {
                ("header_mismatch", 400, "a header and the body disagree")
            }
            OpenHarnessCode::Unauthenticated => {
                ("unauthenticated", 401, "a valid credential is needed")
            }
            OpenHarnessCode::Forbidden => ("forbidden", 403, "this is not allowed"),
            OpenHarnessCode::NotFound => ("not_found", 404, "there is nothing here"),
            OpenHarnessCode::MethodNotAllowed => {
                ("method_not_allowed", 405, "another method is needed here")
            }
            OpenHarnessCode::NotAcceptable => {
                ("not_acceptable", 406, "none of the accepted types can be made")
            }
            OpenHarnessCode::IdempotencyConflict => {
                ("idempotency_conflict", 409, "the request id was used before with another body")
            }
            OpenHarnessCode::ContinuationInvalid => {
                ("continuation_invalid", 409, "the continuation was not issued by this engine")
            }
            OpenHarnessCode::ContinuationConsumed => {
                ("continuation_consumed", 409, "the continuation was used before")
            }
            OpenHarnessCode::ContinuationMismatch => {
                ("continuation_mismatch", 409, "the continuation belongs to something else")
            }
            OpenHarnessCode::ContinuationExpired => {
                ("continuation_expired", 410, "the continuation is too old")
            }
            OpenHarnessCode::StreamExpired => {
                ("stream_expired", 410, "the events of the stream are gone")
            }
            OpenHarnessCode::PayloadTooLarge => {
                ("payload_too_large", 413, "the message is too large")
            }
            OpenHarnessCode::EmbeddedBlob => {
                ("embedded_blob", 413, "a file is inside the message: upload it and refer to it")
            }
            OpenHarnessCode::UnsupportedMediaType => {
                ("unsupported_media_type", 415, "the body must be JSON")
            }
            OpenHarnessCode::AttachmentUnresolved => {
                ("attachment_unresolved", 422, "an attachment cannot be found or fetched")
            }
            OpenHarnessCode::RateLimited => ("rate_limited", 429, "too many requests"),
            OpenHarnessCode::InternalError => ("internal_error", 500, "the engine failed"),
            OpenHarnessCode::UpstreamError => ("upstream_error", 502, "a model or a tool failed"),
            OpenHarnessCode::EngineOverloaded => {
                ("engine_overloaded", 503, "the engine has too much to do")
            }
            OpenHarnessCode::EngineTimeout => {
                ("engine_timeout", 504, "the request was not done in time")
            }
            OpenHarnessCode::Canceled => ("cancelled", 200, "the request was called off"),
        }
    }
}
