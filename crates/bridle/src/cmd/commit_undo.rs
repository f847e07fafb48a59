//! `bridle undo` for files of a project: the diff of the commit that goes is shown; after a yes the daemon takes
//! it back, each file only where it is as the commit left it.

use bridle_sexp::Value;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::confirm::confirm;
use super::diff::{asked, diff_of};
use super::output::{print, print_styled};
use super::session::refused;
use super::talk::find;
use crate::args::memory::TakeBackArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

/// Commits that are to be taken back.
pub(super) struct CommitChoice {
    /// Action of `:stage`.
    pub(super) action: &'static str,
    /// Record, or session and turn.
    pub(super) what: Vec<(&'static str, Value)>,
    /// Some files of theirs; all if there are none.
    pub(super) files: Vec<String>,
}

/// Takes commits back; `None` if there are none, or no daemon answers.
pub(super) fn run(
    how: &TakeBackArgs,
    choice: &CommitChoice,
) -> Result<Option<BridleExit>, CommandFailure> {
    let Ok(targets) = find(how.peer.clone()) else { return Ok(None) };
    let told = match asked(&targets, &choice.what, &choice.files) {
        Ok(SystemReply::Done(told)) => told,
        // Whoever names files means a commit.
        Ok(SystemReply::Not(answer)) if !choice.files.is_empty() => return Err(refused(&answer)),
        _ => return Ok(None),
    };
    let diff = diff_of(&told);
    let shown = |status: &str| object(&[("status", quoted(status)), ("diff", quoted(diff))]) + "\n";
    if how.json && !how.yes && !how.dry_run {
        return Err(CommandFailure::new(BridleExit::Usage, "--json cannot ask for confirmation")
            .hint("add --dry-run to only show the change, or --yes to apply it"));
    }
    if how.dry_run && how.json {
        return print(&shown("would-change")).map(Some);
    }
    if !how.yes {
        print_styled(&format!("taken back is:\n{}", super::memory::colored(diff.as_bytes())))?;
        if how.dry_run {
            return Ok(Some(BridleExit::Ok));
        }
        confirm("Take this back?", "change the files", "nothing was changed")?;
    }
    let mut ask = vec![("action", Value::keyword(choice.action))];
    ask.extend(choice.what.iter().cloned());
    if !choice.files.is_empty() {
        let files = choice.files.iter().map(|file| Value::str(file.as_str()));
        ask.push(("paths", Value::list(files)));
    }
    let ask = Value::plist(ask);
    let payload = match system::ask(&targets, &SystemRequest::Stage(ask))? {
        SystemReply::Done(payload) => payload,
        SystemReply::Not(answer) => return Err(refused(&answer)),
    };
    let result = payload.get("result").unwrap_or(&Value::Nil);
    match result.get("files").and_then(Value::as_i64) {
        Some(_) if how.json => print(&shown("done")).map(Some),
        Some(files) => print(&format!("taken back: {files} files\n")).map(Some),
        None => Err(CommandFailure::new(BridleExit::Temporary, "it was not taken back")
            .hint("`bridle approvals` lists pending approvals")),
    }
}
