//! Puts the parts of large messages together, within limits.
//!
//! A connection owns one. It has no clock: deadlines and the present are handed in.

use super::{MAX_PARTS, PartsId};
use crate::OacpCode;

/// A point in time, in milliseconds of any clock that only goes forward; the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallerMillis(pub u64);

/// Limits of the unfinished payloads of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssemblerLimits {
    /// The largest whole payload, in bytes of text.
    pub payload_bytes: usize,
    /// All payloads under way together, in bytes of text.
    pub held_bytes: usize,
    /// The most parts of one payload.
    pub parts: u32,
    /// The most payloads under way.
    pub payloads: usize,
}

impl Default for AssemblerLimits {
    /// 64 MiB holds the tree of a 13 MB Org file; four at once keep a shell's buffers flowing.
    fn default() -> Self {
        AssemblerLimits {
            payload_bytes: 64 << 20,
            held_bytes: 64 << 20,
            parts: MAX_PARTS,
            payloads: 4,
        }
    }
}

/// One part, as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPart<'d> {
    /// The number of this part, from 1.
    pub n: u32,
    /// The number of parts.
    pub of: u32,
    /// The text, unescaped.
    pub data: &'d str,
}

/// Effect of a part on its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssemblyStep {
    /// More parts are missing.
    More,
    /// The whole payload.
    Whole(String),
}

/// Reason why a part was refused; its payload is forgotten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The numbers make no sense.
    #[error("expected a part from 1 to its number of parts, got `{n}` of `{of}`")]
    Numbers {
        /// The part's number.
        n: u32,
        /// The number of parts.
        of: u32,
    },
    /// A part came twice, too early, or after its payload was given up.
    #[error("expected part `{expected}` of this payload, got `{n}`")]
    OutOfOrder {
        /// The number that would have been next.
        expected: u32,
        /// The part's number.
        n: u32,
    },
    /// The number of parts changed.
    #[error("expected `{expected}` parts as said before, got `{of}`")]
    CountChanged {
        /// Number of parts that the first part announced.
        expected: u32,
        /// Number of parts that this part announces.
        of: u32,
    },
    /// More parts than we take.
    #[error("expected at most `{max}` parts, got `{of}`")]
    TooManyParts {
        /// Our limit.
        max: u32,
        /// Number of parts that the part announces.
        of: u32,
    },
    /// More text than we take.
    #[error("expected at most `{max}` bytes in all parts, got more")]
    TooLarge {
        /// Our limit.
        max: usize,
    },
    /// More payloads at once than we take.
    #[error("expected at most `{max}` payloads in parts at a time, got one more")]
    TooManyPayloads {
        /// Our limit.
        max: usize,
    },
}

impl PartError {
    /// The protocol's code for this fault.
    pub fn code(&self) -> OacpCode {
        match self {
            PartError::Numbers { .. }
            | PartError::OutOfOrder { .. }
            | PartError::CountChanged { .. } => OacpCode::PartMismatch,
            PartError::TooManyParts { .. } | PartError::TooLarge { .. } => OacpCode::PartTooLarge,
            PartError::TooManyPayloads { .. } => OacpCode::Overloaded,
        }
    }
}

/// The payloads of one connection that are under way.
#[derive(Debug)]
pub struct PartAssembler {
    limits: AssemblerLimits,
    /// A handful at most: searched from end to end.
    pending: Vec<PendingPayload>,
    /// Bytes of text in all of them.
    held: usize,
}

#[derive(Debug)]
struct PendingPayload {
    id: PartsId,
    next: u32,
    of: u32,
    text: String,
    deadline: CallerMillis,
}

impl PartAssembler {
    /// An assembler with nothing under way.
    pub fn new(limits: AssemblerLimits) -> PartAssembler {
        PartAssembler { limits, pending: Vec::new(), held: 0 }
    }

    /// Takes a part; `deadline` counts if it is the first of its payload.
    ///
    /// # Errors
    ///
    /// [`PartError`]; the payload is forgotten and its later parts are refused.
    pub fn accept(
        &mut self,
        id: &PartsId,
        part: ReceivedPart<'_>,
        deadline: CallerMillis,
    ) -> Result<AssemblyStep, PartError> {
        let known = self.pending.iter().position(|pending| pending.id == *id);
        let checked = self.check(known, part);
        let index = match (checked, known) {
            (Ok(()), Some(index)) => index,
            (Ok(()), None) => {
                let (text, of) = (String::new(), part.of);
                self.pending.push(PendingPayload { id: id.clone(), next: 1, of, text, deadline });
                self.pending.len() - 1
            }
            (Err(error), known) => {
                if let Some(index) = known {
                    self.forget(index);
                }
                return Err(error);
            }
        };
        let pending = &mut self.pending[index];
        pending.text.push_str(part.data);
        pending.next += 1;
        self.held += part.data.len();
        if pending.next <= pending.of {
            return Ok(AssemblyStep::More);
        }
        Ok(AssemblyStep::Whole(self.forget(index).text))
    }

    /// Forgets a payload whose sender gave up; whether there was one.
    pub fn abort(&mut self, id: &PartsId) -> bool {
        match self.pending.iter().position(|pending| pending.id == *id) {
            Some(index) => {
                self.forget(index);
                true
            }
            None => false,
        }
    }

    /// Forgets the payloads whose deadline is not after `now`, and names them.
    pub fn expire(&mut self, now: CallerMillis) -> Vec<PartsId> {
        let mut expired = Vec::new();
        while let Some(index) = self.pending.iter().position(|pending| pending.deadline <= now) {
            expired.push(self.forget(index).id);
        }
        expired
    }

    /// The earliest deadline of a payload under way.
    pub fn next_deadline(&self) -> Option<CallerMillis> {
        self.pending.iter().map(|pending| pending.deadline).min()
    }

    /// Bytes of text kept now.
    pub fn held_bytes(&self) -> usize {
        self.held
    }

    fn check(&self, known: Option<usize>, part: ReceivedPart<'_>) -> Result<(), PartError> {
        let ReceivedPart { n, of, data } = part;
        let limits = &self.limits;
        if n == 0 || n > of {
            return Err(PartError::Numbers { n, of });
        }
        if of > limits.parts {
            return Err(PartError::TooManyParts { max: limits.parts, of });
        }
        let (expected, said, bytes) = match known.map(|index| &self.pending[index]) {
            Some(pending) => (pending.next, pending.of, pending.text.len()),
            None => (1, of, 0),
        };
        if said != of {
            return Err(PartError::CountChanged { expected: said, of });
        }
        if n != expected {
            return Err(PartError::OutOfOrder { expected, n });
        }
        if known.is_none() && self.pending.len() >= limits.payloads {
            return Err(PartError::TooManyPayloads { max: limits.payloads });
        }
        if data.len() > limits.payload_bytes.saturating_sub(bytes) {
            return Err(PartError::TooLarge { max: limits.payload_bytes });
        }
        if data.len() > limits.held_bytes.saturating_sub(self.held) {
            return Err(PartError::TooLarge { max: limits.held_bytes });
        }
        Ok(())
    }

    fn forget(&mut self, index: usize) -> PendingPayload {
        let pending = self.pending.swap_remove(index);
        self.held -= pending.text.len();
        pending
    }
}
