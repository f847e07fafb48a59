//! Loading of policies, on a stack of a known size, and the quarantine of a file that ended its loader.
//!
//! Used by the guard, by the history and by the commands. A text is bounded before it is read, so no policy
//! should end the process; if one does all the same, the marker that was written before is still there at
//! the next start, and the file is not loaded again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use bridle_loop::{BadPolicies, LOADER_STACK_BYTES, Policies, PolicyFault, PolicyHash, Tried};
use rustix::fs::OFlags;

/// Name of the marker in the state directory.
const MARKER_FILE: &str = "policy.loading";

/// Bytes of a marker that are read: 64 hex digits and a newline.
const MAX_MARKER_BYTES: u64 = 128;

/// Reads a set of a file and runs its examples.
///
/// # Errors
/// When anything is wrong with it, with the lines of the file.
pub fn load(text: &str) -> Result<Policies, BadPolicies> {
    on_loader_stack(|| Policies::from_org(text))
}

/// Reads a set of a file, and says how each of its examples came out.
///
/// # Errors
/// When anything else is wrong with it, with the lines of the file.
pub fn load_tried(text: &str) -> Result<(Policies, Vec<Tried>), BadPolicies> {
    on_loader_stack(|| Policies::tried(text))
}

/// Reads a set back that the record holds.
///
/// # Errors
/// When this version does not take it.
pub fn load_recorded(text: &str) -> Result<Policies, BadPolicies> {
    on_loader_stack(|| Policies::from_record(text))
}

/// Runs something on a thread with the stack of a loader.
fn on_loader_stack<T: Send>(
    load: impl FnOnce() -> Result<T, BadPolicies> + Send,
) -> Result<T, BadPolicies> {
    let unread = |what: String| Err(BadPolicies { faults: vec![PolicyFault { line: 1, what }] });
    thread::scope(|scope| {
        let loader = thread::Builder::new().stack_size(LOADER_STACK_BYTES);
        match loader.spawn_scoped(scope, load).map(thread::ScopedJoinHandle::join) {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => unread("reading it broke off: please report this with the file".into()),
            Err(error) => unread(format!("no thread to read it on: {error}")),
        }
    })
}

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
    /// What the system said; none if there is no marker.
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
