//! Errors for people: what happened, where, in which calls, and what to do about it.

use std::fmt;

use crate::trap::LimitKind;

/// Place in a source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// File as the host named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Kind of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LispErrorKind {
    /// A condition that the program did not handle: the name of its type.
    Condition(String),
    /// A limit of the instance.
    Limit(LimitKind),
    /// Name, value or directive that the subset does not have.
    Outside,
    /// A text that is no Lisp.
    Syntax,
    /// A text that ends inside a form.
    Incomplete,
}

/// Failure of a program, for people and for the host.
#[derive(Debug, Clone)]
pub struct LispError {
    /// Kind of failure.
    pub kind: LispErrorKind,
    /// Message of one sentence; for [`LispErrorKind::Outside`] the name that was refused.
    pub message: String,
    /// Place in the source, as far as it is known.
    pub place: Option<SourceLocation>,
    /// Functions that were running, the innermost first, each with its place.
    pub calls: Vec<String>,
    /// Advice on what to change.
    pub hint: Option<&'static str>,
}

impl fmt::Display for LispError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LispErrorKind::Outside => {
                write!(f, "outside the subset: {}", self.message)?;
                if let Some(place) = &self.place {
                    write!(f, " at {place}")?;
                }
            }
            kind => {
                if let Some(place) = &self.place {
                    write!(f, "{place}: ")?;
                }
                match kind {
                    LispErrorKind::Condition(name) => write!(f, "{name}: {}", self.message)?,
                    LispErrorKind::Limit(limit) => {
                        write!(f, "{} limit reached: {}", limit.name(), self.message)?;
                    }
                    _ => write!(f, "{}", self.message)?,
                }
            }
        }
        for call in &self.calls {
            write!(f, "\n  in {call}")?;
        }
        if let Some(hint) = self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LispError {}

/// A hint for a condition of this type.
pub(crate) fn hint(name: &str) -> Option<&'static str> {
    Some(match name {
        "UNDEFINED-FUNCTION" => "check the spelling, and that the definition comes before the call",
        "UNBOUND-VARIABLE" => "bind it with LET, or define it with DEFVAR or DEFPARAMETER",
        "TYPE-ERROR" => "check the value before the call, for example with CHECK-TYPE",
        "DIVISION-BY-ZERO" => "test the divisor with ZEROP first",
        "INDEX-ERROR" => "compare the index with LENGTH first",
        "SIMPLE-PROGRAM-ERROR" => "compare the call with the function's parameters",
        _ => return None,
    })
}

/// A hint for a limit.
pub(crate) const fn limit_hint(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Fuel => "look for a loop without an end, or raise the fuel",
        LimitKind::Heap => "keep less at once, or raise the heap limit",
        LimitKind::Depth => "turn the recursion into a loop, or raise the depth limit",
        LimitKind::Output => "print less, or raise the output limit",
    }
}
