//! The state folder: for its owner alone, and nothing in it leads elsewhere.
//!
//! Checked with the lock, before anything in it is opened. What is open to others is closed; what is
//! another user's, a link, or no plain file is refused with what to do about it. Files whose keepers
//! refuse them when they are open to others (tokens, pairings) are left to their keepers.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Folders inside the state folder whose files are checked, too.
const MAX_FOLDER_DEPTH: usize = 4;

/// Files that are judged by whoever keeps them: a secret that others could read is no secret any more.
const KEPT_APART: [&str; 6] =
    ["tokens", "refresh", "pairings", "devices", "continuation.key", "secrets.key"];

/// Folders whose contents are not state: copies of the user's files, with links, modes and owners of theirs.
/// Only programs in the jail and the commit look into them, and follow no link.
const NOT_STATE: [&str; 2] = ["effects/stages", "effects/scratch"];

/// The mode bits that let others in.
const OPEN_TO_OTHERS: u32 = 0o077;

/// Reason why the state folder is not used.
#[derive(Debug, thiserror::Error)]
enum FolderFault {
    #[error(
        "`{}` belongs to user {uid}, not to {own}; run the daemon as that user, or `chown` it, or \
         name another folder with `--state`", path.display()
    )]
    NotOurs { path: PathBuf, uid: u32, own: u32 },
    #[error(
        "`{}` is a link; remove it: nothing in the state folder is reached through links",
        path.display()
    )]
    Link { path: PathBuf },
    #[error("`{}` is no plain file; remove it", path.display())]
    NoFile { path: PathBuf },
    #[error(
        "others can write to `{}`; use a folder of your own, or take the right away with \
         `chmod go-w`", path.display()
    )]
    SharedFolder { path: PathBuf },
}

/// Makes the folder if it is missing, and sees to it that it and all in it are for its owner alone.
///
/// # Errors
/// Something in it is another user's, a link or no plain file, or cannot be looked at.
pub(crate) fn secure(dir: &Path) -> io::Result<()> {
    create_private(dir)?;
    // The folder itself may be a link of its owner's: what it leads to is checked.
    let folder = File::open(dir)?;
    let meta = folder.metadata()?;
    check_owner(dir, &meta)?;
    if meta.mode() & OPEN_TO_OTHERS != 0 {
        folder.set_permissions(Permissions::from_mode(0o700))?;
        tracing::warn!(folder = %dir.display(), "the state folder was open to others; closed");
    }
    secure_entries(dir, MAX_FOLDER_DEPTH)
}

/// Creates a folder and its parents, all mode 0700, if they are missing.
pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Checks that nobody else can put something else in the place of a file of this folder.
///
/// # Errors
/// The folder belongs to another user than us or root, or others can write to it and it is not sticky.
pub(crate) fn check_place(dir: &Path) -> io::Result<()> {
    let meta = fs::metadata(dir)?;
    if meta.uid() != 0 {
        check_owner(dir, &meta)?;
    }
    let (mode, sticky) = (meta.mode(), 0o1000);
    if mode & 0o022 != 0 && mode & sticky == 0 {
        return Err(io::Error::other(FolderFault::SharedFolder { path: dir.to_owned() }));
    }
    Ok(())
}

/// Flags with which files of the state folder are opened: never through a link, never waiting.
pub(crate) fn no_follow() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default()
}

fn secure_entries(dir: &Path, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            // Gone meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        secure_entry(&path, &meta, depth)?;
    }
    Ok(())
}

fn secure_entry(path: &Path, meta: &Metadata, depth: usize) -> io::Result<()> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        return Err(io::Error::other(FolderFault::Link { path: path.to_owned() }));
    }
    check_owner(path, meta)?;
    // The socket of the daemon before: whoever listens has its own care for it.
    if kind.is_socket() {
        return Ok(());
    }
    if !kind.is_dir() && !kind.is_file() {
        return Err(io::Error::other(FolderFault::NoFile { path: path.to_owned() }));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if meta.mode() & OPEN_TO_OTHERS != 0 && !KEPT_APART.contains(&name) {
        let opened = OpenOptions::new().read(true).custom_flags(no_follow()).open(path)?;
        opened.set_permissions(Permissions::from_mode(meta.mode() & 0o700))?;
    }
    let is_state = !NOT_STATE.iter().any(|folder| path.ends_with(folder));
    match depth.checked_sub(1) {
        Some(left) if kind.is_dir() && is_state => secure_entries(path, left),
        _ => Ok(()),
    }
}

fn check_owner(path: &Path, meta: &Metadata) -> io::Result<()> {
    let (uid, own) = (meta.uid(), rustix::process::geteuid().as_raw());
    if uid == own {
        return Ok(());
    }
    Err(io::Error::other(FolderFault::NotOurs { path: path.to_owned(), uid, own }))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
    use std::path::Path;

    use super::{check_place, secure};
    use crate::access::private_file::PrivateFile;
    use crate::lock::{LOCK_FILE, StateLock};

    /// Some other user, as far as the one that runs the tests may give files away.
    const ANOTHER_UID: u32 = 65_534;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_open_to_others_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::create_dir_all(state.join("inner")).unwrap();
        for (name, bits) in [("record.db", 0o644), ("record.db-wal", 0o666), ("inner/x", 0o604)] {
            fs::write(state.join(name), "x").unwrap();
            fs::set_permissions(state.join(name), Permissions::from_mode(bits)).unwrap();
        }
        fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
        secure(&state).unwrap();
        assert_eq!((mode(&state), mode(&state.join("inner"))), (0o700, 0o700));
        for name in ["record.db", "record.db-wal", "inner/x"] {
            assert_eq!(mode(&state.join(name)), 0o600, "{name}");
        }
    }

    #[test]
    fn copies_of_the_users_files_keep_their_links_and_modes() {
        let dir = tempfile::tempdir().unwrap();
        let stage = dir.path().join("effects/stages/0a");
        fs::create_dir_all(&stage).unwrap();
        fs::write(stage.join("run.sh"), "x").unwrap();
        fs::set_permissions(stage.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
        symlink("run.sh", stage.join("link")).unwrap();
        secure(dir.path()).unwrap();
        assert_eq!(mode(&stage.join("run.sh")), 0o755);
        assert_eq!(mode(&dir.path().join("effects/stages")), 0o700);
        symlink("run.sh", dir.path().join("effects/link")).unwrap();
        assert!(secure(dir.path()).is_err(), "a link beside them");
    }

    #[test]
    fn a_link_in_the_folder_is_refused_and_what_it_leads_to_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (state, other) = (dir.path().join("state"), dir.path().join("other"));
        fs::create_dir(&state).unwrap();
        fs::write(&other, "precious").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o644)).unwrap();
        for name in [LOCK_FILE, "record.db", "memory.db", "tokens.lock"] {
            symlink(&other, state.join(name)).unwrap();
            let error = StateLock::take(&state).unwrap_err();
            let reason = std::error::Error::source(&error).unwrap().to_string();
            assert!(reason.contains(name) && reason.contains("remove it"), "{reason}");
            assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
            assert_eq!(mode(&other), 0o644);
            fs::remove_file(state.join(name)).unwrap();
        }
        StateLock::take(&state).unwrap();
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let refusal = |dir: &Path| secure(dir).unwrap_err().to_string();
        if !rustix::process::geteuid().is_root() {
            let reason = refusal(Path::new("/"));
            assert!(reason.contains("`/` belongs to user 0, not to "), "{reason}");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("record.db");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        for path in [file.as_path(), dir.path()] {
            chown(path, Some(ANOTHER_UID), None).unwrap();
            let (reason, name) = (refusal(dir.path()), path.display().to_string());
            let expected = format!("`{name}` belongs to user {ANOTHER_UID}, not to 0");
            assert!(reason.contains(&expected), "{reason}");
            chown(path, Some(0), None).unwrap();
        }
        assert_eq!(mode(&file), 0o644, "what is refused is left as it is");
        secure(dir.path()).unwrap();
    }

    #[test]
    fn a_link_that_comes_after_the_check_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let (state, other) = (dir.path().join("state"), dir.path().join("other"));
        secure(&state).unwrap();
        symlink(&other, state.join("tokens.lock")).unwrap();
        assert!(PrivateFile::new(&state, "tokens", 100).hold().is_err());
        assert!(!other.exists());
    }

    #[test]
    fn a_socket_is_not_put_where_others_can_replace_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("shared");
        fs::create_dir(&place).unwrap();
        for (bits, is_fine) in [(0o777, false), (0o770, false), (0o1777, true), (0o755, true)] {
            fs::set_permissions(&place, Permissions::from_mode(bits)).unwrap();
            assert_eq!(check_place(&place).is_ok(), is_fine, "{bits:o}");
        }
    }
}
