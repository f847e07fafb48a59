//! `bridle undo`, `memory rollback` and `memory restore`: what would change is shown, and which lines of the user would
//! go with it; after a yes the daemon does it.

use std::fmt::Write as _;

use bridle_memex::{FileChange, LostLine, MemoryError, MemoryPreview, unified};
use bridle_shell::screen::neutral_line;
use bridle_shell::system::{self, SystemRequest};

use super::super::confirm::confirm;
use super::super::output::{print, print_styled};
use super::super::record::state_dir;
use super::super::talk::find;
use super::{ask, changed, colored, failure};
use crate::args::memory::TakeBackArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

/// Lines of the user that are shown before the question.
const MAX_USER_LINES_SHOWN: usize = 10;

/// Lines of the user that are listed in JSON.
const MAX_USER_LINES_LISTED: usize = 1000;

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 200;

/// Shows what would change, asks, and has the daemon do it.
pub(super) fn run(
    how: TakeBackArgs,
    planned: impl Fn(&MemoryPreview) -> Result<Vec<FileChange>, MemoryError>,
    request: &SystemRequest,
) -> Result<BridleExit, CommandFailure> {
    let TakeBackArgs { yes, dry_run, json, state, peer } = how;
    if json && !yes && !dry_run {
        return Err(CommandFailure::new(BridleExit::Usage, "--json cannot ask for confirmation")
            .hint("add --dry-run to only show the change, or --yes to apply it"));
    }
    let given = GivenFlags::with_state(peer.file.clone(), state);
    let preview = MemoryPreview::open(&state_dir(&given)?).map_err(|error| failure(&error))?;
    let changes = planned(&preview).map_err(|error| failure(&error))?;
    let plan = TakeBackPlan::of(&preview, &changes).map_err(|error| failure(&error))?;
    if changes.is_empty() {
        return nothing(json);
    }
    if dry_run && json {
        return print(&plan.to_json("would-change"));
    }
    if !yes {
        print_styled(&format!("{}{}", colored(&plan.diff), plan.lost_in_words()))?;
        if dry_run {
            return Ok(BridleExit::Ok);
        }
        confirm("Apply this change?", "change the files", "nothing was changed")?;
    }
    let payload = ask(system::ask(&find(peer)?, request)?)?;
    print(&if json { plan.to_json("done") } else { changed(&payload) })
}

/// Says that an undo would change nothing.
pub(super) fn nothing(json: bool) -> Result<BridleExit, CommandFailure> {
    let said = "nothing to undo: no file would change\n".to_owned();
    print(&if json { TakeBackPlan::default().to_json("unchanged") } else { said })
}

/// Changes that an undo would make, and lines that it would lose.
#[derive(Default)]
struct TakeBackPlan {
    files: Vec<String>,
    diff: Vec<u8>,
    /// Number of lines that would go.
    lost: usize,
    /// Lines of the user among them, with their files.
    lost_by_user: Vec<(String, LostLine)>,
}

impl TakeBackPlan {
    fn of(preview: &MemoryPreview, changes: &[FileChange]) -> Result<TakeBackPlan, MemoryError> {
        let mut plan = TakeBackPlan::default();
        for change in changes {
            let path = change.path.as_str();
            let now = preview.read(&change.path)?.map(|seen| seen.bytes);
            plan.diff.extend(unified(path, now.as_deref(), change.after.as_deref()));
            let lost = preview.lost_lines(change)?;
            plan.lost += lost.total;
            plan.lost_by_user.extend(lost.by_user.into_iter().map(|it| (path.to_owned(), it)));
            plan.files.push(path.to_owned());
        }
        Ok(plan)
    }

    /// Says how many lines would go, and quotes those of the user.
    fn lost_in_words(&self) -> String {
        let users = self.lost_by_user.len();
        let mut text = match self.lost {
            0 => return "removes no line of the current files\n".to_owned(),
            1 => "removes 1 line of the current files, marked with -".to_owned(),
            lost => format!("removes {lost} lines of the current files, marked with -"),
        };
        text.push_str(&match users {
            0 => "; you wrote none of them\n".to_owned(),
            users => format!("; you wrote {users} of them, not bridle:\n"),
        });
        for (path, LostLine { line, text: bytes }) in
            self.lost_by_user.iter().take(MAX_USER_LINES_SHOWN)
        {
            let whole = String::from_utf8_lossy(bytes);
            let cut: String = whole.chars().take(MAX_LINE_CHARS).collect();
            let more = if cut.len() < whole.len() { "..." } else { "" };
            let shown = format!("  {path}:{line}: {cut}{more}");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", neutral_line(&shown));
        }
        if users > MAX_USER_LINES_SHOWN {
            let _ = writeln!(text, "  and {} more", users - MAX_USER_LINES_SHOWN);
        }
        text
    }

    fn to_json(&self, status: &str) -> String {
        let listed = |items: Vec<String>| format!("[{}]", items.join(","));
        let lines = self.lost_by_user.iter().take(MAX_USER_LINES_LISTED).map(|(path, lost)| {
            let text = quoted(&String::from_utf8_lossy(&lost.text));
            object(&[("path", quoted(path)), ("line", lost.line.to_string()), ("text", text)])
        });
        let line = object(&[
            ("status", quoted(status)),
            ("files", listed(self.files.iter().map(|file| quoted(file)).collect())),
            ("diff", quoted(&String::from_utf8_lossy(&self.diff))),
            ("lost_lines", self.lost.to_string()),
            ("lost_user_lines", self.lost_by_user.len().to_string()),
            ("user_lines", listed(lines.collect())),
        ]);
        format!("{line}\n")
    }
}
