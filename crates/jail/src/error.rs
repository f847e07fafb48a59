//! Faults of the jail and of the stage. What the kernel lacks is a refusal of its own, so that
//! nobody mistakes it for a failure that may be tried again without the jail.

use std::io;
use std::path::PathBuf;

use crate::layer::{JailLayer, JailPromise};

/// Refusal or failure of a jail or a stage.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// Layer of none: the kernel lacks what even the weakest needs.
    #[error("no program runs here: this system lacks {missing}")]
    NoLayer {
        /// Mechanisms that are missing, in words.
        missing: String,
    },
    /// Demand that the layer in force cannot keep.
    #[error("layer `{layer}` cannot keep the promise `{promise}`: {because}")]
    PromiseNotHeld {
        /// Layer in force.
        layer: JailLayer,
        /// Promise that was demanded.
        promise: JailPromise,
        /// Reason, in words for people.
        because: String,
    },
    /// Request that names something impossible.
    #[error("invalid request: {0}")]
    InvalidSpec(String),
    /// Program that cannot be started: not there, not executable.
    #[error("cannot start `{program}`: {reason}")]
    NotStarted {
        /// Program as it was named.
        program: String,
        /// Reason of the system.
        reason: String,
    },
    /// Helper that failed before the program began; nothing has run.
    #[error("the jail could not be built at `{step}`: {reason}")]
    Setup {
        /// Step that failed.
        step: String,
        /// Reason of the system.
        reason: String,
    },
    /// Stage in use by another run.
    #[error("stage `{0}` is in use by another run: wait for it, or stop it")]
    StageBusy(String),
    /// Stage that is unknown, damaged or gone.
    #[error("stage `{id}` cannot be used: {reason}")]
    StageLost {
        /// Name of the stage.
        id: String,
        /// Reason, in words.
        reason: String,
    },
    /// Project above a limit.
    #[error("`{what}` is above its limit of {limit}")]
    TooLarge {
        /// Measured thing.
        what: &'static str,
        /// Largest allowed value.
        limit: u64,
    },
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
    /// Failure of the channel to the helper.
    #[error("cannot talk to the helper")]
    Channel(#[source] io::Error),
}

impl JailError {
    /// Wraps a failure of the file system.
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> JailError {
        let path = path.into();
        move |source| JailError::Io { what, path, source }
    }
}
