//! Reasons to leave the straight path: conditions to signal, limits, and what is outside the subset.

use crate::value::Word;

/// Result of a step that may leave the straight path.
pub(crate) type StepResult<T = Word> = Result<T, Trap>;

/// Boxed, so that the straight path stays small.
pub(crate) type Trap = Box<TrapKind>;

pub(crate) enum TrapKind {
    /// A condition object that `error` is to be called with.
    Condition(Word),
    /// A condition that nobody handled.
    Unhandled(Word),
    /// A limit of the instance; no Lisp code sees it.
    Limit(LimitKind),
    /// Name or value that the subset does not have; no Lisp code sees it, so that no handler turns it
    /// into a value that SBCL would not give.
    Outside(String),
    /// A condition's report is a Lisp function: call it, then try again.
    Report(Word),
    /// The program waits for an answer of the host: the same instruction runs again when it is there.
    Suspend,
}

impl TrapKind {
    /// The condition object, if it is one.
    pub(crate) const fn word(&self) -> Option<Word> {
        match self {
            Self::Condition(word) | Self::Unhandled(word) | Self::Report(word) => Some(*word),
            _ => None,
        }
    }

    /// Whether it is a condition, and neither a limit nor outside the subset.
    pub(crate) const fn is_condition(&self) -> bool {
        matches!(self, Self::Condition(_) | Self::Unhandled(_) | Self::Report(_))
    }
}

/// Limit of an instance that a program ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Steps of one call from the host.
    Fuel,
    /// Bytes of live values.
    Heap,
    /// Nested calls, or nesting of source or data.
    Depth,
    /// Bytes of output that the host has not taken.
    Output,
}

impl LimitKind {
    /// Name as in settings and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fuel => "fuel",
            Self::Heap => "heap",
            Self::Depth => "depth",
            Self::Output => "output",
        }
    }
}

pub(crate) fn limit(kind: LimitKind) -> Trap {
    Box::new(TrapKind::Limit(kind))
}

pub(crate) fn outside(name: impl Into<String>) -> Trap {
    Box::new(TrapKind::Outside(name.into()))
}
