//! Files as a prompt sees them: those that came with it, and the project of its session.
//!
//! The daemon implements the trait over its shelf; nothing here opens it.

use std::path::PathBuf;

use bridle_host::HostFuture;
use bridle_loop::SessionId;

/// Files of a home.
pub trait PromptFiles: Send + Sync {
    /// The content of a file of a principal, by its reference; `None` if it is gone or somebody else's.
    fn content<'a>(&'a self, owner: &'a str, reference: &'a str)
    -> HostFuture<'a, Option<Vec<u8>>>;

    /// Folder of a session's project.
    fn project(&self, session: &SessionId) -> Option<PathBuf>;
}

/// Home without files.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl PromptFiles for NoFiles {
    fn content<'a>(&'a self, _: &'a str, _: &'a str) -> HostFuture<'a, Option<Vec<u8>>> {
        Box::pin(async { None })
    }

    fn project(&self, _: &SessionId) -> Option<PathBuf> {
        None
    }
}
