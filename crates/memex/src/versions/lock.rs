//! Files that an Emacs holds: `.#NAME` beside the file, a link (or a small file where links cannot be
//! made) that says `USER@HOST.PID:BOOT`. One of a process of this machine that has ended counts for
//! nothing; any other is respected, since nobody here can look at other machines.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::error::MemoryError;
use super::file_place::FileSpot;

/// Bytes of a lock that are read: a user, a host and two numbers.
const MAX_LOCK_BYTES: usize = 512;

/// Returns who has locked a file in an editor.
pub(super) fn holder(spot: &FileSpot) -> Result<Option<Box<str>>, MemoryError> {
    let mut name = OsString::from(".#");
    name.push(&spot.name);
    let text = match readlinkat(&spot.folder, &name, Vec::new()) {
        Ok(target) => target.into_bytes(),
        // There, and no link.
        Err(Errno::INVAL) => match read(spot, &name)? {
            Some(text) => text,
            None => return Ok(None),
        },
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(MemoryError::io(&spot.asked)(error)),
    };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let text = OsString::from_vec(text);
    let text = text.to_string_lossy();
    Ok((!has_ended(&text, &host))
        .then(|| text.chars().take(MAX_LOCK_BYTES).collect::<String>().into()))
}

fn read(spot: &FileSpot, name: &OsString) -> Result<Option<Vec<u8>>, MemoryError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&spot.folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(MemoryError::io(&spot.asked)(error)),
    };
    let mut text = vec![0; MAX_LOCK_BYTES];
    let read = rustix::io::read(&file, &mut text[..]).map_err(MemoryError::io(&spot.asked))?;
    text.truncate(read);
    Ok(Some(text))
}

/// Whether a lock is of this machine and of a process that is no more.
fn has_ended(lock: &str, host: &str) -> bool {
    let owner = lock.split_once(':').map_or(lock, |(owner, _)| owner);
    let Some((_, place)) = owner.rsplit_once('@') else { return false };
    let Some((named, pid)) = place.rsplit_once('.') else { return false };
    let pid = pid.parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    named == host && pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}
