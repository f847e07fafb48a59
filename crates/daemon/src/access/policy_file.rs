//! The file of policies: read as one whole text of the user's own, replaced in one step.
//!
//! Read by the guard at the start, on SIGHUP and when an owner asks; read and replaced by
//! `bridle approve --always`. Whoever may write this file may allow everything, so a file that others
//! may write is not used, and neither is half of one. What the text means is the business of
//! `bridle_loop`.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::access::private_file::FileStamp;

/// Bytes that are read; a set says itself how much less it takes.
const MAX_FILE: u64 = 4 << 20;

/// Age of the last write before a file is read: an editor that writes in place is done
/// by then, and clocks of file systems tick every 10 ms or faster.
const SETTLE_TIME: Duration = Duration::from_millis(100);

/// Reads of a file that changes meanwhile.
const READ_TRIES: usize = 3;

/// Mode of a file that is made here.
const MODE: u32 = 0o600;

/// Others than the owner who may write.
const OTHERS_WRITE: u32 = 0o022;

/// Fault of a policy file that is not used, or not replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFileError {
    /// The system said no.
    #[error("the system does not let it be used")]
    Io(#[from] io::Error),
    /// There is none: no file, no link, nothing.
    #[error("there is no such file")]
    Missing,
    /// A pipe, a folder, a device.
    #[error("it is no plain file")]
    NoFile,
    /// File of another user.
    #[error("it belongs to user {uid}, expected {own}")]
    NotOurs {
        /// Its owner.
        uid: u32,
        /// User of this process.
        own: u32,
    },
    /// Others may write it.
    #[error("its mode is {0:03o}, expected one in which nobody but its owner writes")]
    OpenToOthers(u32),
    /// Larger than a policy file may be.
    #[error("expected at most {MAX_FILE} bytes")]
    TooLarge,
    /// Not UTF-8.
    #[error("it is no UTF-8")]
    NoText,
    /// Changed during every read.
    #[error("it changes while it is read")]
    Changing,
    /// Changed since the edit was made.
    #[error("it was changed meanwhile")]
    Changed,
}

/// The text of a file of policies. A link is followed; what it leads to is judged.
///
/// # Errors
/// [`PolicyFileError`] says why it is not used; nothing waits for whoever would write to a pipe.
pub fn read(path: &Path) -> Result<String, PolicyFileError> {
    read_after(path, &mut settle)
}

/// Reads a policy file, calling `wait` before each try.
fn read_after(path: &Path, wait: &mut dyn FnMut(&Metadata)) -> Result<String, PolicyFileError> {
    for _ in 0..READ_TRIES {
        if let Some(text) = try_read(path, wait)? {
            return Ok(text);
        }
    }
    Err(PolicyFileError::Changing)
}

/// Reads it once; nothing if it changed meanwhile.
fn try_read(
    path: &Path,
    wait: &mut dyn FnMut(&Metadata),
) -> Result<Option<String>, PolicyFileError> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.kind() {
        // A link that leads nowhere is there.
        io::ErrorKind::NotFound if path.symlink_metadata().is_err() => PolicyFileError::Missing,
        _ => PolicyFileError::Io(error),
    })?;
    let before = file.metadata()?;
    check(&before)?;
    wait(&before);
    let mut bytes = Vec::new();
    (&file).take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(PolicyFileError::TooLarge);
    }
    // Both what was read, and what is found under its name now.
    let is_same = |meta: io::Result<Metadata>| {
        meta.is_ok_and(|meta| FileStamp::of(&meta) == FileStamp::of(&before))
    };
    if !is_same(file.metadata()) || !is_same(path.metadata()) {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| PolicyFileError::NoText)
}

/// Waits until a file has been left alone for long enough.
#[expect(clippy::disallowed_methods, reason = "read on a thread for blocking work, or before any")]
fn settle(meta: &Metadata) {
    let age = meta.modified().ok().and_then(|it| SystemTime::now().duration_since(it).ok());
    if let Some(rest) = age.and_then(|age| SETTLE_TIME.checked_sub(age)) {
        std::thread::sleep(rest);
    }
}

fn check(meta: &Metadata) -> Result<(), PolicyFileError> {
    let (uid, own) = (meta.uid(), rustix::process::geteuid().as_raw());
    if !meta.is_file() {
        Err(PolicyFileError::NoFile)
    } else if uid != own && uid != 0 {
        Err(PolicyFileError::NotOurs { uid, own })
    } else if meta.mode() & OTHERS_WRITE != 0 {
        Err(PolicyFileError::OpenToOthers(meta.mode() & 0o777))
    } else {
        Ok(())
    }
}

/// Puts a text in the place of the file, which must still be `old`; `None` if there must be none. All
/// of it or nothing, whatever happens meanwhile; the mode stays.
///
/// # Errors
/// [`PolicyFileError::Changed`] if it is not `old`, or no plain file; it is left alone then.
pub fn replace(path: &Path, old: Option<&str>, new: &str) -> Result<(), PolicyFileError> {
    // What a link points to is replaced, not the link.
    let file = if path.is_symlink() { path.canonicalize()? } else { path.to_owned() };
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // One at a time of those who do it like this; an editor does not ask.
    let folder_held = File::open(folder)?;
    folder_held.lock()?;
    let mode = match file.symlink_metadata() {
        Ok(meta) if !meta.is_file() => return Err(PolicyFileError::Changed),
        Ok(meta) => meta.mode() & 0o7777,
        Err(_) => MODE,
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let opened = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&beside);
    let written = opened.and_then(|mut it| {
        it.write_all(new.as_bytes())?;
        it.set_permissions(Permissions::from_mode(mode))?;
        it.sync_all()
    });
    match written.map_err(PolicyFileError::Io).and_then(|()| put(&beside, &file, old)) {
        Ok(()) => Ok(folder_held.sync_all()?),
        Err(error) => {
            // The new text, which did not get there; it may not even exist.
            let _ = std::fs::remove_file(&beside);
            Err(error)
        }
    }
}

/// Brings what lies beside a file into its place. Whatever is there at that moment is taken out in the
/// same step, looked at, and put back if it is not the old text.
fn put(beside: &Path, file: &Path, old: Option<&str>) -> Result<(), PolicyFileError> {
    let rename = |flags| renameat_with(CWD, beside, CWD, file, flags);
    let Some(old) = old else {
        return rename(RenameFlags::NOREPLACE).map_err(|error| match error {
            Errno::EXIST => PolicyFileError::Changed,
            error => PolicyFileError::Io(error.into()),
        });
    };
    match rename(RenameFlags::EXCHANGE) {
        Ok(()) if is(beside, old) => Ok(std::fs::remove_file(beside)?),
        Ok(()) => {
            rename(RenameFlags::EXCHANGE).map_err(io::Error::from)?;
            Err(PolicyFileError::Changed)
        }
        Err(Errno::NOENT) => Err(PolicyFileError::Changed),
        // A file system that cannot do that.
        Err(Errno::INVAL | Errno::NOSYS) if is(file, old) => Ok(std::fs::rename(beside, file)?),
        Err(Errno::INVAL | Errno::NOSYS) => Err(PolicyFileError::Changed),
        Err(error) => Err(PolicyFileError::Io(error.into())),
    }
}

/// Whether this is a plain file with just this text.
fn is(file: &Path, text: &str) -> bool {
    let meta = file.symlink_metadata();
    meta.is_ok_and(|meta| meta.is_file() && meta.len() == text.len() as u64)
        && std::fs::read(file).is_ok_and(|bytes| bytes == text.as_bytes())
}

#[cfg(test)]
mod tests;
