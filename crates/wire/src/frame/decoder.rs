//! The incremental reader of frames.
//!
//! A connection owns one. It holds no bytes: the caller keeps its buffer, passes all of it that is
//! not yet consumed, and drops from the front what it is told to drop. What was examined once is
//! remembered, so the work is in proportion to the bytes received, not to the number of calls.

mod signed;

use std::ops::Range;
use std::str;

use super::walk::{PayloadWalk, WalkStep};
use super::{
    FrameError, FramingLost, HEADER_LEN, LengthUnit, MAX_BLANKS, MAX_FRAME, header, is_blank,
};
use crate::seal::FrameVerifier;

/// Limits and units of a frame decoder.
#[derive(Clone, Copy, Debug)]
pub struct DecoderOptions {
    /// The largest length taken, in the unit of the frame; at most [`MAX_FRAME`].
    ///
    /// A peer that counts characters may so send up to four times as many bytes.
    pub max_frame: usize,
    /// The peer's unit, if it is known before the first frame.
    pub unit: Option<LengthUnit>,
}

impl Default for DecoderOptions {
    fn default() -> Self {
        DecoderOptions { max_frame: MAX_FRAME, unit: None }
    }
}

/// Result of looking at the bytes at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeStep {
    /// Not enough yet.
    Need {
        /// Bytes to drop from the front of the buffer; they are done with.
        skip: usize,
        /// At least this many more bytes are missing. A hint, said by the peer: never allocate it.
        more: usize,
    },
    /// A frame.
    Frame {
        /// Range of the payload in the input: valid UTF-8.
        payload: Range<usize>,
        /// Bytes to drop from the front of the buffer once the payload has been used.
        consumed: usize,
    },
    /// A frame that is answered with an error; the connection lives.
    Refused {
        /// Bytes to drop from the front of the buffer.
        consumed: usize,
        /// Fault of the frame.
        error: FrameError,
    },
}

/// A reader of frames for one direction of one connection.
#[derive(Debug)]
pub struct FrameDecoder {
    max_frame: usize,
    unit: Option<LengthUnit>,
    state: DecoderState,
    /// Blanks that may still come before the next header.
    blanks_left: usize,
    /// The allowance `blanks_left` started from, for the error.
    blanks_max: usize,
    /// On signed connections; nothing is delivered that it has not passed.
    verifier: Option<Box<FrameVerifier>>,
}

#[derive(Debug)]
enum DecoderState {
    /// At the start of a header or of blanks before it.
    Between,
    /// A header, and perhaps some of the payload, is at the front of the input.
    Inside,
    /// Header read, and the signature behind it is hex digits.
    Sealed,
    /// Signature read, and the payload is being walked past its Nth byte.
    Walking(PayloadWalk),
    /// A payload is thrown away as it passes.
    Discarding(PayloadWalk),
    /// Nothing more can be read.
    Lost(FrameError),
}

impl FrameDecoder {
    /// A reader of unsigned frames.
    pub fn new(options: DecoderOptions) -> FrameDecoder {
        FrameDecoder {
            max_frame: options.max_frame.min(MAX_FRAME),
            unit: options.unit,
            state: DecoderState::Between,
            blanks_left: MAX_BLANKS,
            blanks_max: MAX_BLANKS,
            verifier: None,
        }
    }

    /// A reader of signed frames.
    ///
    /// Here a frame over the limit loses the connection: its length is not proven, and to prove it
    /// the whole frame would have to be kept.
    pub fn signed(options: DecoderOptions, verifier: FrameVerifier) -> FrameDecoder {
        FrameDecoder { verifier: Some(Box::new(verifier)), ..FrameDecoder::new(options) }
    }

    /// The verifier of a signed connection: who signed the last frame, and with what.
    pub fn verifier(&self) -> Option<&FrameVerifier> {
        self.verifier.as_deref()
    }

    /// The verifier of a signed connection, to move it on.
    pub fn verifier_mut(&mut self) -> Option<&mut FrameVerifier> {
        self.verifier.as_deref_mut()
    }

    /// The peer's unit, once it was told or settled by a frame.
    pub fn unit(&self) -> Option<LengthUnit> {
        self.unit
    }

    /// States the peer's unit, as its hello does; from the next frame on.
    pub fn set_unit(&mut self, unit: LengthUnit) {
        self.unit = Some(unit);
    }

    /// Takes frames up to this length from the next header on; at most [`MAX_FRAME`].
    pub fn set_max_frame(&mut self, max_frame: usize) {
        self.max_frame = max_frame.min(MAX_FRAME);
    }

    /// Whether the bytes given so far end inside a frame, so that a deadline should run.
    pub fn inside_frame(&self) -> bool {
        !matches!(self.state, DecoderState::Between | DecoderState::Lost(_))
    }

    /// Whether N bytes were no whole form and the rest of N characters is waited for. A peer that
    /// counts bytes and sent a broken form is waiting too, so this should not last.
    pub fn reading_on(&self) -> bool {
        self.unit.is_none() && matches!(self.state, DecoderState::Walking(_))
    }

    /// Reads the next frame from `input`, which is everything received and not yet dropped.
    ///
    /// # Errors
    ///
    /// [`FramingLost`] when the place of the next frame is unknown; every later call says the same.
    #[inline]
    pub fn decode(&mut self, input: &[u8]) -> Result<DecodeStep, FramingLost> {
        if let Some(frame) = self.decode_small(input) {
            return Ok(frame);
        }
        self.decode_any(input).map_err(|error| {
            self.state = DecoderState::Lost(error.clone());
            FramingLost { error }
        })
    }

    /// Judges the end of the stream, with `input` as in [`FrameDecoder::decode`].
    ///
    /// # Errors
    ///
    /// [`FrameError::Incomplete`] when the stream ends inside a frame. What has arrived of it is
    /// never delivered, even if it would make a whole form.
    pub fn finish(&self, input: &[u8]) -> Result<(), FramingLost> {
        match &self.state {
            DecoderState::Lost(error) => Err(error.clone().into()),
            DecoderState::Discarding(_) => Err(FrameError::Incomplete.into()),
            _ if input.iter().all(|&byte| is_blank(byte)) => Ok(()),
            _ => Err(FrameError::Incomplete.into()),
        }
    }

    /// The common case: a whole frame of ASCII text at the front of the buffer.
    #[inline]
    fn decode_small(&mut self, input: &[u8]) -> Option<DecodeStep> {
        if !matches!(self.state, DecoderState::Between) || self.verifier.is_some() {
            return None;
        }
        let length = header::parse(*input.first_chunk()?)?;
        if length == 0 || length > self.max_frame {
            return None;
        }
        let consumed = HEADER_LEN + length;
        let payload = input.get(HEADER_LEN..consumed)?;
        if !payload.is_ascii() {
            return None;
        }
        self.end_frame(0);
        Some(DecodeStep::Frame { payload: HEADER_LEN..consumed, consumed })
    }

    fn decode_any(&mut self, input: &[u8]) -> Result<DecodeStep, FrameError> {
        let mut at = 0;
        if let DecoderState::Lost(error) = &self.state {
            return Err(error.clone());
        }
        if let DecoderState::Discarding(walk) = &mut self.state {
            let start = walk.bytes();
            let step = walk.step(input);
            at = walk.bytes() - start;
            match step {
                WalkStep::More(more) => return Ok(DecodeStep::Need { skip: at, more }),
                WalkStep::Lost(error) => return Err(error),
                WalkStep::End { settled } => {
                    let pad = walk.bytes();
                    self.unit = self.unit.or(settled);
                    self.end_frame(pad);
                }
            }
        }
        at += self.skip_blanks(&input[at..])?;
        let rest = &input[at..];
        if rest.is_empty() {
            return Ok(DecodeStep::Need { skip: at, more: 1 });
        }
        let Some(digits) = rest.first_chunk() else {
            header::check_partial(rest)?;
            self.state = DecoderState::Inside;
            return Ok(DecodeStep::Need { skip: at, more: HEADER_LEN - rest.len() });
        };
        let Some(length) = header::parse(*digits) else {
            return Err(header::check_partial(digits).err().unwrap_or(FrameError::Empty));
        };
        if self.verifier.is_some() {
            return self.signed_frame(input, at, length);
        }
        if length == 0 {
            self.end_frame(0);
            return Ok(DecodeStep::Refused { consumed: at + HEADER_LEN, error: FrameError::Empty });
        }
        if length > self.max_frame {
            // Answered at once and not when the last byte has passed: the peer may yet stop.
            self.state = DecoderState::Discarding(PayloadWalk::new(length, self.unit));
            let error = FrameError::TooLarge { length, max: self.max_frame };
            return Ok(DecodeStep::Refused { consumed: at + HEADER_LEN, error });
        }
        self.payload(input, at, length)
    }

    /// Skips the blanks at the front of `input`, unless a frame has begun there.
    fn skip_blanks(&mut self, input: &[u8]) -> Result<usize, FrameError> {
        if !matches!(self.state, DecoderState::Between) {
            return Ok(0);
        }
        let blanks = input.iter().take_while(|&&byte| is_blank(byte)).count();
        match self.blanks_left.checked_sub(blanks) {
            Some(left) => self.blanks_left = left,
            None => return Err(FrameError::TooManyBlanks { max: self.blanks_max }),
        }
        Ok(blanks)
    }

    /// The payload of a frame whose header, for `length`, is at `at`.
    fn payload(
        &mut self,
        input: &[u8],
        at: usize,
        length: usize,
    ) -> Result<DecodeStep, FrameError> {
        let start = at + HEADER_LEN;
        let Some(payload) = input.get(start..start + length) else {
            self.state = DecoderState::Inside;
            return Ok(DecodeStep::Need { skip: at, more: start + length - input.len() });
        };
        let mut walk = match std::mem::replace(&mut self.state, DecoderState::Inside) {
            DecoderState::Walking(walk) => walk,
            _ if payload.is_ascii() => {
                let consumed = start + length;
                self.end_frame(0);
                return Ok(DecodeStep::Frame { payload: start..consumed, consumed });
            }
            _ if self.unit == Some(LengthUnit::Bytes) => {
                let fault = str::from_utf8(payload)
                    .err()
                    .map(|error| FrameError::InvalidUtf8 { at: error.valid_up_to() });
                return Ok(self.deliver(start, length, fault));
            }
            _ => PayloadWalk::new(length, self.unit),
        };
        match walk.step(&input[start + walk.bytes()..]) {
            WalkStep::More(more) => {
                self.state = DecoderState::Walking(walk);
                Ok(DecodeStep::Need { skip: at, more })
            }
            WalkStep::Lost(error) => Err(error),
            WalkStep::End { settled } => {
                self.unit = self.unit.or(settled);
                Ok(self.deliver(start, walk.bytes(), walk.fault()))
            }
        }
    }

    fn deliver(&mut self, start: usize, bytes: usize, fault: Option<FrameError>) -> DecodeStep {
        self.end_frame(bytes);
        let consumed = start + bytes;
        match fault {
            Some(error) => DecodeStep::Refused { consumed, error },
            None => DecodeStep::Frame { payload: start..consumed, consumed },
        }
    }

    /// Ready for the next frame; one with `bytes` bytes of non-ASCII text may have padding.
    #[inline]
    fn end_frame(&mut self, bytes: usize) {
        self.state = DecoderState::Between;
        self.blanks_max = MAX_BLANKS + bytes / 4 * 3;
        self.blanks_left = self.blanks_max;
    }
}
