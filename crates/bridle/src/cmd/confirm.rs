//! A yes or a no of a person at a terminal, for the commands that change something. Never asked of a pipe: what
//! is typed ahead there was not meant as an answer.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::exit::{Exit, Failure};

/// Whether somebody is there who can be asked.
pub(super) fn has_person() -> bool {
    io::stdin().is_terminal()
}

/// Asks `question` and tells whether the answer was a clear yes.
pub(super) fn asked(question: &str) -> Result<bool, Failure> {
    let mut answer = String::new();
    let mut out = io::stderr().lock();
    write!(out, "{question} [y/N] ")
        .and_then(|()| out.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut answer))
        .map_err(|error| Failure::stream("cannot ask", &error))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Goes on after a yes. `what` is what nobody could be asked about, `kept` what holds after a no.
pub(super) fn confirm(question: &str, what: &str, kept: &str) -> Result<(), Failure> {
    if !has_person() {
        return Err(Failure::new(Exit::Usage, format!("not asked whether to {what}"))
            .hint("say it with --yes, or run this on a terminal"));
    }
    match asked(question)? {
        true => Ok(()),
        false => Err(Failure::new(Exit::Answered, kept.to_owned())),
    }
}
