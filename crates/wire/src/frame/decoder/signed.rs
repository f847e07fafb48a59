//! The part of the reader for signed frames: nothing is delivered, and no unit settled, before the
//! signature fits.

use std::str;

use super::super::walk::{PayloadWalk, WalkStep};
use super::super::{FrameError, HEADER_LEN, LengthUnit, SEAL_LEN, header};
use super::{DecodeStep, DecoderState, FrameDecoder};

impl FrameDecoder {
    /// A signed frame whose header, for `length`, is at `at`.
    pub(super) fn signed_frame(
        &mut self,
        input: &[u8],
        at: usize,
        length: usize,
    ) -> Result<DecodeStep, FrameError> {
        if length > self.max_frame {
            return Err(FrameError::TooLarge { length, max: self.max_frame });
        }
        let start = at + HEADER_LEN + SEAL_LEN;
        if matches!(self.state, DecoderState::Between | DecoderState::Inside) {
            let seal = &input[at + HEADER_LEN..input.len().min(start)];
            if let Some((index, byte)) = header::first_not_hex(seal) {
                // Told at the first byte, so that an unsigned peer is not left waiting.
                return Err(FrameError::Unsigned { digit: index + 1, byte });
            }
            self.state =
                if input.len() < start { DecoderState::Inside } else { DecoderState::Sealed };
        }
        let Some(payload) = input.get(start..start + length) else {
            return Ok(DecodeStep::Need { skip: at, more: start + length - input.len() });
        };
        let mut walk = match std::mem::replace(&mut self.state, DecoderState::Inside) {
            DecoderState::Walking(walk) => walk,
            _ => match self.try_bytes(input, at, payload)? {
                Some(decoded) => return Ok(decoded),
                None => PayloadWalk::new(length, Some(LengthUnit::Chars)),
            },
        };
        match walk.step(&input[start + walk.bytes()..]) {
            WalkStep::More(more) => {
                self.state = DecoderState::Walking(walk);
                Ok(DecodeStep::Need { skip: at, more })
            }
            WalkStep::Lost(error) => Err(error),
            WalkStep::End { .. } => {
                self.verify(input, at, &input[start..start + walk.bytes()])?;
                self.unit = Some(LengthUnit::Chars);
                Ok(self.deliver(start, walk.bytes(), walk.fault()))
            }
        }
    }

    /// Takes the length as bytes; `None` if the frame may still be one of characters.
    fn try_bytes(
        &mut self,
        input: &[u8],
        at: usize,
        payload: &[u8],
    ) -> Result<Option<DecodeStep>, FrameError> {
        let ascii = payload.is_ascii();
        if self.unit == Some(LengthUnit::Chars) && !ascii {
            return Ok(None);
        }
        match self.verify(input, at, payload) {
            Ok(()) => {}
            Err(FrameError::BadSignature) if !ascii && self.unit.is_none() => return Ok(None),
            Err(error) => return Err(error),
        }
        let start = at + HEADER_LEN + SEAL_LEN;
        if payload.is_empty() {
            return Ok(Some(self.deliver(start, 0, Some(FrameError::Empty))));
        }
        if !ascii {
            self.unit = Some(LengthUnit::Bytes);
        }
        let fault = str::from_utf8(payload)
            .err()
            .map(|error| FrameError::InvalidUtf8 { at: error.valid_up_to() });
        Ok(Some(self.deliver(start, payload.len(), fault)))
    }

    fn verify(&mut self, input: &[u8], at: usize, payload: &[u8]) -> Result<(), FrameError> {
        let bad = FrameError::BadSignature;
        let verifier = self.verifier.as_mut().ok_or(bad.clone())?;
        let digits = input[at..].first_chunk().ok_or(bad.clone())?;
        let mut seal = [0; SEAL_LEN / 2];
        let text = input.get(at + HEADER_LEN..at + HEADER_LEN + SEAL_LEN).ok_or(bad.clone())?;
        header::read_hex(text, &mut seal).ok_or(bad)?;
        verifier.verify(digits, &seal, payload)
    }
}
