//! What is wrong with a skill, and where: the file and line of the Org text, also for a fault of its program.

use std::fmt;

use bridle_lisp::{LispError, LispErrorKind};

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillFaultKind {
    /// The file is no skill: a property, a trigger, a capability, a test.
    File,
    /// The program is no Lisp, or uses what the language lacks.
    Program,
    /// The program failed.
    Run,
    /// The program ran into a limit.
    Limit,
    /// The answer is none that a skill may give.
    Answer,
    /// The second run of a call asked for something else than the first.
    Nondeterministic,
}

impl SkillFaultKind {
    /// Name for people and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Program => "program",
            Self::Run => "run",
            Self::Limit => "limit",
            Self::Answer => "answer",
            Self::Nondeterministic => "nondeterministic",
        }
    }
}

/// Place in the Org file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlace {
    /// File, as its reader named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// The line itself, without blanks around it.
    pub form: String,
}

/// Fault of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFault {
    /// Kind of the fault.
    pub kind: SkillFaultKind,
    /// The reason in one sentence.
    pub message: String,
    /// Place, where it is known.
    pub place: Option<FaultPlace>,
}

impl SkillFault {
    /// A fault of this kind, without a place.
    pub fn new(kind: SkillFaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None }
    }

    /// A fault of the file at this line.
    pub(crate) fn at_line(message: impl Into<String>, file: &str, text: &str, line: usize) -> Self {
        let place = place(file, text, line, 1);
        Self { kind: SkillFaultKind::File, message: message.into(), place: Some(place) }
    }

    /// A fault of the program, whose lines are those of the file.
    pub(crate) fn of_lisp(error: &LispError, file: &str, text: &str) -> Self {
        let kind = match error.kind {
            LispErrorKind::Outside | LispErrorKind::Syntax | LispErrorKind::Incomplete => {
                SkillFaultKind::Program
            }
            LispErrorKind::Limit(_) => SkillFaultKind::Limit,
            LispErrorKind::Condition(_) => SkillFaultKind::Run,
        };
        let message = match &error.kind {
            LispErrorKind::Outside => format!("outside the language: {}", error.message),
            LispErrorKind::Condition(name) => format!("{name}: {}", error.message),
            LispErrorKind::Limit(limit) => format!("{} limit reached", limit.name()),
            LispErrorKind::Syntax | LispErrorKind::Incomplete => error.message.clone(),
        };
        let line = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let at =
            |at: &bridle_lisp::SourceLocation| place(file, text, line(at.line), line(at.column));
        Self { kind, message, place: error.place.as_ref().map(at) }
    }
}

fn place(file: &str, text: &str, line: usize, column: usize) -> FaultPlace {
    let form = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let form: String =
        form.trim().chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect();
    FaultPlace { file: file.to_owned(), line, column, form }
}

/// Characters of a line that a fault shows.
const MAX_SHOWN_CHARS: usize = 120;

impl fmt::Display for SkillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(FaultPlace { file, line, column, form }) if !form.is_empty() => {
                write!(f, "{file}:{line}:{column}: {}\n  in {form}", self.message)
            }
            Some(FaultPlace { file, line, column, .. }) => {
                write!(f, "{file}:{line}:{column}: {}", self.message)
            }
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for SkillFault {}
