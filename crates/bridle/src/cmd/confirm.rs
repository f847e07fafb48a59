//! A yes or a no of a person at a terminal, for the commands that change something. Never asked of a pipe: what
//! is typed ahead there was not meant as an answer.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use bridle_shell::ask::lines_of;

use crate::exit::{BridleExit, CommandFailure};

/// Interval between two looks at whether somebody else has answered.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Whether somebody is there who can be asked.
pub(super) fn has_person() -> bool {
    io::stdin().is_terminal()
}

/// Asks `question` and tells whether the answer was a clear yes.
pub(super) fn asked(question: &str) -> Result<bool, CommandFailure> {
    let mut answer = String::new();
    let mut out = io::stderr().lock();
    write!(out, "{question} [y/N] ")
        .and_then(|()| out.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| CommandFailure::stream("cannot ask", &error))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Goes on after a yes to something that others may answer meanwhile: `is_over` then says how that ended, and
/// nobody is asked any longer.
pub(super) fn confirm_unless(
    question: &str,
    what: &str,
    kept: &str,
    mut is_over: impl FnMut() -> Option<String>,
) -> Result<(), CommandFailure> {
    if !has_person() {
        return confirm(question, what, kept);
    }
    let mut out = io::stderr().lock();
    write!(out, "{question} [y/N] ")
        .and_then(|()| out.flush())
        .map_err(|error| CommandFailure::stream("cannot ask", &error))?;
    let typed = lines_of(io::stdin());
    let line = loop {
        match typed.recv_timeout(LOOK_AGAIN) {
            Ok(line) => break line,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(how) = is_over() {
            // The question stands on a line that nobody ended.
            let _ = writeln!(out);
            return Err(CommandFailure::new(BridleExit::Answered, how).hint(kept.to_owned()));
        }
    };
    match matches!(line.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(CommandFailure::new(BridleExit::Answered, kept.to_owned())),
    }
}

/// Goes on after a yes. `what` is what nobody could be asked about, `kept` what holds after a no.
pub(super) fn confirm(question: &str, what: &str, kept: &str) -> Result<(), CommandFailure> {
    if !has_person() {
        return Err(CommandFailure::new(
            BridleExit::Usage,
            format!("cannot {what} without confirmation"),
        )
        .hint("pass --yes, or run this in a terminal"));
    }
    match asked(question)? {
        true => Ok(()),
        false => Err(CommandFailure::new(BridleExit::Answered, kept.to_owned())),
    }
}
