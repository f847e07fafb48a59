//! The lock that keeps a second daemon out of a state directory.
//!
//! Taken by `run` before anything is bound, held until everything is closed.
//! The operating system drops it when the process dies, so it is never stale; the pid inside
//! is for the message to people only.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::DaemonError;
use crate::state_folder;

/// Name of the lock file inside the state directory.
pub const LOCK_FILE: &str = "daemon.lock";

/// Longest pid text read from another daemon's lock file, in bytes.
const PID_TEXT_MAX: u64 = 20;

/// A state directory that is ours until this is dropped.
#[derive(Debug)]
pub struct StateLock {
    /// The open lock file; closing it releases the lock.
    file: File,
}

impl StateLock {
    /// Creates `dir` if it is missing (mode 0700), closes what in it is open to others, and takes its
    /// lock.
    ///
    /// # Errors
    /// [`DaemonError::Locked`] when another process holds it, [`DaemonError::State`] when the directory or
    /// the file cannot be used, or something in it is a link or another user's.
    pub fn take(dir: &Path) -> Result<StateLock, DaemonError> {
        let failed = |source| DaemonError::State { dir: dir.to_owned(), source };
        state_folder::secure(dir).map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(state_folder::no_follow())
            .open(dir.join(LOCK_FILE))
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DaemonError::Locked { dir: dir.to_owned(), pid: pid_inside(&file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(StateLock { file })
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        // The file stays: removing it would let two daemons lock two files of the same name.
        // An empty file says that nobody runs. Failing to say so harms nobody.
        let _ = self.file.set_len(0);
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn pid_inside(file: &File) -> String {
    let mut text = String::new();
    let read = file.take(PID_TEXT_MAX).read_to_string(&mut text);
    match (read, text.trim()) {
        (Ok(_), pid) if !pid.is_empty() => pid.to_owned(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{LOCK_FILE, StateLock};
    use crate::error::DaemonError;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn second_taker_is_told_pid_and_directory() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("a/b");
        let held = StateLock::take(&state).unwrap();
        let error = StateLock::take(&state).unwrap_err();
        let DaemonError::Locked { dir: named, pid } = &error else { panic!("{error}") };
        assert_eq!((named, pid), (&state, &std::process::id().to_string()));
        assert!(error.to_string().contains(state.to_str().unwrap()));
        drop(held);
        StateLock::take(&state).unwrap();
    }

    #[test]
    fn directory_and_file_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let _held = StateLock::take(&state).unwrap();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&state), 0o700);
        assert_eq!(mode(&state.join(LOCK_FILE)), 0o600);
    }
}
