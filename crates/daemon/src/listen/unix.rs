//! Binding the Unix socket, and who may connect to it.
//!
//! The socket is made under a private name inside a directory of mode 0700, listening and with
//! mode 0600, and then renamed into place: at no moment can another user connect, and a peer
//! that sees the path finds it answering. Called only while the state lock is held.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixSocket, UnixStream};

use super::BACKLOG;
use crate::error::DaemonError;
use crate::state_folder::{check_place, create_private};

/// Time that a socket found at the path may take to answer before it counts as busy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// A socket file that is ours; removed when dropped, unless another took its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode: what tells our file from another of the same name.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on `path`, replacing a socket there only if nobody answers on it.
pub(crate) async fn bind(path: &Path) -> Result<(UnixListener, SocketFile), DaemonError> {
    let failed = |source| DaemonError::Unix { path: path.to_owned(), source };
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    create_private(parent).and_then(|()| check_place(parent)).map_err(failed)?;
    refuse_if_taken(path).await?;
    let hatch = SocketStagingDirectory::new(parent).map_err(failed)?;
    let made = || -> io::Result<(UnixListener, SocketFile)> {
        let socket = UnixSocket::new_stream()?;
        let hidden = hatch.0.join("s");
        socket.bind(&hidden)?;
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600))?;
        let listener = socket.listen(BACKLOG)?;
        let file = SocketFile { path: path.to_owned(), identity: identity(&hidden)? };
        fs::rename(&hidden, path)?;
        Ok((listener, file))
    };
    made().map_err(failed)
}

/// Tells whether a peer with `peer` as uid may talk to a daemon that runs as `own`.
pub(crate) fn admits(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

/// Returns the uid of the peer, if the system tells.
pub(crate) fn peer_uid(stream: &UnixStream) -> Option<u32> {
    stream.peer_cred().ok().map(|cred| cred.uid())
}

/// The directory in which a socket is hatched; removed when dropped.
struct SocketStagingDirectory(PathBuf);

impl SocketStagingDirectory {
    fn new(parent: &Path) -> io::Result<SocketStagingDirectory> {
        // Short, since the path of a socket has room for about a hundred bytes.
        let dir = parent.join(format!(".b{}", std::process::id()));
        // Left behind only by a daemon of the same pid that was killed right here.
        let _ = fs::remove_file(dir.join("s"));
        let _ = fs::remove_dir(&dir);
        fs::DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(SocketStagingDirectory(dir))
    }
}

impl Drop for SocketStagingDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0.join("s"));
        let _ = fs::remove_dir(&self.0);
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

async fn refuse_if_taken(path: &Path) -> Result<(), DaemonError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(DaemonError::Unix { path: path.to_owned(), source }),
    };
    if !found.file_type().is_socket() {
        return Err(DaemonError::NotASocket { path: path.to_owned() });
    }
    match tokio::time::timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await {
        // Refused means that no process listens: the file was left by one that died.
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // An answer, a full backlog, no permission to ask: somebody is there.
        _ => Err(DaemonError::UnixInUse { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::admits;

    #[test]
    fn only_the_same_user_and_root_are_admitted() {
        assert!(admits(1000, 1000));
        assert!(admits(0, 1000));
        assert!(!admits(1001, 1000));
        assert!(!admits(1000, 0));
    }
}
