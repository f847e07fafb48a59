//! Changes of a stage: shown, committed exactly as they were shown, or dropped.

use std::path::{Path, PathBuf};

use bridle_host::{ActContext, ActIo, CrashOutcome};
use bridle_jail::{ChangeFacts, ChangeSet, CommitOutcome, JailError, RecoveryVerdict, Stage};
use bridle_loop::{
    Action, ChangeCounts, EffectFacts, Outcome, PREPARED, StageOperation, StageRequest,
};
use bridle_sexp::Value;

use super::cause::CommitCause;
use crate::error::EffectError;
use crate::payload::{count, cut, with, with_diff, with_fault};
use crate::steward;
use crate::workspace::{Workspace, text};

/// Bytes of a diff in an outcome.
const MAX_SHOWN_DIFF: usize = 128 << 10;

/// Paths that an outcome names.
const MAX_NAMED_PATHS: usize = 64;

/// The name of the stage of a turn that has changes; one without any is dropped.
pub(super) fn to_commit(workspace: &Workspace, session: &str, turn: u64) -> Option<String> {
    // A stage that is lost or cannot be read is asked for all the same: the question says why it cannot be done.
    let stage = workspace.turns().find(session, turn).ok()??;
    let id = stage.id().to_string();
    match stage.changes() {
        Ok(changes) if changes.is_empty() => {
            // Nothing to lose: what cannot be removed expires.
            let _ = drop_stage(workspace, stage);
            None
        }
        _ => Some(id),
    }
}

/// The payload with the facts, the hash and the diff of the changes.
pub(super) fn prepared(workspace: &Workspace, payload: &Value) -> Value {
    let bare = with(payload, PREPARED, Value::Nil);
    let Ok(Action::Stage(request)) = Action::from_payload(&bare) else { return payload.clone() };
    let found = workspace.turns().open_stage(&request.stage).and_then(|stage| {
        let set = stage.changes()?;
        let facts = facts(workspace, &stage, &set)?;
        Ok((facts, set.hash(), set.patch()?))
    });
    match (found, &request.operation) {
        (Ok((facts, hash, diff)), StageOperation::Commit { .. }) => {
            let payload = with(payload, "hash", Value::str(hash));
            with_diff(&payload, &facts, &diff)
        }
        (Ok((facts, ..)), _) => crate::payload::with_facts(payload, &facts),
        (Err(error), StageOperation::Discard) => {
            // What is gone is dropped already.
            let is_lost = matches!(error, EffectError::Jail(JailError::StageLost { .. }));
            match is_lost {
                true => payload.clone(),
                false => with_fault(payload, error.in_full()),
            }
        }
        (Err(error), _) => with_fault(payload, error.in_full()),
    }
}

fn facts(
    workspace: &Workspace,
    stage: &Stage,
    set: &ChangeSet,
) -> Result<EffectFacts, EffectError> {
    let found = set.facts()?;
    let project = stage.project();
    let whole = |path: &String| text(Some(&project.join(path)));
    let counts = ChangeCounts {
        files: number(found.files),
        deletions: number(found.deletions),
        bytes: number(found.bytes),
        secrets: number(found.secrets_found.len() as u64),
        outside: number((found.links_outside.len() + found.privileged.len()) as u64),
        paths: found.paths.iter().map(|path| path.as_str().into()).collect(),
        runs_later: found.runs_later.iter().map(|it| it.path.as_str().into()).collect(),
    };
    let fault = fault(set, &found, workspace, project);
    Ok(EffectFacts {
        project: text(Some(project)),
        inside: true,
        layer: stage.layer().to_string().into(),
        paths: found.paths.iter().map(whole).collect(),
        changes: counts,
        fault: fault.map(Into::into),
        ..EffectFacts::default()
    })
}

/// Reason why the changes cannot be committed as they are.
fn fault(
    set: &ChangeSet,
    found: &ChangeFacts,
    workspace: &Workspace,
    project: &Path,
) -> Option<String> {
    if let Some(conflict) = set.conflicts.first() {
        let more = set.conflicts.len() - 1;
        return Some(format!(
            "`{}` was {}, and {more} more; nothing is overwritten: the changes stay on their stage",
            conflict.path.display(),
            conflict.reason
        ));
    }
    // All paths, also those beyond what policies are told.
    let own = found.paths.iter().find(|path| workspace.is_protected(&project.join(path)));
    own.map(|path| format!("`{path}` is bridle's own and is not changed so"))
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Commits exactly the changes with this hash.
pub(super) fn commit(
    workspace: &Workspace,
    stage: &str,
    hash: Option<&str>,
    io: &ActIo,
) -> Result<Value, EffectError> {
    let hash = hash.ok_or_else(|| EffectError::refused("nobody has looked at the changes"))?;
    let stage = workspace.turns().open_stage(stage)?;
    let set = stage.changes()?;
    let done = apply(workspace, &set, hash, &io.context)?;
    let named = set.changes.iter().take(MAX_NAMED_PATHS);
    let named = named.map(|change| Value::str(change.path.to_string_lossy()));
    let paths: Vec<PathBuf> = set.changes.iter().map(|change| change.path.clone()).collect();
    let context = &io.context;
    let message = format!(
        "turn {} of {}\n\nRecord: {}",
        context.turn.0,
        context.session.as_str(),
        context.record
    );
    let mut pairs = vec![
        ("commit", Value::str(done.id.to_string())),
        ("record", count(io.context.record)),
        ("project", Value::str(set.project.to_string_lossy())),
        ("files", count(set.changes.len())),
        ("paths", Value::list(named)),
    ];
    pairs.extend(steward::record(workspace, &set.project, &paths, &message));
    // The changes are in the project: a stage that stays harms nobody and expires.
    let _ = drop_stage(workspace, stage);
    Ok(Value::plist(pairs))
}

/// Commits a change set under its cause.
pub(crate) fn apply(
    workspace: &Workspace,
    set: &ChangeSet,
    hash: &str,
    context: &ActContext,
) -> Result<CommitOutcome, EffectError> {
    let prepared = workspace.journal().prepare(set, hash, &mut |_| {})?;
    CommitCause::new(prepared.id(), context).keep(workspace)?;
    Ok(workspace.journal().apply(&prepared, &mut |_| {})?)
}

/// Throws a stage away.
pub(super) fn discard(workspace: &Workspace, stage: &str) -> Result<Value, EffectError> {
    match workspace.turns().open_stage(stage) {
        Ok(stage) => drop_stage(workspace, stage)?,
        Err(EffectError::Jail(JailError::StageLost { .. })) => {}
        Err(other) => return Err(other),
    }
    workspace.turns().forget(stage)?;
    Ok(Value::plist([("discarded", Value::str(stage))]))
}

fn drop_stage(workspace: &Workspace, stage: Stage) -> Result<(), EffectError> {
    let id = stage.id().to_string();
    stage.discard()?;
    workspace.turns().forget(&id)
}

/// Shows the changes of a stage.
pub(super) fn shown(workspace: &Workspace, stage: &str) -> Result<Value, EffectError> {
    let set = workspace.turns().open_stage(stage)?.changes()?;
    Ok(Value::plist([
        ("hash", Value::str(set.hash())),
        ("files", count(set.changes.len())),
        ("diff", Value::str(cut(&set.patch()?, MAX_SHOWN_DIFF))),
    ]))
}

/// The end of a commit that a crash broke off.
pub(super) fn crash_outcome(
    workspace: &Workspace,
    stage: &StageRequest,
    record: u64,
) -> CrashOutcome {
    if !matches!(stage.operation, StageOperation::Commit { .. }) {
        return CrashOutcome::NotDone;
    }
    let cause = CommitCause::find(workspace, |cause| record > 0 && cause.record == record);
    let finished = cause.first().filter(|cause| workspace.journal().is_finished(&cause.commit));
    if let Some(cause) = finished {
        let name = cause.commit.to_string();
        let was_broken = workspace.recovery_of(&name) == Some(RecoveryVerdict::Finished);
        let files = workspace.journal().changes(&cause.commit).map_or(0, |it| it.paths.len());
        let pairs = [
            ("commit", Value::str(name)),
            ("record", count(record)),
            ("files", count(files)),
            ("recovered", Value::keyword(if was_broken { "finished" } else { "done" })),
        ];
        return CrashOutcome::Ended(Outcome::Done(Value::plist(pairs)));
    }
    let text = match cause.first().map(|cause| cause.commit.to_string()) {
        Some(commit) if workspace.recovery_of(&commit) == Some(RecoveryVerdict::RolledBack) => {
            "the daemon ended in the middle of the commit, and it was rolled back: no file was changed, the changes wait \
             on their stage"
        }
        _ => return CrashOutcome::NotDone,
    };
    CrashOutcome::Ended(Outcome::Failed(text.into()))
}
