//! `:memory`: the actuator that edits the user's Org files, and takes edits back.
//!
//! Before a proposal of an owner is judged, [`Actuator::prepare`] looks at the files and puts into the payload what would
//! change; for anybody else it looks at nothing. What is put there is: the hash of each file before and after, a hash of the lines that are touched, and the diff that
//! a person reads. An approval is bound to all of that. [`Actuator::act`] works everything out again: if a file
//! has changed meanwhile, the edit is made only if it still takes the same lines away and puts the same
//! lines in. Files, versions and what became of a change that a crash interrupted are
//! [`bridle_record::memory`]'s business; what an edit does to a text is that of `edit`.

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
use bridle_host::{ActContext, Actuator, CrashOutcome, Readership};
use bridle_loop::{Action, MEMORY_ACTIONS, Order, Outcome, PREPARED, ReflexAdvice, UndoTarget};
use bridle_sexp::Value;

use self::edit_preview::{EditPlan, EditPreview};
use self::late_save_watcher::LateSaveWatcher;

/// The name of the actuator.
pub const MEMORY: &str = "memory";

/// How often an edit is worked out anew because its file changed in the very moment.
const TRIES: usize = 3;

/// How long to wait for a program that has a file open for writing: a save takes less.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of the lines of a conflict that are shown: enough to find the place.
const MAX_SHOWN: usize = 400;

/// Files that a snapshot left out which its answer names.
const MAX_LEFT_OUT: usize = 64;

/// The refusal of whoever is not the owner, and of a session that others read.
const OWNERS_ALONE: &str = "the memory is changed for its owner alone, and in a session that only owners read; connect \
                            over the Unix socket or with a key, and in a session that was begun so";

/// Conflicts that are shown.
const MAX_CONFLICTS: usize = 16;

/// The diff of an edit, by its payload, as the files are now. Nobody is asked, and nothing is written: for
/// the commands. Links are not followed.
///
/// # Errors
/// Why it cannot be done.
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
            with(without(value, "path"), "path", Value::str(path))
        }
        _ => value.clone(),
    };
    let mut payload = absolute(payload);
    if let Some(to) = payload.get("to").filter(|to| to.pairs().is_some()).map(absolute) {
        payload = with(without(&payload, "to"), "to", to);
    }
    let payload = stamp::stamped(payload, now);
    let Action::Edit(edit) = Action::from_payload(&payload).map_err(|fault| fault.to_string())?
    else {
        return Err("no edit of the memory".to_owned());
    };
    let planned = edit_preview::worth(edit::planned(root, |path| preview.read(path), org, &edit)?)?;
    Ok(planned.iter().flat_map(EditPlan::diff).collect())
}

/// What becomes of the changes that a turn made in the memory, if it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RollbackChoice {
    /// It is proposed to take them back, with the diff; by the built-in policies somebody is asked.
    #[default]
    Ask,
    /// They are taken back as if whoever began the turn had asked for it.
    Auto,
    /// They stay, and that is said.
    Off,
}

/// Gives the present, in milliseconds since 1970.
pub type Now = Box<dyn Fn() -> i64 + Send + Sync>;

/// Edits files of one folder.
pub struct MemoryEditor {
    memory: Arc<MemoryStore>,
    now: Arc<Now>,
    rollback: RollbackChoice,
    /// Settings of Org for files that have none.
    org: OrgDefaults,
    minder: LateSaveWatcher,
}

impl MemoryEditor {
    pub fn new(
        memory: Arc<MemoryStore>,
        now: Now,
        rollback: RollbackChoice,
        org: OrgDefaults,
    ) -> Self {
        let now = Arc::new(now);
        let minder = LateSaveWatcher::new(&memory, Arc::clone(&now));
        Self { memory, now, rollback, org, minder }
    }

    /// Looks for the last time whether somebody saved a file late. Waits for that.
    pub fn stop(&self) {
        self.minder.stop();
    }

    /// What an action would change, with what is there now. Says why it cannot be done.
    fn plan(&self, action: &Action) -> Result<Vec<EditPlan>, String> {
        let changes = match action {
            Action::Edit(edit) => {
                let read = |path: &FilePath| self.memory.read(path);
                return edit_preview::worth(edit::planned(
                    self.memory.root(),
                    read,
                    &self.org,
                    edit,
                )?);
            }
            Action::Undo(undo) => match &undo.what {
                UndoTarget::Record(record) => self.memory.undo(*record),
                UndoTarget::Turn { session, turn } => self.memory.rollback(session, *turn),
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
        for change in changes.map_err(|error| told(&error))? {
            self.check_read(&change.path)?;
            let seen = self.memory.read(&change.path).map_err(|error| told(&error))?;
            if seen.as_ref().map(|seen| seen.hash) != change.before {
                return Err(told(&MemoryError::Changed { path: change.path }));
            }
            planned.push(EditPlan { change, old: seen.map(|seen| seen.bytes) });
        }
        edit_preview::worth(planned)
    }

    fn check_read(&self, path: &FilePath) -> Result<(), String> {
        check_read(self.memory.root(), path)
    }

    /// Carries out what was judged: it must still be the same.
    fn carry_out(&self, order: &Order, around: &ActContext<'_>) -> Result<Value, String> {
        let action = order.action();
        if let Action::Snapshot { name } = action {
            let made = self.memory.snapshot(name, around.principal, around.at);
            return Ok(snapshot_value(name, &made.map_err(|error| told(&error))?));
        }
        let seen = EditPreview::of(order.payload(), self.memory.root())
            .ok_or("nobody has looked at the files, so nobody knows what is changed")?;
        let why = ChangeCause {
            origin: origin(action),
            record: Some(around.record).filter(|record| *record > 0),
            session: around.session.as_str().into(),
            turn: around.turn.0,
            principal: around.principal.into(),
            action: action.name().as_str().into(),
            at: around.at,
        };
        self.whole(action, &seen, &why)
    }

    /// Changes all of the files, or none. An earlier try may have been interrupted after some of them: the
    /// rest follows, or those go back.
    fn whole(
        &self,
        action: &Action,
        seen: &EditPreview,
        why: &ChangeCause,
    ) -> Result<Value, String> {
        let written = self.write(action, seen, why);
        let written = written.map_err(|fault| match self.memory.withdraw(why) {
            Ok(false) => fault,
            Ok(true) => format!("{fault}; what was written before is taken back"),
            Err(error) => format!("{fault}; what was written before stays: {}", told(&error)),
        });
        self.minder.wake();
        written
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "acts are carried out on threads for blocking work"
    )]
    fn write(
        &self,
        action: &Action,
        seen: &EditPreview,
        why: &ChangeCause,
    ) -> Result<Value, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let planned = self.left(action, seen, why.record.unwrap_or_default())?;
            let changes: Vec<FileChange> = planned.iter().map(|it| it.change.clone()).collect();
            match self.memory.apply(&changes, why) {
                Ok(_) => return Ok(EditPreview::new(&planned).result(seen)),
                Err(MemoryError::Changed { .. }) if tries < TRIES => {}
                Err(MemoryError::Open { .. }) if tries < TRIES => std::thread::sleep(PAUSE),
                Err(error) => return Err(told(&error)),
            }
        }
    }

    /// What is left to be done of what was seen: nothing else, and the same lines.
    fn left(
        &self,
        action: &Action,
        seen: &EditPreview,
        record: u64,
    ) -> Result<Vec<EditPlan>, String> {
        let is_done = |path: &FilePath| {
            let known = self.memory.told(record, std::slice::from_ref(path));
            record > 0 && known.is_ok_and(|known| known == Known::Done)
        };
        let open: Vec<_> = seen.files().filter(|path| !is_done(path)).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let planned = self.plan(action)?;
        for path in &open {
            if !planned.iter().any(|it| it.change.path == **path && seen.agrees(it)) {
                return Err(changed(path));
            }
        }
        let is_seen = |it: &&EditPlan| seen.files().any(|path| *path == it.change.path);
        if let Some(other) = planned.iter().find(|it| !is_seen(it)) {
            return Err(changed(&other.change.path));
        }
        // What is done already would be done again.
        Ok(planned.into_iter().filter(|it| open.contains(&&it.change.path)).collect())
    }

    fn prepared(&self, payload: &Value, readers: Readership) -> Value {
        let payload = without(payload, PREPARED);
        // Before any file is looked at: what is found out would be read by others than owners.
        if readers == Readership::Others {
            return with(payload, PREPARED, fault_of(OWNERS_ALONE));
        }
        let payload = match self.placed(&payload) {
            Ok(payload) => stamp::stamped(payload, (self.now)()),
            Err(fault) => return with(payload, PREPARED, fault_of(&fault)),
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
                places.into_iter().fold(seen, |seen, (key, value)| with(seen, key, value))
            }
            Err(fault) => fault_of(&fault),
        };
        with(payload, PREPARED, prepared)
    }

    /// The payload with the paths as the system knows them: absolute, links followed.
    fn placed(&self, payload: &Value) -> Result<Value, String> {
        let payload = self.placed_here(payload)?;
        match payload.get("to").filter(|to| to.pairs().is_some()) {
            None => Ok(payload),
            Some(to) => {
                let to = self.placed_here(to)?;
                Ok(with(without(&payload, "to"), "to", to))
            }
        }
    }

    fn placed_here(&self, payload: &Value) -> Result<Value, String> {
        let Some(path) = payload.get("path").and_then(Value::as_str) else {
            return Ok(payload.clone());
        };
        let path = match Path::new(path).is_absolute() {
            true => below(self.memory.root(), path)?,
            false => FilePath::parse(path)
                .ok_or_else(|| format!("path `{path}`, expected a file below the memory"))?,
        };
        let real = self.memory.real_path(&path).map_err(|error| told(&error))?;
        let real = self.memory.root().join(real.as_str()).display().to_string();
        Ok(with(without(payload, "path"), "path", Value::str(real)))
    }
}

/// The place of an editor that may come later, when a folder is chosen. Until then nothing is offered.
pub struct EditorSlot(pub Arc<OnceLock<MemoryEditor>>);

impl Actuator for EditorSlot {
    fn actions(&self) -> &'static [&'static str] {
        self.0.get().map_or(&[], Actuator::actions)
    }

    fn act(&self, order: &Order, around: &mut ActContext<'_>) -> Outcome {
        match self.0.get() {
            Some(editor) => editor.act(order, around),
            None => Outcome::Failed("no memex is open".into()),
        }
    }

    fn prepare(&self, payload: &Value, readers: Readership) -> Option<Value> {
        self.0.get()?.prepare(payload, readers)
    }

    fn after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        self.0.get().map(|editor| editor.after_failure(session, turn)).unwrap_or_default()
    }

    fn told(&self, order: &Order, record: u64) -> CrashOutcome {
        self.0.get().map_or(CrashOutcome::Unknown, |editor| editor.told(order, record))
    }
}

impl Actuator for MemoryEditor {
    fn actions(&self) -> &'static [&'static str] {
        MEMORY_ACTIONS
    }

    fn act(&self, order: &Order, around: &mut ActContext<'_>) -> Outcome {
        match self.carry_out(order, around) {
            Ok(result) => Outcome::Done(result),
            Err(reason) => Outcome::Failed(reason.into()),
        }
    }

    fn prepare(&self, payload: &Value, readers: Readership) -> Option<Value> {
        payload.pairs().is_some().then(|| self.prepared(payload, readers))
    }

    fn after_failure(&self, session: &str, turn: u64) -> ReflexAdvice {
        failure::advice(&self.memory, self.rollback, session, turn)
    }

    fn told(&self, order: &Order, record: u64) -> CrashOutcome {
        let Some(seen) = EditPreview::of(order.payload(), self.memory.root()) else {
            // A snapshot: there is one of that name, or not.
            return CrashOutcome::NotDone;
        };
        let files: Vec<FilePath> = seen.files().cloned().collect();
        match self.memory.told(record, &files) {
            Ok(Known::Done) => CrashOutcome::Ended(Outcome::Done(seen.told())),
            Ok(Known::NotDone) => CrashOutcome::NotDone,
            Err(_) => CrashOutcome::Unknown,
        }
    }
}

fn origin(action: &Action) -> VersionOrigin {
    match action {
        Action::Undo(undo) => match undo.what {
            UndoTarget::Record(_) => VersionOrigin::Undo,
            UndoTarget::Turn { .. } => VersionOrigin::Rollback,
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
        let named = made.left_out.iter().take(MAX_LEFT_OUT).map(|path| Value::str(path.as_str()));
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

fn changed(path: &FilePath) -> String {
    format!("`{path}` has changed since this was looked at, where it is about; ask for it again")
}

fn fault_of(fault: &str) -> Value {
    Value::plist([("fault", Value::str(fault))])
}

/// The payload without a key, however often and in whatever case it is there.
fn without(payload: &Value, key: &str) -> Value {
    let pairs = payload.pairs().into_iter().flatten();
    let kept = pairs
        .filter(|(name, _)| !name.as_keyword().is_some_and(|name| name.eq_ignore_ascii_case(key)));
    Value::list(kept.flat_map(|(key, value)| [key.clone(), value.clone()]))
}

fn with(payload: Value, key: &str, value: Value) -> Value {
    let more = [Value::keyword(key), value];
    match payload {
        Value::List(items) => Value::list(items.into_iter().chain(more)),
        _ => Value::list(more),
    }
}

/// Why something cannot be done, with what a person needs to go on.
fn told(error: &MemoryError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    if let MemoryError::Conflicts(conflicts) = error {
        conflicts.iter().take(MAX_CONFLICTS).for_each(|it| text.push_str(&shown(it)));
    }
    text
}

/// A conflict for people: where it is, and the three texts.
fn shown(conflict: &MergeConflict) -> String {
    let path = conflict.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n{path}:{}:", conflict.line);
    let sides = [("now", &conflict.now), ("then", &conflict.base), ("back to", &conflict.wanted)];
    for (word, lines) in sides {
        let cut = &lines[..lines.len().min(MAX_SHOWN)];
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
