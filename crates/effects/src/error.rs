//! Faults of effects: told to whoever asked, with their causes, in one line.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};

use bridle_jail::{CommitError, JailError};
use bridle_loop::Outcome;

/// Reason why an effect was not had.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    /// Refusal, with what to do instead.
    #[error("{0}")]
    Refused(String),
    /// Failure of the jail or the stage.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// Failure of a commit.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Failure of the file system.
    #[error("cannot {what} `{path}`")]
    Io {
        /// Verb of the failed step.
        what: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl EffectError {
    /// Makes a refusal.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }

    /// Wraps a failure of the file system.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }

    /// The error with its causes, in one line.
    #[must_use]
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        if let Self::Commit(CommitError::Conflicts(conflicts)) = self {
            for conflict in conflicts.iter().take(MAX_TOLD_CONFLICTS) {
                text.push_str(&format!("; {}: {}", conflict.path.display(), conflict.reason));
            }
            text.push_str("; nothing was written");
        }
        let mut cause = self.source();
        while let Some(inner) = cause {
            text.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        text
    }

    /// The outcome of an act that ended so.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::Failed(self.in_full().into())
    }
}

/// Conflicts that are named one by one.
const MAX_TOLD_CONFLICTS: usize = 20;
