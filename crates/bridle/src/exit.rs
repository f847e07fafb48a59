//! How every command ends: the exit code table and the shape of an error on stderr.
//!
//! Every command returns `Result<BridleExit, CommandFailure>`; `main` alone prints a failure and leaves. Codes
//! follow sysexits where it has a word for the case; scripts rely on them, so a code never changes
//! its meaning.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BridleExit {
    Ok = 0,
    Answered = 1,
    Usage = 2,
    OutsideSubset = 64,
    Data = 65,
    NoInput = 66,
    Unavailable = 69,
    Software = 70,
    CannotCreate = 73,
    Io = 74,
    Temporary = 75,
    Protocol = 76,
    Permission = 77,
    Config = 78,
}

impl BridleExit {
    /// Every code with its meaning, in the order of the help text.
    pub(crate) const TABLE: [(BridleExit, &'static str); 14] = [
        (BridleExit::Ok, "success; also when the reader closes the pipe"),
        (
            BridleExit::Answered,
            "the daemon answers with an error or is unhealthy; a replay, example or program fails",
        ),
        (BridleExit::Usage, "bad command line"),
        (BridleExit::OutsideSubset, "a Lisp program uses something outside the subset"),
        (
            BridleExit::Data,
            "bad input: an invalid form, frame or policy file, a wrong signature, a changed record",
        ),
        (BridleExit::NoInput, "an input file, a record or a session is missing"),
        (BridleExit::Unavailable, "no daemon, or the connection was lost"),
        (BridleExit::Software, "internal error"),
        (BridleExit::CannotCreate, "a file cannot be created or already exists"),
        (BridleExit::Io, "reading or writing failed"),
        (
            BridleExit::Temporary,
            "timeout, waiting for approval, or another daemon uses the state directory",
        ),
        (BridleExit::Protocol, "the other side does not speak the protocol"),
        (BridleExit::Permission, "not allowed, or the signature was refused"),
        (BridleExit::Config, "invalid setting"),
    ];

    /// The table as the help text and the manual page show it.
    pub(crate) fn help() -> String {
        let mut text = String::from("Exit codes:\n");
        for (exit, meaning) in BridleExit::TABLE {
            text.push_str(&format!("  {:>2}  {meaning}\n", exit as u8));
        }
        text
    }
}

impl From<BridleExit> for ExitCode {
    fn from(exit: BridleExit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error as people meet it: what failed and why, what to do about it, and the exit code.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    exit: BridleExit,
    /// The first line. Printed after `error: `, except where scripts rely on the bare line.
    what: String,
    bare: bool,
    /// Further lines that show the place, printed as they are.
    detail: Vec<String>,
    hints: Vec<String>,
    /// The setting that it is about.
    setting: Option<&'static str>,
    /// Further failures of the same kind, which are told with it.
    others: Vec<CommandFailure>,
}

impl CommandFailure {
    pub(crate) fn new(exit: BridleExit, what: impl fmt::Display) -> CommandFailure {
        let what = what.to_string();
        let (detail, hints, others) = (Vec::new(), Vec::new(), Vec::new());
        CommandFailure { exit, what, bare: false, detail, hints, setting: None, others }
    }

    /// A failure whose first line stands alone, for scripts that parse it.
    pub(crate) fn bare(exit: BridleExit, line: impl fmt::Display) -> CommandFailure {
        CommandFailure { bare: true, ..CommandFailure::new(exit, line) }
    }

    /// A failure with its cause, and the cause's causes, on the same line.
    pub(crate) fn because(
        exit: BridleExit,
        what: impl fmt::Display,
        cause: &dyn std::error::Error,
    ) -> CommandFailure {
        let mut line = what.to_string();
        let mut next = Some(cause);
        while let Some(error) = next {
            line.push_str(": ");
            line.push_str(&error.to_string());
            next = error.source();
        }
        CommandFailure::new(exit, line)
    }

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> CommandFailure {
        self.hints.push(hint.to_string());
        self
    }

    pub(crate) fn detail(mut self, line: impl fmt::Display) -> CommandFailure {
        self.detail.push(line.to_string());
        self
    }

    /// Names the setting that it is about.
    pub(crate) fn about(mut self, setting: &'static str) -> CommandFailure {
        self.setting = Some(setting);
        self
    }

    /// The setting that it is about.
    pub(crate) fn setting(&self) -> Option<&'static str> {
        self.setting
    }

    /// Tells others with it; the exit code is its own.
    pub(crate) fn with(
        mut self,
        others: impl IntoIterator<Item = CommandFailure>,
    ) -> CommandFailure {
        self.others.extend(others);
        self
    }

    /// Description of the failure, without hint and cause.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    pub(crate) fn exit(&self) -> BridleExit {
        self.exit
    }

    /// Reading or writing a standard stream failed. A closed pipe is how `| head` says enough.
    pub(crate) fn stream(what: &str, error: &io::Error) -> CommandFailure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return CommandFailure::new(BridleExit::Ok, "");
        }
        CommandFailure::because(BridleExit::Io, what, error)
            .hint("check the other end of the pipe and the free disk space")
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bare {
            writeln!(f, "{}", self.what)?;
        } else {
            writeln!(f, "error: {}", self.what)?;
        }
        for line in &self.detail {
            writeln!(f, "{line}")?;
        }
        for hint in &self.hints {
            writeln!(f, "hint: {hint}")?;
        }
        self.others.iter().try_for_each(|other| write!(f, "{other}"))
    }
}
