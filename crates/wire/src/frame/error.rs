//! What can be wrong with a frame, and the code a peer is told.
//!
//! Produced by the decoder; the daemon turns it into an error frame. Nothing here quotes a payload
//! or a signature: an error must not carry secrets to a log.

use super::SEAL_LEN;
use crate::OacpCode;

/// A fault in a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A header byte is no hex digit.
    #[error("expected six hex digits of length, got byte `0x{byte:02x}` as digit {digit}")]
    BadHeader {
        /// Position among the six digits, from 1.
        digit: usize,
        /// The byte found there.
        byte: u8,
    },
    /// A frame of length zero.
    #[error("expected a length of at least 1, got `000000`")]
    Empty,
    /// A length above what we take.
    #[error("expected a length of at most `{max}`, got `{length}`")]
    TooLarge {
        /// The length stated in the header.
        length: usize,
        /// Our limit.
        max: usize,
    },
    /// The payload is not UTF-8.
    #[error("expected UTF-8, got an invalid sequence at byte {at} of the payload")]
    InvalidUtf8 {
        /// Offset of the first bad byte in the payload.
        at: usize,
    },
    /// The stream ended inside a frame.
    #[error("expected the rest of a frame, got the end of the stream")]
    Incomplete,
    /// Neither N bytes nor N characters of the payload are a whole form.
    #[error("expected one whole form of {length} bytes or characters, got neither")]
    UnitUnclear {
        /// The length stated in the header.
        length: usize,
    },
    /// More blanks between frames than allowed.
    #[error("expected at most {max} blanks between frames, got more")]
    TooManyBlanks {
        /// The limit that was passed, in bytes.
        max: usize,
    },
    /// A frame without a signature on a signed connection.
    #[error(
        "expected {SEAL_LEN} hex digits of signature, got byte `0x{byte:02x}` as digit {digit}"
    )]
    Unsigned {
        /// Position among the digits, from 1.
        digit: usize,
        /// The byte found there.
        byte: u8,
    },
    /// A signature that does not fit the frame.
    #[error("expected a frame signed with a key known here, got one that is not")]
    BadSignature,
    /// A signed frame that is not the next one of its direction.
    #[error("expected the next frame of this connection, got one that was seen or misplaced")]
    Replayed,
}

impl FrameError {
    /// The protocol's code for this fault.
    pub fn code(&self) -> OacpCode {
        match self {
            FrameError::BadHeader { .. } => OacpCode::BadHeader,
            FrameError::Empty => OacpCode::EmptyFrame,
            FrameError::TooLarge { .. } => OacpCode::FrameTooLarge,
            FrameError::InvalidUtf8 { .. } => OacpCode::InvalidUtf8,
            FrameError::Incomplete => OacpCode::IncompleteFrame,
            FrameError::UnitUnclear { .. } => OacpCode::UnitUnclear,
            FrameError::TooManyBlanks { .. } => OacpCode::TooManyBlanks,
            FrameError::Unsigned { .. } => OacpCode::UnsignedFrame,
            FrameError::BadSignature => OacpCode::BadSignature,
            FrameError::Replayed => OacpCode::ReplayedFrame,
        }
    }
}

/// Framing is lost: answer with the code, then close the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FramingLost {
    /// Fault that lost the framing.
    pub error: FrameError,
}

impl FramingLost {
    /// The protocol's code for this fault.
    pub fn code(&self) -> OacpCode {
        self.error.code()
    }
}

impl From<FrameError> for FramingLost {
    fn from(error: FrameError) -> Self {
        FramingLost { error }
    }
}
