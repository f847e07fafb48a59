//! `:memory`: the actuator that edits the user's Org files, and takes edits back.
//!
//! Before a proposal of an owner is judged, [`Actuator::prepare`] reads the files and puts the changes into the
//! payload: the hash of each file before and after, a hash of the lines that are touched, and the diff that a person
//! reads. For anybody else it reads nothing. An approval is bound to all of that. [`Actuator::act`] works everything
//! out again: if a file has changed meanwhile, the edit is made only if it still takes the same lines away and puts
//! the same lines in. Files, versions and interrupted changes are the business of [`crate::versions`], edits of a
//! text that of `edit`.

mod edit;
mod edit_preview;
mod failure;
mod identity;
mod late_save_watcher;
mod stamp;
pub mod suggestion;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::OrgDefaults;
use crate::unread_reason;
use crate::{
    ChangeCause, ChangeOutcome as Known, FileChange, FilePath, MemoryError, MemoryPreview,
    MemoryStore, MergeConflict, NewSnapshot, VersionOrigin,
};
use bridle_host::{
    ActContext, ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, Readership,
};
use bridle_loop::{Action, MEMORY_ACTIONS, Order, Outcome, PREPARED, ReflexAdvice, UndoTarget};
use bridle_sexp::Value;

use self::edit_preview::{EditPlan, EditPreview};
use self::late_save_watcher::LateSaveWatcher;

/// The name of the actuator.
pub const MEMORY: &str = "memory";

/// Attempts at an edit whose file changes in the very moment.
const MAX_EDIT_ATTEMPTS: usize = 3;

/// Pause between two attempts while another program has the file open for writing; a save takes less.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(20);

/// Bytes of the lines of a conflict that are shown: enough to find the place.
const MAX_SHOWN_CONFLICT_BYTES: usize = 400;

/// Files that a snapshot left out which its answer names.
const MAX_LISTED_LEFT_OUT: usize = 64;

/// The refusal of whoever is not the owner, and of a session that others read.
const OWNERS_ALONE_REFUSAL: &str = "the memory is changed for its owner alone, and in a session that only owners read; connect \
                            over the Unix socket or with a key, and in a session that was begun so";

/// Conflicts that are shown.
const MAX_SHOWN_CONFLICTS: usize = 16;

/// The diff of an edit, by its payload, as the files are now. Nobody is asked, and nothing is written: for
/// the commands. Links are not followed.
///
/// # Errors
/// The payload is no edit, or the edit cannot be made in these files; the text is for people.
pub fn preview_edit(
    preview: &MemoryPreview,
    payload: &Value,
    org: &OrgDefaults,
    now: i64,
) -> Result<Vec<u8>, String> {
    let root = preview.root();
    let absolute = |value: &Value| match value.get("path").and_then(Value::as_str) {
        Some(path) if !path.starts_with('/') => {
            let path = root.join(path).display().to_string();
            with_key(without_key(value, "path"), "path", Value::str(path))
        }
        _ => value.clone(),
    };
    let mut payload = absolute(payload);
    if let Some(to) = payload.get("to").filter(|to| to.pairs().is_some()).map(absolute) {
        payload = with_key(without_key(&payload, "to"), "to", to);
    }
    let payload = stamp::stamped(payload, now);
    let Action::Edit(edit) = Action::from_payload(&payload).map_err(|fault| fault.to_string())?
    else {
        return Err("no edit of the memory".to_owned());
    };
    let planned =
        edit_preview::check_extent(edit::plan_edit(root, |path| preview.read(path), org, &edit)?)?;
    Ok(planned.iter().flat_map(EditPlan::diff).collect())
}

/// Treatment of the changes that a failed turn made in the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RollbackChoice {
    /// An undo is proposed, with its diff; the built-in policies ask a person.
    #[default]
    Ask,
    /// The changes are taken back as if whoever began the turn had asked for it.
    Auto,
    /// The changes stay, and a message says so.
    Off,
}

/// Gives the present, in milliseconds since 1970.
pub type Now = Box<dyn Fn() -> i64 + Send + Sync>;

/// Edits files of one folder. Clones are the same editor.
#[derive(Clone)]
pub struct MemoryEditor {
    memory: Arc<MemoryStore>,
    now: Arc<Now>,
    rollback: RollbackChoice,
    /// Settings of Org for files that have none.
    org: OrgDefaults,
    late_saves: Arc<LateSaveWatcher>,
}

impl MemoryEditor {
    /// Makes the actuator, and starts its watcher of late saves.
    pub fn new(
        memory: Arc<MemoryStore>,
        now: Now,
        rollback: RollbackChoice,
        org: OrgDefaults,
    ) -> Self {
        let now = Arc::new(now);
        let late_saves = Arc::new(LateSaveWatcher::new(&memory, Arc::clone(&now)));
        Self { memory, now, rollback, org, late_saves }
    }

    /// Looks for the last time whether somebody saved a file late. Waits for that.
    pub fn stop(&self) {
        self.late_saves.stop();
    }

    /// Works out the file changes of an action against the files as they are now. The error says why it cannot be
    /// done.
    fn plan(&self, action: &Action) -> Result<Vec<EditPlan>, String> {
        let changes = match action {
            Action::Edit(edit) => {
                let read = |path: &FilePath| self.memory.read(path);
                return edit_preview::check_extent(edit::plan_edit(
                    self.memory.root(),
                    read,
                    &self.org,
                    edit,
                )?);
            }
            Action::Undo(undo) => match &undo.what {
                UndoTarget::Record(record) => self.memory.undo(*record),
                UndoTarget::Turn { session, turn } => self.memory.rollback(session, *turn),
                UndoTarget::Session { session } => self.memory.rollback_session(session),
                UndoTarget::Snapshot { name, path } => {
                    let path = path.as_deref().map(|path| below(self.memory.root(), path));
                    let changes = self.memory.restore(name, path.transpose()?.as_ref());
                    // What is no longer read, such as files that `.bridleignore` names by now, stays as it is.
                    let is_read = |change: &FileChange| self.check_read(&change.path).is_ok();
                    changes.map(|changes| match undo.what {
                        UndoTarget::Snapshot { path: None, .. } => {
                            changes.into_iter().filter(is_read).collect()
                        }
                        _ => changes,
                    })
                }
            },
            other => return Err(format!("`{}` changes no file of the memory", other.name())),
        };
        let mut planned = Vec::new();
        for change in changes.map_err(|error| describe_error(&error))? {
            self.check_read(&change.path)?;
            let seen = self.memory.read(&change.path).map_err(|error| describe_error(&error))?;
            if seen.as_ref().map(|seen| seen.hash) != change.before {
                return Err(describe_error(&MemoryError::Changed { path: change.path }));
            }
            planned.push(EditPlan { change, old: seen.map(|seen| seen.bytes) });
        }
        edit_preview::check_extent(planned)
    }

    fn check_read(&self, path: &FilePath) -> Result<(), String> {
        check_read(self.memory.root(), path)
    }

    /// Carries out what was judged: it must still be the same.
    fn carry_out(&self, order: &Order, around: &ActContext) -> Result<Value, String> {
        let action = order.action();
        if let Action::Snapshot { name } = action {
            let made = self.memory.snapshot(name, &around.principal, around.at);
            return Ok(snapshot_value(name, &made.map_err(|error| describe_error(&error))?));
        }
        let seen = EditPreview::of(order.payload(), self.memory.root())
            .ok_or("nobody has looked at the files, so nobody knows what is changed")?;
        let why = ChangeCause {
            origin: origin(action),
            record: Some(around.record).filter(|record| *record > 0),
            session: around.session.as_str().into(),
            turn: around.turn.0,
            principal: around.principal.clone(),
            action: action.name().as_str().into(),
            at: around.at,
        };
        self.apply_all(action, &seen, &why)
    }

    /// Changes all of the files, or none. An earlier try may have been interrupted after some of them: the
    /// rest follows, or those go back.
    fn apply_all(
        &self,
        action: &Action,
        seen: &EditPreview,
        why: &ChangeCause,
    ) -> Result<Value, String> {
        let written = self.write(action, seen, why);
        let written = written.map_err(|fault| match self.memory.withdraw(why) {
            Ok(false) => fault,
            Ok(true) => format!("{fault}; what was written before is taken back"),
            Err(error) => {
                format!("{fault}; what was written before stays: {}", describe_error(&error))
            }
        });
        self.late_saves.wake();
        written
    }

    fn write(
        &self,
        action: &Action,
        seen: &EditPreview,
        why: &ChangeCause,
    ) -> Result<Value, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let planned = self.plan_rest(action, seen, why.record.unwrap_or_default())?;
            let changes: Vec<FileChange> = planned.iter().map(|it| it.change.clone()).collect();
            match self.memory.apply(&changes, why) {
                Ok(_) => return Ok(EditPreview::new(&planned).result(seen)),
                Err(MemoryError::Changed { .. }) if tries < MAX_EDIT_ATTEMPTS => {}
                Err(MemoryError::Open { .. }) if tries < MAX_EDIT_ATTEMPTS => {
                    std::thread::sleep(ATTEMPT_PAUSE);
                }
                Err(error) => return Err(describe_error(&error)),
            }
        }
    }

    /// Works out the part of a prepared edit that is not done yet: no other file, and the same lines.
    fn plan_rest(
        &self,
        action: &Action,
        seen: &EditPreview,
        record: u64,
    ) -> Result<Vec<EditPlan>, String> {
        let is_done = |path: &FilePath| {
            let known = self.memory.outcome_of(record, std::slice::from_ref(path));
            record > 0 && known.is_ok_and(|known| known == Known::Done)
        };
        let open: Vec<_> = seen.files().filter(|path| !is_done(path)).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let planned = self.plan(action)?;
        for path in &open {
            if !planned.iter().any(|it| it.change.path == **path && seen.agrees(it)) {
                return Err(changed_meanwhile(path));
            }
        }
        let is_seen = |it: &&EditPlan| seen.files().any(|path| *path == it.change.path);
        if let Some(other) = planned.iter().find(|it| !is_seen(it)) {
            return Err(changed_meanwhile(&other.change.path));
        }
        // What is done already would be done again.
        Ok(planned.into_iter().filter(|it| open.contains(&&it.change.path)).collect())
    }

    fn prepared(&self, payload: &Value, readers: Readership) -> Value {
        let payload = without_key(payload, PREPARED);
        // Before any file is looked at: what is found out would be read by others than owners.
        if readers == Readership::Others {
            return with_key(payload, PREPARED, fault_value(OWNERS_ALONE_REFUSAL));
        }
        let payload = match self.resolve_paths(&payload) {
            Ok(payload) => stamp::stamped(payload, (self.now)()),
            Err(fault) => return with_key(payload, PREPARED, fault_value(&fault)),
        };
        let Ok(action) = Action::from_payload(&payload) else { return payload };
        if matches!(action, Action::Snapshot { .. } | Action::Other(_)) {
            return payload;
        }
        let prepared = match self.plan(&action) {
            Ok(planned) => {
                let root = self.memory.root();
                let seen = EditPreview::new(&planned).to_value(root);
                let places = match &action {
                    Action::Edit(edit) => identity::of_edit(edit, &planned, root, &self.org),
                    _ => Vec::new(),
                };
                places.into_iter().fold(seen, |seen, (key, value)| with_key(seen, key, value))
            }
            Err(fault) => fault_value(&fault),
        };
        with_key(payload, PREPARED, prepared)
    }

    /// The payload with the paths as the system knows them: absolute, links followed.
    fn resolve_paths(&self, payload: &Value) -> Result<Value, String> {
        let payload = self.resolve_path_of(payload)?;
        match payload.get("to").filter(|to| to.pairs().is_some()) {
            None => Ok(payload),
            Some(to) => {
                let to = self.resolve_path_of(to)?;
                Ok(with_key(without_key(&payload, "to"), "to", to))
            }
        }
    }

    fn resolve_path_of(&self, payload: &Value) -> Result<Value, String> {
        let Some(path) = payload.get("path").and_then(Value::as_str) else {
            return Ok(payload.clone());
        };
        let path = match Path::new(path).is_absolute() {
            true => below(self.memory.root(), path)?,
            false => FilePath::parse(path)
                .ok_or_else(|| format!("path `{path}`, expected a file below the memory"))?,
        };
        let real = self.memory.real_path(&path).map_err(|error| describe_error(&error))?;
        let real = self.memory.root().join(real.as_str()).display().to_string();
        Ok(with_key(without_key(payload, "path"), "path", Value::str(real)))
    }
}

/// The place of an editor that may come later, when a folder is chosen. Until then nothing is offered.
pub struct EditorSlot(pub Arc<OnceLock<MemoryEditor>>);

impl Actuator for EditorSlot {
    fn actions(&self) -> &'static [&'static str] {
        self.0.get().map_or(&[], Actuator::actions)
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        match self.0.get() {
            Some(editor) => editor.act(order, io),
            None => Box::pin(async { Outcome::Failed("no memex is open".into()) }),
        }
    }

    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        self.0.get()?.prepare(payload, around)
    }

    fn advise_after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        self.0.get().map(|editor| editor.advise_after_failure(session, turn)).unwrap_or_default()
    }

    fn crash_outcome(&self, order: &Order, record: u64) -> CrashOutcome {
        self.0.get().map_or(CrashOutcome::Unknown, |editor| editor.crash_outcome(order, record))
    }
}

impl Actuator for MemoryEditor {
    fn actions(&self) -> &'static [&'static str] {
        MEMORY_ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        let (editor, order, context) = (self.clone(), order.clone(), Arc::clone(&io.context));
        Box::pin(async move {
            match io.run_blocking(move || editor.carry_out(&order, &context)).await {
                Ok(Ok(result)) => Outcome::Done(result),
                Ok(Err(reason)) => Outcome::Failed(reason.into()),
                Err(_) => Outcome::UnknownOutcome,
            }
        })
    }

    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        payload.pairs().is_some().then(|| self.prepared(payload, around.readers))
    }

    fn advise_after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        failure::advice(&self.memory, self.rollback, session, turn)
    }

    fn crash_outcome(&self, order: &Order, record: u64) -> CrashOutcome {
        let Some(seen) = EditPreview::of(order.payload(), self.memory.root()) else {
            // A snapshot: there is one of that name, or not.
            return CrashOutcome::NotDone;
        };
        let files: Vec<FilePath> = seen.files().cloned().collect();
        match self.memory.outcome_of(record, &files) {
            Ok(Known::Done) => CrashOutcome::Ended(Outcome::Done(seen.full_result())),
            Ok(Known::NotDone) => CrashOutcome::NotDone,
            Err(_) => CrashOutcome::Unknown,
        }
    }
}

fn origin(action: &Action) -> VersionOrigin {
    match action {
        Action::Undo(undo) => match undo.what {
            UndoTarget::Record(_) => VersionOrigin::Undo,
            UndoTarget::Turn { .. } | UndoTarget::Session { .. } => VersionOrigin::Rollback,
            UndoTarget::Snapshot { .. } => VersionOrigin::Restore,
        },
        _ => VersionOrigin::Edit,
    }
}

fn below(root: &Path, path: &str) -> Result<FilePath, String> {
    let below = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
    below.and_then(FilePath::parse).ok_or_else(|| {
        format!("path `{path}`, expected a file below the memory, `{}`", root.display())
    })
}

/// Refuses a file that the index does not read: files of other kinds are the file actuator's business.
fn check_read(root: &Path, path: &FilePath) -> Result<(), String> {
    match unread_reason(root, path.as_str()) {
        None => Ok(()),
        Some(reason) => Err(format!(
            "`{path}` is no file of the memory: {reason}; `:memory` changes Org files that are read alone"
        )),
    }
}

/// The answer about a snapshot that was made.
fn snapshot_value(name: &str, made: &NewSnapshot) -> Value {
    let files = i64::try_from(made.files).unwrap_or(i64::MAX);
    let mut pairs = vec![("name", Value::str(name)), ("files", Value::int(files))];
    if !made.left_out.is_empty() {
        let named =
            made.left_out.iter().take(MAX_LISTED_LEFT_OUT).map(|path| Value::str(path.as_str()));
        let count = made.left_out.len();
        let warning = format!(
            "{count} left out, because text below a `:crypt:` heading stands in the clear there; encrypt it and make \
             another snapshot"
        );
        pairs.push(("left-out", Value::list(named)));
        pairs.push(("warning", Value::str(warning)));
    }
    Value::plist(pairs)
}

fn changed_meanwhile(path: &FilePath) -> String {
    format!("`{path}` has changed since this was looked at, where it is about; ask for it again")
}

fn fault_value(fault: &str) -> Value {
    Value::plist([("fault", Value::str(fault))])
}

/// The payload without a key, however often and in whatever case it is there.
fn without_key(payload: &Value, key: &str) -> Value {
    let pairs = payload.pairs().into_iter().flatten();
    let kept = pairs
        .filter(|(name, _)| !name.as_keyword().is_some_and(|name| name.eq_ignore_ascii_case(key)));
    Value::list(kept.flat_map(|(key, value)| [key.clone(), value.clone()]))
}

fn with_key(payload: Value, key: &str, value: Value) -> Value {
    let more = [Value::keyword(key), value];
    match payload {
        Value::List(items) => Value::list(items.into_iter().chain(more)),
        _ => Value::list(more),
    }
}

/// Describes an error to a person, with the lines of conflicts.
fn describe_error(error: &MemoryError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    if let MemoryError::Conflicts(conflicts) = error {
        conflicts
            .iter()
            .take(MAX_SHOWN_CONFLICTS)
            .for_each(|it| text.push_str(&describe_conflict(it)));
    }
    text
}

/// A conflict for people: where it is, and the three texts.
fn describe_conflict(conflict: &MergeConflict) -> String {
    let path = conflict.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n{path}:{}:", conflict.line);
    let sides = [("now", &conflict.now), ("then", &conflict.base), ("back to", &conflict.target)];
    for (word, lines) in sides {
        let cut = &lines[..lines.len().min(MAX_SHOWN_CONFLICT_BYTES)];
        let lines = String::from_utf8_lossy(cut);
        for line in lines.lines() {
            text.push_str(&format!("\n  {word}: {line}"));
        }
        if cut.is_empty() {
            text.push_str(&format!("\n  {word}: (nothing)"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
