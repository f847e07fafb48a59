//! Causes of commits: which record, session and turn each follows from. Written beside the journal before
//! anything is applied, so that a commit is found by its record, also after a crash.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use bridle_host::ActContext;
use bridle_jail::CommitId;
use bridle_sexp::{Value, read_one};

use crate::error::EffectError;
use crate::payload::count;
use crate::workspace::Workspace;

/// Largest file of a cause, in bytes.
const MAX_CAUSE_BYTES: u64 = 64 << 10;

/// Cause of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitCause {
    pub(super) commit: CommitId,
    /// Number of the record that has the order.
    pub(super) record: u64,
    pub(super) session: String,
    pub(super) turn: u64,
}

impl CommitCause {
    pub(super) fn new(commit: &CommitId, around: &ActContext) -> Self {
        Self {
            commit: commit.clone(),
            record: around.record,
            session: around.session.as_str().to_owned(),
            turn: around.turn.0,
        }
    }

    /// Writes it where it is found again.
    pub(super) fn keep(&self, workspace: &Workspace) -> Result<(), EffectError> {
        let path = file(workspace, &self.commit.to_string());
        let text = Value::plist([
            ("record", count(self.record)),
            ("session", Value::str(self.session.as_str())),
            ("turn", count(self.turn)),
        ]);
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = made.and_then(|mut out| {
            out.write_all(text.to_string().as_bytes())?;
            out.sync_all()
        });
        written.map_err(EffectError::io("write", &path))
    }

    fn read(workspace: &Workspace, commit: CommitId) -> Option<Self> {
        let path = file(workspace, &commit.to_string());
        let is_small = fs::metadata(&path).is_ok_and(|it| it.len() <= MAX_CAUSE_BYTES);
        let text = is_small.then(|| fs::read_to_string(&path).ok()).flatten()?;
        let form = read_one(&text).ok()?;
        let cause = form.root().to_value();
        let number = |key| cause.get(key)?.as_i64().and_then(|it| u64::try_from(it).ok());
        Some(Self {
            commit,
            record: number("record")?,
            session: cause.get("session")?.as_str()?.to_owned(),
            turn: number("turn")?,
        })
    }

    /// Causes that fit, the latest record first.
    pub(super) fn find(workspace: &Workspace, fits: impl Fn(&Self) -> bool) -> Vec<Self> {
        let entries = fs::read_dir(folder(workspace)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name();
            CommitId::parse(name.to_str()?.strip_suffix(".cause")?)
        });
        let causes = names.filter_map(|commit| Self::read(workspace, commit));
        let mut found: Vec<Self> = causes.filter(fits).collect();
        found.sort_by_key(|cause| std::cmp::Reverse(cause.record));
        found
    }
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.setup().folder.join("commits")
}

fn file(workspace: &Workspace, commit: &str) -> PathBuf {
    folder(workspace).join(format!("{commit}.cause"))
}
