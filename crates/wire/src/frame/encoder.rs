//! The writer of frames.
//!
//! A connection owns one. It appends to a buffer that the caller sends.

use super::{FrameError, LengthUnit, MAX_FRAME, UnknownUnitPolicy, header};
use crate::OacpCode;
use crate::seal::FrameSigner;

/// Reason why a payload was not framed; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The payload is longer than the peer takes or than six hex digits can say.
    #[error("expected a payload of at most `{max}` {}, got `{length}`", .unit.as_str())]
    TooLarge {
        /// The payload's length.
        length: usize,
        /// The peer's limit.
        max: usize,
        /// Unit of both numbers.
        unit: LengthUnit,
    },
    /// The payload is empty, which every reader refuses.
    #[error("expected a payload, got an empty one")]
    Empty,
}

impl EncodeError {
    /// The protocol's code for this fault.
    pub fn code(&self) -> OacpCode {
        match self {
            EncodeError::TooLarge { length, max, .. } => {
                FrameError::TooLarge { length: *length, max: *max }.code()
            }
            EncodeError::Empty => FrameError::Empty.code(),
        }
    }
}

/// A writer of frames for one direction of one connection.
#[derive(Debug)]
pub struct FrameEncoder {
    unit: Option<LengthUnit>,
    unknown: UnknownUnitPolicy,
    max_frame: usize,
    signer: Option<FrameSigner>,
}

impl FrameEncoder {
    /// A writer of frames, unsigned until [`FrameEncoder::set_signer`], to a peer whose unit is not known yet.
    pub fn new(unknown: UnknownUnitPolicy) -> FrameEncoder {
        FrameEncoder { unit: None, unknown, max_frame: MAX_FRAME, signer: None }
    }

    /// Signs every frame from now on; a signed frame is never padded.
    pub fn set_signer(&mut self, signer: FrameSigner) {
        self.signer = Some(signer);
    }

    /// States what the peer counts in.
    pub fn set_unit(&mut self, unit: LengthUnit) {
        self.unit = Some(unit);
    }

    /// States the largest length the peer takes; above [`MAX_FRAME`] it has no effect.
    pub fn set_max_frame(&mut self, max_frame: usize) {
        self.max_frame = max_frame.min(MAX_FRAME);
    }

    /// The largest length that may be written, in the unit of the frame.
    pub fn max_frame(&self) -> usize {
        self.max_frame
    }

    /// Appends a frame with `payload` to `out`.
    ///
    /// # Errors
    ///
    /// When the payload is empty or too long; `out` is then as it was.
    pub fn encode(&mut self, payload: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if payload.is_empty() {
            return Err(EncodeError::Empty);
        }
        match self.signer.as_ref().map_or("", FrameSigner::mark) {
            "" => self.write(payload, out),
            mark => self.write(&[mark, payload].concat(), out),
        }
    }

    fn write(&mut self, payload: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (unit, pad) = self.measure(payload);
        let length = match unit {
            LengthUnit::Bytes => payload.len(),
            LengthUnit::Chars => payload.chars().count(),
        };
        if length > self.max_frame {
            return Err(EncodeError::TooLarge { length, max: self.max_frame, unit });
        }
        let header = header::format(length);
        out.extend_from_slice(&header);
        if let Some(signer) = &mut self.signer {
            out.extend_from_slice(&signer.sign(&header, payload.as_bytes()));
        }
        out.extend_from_slice(payload.as_bytes());
        out.resize(out.len() + pad, b' ');
        Ok(())
    }

    /// The unit for `payload`, and the spaces to put behind it.
    fn measure(&self, payload: &str) -> (LengthUnit, usize) {
        match (self.unit, self.unknown) {
            (Some(unit), _) => (unit, 0),
            (None, _) if payload.is_ascii() => (LengthUnit::Bytes, 0),
            (None, UnknownUnitPolicy::Bytes) => (LengthUnit::Bytes, 0),
            (None, UnknownUnitPolicy::Chars) => (LengthUnit::Chars, 0),
            // Signed: a reader tries both units on the signature, spaces would fit neither.
            (None, UnknownUnitPolicy::Pad) if self.signer.is_some() => (LengthUnit::Bytes, 0),
            (None, UnknownUnitPolicy::Pad) => {
                (LengthUnit::Bytes, payload.len() - payload.chars().count())
            }
        }
    }
}
