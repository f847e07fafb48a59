//! The quarantine of a policy file that ended its loader.
//!
//! Used by the guard and by the commands, around `bridle_history::policy_load`. A text is bounded before it is read, so no policy
//! should end the process; if one does all the same, the marker that was written before is still there at
//! the next start, and the file is not loaded again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

pub use bridle_history::policy_load::{load, load_recorded, load_tried};
use bridle_loop::PolicyHash;
use rustix::fs::OFlags;

/// Name of the marker in the state directory.
const MARKER_FILE: &str = "policy.loading";

/// Bytes of a marker that are read: 64 hex digits and a newline.
const MAX_MARKER_BYTES: u64 = 128;

/// Note in the state directory that a text is being loaded. Whoever ends meanwhile leaves it behind.
#[derive(Debug)]
pub struct LoadMarker {
    path: PathBuf,
}

impl LoadMarker {
    /// The marker of a state directory.
    pub fn of_state(state: &Path) -> Self {
        Self { path: state.join(MARKER_FILE) }
    }

    /// Whether this text was being loaded when a process ended.
    pub fn is_left_for(&self, hash: PolicyHash) -> bool {
        self.left() == Some(hash)
    }

    /// Runs a loader between writing the marker and removing it. A marker that cannot be written is no
    /// reason not to load: what the user forbids would be allowed then.
    pub(crate) fn around<T>(&self, hash: PolicyHash, load: impl FnOnce() -> T) -> T {
        if let Err(error) = self.write(hash) {
            tracing::warn!(%error, "cannot note that the policies are being loaded");
        }
        let loaded = load();
        if let Err(error) = self.clear() {
            tracing::warn!(%error, "cannot note that the policies are loaded");
        }
        loaded
    }

    /// Removes it: the text may be loaded again.
    ///
    /// # Errors
    /// The marker cannot be removed; none if there is no marker.
    pub fn clear(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn left(&self) -> Option<PolicyHash> {
        let mut text = String::new();
        let file = OpenOptions::new().read(true).custom_flags(no_follow()).open(&self.path).ok()?;
        file.take(MAX_MARKER_BYTES).read_to_string(&mut text).ok()?;
        PolicyHash::parse(text.trim())
    }

    fn write(&self, hash: PolicyHash) -> io::Result<()> {
        // Never through what somebody put there: a link, or another's file.
        self.clear()?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600).custom_flags(no_follow());
        let mut file: File = options.open(&self.path)?;
        file.write_all(format!("{hash}\n").as_bytes())
    }
}

fn no_follow() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default()
}

/// Reason why a file in quarantine is not loaded, and what to do about it.
pub fn quarantine_reason(file: &Path) -> String {
    format!(
        "`{}` is not loaded: the daemon ended while it was loading it, and might end again. Run \
         `bridle policy check`: it tries the file in a process of its own, and frees it if that goes well; \
         or change the file. Then run `bridle policy install`",
        file.display()
    )
}

#[cfg(test)]
mod tests;
