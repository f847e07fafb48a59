//! Scripts, read into simple commands: what each starts, in which folder, and what of it is only known
//! when it runs. Narrows questions and grants; the jail carries the safety. What the parser does not
//! understand, or what two shells read in two ways, is *dynamic*: it can only be granted exactly.

mod classify;
mod sed;
mod unwrap;
mod walk;
mod word;

use std::io::Cursor;

use brush_parser::{Parser, ParserOptions};
use serde::{Deserialize, Serialize};

/// Most bytes of a script that is read.
const MAX_SCRIPT_BYTES: usize = 64 << 10;

/// Brackets and quotes in one another: the parser calls itself.
const MAX_NESTING: usize = 24;

/// Stack of the thread that parses.
const PARSER_STACK_BYTES: usize = 64 << 20;

/// Most commands of a script, those inside of others included.
const MAX_COMMANDS: usize = 1_000;

/// Scripts in scripts: `sh -c "sh -c ..."`.
const MAX_DEPTH: usize = 8;

/// Fault of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Text that no shell grammar accepts.
    #[error("the script cannot be read: {0}")]
    Syntax(String),
    /// Text above a limit.
    #[error("the script is above its limit: {0}")]
    TooLarge(&'static str),
}

/// Word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptWord {
    /// Exactly this text, quotes removed.
    Static(String),
    /// Only known when it runs; as it is written.
    Dynamic(String),
}

impl ScriptWord {
    /// Text of a static word.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            ScriptWord::Static(text) => Some(text),
            ScriptWord::Dynamic(_) => None,
        }
    }
}

/// Property of a command for which its name alone says too little.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandRisk {
    /// The program is only known when the script runs.
    DynamicProgram,
    /// An interpreter: its arguments or its input are a program.
    Interpreter,
    /// An option or argument names a command that it runs.
    RunsCommand(String),
    /// Runs what the project says: build and package scripts.
    RunsProjectCode,
    /// Runs commands on, or moves bytes to, another machine.
    Remote,
    /// Asks for the rights of another user.
    GainsRights,
    /// A variable set for it makes it load or run something.
    VariableRunsCode(String),
    /// A program of the project or of an unusual folder with the name of a common one.
    UnusualPath,
    /// Part of it could not be understood.
    NotUnderstood,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptCommand {
    /// Name without the folder when it is one of the system's, else as it is written.
    pub program: Option<String>,
    /// Program and arguments, prefixes such as `env A=1 nice` taken off.
    pub argv: Vec<ScriptWord>,
    /// Prefixes that were taken off, outermost first.
    pub wrappers: Vec<String>,
    /// Folder that a `cd` before it leads to; empty is where the script starts.
    pub folder: ScriptWord,
    /// Variables that are set for it.
    pub variables: Vec<String>,
    /// Risks that its name does not show.
    pub risks: Vec<CommandRisk>,
}

impl ScriptCommand {
    /// All of it is known beforehand, and its name says what it does: a grant for program and
    /// subcommand may cover it.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.risks.is_empty()
            && self.argv.iter().all(|word| word.text().is_some())
            && self.folder.text().is_some()
    }
}

/// Everything that a script does, as far as it can be known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptReading {
    /// Commands in the order of the text.
    pub commands: Vec<ScriptCommand>,
    /// Files that the shell itself writes.
    pub written: Vec<ScriptWord>,
    /// Files that the shell itself reads.
    pub read: Vec<ScriptWord>,
    /// Reasons for which it can only be granted exactly.
    pub dynamic: Vec<String>,
}

impl ScriptReading {
    /// Every command is plain, and nothing else is in the way of a grant for each.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.dynamic.is_empty()
            && self.commands.iter().all(ScriptCommand::is_plain)
            && self.written.iter().chain(&self.read).all(|word| word.text().is_some())
    }
}

/// Reads a script for `/bin/sh`.
///
/// # Errors
///
/// Text that is not a script, and text above a limit, is refused.
pub fn read_script(text: &str) -> Result<ScriptReading, ScriptError> {
    read_nested(text, 0)
}

/// Reads a typed command: the program and its arguments, prefixes taken off, inner commands included.
#[must_use]
pub fn read_argv(argv: &[String]) -> ScriptReading {
    let mut reading = ScriptReading::default();
    let words: Vec<ScriptWord> = argv.iter().cloned().map(ScriptWord::Static).collect();
    let start = ScriptWord::Static(String::new());
    unwrap::push_command(&mut reading, words, Vec::new(), &start, 0);
    reading
}

/// Whether a variable of this name makes programs load or run something.
#[must_use]
pub fn variable_runs_code(name: &str) -> bool {
    classify::runs_code(name)
}

fn read_nested(text: &str, depth: usize) -> Result<ScriptReading, ScriptError> {
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(ScriptError::TooLarge("bytes"));
    }
    if depth > MAX_DEPTH || nesting(text) > MAX_NESTING {
        return Err(ScriptError::TooLarge("nesting"));
    }
    if text.contains('\0') {
        return Err(ScriptError::Syntax("a NUL byte".into()));
    }
    let text = text.to_owned();
    let thread = std::thread::Builder::new()
        .name("script reader".into())
        .stack_size(PARSER_STACK_BYTES)
        .spawn(move || {
            let program = Parser::new(Cursor::new(&text), &options())
                .parse_program()
                .map_err(|error| ScriptError::Syntax(error.to_string()))?;
            Ok(walk::read_program(&program, depth))
        })
        .map_err(|error| ScriptError::Syntax(error.to_string()))?;
    thread.join().unwrap_or_else(|_| Err(ScriptError::Syntax("the parser gave up".into())))
}

fn options() -> ParserOptions {
    ParserOptions { sh_mode: true, posix_mode: true, ..ParserOptions::default() }
}

/// Upper bound of the depth to which the parser calls itself: openers that are not closed yet, in
/// quotes or not.
fn nesting(text: &str) -> usize {
    let (mut now, mut deepest, mut words) = (0_usize, 0_usize, 0_usize);
    for character in text.chars() {
        match character {
            '(' | '{' => now += 1,
            ')' | '}' => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    for word in text.split(|character: char| !character.is_ascii_alphanumeric()) {
        match word {
            "if" | "for" | "while" | "until" | "case" => words += 1,
            "fi" | "done" | "esac" => words = words.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(words);
    }
    deepest
}

#[cfg(test)]
mod tests;
