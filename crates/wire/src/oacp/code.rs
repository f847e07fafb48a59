//! The closed list of error codes that an error frame may carry.
//!
//! Every refusal in this crate and in the daemon ends in one of these. A test holds the table
//! in `docs/protocol.md` to exactly this list, so that a client can match on all of them.
//!
//! long: a table of codes.

use std::fmt;
use std::str::FromStr;

/// Reason why a frame or a message was refused, or a connection closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OacpCode {
    // Framing.
    /// The first six bytes of a frame are not hex digits.
    BadHeader,
    /// The header announces zero bytes.
    EmptyFrame,
    /// The header announces more than this side takes.
    FrameTooLarge,
    /// The payload is not UTF-8.
    InvalidUtf8,
    /// The stream ended inside a frame.
    IncompleteFrame,
    /// Neither reading of the length, bytes or characters, gives one form.
    UnitUnclear,
    /// Too many blanks in a row between two frames.
    TooManyBlanks,
    /// The signature does not match the payload.
    BadSignature,
    /// A signed frame came twice or out of order.
    ReplayedFrame,
    /// A frame without a signature where one is demanded.
    UnsignedFrame,
    /// A frame was begun and not finished in time.
    FrameTimeout,
    // Data language.
    /// The payload is not exactly one form of the data language.
    Syntax,
    // Messages.
    /// The message, or a part of it that must be a plist, is not one.
    NotAPlist,
    /// A key that this message needs is absent.
    MissingKey,
    /// The value of a key has another type than the one asked for.
    WrongType,
    /// The value of `:type` is none of the message types.
    UnknownType,
    /// The value has the right type and is out of range or not in the list.
    InvalidValue,
    // Parts of a large message.
    /// A part contradicts the parts before it.
    PartMismatch,
    /// The parts of one message are together over the limit.
    PartTooLarge,
    /// The missing parts of a message did not come in time.
    PartTimeout,
    // Running.
    /// The message is well formed; nothing here carries it out.
    Unsupported,
    /// An answer names an id that nobody asked with.
    UnknownId,
    /// The id was used before with another body.
    IdConflict,
    /// No session of that name that this connection may see.
    UnknownSession,
    /// The target of a request is no actuator that can be reached.
    UnknownTarget,
    /// The guard does not allow it.
    Refused,
    /// The work was given up before it was done.
    Cancelled,
    /// The work was not done in its time.
    Expired,
    /// The thinker of this daemon failed.
    EngineFailed,
    /// The work was begun, and nobody knows how it ended.
    UnknownOutcome,
    /// The record cannot be written to.
    StoreUnavailable,
    /// A queue or a byte budget is full.
    Overloaded,
    /// The principal sends messages more often than it may.
    RateLimited,
    /// The daemon serves as many connections as it may.
    TooManyConnections,
    /// The peer did not read its answers in time.
    SlowReader,
    /// The daemon is stopping.
    ShuttingDown,
    /// The principal of this connection may not do this.
    NotPermitted,
    /// A fault of the daemon; its log has the reason.
    Internal,
}

impl OacpCode {
    /// All codes, in the order of the table in `docs/protocol.md`.
    pub const ALL: [OacpCode; 38] = [
        OacpCode::BadHeader,
        OacpCode::EmptyFrame,
        OacpCode::FrameTooLarge,
        OacpCode::InvalidUtf8,
        OacpCode::IncompleteFrame,
        OacpCode::UnitUnclear,
        OacpCode::TooManyBlanks,
        OacpCode::BadSignature,
        OacpCode::ReplayedFrame,
        OacpCode::UnsignedFrame,
        OacpCode::FrameTimeout,
        OacpCode::Syntax,
        OacpCode::NotAPlist,
        OacpCode::MissingKey,
        OacpCode::WrongType,
        OacpCode::UnknownType,
        OacpCode::InvalidValue,
        OacpCode::PartMismatch,
        OacpCode::PartTooLarge,
        OacpCode::PartTimeout,
        OacpCode::Unsupported,
        OacpCode::UnknownId,
        OacpCode::IdConflict,
        OacpCode::UnknownSession,
        OacpCode::UnknownTarget,
        OacpCode::Refused,
        OacpCode::Cancelled,
        OacpCode::Expired,
        OacpCode::EngineFailed,
        OacpCode::UnknownOutcome,
        OacpCode::StoreUnavailable,
        OacpCode::Overloaded,
        OacpCode::RateLimited,
        OacpCode::TooManyConnections,
        OacpCode::SlowReader,
        OacpCode::ShuttingDown,
        OacpCode::NotPermitted,
        OacpCode::Internal,
    ];

    /// Returns the name on the wire, without the colon.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns one line for people: what happened, in general terms.
    pub const fn explanation(self) -> &'static str {
        self.row().1
    }

    /// Tells whether the same message, unchanged, may succeed when sent again later.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            OacpCode::FrameTimeout
                | OacpCode::PartTimeout
                | OacpCode::StoreUnavailable
                | OacpCode::Overloaded
                | OacpCode::RateLimited
                | OacpCode::TooManyConnections
                | OacpCode::SlowReader
                | OacpCode::ShuttingDown
        )
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            OacpCode::BadHeader => ("bad-header", "a frame does not begin with six hex digits"),
            OacpCode::EmptyFrame => ("empty-frame", "the header announces zero bytes"),
            OacpCode::FrameTooLarge => {
                ("frame-too-large", "the header announces more than this side takes")
            }
            OacpCode::InvalidUtf8 => ("invalid-utf8", "the payload is not UTF-8"),
            OacpCode::IncompleteFrame => ("incomplete-frame", "the stream ended inside a frame"),
            OacpCode::UnitUnclear => {
                ("unit-unclear", "the length fits neither as bytes nor as characters")
            }
            OacpCode::TooManyBlanks => ("too-many-blanks", "too many blanks between two frames"),
            OacpCode::BadSignature => ("bad-signature", "the signature does not match the payload"),
            OacpCode::ReplayedFrame => {
                ("replayed-frame", "a signed frame came twice or out of order")
            }
            OacpCode::UnsignedFrame => ("unsigned-frame", "a signature is demanded and absent"),
            OacpCode::FrameTimeout => {
                ("frame-timeout", "a frame was begun and not finished in time")
            }
            OacpCode::Syntax => {
                ("syntax", "the payload is not exactly one form of the data language")
            }
            OacpCode::NotAPlist => ("not-a-plist", "a property list is expected here"),
            OacpCode::MissingKey => ("missing-key", "a key that this message needs is absent"),
            OacpCode::WrongType => ("wrong-type", "the value of a key has the wrong type"),
            OacpCode::UnknownType => ("unknown-type", "`:type` is none of the message types"),
            OacpCode::InvalidValue => {
                ("invalid-value", "the value is out of range or not in the list")
            }
            OacpCode::PartMismatch => ("part-mismatch", "a part contradicts the parts before it"),
            OacpCode::PartTooLarge => {
                ("part-too-large", "the parts of one message are over the limit")
            }
            OacpCode::PartTimeout => ("part-timeout", "the missing parts did not come in time"),
            OacpCode::Unsupported => {
                ("unsupported", "well formed, but nothing here carries it out")
            }
            OacpCode::UnknownId => ("unknown-id", "an answer names an id that nobody asked with"),
            OacpCode::IdConflict => ("id-conflict", "the id was used before with another body"),
            OacpCode::UnknownSession => ("unknown-session", "no such session for this connection"),
            OacpCode::UnknownTarget => {
                ("unknown-target", "no actuator of that name can be reached")
            }
            OacpCode::Refused => ("refused", "the guard does not allow it"),
            OacpCode::Cancelled => ("cancelled", "given up before it was done"),
            OacpCode::Expired => ("expired", "not done in its time"),
            OacpCode::EngineFailed => ("engine-failed", "what thinks for this daemon failed"),
            OacpCode::UnknownOutcome => {
                ("unknown-outcome", "begun, and nobody knows how it ended; it is not done again")
            }
            OacpCode::StoreUnavailable => {
                ("store-unavailable", "the record takes nothing now; nothing was done")
            }
            OacpCode::Overloaded => ("overloaded", "a queue or a byte budget is full"),
            OacpCode::RateLimited => ("rate-limited", "messages come more often than they may"),
            OacpCode::TooManyConnections => {
                ("too-many-connections", "the daemon serves as many connections as it may")
            }
            OacpCode::SlowReader => ("slow-reader", "the peer did not read its answers in time"),
            OacpCode::ShuttingDown => ("shutting-down", "the daemon is stopping"),
            OacpCode::NotPermitted => ("not-permitted", "this connection may not do that"),
            OacpCode::Internal => ("internal", "a fault of the daemon; its log has the reason"),
        }
    }
}

impl fmt::Display for OacpCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no error code of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an error code of this version of the protocol")]
pub struct UnknownCode;

impl FromStr for OacpCode {
    type Err = UnknownCode;

    /// Reads a name as on the wire, without the colon, ignoring ASCII case.
    fn from_str(name: &str) -> Result<Self, UnknownCode> {
        OacpCode::ALL
            .into_iter()
            .find(|code| code.as_str().eq_ignore_ascii_case(name))
            .ok_or(UnknownCode)
    }
}

#[cfg(test)]
mod tests {
    use super::OacpCode;
    use std::collections::HashSet;

    #[test]
    fn names_are_kebab_case_unique_and_read_back() {
        let mut seen = HashSet::new();
        for code in OacpCode::ALL {
            let name = code.as_str();
            assert!(seen.insert(name), "`{name}` is listed twice");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b"-8".contains(&b)), "{name}");
            assert_eq!(name.to_uppercase().parse::<OacpCode>(), Ok(code));
        }
        assert!("no-such-code".parse::<OacpCode>().is_err());
    }

    #[test]
    fn explanations_are_one_lower_case_line() {
        for code in OacpCode::ALL {
            let text = code.explanation();
            assert!(!text.is_empty() && !text.contains('\n') && !text.ends_with('.'), "{text}");
            assert!(!text.starts_with(|c: char| c.is_ascii_uppercase()), "{text}");
        }
    }
}
