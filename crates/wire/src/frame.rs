//! Frames: six hex digits of length, a signature when the connection is signed, then the payload.
//!
//! The daemon's connections, the client library and `bridle frame` call this. It moves no bytes by
//! itself: callers hand in what they have received and are told what it means. It knows nothing of
//! messages; the payload is text, and whether that text is one well-formed message is the question
//! of `oacp`.
//!
//! Reading, in order:
//!
//! ```text
//! blanks   space, newline, tab, return; skipped, at most MAX_BLANKS in a row
//! header   six hex digits of either case: the length N of the payload, never 0
//! seal     64 hex digits of either case, on signed connections only
//! payload  N bytes or N characters of UTF-8: see `LengthUnit`
//! ```
//!
//! Two kinds of failure: [`DecodeStep::Refused`] is answered and the connection lives; [`FramingLost`] is
//! answered and the connection closes, because nobody knows any more where the next frame starts.

mod decoder;
mod encoder;
mod error;
mod form;
mod header;
mod walk;

#[cfg(test)]
mod tests;

pub use decoder::{DecodeStep, DecoderOptions, FrameDecoder};
pub use encoder::{EncodeError, FrameEncoder};
pub use error::{FrameError, FramingLost};
pub(crate) use header::{first_not_hex, read_hex, write_hex};

/// The largest length that six hex digits can say, in the unit of the frame.
pub const MAX_FRAME: usize = 0xFF_FFFF;

/// The most blanks between two frames, in bytes.
///
/// Padding behind a frame with non-ASCII text is at most three quarters of that frame and does not
/// count. 64 KiB is far above what people type into netcat, and small enough that a peer cannot
/// keep a connection busy with nothing.
pub const MAX_BLANKS: usize = 64 * 1024;

/// The number of hex digits that state a frame's length.
pub const HEADER_LEN: usize = 6;

/// The number of hex digits of a signature.
pub const SEAL_LEN: usize = 64;

/// Unit of the length in a frame's header.
///
/// The protocol counts bytes; Lisp peers that measure strings count characters. For ASCII text the
/// two agree, so a connection's unit is only settled by its first frame with other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// Bytes of UTF-8.
    Bytes,
    /// Unicode scalar values.
    Chars,
}

impl LengthUnit {
    /// The name used in hello messages, without the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            LengthUnit::Bytes => "bytes",
            LengthUnit::Chars => "chars",
        }
    }
}

/// Treatment of non-ASCII text for a peer whose unit is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownUnitPolicy {
    /// The length in bytes, the payload, and one space for each byte that is not a character.
    ///
    /// Peers that count characters read the spaces as the end of the payload, peers that count
    /// bytes as blanks between frames. Signed frames are never padded: they count bytes instead.
    #[default]
    Pad,
    /// Bytes.
    Bytes,
    /// Characters.
    Chars,
}

/// Whether `byte` may stand between frames.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}
