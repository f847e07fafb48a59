//! One file, replaced in one step. The new text is written and synced beside the old one; then the two
//! change places, and what came out is looked at: if it is not what was expected, or a program has it
//! open for writing, both go back. Nobody ever sees a part of a file, whenever the process dies.
//!
//! Called by `apply` under its lock. The file that lies beside stays until [`AdjacentFile::clear`]: by it, a
//! start after a crash can tell what happened. Mode is kept, owner and group as far as the system lets
//! us, the time of the last read, too; the time of the last change is the present, because by it
//! editors notice that a file is another one. A file with several names (hard links) changes under this
//! name only.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, SeekFrom, Stat, Timespec, Timestamps,
    UTIME_NOW, Uid, fchmod, fchown, fstat, fsync, futimens, linkat, openat, renameat,
    renameat_with, seek, statat, unlinkat,
};
use rustix::io::Errno;

use super::error::MemoryError;
use super::file_place::FileSpot;
use super::{FilePath, MAX_MEMORY_FILE_BYTES, SeenContent, writers};
use bridle_record::RecordHash;
use bridle_record::fault;

/// Readings of a file that changes while it is read.
const MAX_READINGS: usize = 5;

/// Reads the file at a place.
pub(super) fn read(spot: &FileSpot) -> Result<Option<SeenContent>, MemoryError> {
    Ok(look(spot, &spot.name)?.map(|(seen, _)| seen))
}

fn look(spot: &FileSpot, name: &OsString) -> Result<Option<(SeenContent, Stat)>, MemoryError> {
    for _ in 0..MAX_READINGS {
        let Some(file) = open(spot, name)? else { return Ok(None) };
        if let Some(read) = read_open(&spot.asked, &file)? {
            return Ok(Some(read));
        }
    }
    Err(MemoryError::Changed { path: spot.asked.clone() })
}

fn open(spot: &FileSpot, name: &OsString) -> Result<Option<OwnedFd>, MemoryError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&spot.folder, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::MLINK | Errno::NXIO) => {
            Err(MemoryError::NotPlain { path: spot.asked.clone() })
        }
        Err(error) => Err(MemoryError::io(&spot.asked)(error)),
    }
}

/// Reads an open file from its beginning; `None` if it was written meanwhile. The path is for messages.
pub(super) fn read_open(
    path: &FilePath,
    file: &OwnedFd,
) -> Result<Option<(SeenContent, Stat)>, MemoryError> {
    let failed = MemoryError::io(path);
    let before = fstat(file).map_err(&failed)?;
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Err(MemoryError::NotPlain { path: path.clone() });
    }
    seek(file, SeekFrom::Start(0)).map_err(&failed)?;
    let own = file.try_clone().map_err(|source| io(path, source))?;
    let mut own = std::fs::File::from(own).take(MAX_MEMORY_FILE_BYTES + 1);
    let mut bytes = Vec::new();
    own.read_to_end(&mut bytes).map_err(|source| io(path, source))?;
    if bytes.len() as u64 > MAX_MEMORY_FILE_BYTES {
        return Err(MemoryError::TooLarge { path: path.clone() });
    }
    let after = fstat(file).map_err(&failed)?;
    let is_same = WriteStamp::of(&before) == WriteStamp::of(&after);
    Ok(is_same.then(|| (SeenContent::new(bytes), after)))
}

/// By what it is noticed that a file was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteStamp {
    size: i64,
    /// Time of the last write, in nanoseconds since 1970.
    pub(super) written: i128,
    number: u64,
}

impl WriteStamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let written = nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
        Self { size: stat.st_size, written, number: stat.st_ino }
    }

    /// Returns the trace if the clock of the file has gone on since the last write: only then is another write
    /// certain to change it.
    pub(super) fn if_sure(stat: &Stat) -> Option<Self> {
        let stamp = Self::of(stat);
        (stamp.written < nanoseconds(stat.st_ctime, stat.st_ctime_nsec)).then_some(stamp)
    }
}

fn nanoseconds(seconds: impl Into<i128>, more: impl Into<i128>) -> i128 {
    seconds.into() * 1_000_000_000 + more.into()
}

/// A file that lies beside another while that is replaced.
pub(super) struct AdjacentFile<'s> {
    spot: &'s FileSpot,
    /// While it is being written, and when it is whole.
    raw: OsString,
    whole: OsString,
}

/// Outcome of a replacement.
pub(super) enum SwapResult {
    /// As it was meant.
    Done,
    /// The file was not what was expected, and is as it was. With it what came to lie beside, if that
    /// is somebody's text that is nowhere else.
    Changed(Option<Vec<u8>>),
    /// Id of another process that has the file open for writing; the file is unchanged.
    Open(u32),
}

impl<'s> AdjacentFile<'s> {
    /// The file that lies beside under this label.
    pub(super) fn new(spot: &'s FileSpot, label: &str) -> Self {
        let whole = OsString::from(label);
        let mut raw = whole.clone();
        raw.push("~");
        Self { spot, raw, whole }
    }

    /// The file that it lies beside.
    pub(super) fn spot(&self) -> &'s FileSpot {
        self.spot
    }

    /// Replaces the file: what it holds must have the hash `before`, or it must not exist. A file that does
    /// not exist becomes one like `like`.
    pub(super) fn swap(
        &self,
        before: Option<RecordHash>,
        after: Option<&[u8]>,
        like: Option<&Stat>,
        admit: impl Fn() -> Result<(), MemoryError>,
    ) -> Result<SwapResult, MemoryError> {
        let seen = look(self.spot, &self.spot.name)?;
        if seen.as_ref().map(|(seen, _)| seen.hash) != before {
            return Ok(SwapResult::Changed(None));
        }
        let stat = seen.map(|(_, stat)| stat);
        if let Some(text) = after {
            self.write(text, stat.as_ref().or(like))?;
        }
        // As late as can be: an editor may have taken the file meanwhile.
        admit()?;
        fault::point("memory.beside");
        match (before, after) {
            (Some(before), Some(_)) => self.exchange(before),
            (None, Some(_)) => self.create(),
            (Some(before), None) => self.remove(before),
            (None, None) => Ok(SwapResult::Done),
        }
    }

    /// Writes the new text beside, whole and on the disk.
    fn write(&self, text: &[u8], old: Option<&Stat>) -> Result<(), MemoryError> {
        let (spot, failed) = (self.spot, MemoryError::io(&self.spot.asked));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = old.map_or(0o644, |old| old.st_mode & 0o7777);
        let first = Mode::from_raw_mode(if old.is_some() { 0o600 } else { mode });
        let file = openat(&spot.folder, &self.raw, flags, first).map_err(&failed)?;
        let mut file = std::fs::File::from(file);
        fault::point("memory.created");
        let (front, rest) = text.split_at(text.len() / 2);
        file.write_all(front).map_err(|source| io(&spot.asked, source))?;
        fault::point("memory.half");
        file.write_all(rest).map_err(|source| io(&spot.asked, source))?;
        if let Some(old) = old {
            let mine = fstat(&file).map_err(&failed)?;
            let is_same = (mine.st_uid, mine.st_gid) == (old.st_uid, old.st_gid);
            let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            let given = is_same || fchown(&file, Some(uid), Some(gid)).is_ok();
            // What lets a program run as its owner would mean another owner.
            let mode = if given { mode } else { mode & 0o777 };
            fchmod(&file, Mode::from_raw_mode(mode)).map_err(&failed)?;
            let times = Timestamps {
                last_access: Timespec {
                    tv_sec: old.st_atime,
                    tv_nsec: old.st_atime_nsec.try_into().unwrap_or(0),
                },
                last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
            };
            futimens(&file, &times).map_err(&failed)?;
        }
        fsync(&file).map_err(&failed)?;
        fault::point("memory.written");
        renameat(&spot.folder, &self.raw, &spot.folder, &self.whole).map_err(&failed)
    }

    fn exchange(&self, before: RecordHash) -> Result<SwapResult, MemoryError> {
        let failed = MemoryError::io(&self.spot.asked);
        let ours = self.inode(&self.whole)?;
        // Writing the new text has taken milliseconds; from this look on it is microseconds.
        if read(self.spot)?.map(|seen| seen.hash) != Some(before) {
            return Ok(SwapResult::Changed(None));
        }
        match self.rename(RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(SwapResult::Changed(None)),
            // A file system that cannot do that: the last look was a moment ago.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                let FileSpot { folder, name, .. } = self.spot;
                renameat(folder, &self.whole, folder, name).map_err(&failed)?;
                self.sync()?;
                return Ok(SwapResult::Done);
            }
            Err(error) => return Err(failed(error)),
        }
        // Before anything else: whoever saved in between sees another text until it is put back.
        let out = look(self.spot, &self.whole)?;
        fault::point("memory.exchanged");
        let expected = out.filter(|(out, _)| out.hash == before);
        let writer = expected.as_ref().and_then(|(_, stat)| writers::writer(stat));
        if expected.is_some() && writer.is_none() {
            self.sync()?;
            return Ok(SwapResult::Done);
        }
        // Somebody saved between the last look and the exchange, or is about to: back, unless they did
        // again.
        if self.inode(&self.spot.name)? == ours {
            self.rename(RenameFlags::EXCHANGE).map_err(&failed)?;
            if self.inode(&self.whole)? != ours {
                self.rename(RenameFlags::EXCHANGE).map_err(&failed)?;
            }
            self.sync()?;
        }
        let is_ours = self.inode(&self.whole)? == ours;
        let lost = if is_ours { None } else { look(self.spot, &self.whole)? };
        Ok(match (lost, writer) {
            (None, Some(writer)) => SwapResult::Open(writer),
            (lost, _) => SwapResult::Changed(lost.map(|(seen, _)| seen.bytes)),
        })
    }

    fn create(&self) -> Result<SwapResult, MemoryError> {
        let FileSpot { folder, name, asked, .. } = self.spot;
        match linkat(folder, &self.whole, folder, name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(SwapResult::Changed(None)),
            Err(error) => return Err(MemoryError::io(asked)(error)),
        }
        fault::point("memory.exchanged");
        self.sync()?;
        Ok(SwapResult::Done)
    }

    fn remove(&self, before: RecordHash) -> Result<SwapResult, MemoryError> {
        let FileSpot { folder, name, asked, .. } = self.spot;
        let failed = MemoryError::io(asked);
        match renameat(folder, name, folder, &self.whole) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(SwapResult::Changed(None)),
            Err(error) => return Err(failed(error)),
        }
        fault::point("memory.exchanged");
        self.sync()?;
        let out = look(self.spot, &self.whole)?;
        let expected = out.as_ref().filter(|(out, _)| out.hash == before);
        let writer = expected.and_then(|(_, stat)| writers::writer(stat));
        if expected.is_some() && writer.is_none() {
            return Ok(SwapResult::Done);
        }
        match linkat(folder, &self.whole, folder, name, AtFlags::empty()) {
            Ok(()) => Ok(writer.map_or(SwapResult::Changed(None), SwapResult::Open)),
            Err(Errno::EXIST) => Ok(SwapResult::Changed(out.map(|(seen, _)| seen.bytes))),
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns the file that lies beside, whole; `None` if there is none.
    pub(super) fn left(&self) -> Result<Option<SwapLeftover>, MemoryError> {
        let found = look(self.spot, &self.whole)?;
        Ok(found.map(|(seen, stat)| SwapLeftover { seen, has_other_name: stat.st_nlink > 1 }))
    }

    /// Changes places once more, if the file still holds what was put there; tells whether it did.
    pub(super) fn bring_back(&self, after: Option<RecordHash>) -> Result<bool, MemoryError> {
        if read(self.spot)?.map(|seen| seen.hash) != after {
            return Ok(false);
        }
        let flags = after.map_or(RenameFlags::NOREPLACE, |_| RenameFlags::EXCHANGE);
        match self.rename(flags) {
            Ok(()) => {}
            // Somebody took the file away, or made one, since that look.
            Err(Errno::NOENT | Errno::EXIST) => return Ok(false),
            Err(error) => return Err(MemoryError::io(&self.spot.asked)(error)),
        }
        let is_back = after.is_none() || self.left()?.map(|left| left.seen.hash) == after;
        if !is_back {
            // Somebody saved since that look, and what they saved came out: it goes where it was.
            self.rename(RenameFlags::EXCHANGE).map_err(MemoryError::io(&self.spot.asked))?;
        }
        self.sync()?;
        Ok(is_back)
    }

    /// Takes away what lies beside, and gives it out as an open file without a name: somebody may be about
    /// to write it. `None` if it is the file itself under another name.
    pub(super) fn let_go(&self) -> Result<Option<OwnedFd>, MemoryError> {
        let file = open(self.spot, &self.whole)?;
        self.clear()?;
        let Some(file) = file else { return Ok(None) };
        let stat = fstat(&file).map_err(MemoryError::io(&self.spot.asked))?;
        let is_itself = self.inode(&self.spot.name)? == Some(stat.st_ino);
        Ok((!is_itself).then_some(file))
    }

    /// Takes away what lies beside.
    pub(super) fn clear(&self) -> Result<(), MemoryError> {
        for name in [&self.raw, &self.whole] {
            match unlinkat(&self.spot.folder, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(MemoryError::io(&self.spot.asked)(error)),
            }
        }
        Ok(())
    }

    fn rename(&self, flags: RenameFlags) -> Result<(), Errno> {
        let FileSpot { folder, name, .. } = self.spot;
        renameat_with(folder, &self.whole, folder, name, flags)
    }

    fn inode(&self, name: &OsString) -> Result<Option<u64>, MemoryError> {
        match statat(&self.spot.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.st_ino)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(MemoryError::io(&self.spot.asked)(error)),
        }
    }

    /// The names are on the disk once their folder is.
    fn sync(&self) -> Result<(), MemoryError> {
        fsync(&self.spot.folder).map_err(MemoryError::io(&self.spot.asked))?;
        fault::point("memory.synced");
        Ok(())
    }
}

/// File that a crash left beside another.
pub(super) struct SwapLeftover {
    pub(super) seen: SeenContent,
    /// Whether it has another name, too.
    pub(super) has_other_name: bool,
}

fn io(path: &FilePath, source: std::io::Error) -> MemoryError {
    MemoryError::Io { path: path.clone(), source }
}
