//! Commits taken back: by their record or turn, wholly or some of their files; each file only where it is as
//! the commit left it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bridle_host::{ActIo, CrashOutcome};
use bridle_jail::CommitId;
use bridle_loop::{Action, Outcome, PREPARED, UndoTarget};
use bridle_sexp::Value;

use super::cause::CommitCause;
use crate::error::EffectError;
use crate::payload::{count, cut, with, with_fault};
use crate::steward;
use crate::workspace::Workspace;

/// Longest diff of an undo, in bytes.
const MAX_DIFF_BYTES: usize = 128 << 10;

/// Most files that one undo names; more are taken back by several.
const MAX_UNDO_FILES: usize = 1_000;

/// The payload with the files that would change, and the diff of the commit that is taken back.
pub(super) fn prepared(workspace: &Workspace, payload: &Value) -> Value {
    let bare = with(payload, PREPARED, Value::Nil);
    let Ok(Action::Undo(undo)) = Action::from_payload(&bare) else { return payload.clone() };
    let found = commits_of(workspace, &undo.what).and_then(|commits| {
        if only(payload).is_empty() {
            workspace.journal().check_undo(&commits)?;
        }
        let (mut files, mut diff) = (Vec::new(), String::new());
        for commit in &commits {
            let only = only(payload);
            diff.push_str(&workspace.journal().patch(commit, &only)?);
            let changes = workspace.journal().changes(commit)?;
            let is_meant = |path: &&PathBuf| only.is_empty() || only.contains(path);
            files.extend(changes.paths.iter().filter(is_meant).map(|it| changes.project.join(it)));
        }
        match files.len() > MAX_UNDO_FILES {
            true => Err(EffectError::refused("more than 1000 files: name some of them")),
            false => Ok((files, diff)),
        }
    });
    match found {
        Err(error) => with_fault(payload, error.in_full()),
        Ok((files, diff)) => {
            let file =
                |path: &PathBuf| Value::plist([("path", Value::str(path.to_string_lossy()))]);
            let diff = format!("taken back is:\n{}", cut(&diff, MAX_DIFF_BYTES));
            let seen = [("files", Value::list(files.iter().map(file))), ("diff", Value::str(diff))];
            with(payload, PREPARED, Value::plist(seen))
        }
    }
}

/// Files that are named with `:paths`, below the project.
fn only(payload: &Value) -> Vec<PathBuf> {
    let paths = payload.get("paths").and_then(Value::elements).unwrap_or_default();
    paths.iter().filter_map(Value::as_str).map(PathBuf::from).collect()
}

/// Commits that something is about, the latest first; those that were rolled back do not count, and of a turn or
/// session neither do those that are taken back already.
fn commits_of(workspace: &Workspace, what: &UndoTarget) -> Result<Vec<CommitId>, EffectError> {
    let causes = match what {
        UndoTarget::Record(record) => CommitCause::find(workspace, |it| it.record == *record),
        UndoTarget::Turn { session, turn } => {
            CommitCause::find(workspace, |it| it.session == **session && it.turn == *turn)
        }
        UndoTarget::Session { session } => {
            CommitCause::find(workspace, |it| it.session == **session)
        }
        UndoTarget::Snapshot { .. } => Vec::new(),
    };
    let is_taken_back = match what {
        UndoTarget::Turn { .. } | UndoTarget::Session { .. } => taken_back(workspace),
        _ => HashSet::new(),
    };
    let all = causes.into_iter().map(|cause| cause.commit);
    let done: Vec<CommitId> = all
        .filter(|it| workspace.journal().is_finished(it) && !is_taken_back.contains(it))
        .collect();
    match done.is_empty() {
        true => Err(EffectError::refused("nothing was committed there")),
        false => Ok(done),
    }
}

/// Commits that another one took back as a whole, together with that one.
fn taken_back(workspace: &Workspace) -> HashSet<CommitId> {
    let journal = workspace.journal();
    let mut gone = HashSet::new();
    // The latest first: an undo that was undone takes nothing back.
    for undo in CommitCause::find(workspace, |_| true).into_iter().map(|cause| cause.commit) {
        if gone.contains(&undo) || !journal.is_finished(&undo) {
            continue;
        }
        let Ok(changes) = journal.changes(&undo) else { continue };
        let Some(of) = changes.undoes else { continue };
        if journal.changes(&of).is_ok_and(|all| all.paths == changes.paths) {
            gone.extend([undo, of]);
        }
    }
    gone
}

/// Takes back; stops at the first commit that cannot be.
pub(super) fn take_back(
    workspace: &Workspace,
    what: &UndoTarget,
    payload: &Value,
    io: &ActIo,
) -> Result<Value, EffectError> {
    let only = only(payload);
    let mut done = Vec::new();
    let mut files = 0;
    let mut git = None;
    let commits = commits_of(workspace, what)?;
    if only.is_empty() {
        // All of them or none, as far as can be known before.
        workspace.journal().check_undo(&commits)?;
    }
    for commit in commits {
        let undone = workspace.journal().undo(&commit, &only, &mut |_| {})?;
        CommitCause::new(&undone.id, &io.context).keep(workspace)?;
        files += undone.paths;
        let changes = workspace.journal().changes(&undone.id)?;
        let message = format!("take back\n\nRecord: {}", io.context.record);
        git = steward::record(workspace, &changes.project, &changes.paths, &message).or(git);
        done.push(Value::str(undone.id.to_string()));
    }
    let pairs = [
        ("commits", Value::list(done)),
        ("record", count(io.context.record)),
        ("files", count(files)),
    ];
    Ok(Value::plist(pairs.into_iter().chain(git)))
}

/// The end of an undo that a crash broke off: the recovery has brought each commit to its end, and which
/// of several was reached is told by the files.
pub(super) fn crash_outcome(workspace: &Workspace, record: u64) -> CrashOutcome {
    let done = CommitCause::find(workspace, |cause| record > 0 && cause.record == record);
    let done = done.iter().filter(|it| workspace.journal().is_finished(&it.commit)).count();
    match (done, workspace.recovered().is_empty()) {
        (0, true) => CrashOutcome::NotDone,
        _ => {
            let text = "the daemon ended while this was taken back; each commit is whole or not begun: look at the diff";
            CrashOutcome::Ended(Outcome::Failed(text.into()))
        }
    }
}

/// Diff of the commits of a record, a turn or a session, for people: the latest first.
///
/// # Errors
/// Nothing was committed there, or it cannot be read.
pub fn describe_commit(
    workspace: &Workspace,
    what: &UndoTarget,
    only: &[&Path],
) -> Result<String, EffectError> {
    let only: Vec<PathBuf> = only.iter().map(|path| path.to_path_buf()).collect();
    let mut out = String::new();
    for commit in commits_of(workspace, what)? {
        out.push_str(&workspace.journal().patch(&commit, &only)?);
    }
    Ok(out)
}
