//! Saves that come late: a program has found a file by its name, and while it is still on its way into the system
//! the file is replaced. What it writes then goes to a file without a name. No look tells that such a program is
//! there, so replaced files are held open for some seconds, and what is written into one of them is put where it
//! was meant to be.
//!
//! `apply` hands in what it lets go of, and looks before every change; whoever owns the [`MemoryStore`] has it look
//! again with [`MemoryStore::look_for_late_saves`]. A text that came late takes the place of what was put there since, because who
//! saves means the file to be so; a text that somebody else saved meanwhile stays, and the late one is kept as a
//! version. Nothing of this outlives the process.

use std::os::fd::OwnedFd;
use std::sync::{MutexGuard, PoisonError};

use rusqlite::Connection;
use rustix::fs::{Stat, fstat};

use super::error::MemoryError;
use super::file_place::FileSpot;
use super::file_swap::{AdjacentFile, SwapResult, WriteStamp, read, read_open};
use super::{FilePath, MemoryStore, RecordHash, SeenContent, apply, hash_bytes, history, writers};

/// Files without a name that are held at most: as many edits as come in the time for which each is held, on a quick
/// disk. The oldest gives way.
pub(super) const MAX_HELD_FILES: usize = 128;

/// Milliseconds for which a replaced file is held. A program is on its way into a file for microseconds; on a
/// machine that is short of processors or of disk, for as long as it has to wait for them.
pub(super) const HOLD_MS: i64 = 5_000;

/// Milliseconds for which a replaced file is held that a program has open for writing by then: it is about to save.
pub(super) const HOLD_WHILE_WRITTEN_MS: i64 = 60_000;

/// A file that was replaced and has no name any more.
pub(super) struct ReplacedFile {
    file: OwnedFd,
    /// The file that it was: by the name in the past, and with all links followed.
    path: FilePath,
    real: FilePath,
    /// The hash of what it holds, as far as anybody has seen to it.
    known: RecordHash,
    /// By what it can be told without reading that it still does; `None`: it must be read.
    stamp: Option<WriteStamp>,
    /// The hash of what was put in its place; `None`: nothing was, the file is gone.
    put: Option<RecordHash>,
    writing: Option<LateWriter>,
    /// Time of the first look by [`MemoryStore::look_for_late_saves`].
    since: Option<i64>,
}

/// Program that is about to write a file that has no name any more.
#[derive(Clone, Copy)]
enum LateWriter {
    /// Id of the process that has the file open.
    By(u32),
    /// The file changes, and nobody is seen to have it open: a program that empties a file while it opens it.
    Unseen,
}

impl ReplacedFile {
    /// Returns the time of the last write, if there may have been one since the last look.
    fn written(&self) -> Option<i128> {
        let stamp = WriteStamp::of(&fstat(&self.file).ok()?);
        (self.stamp != Some(stamp)).then_some(stamp.written)
    }

    /// Returns the content that was written late, once the writer is done.
    fn news(&mut self) -> Option<(SeenContent, Stat)> {
        let was_writing = self.writing.is_some();
        let (seen, stat) = match read_open(&self.path, &self.file) {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.writing = Some(LateWriter::Unseen);
                return None;
            }
            // What cannot be read now may be later.
            Err(_) => return None,
        };
        if seen.hash == self.known {
            self.settle(seen.hash, &stat);
            return None;
        }
        if let Some(by) = writers::writer(&stat) {
            self.writing = Some(LateWriter::By(by));
            return None;
        }
        // Asked for after it was read: who wrote a part of it before is either seen, or has written the rest.
        let is_same =
            fstat(&self.file).is_ok_and(|now| WriteStamp::of(&now) == WriteStamp::of(&stat));
        if !is_same || (seen.bytes.is_empty() && !was_writing) {
            self.writing = Some(LateWriter::Unseen);
            return None;
        }
        Some((seen, stat))
    }

    /// Nothing is to be done about what it holds.
    fn settle(&mut self, hash: RecordHash, stat: &Stat) {
        (self.known, self.stamp, self.writing) = (hash, WriteStamp::if_sure(stat), None);
    }

    /// Whether it is held on at this time.
    fn stays(&mut self, at: i64) -> bool {
        // A clock that was set back begins anew.
        let since = self.since.map_or(at, |since| since.min(at));
        self.since = Some(since);
        let most = if self.writing.is_some() { HOLD_WHILE_WRITTEN_MS } else { HOLD_MS };
        at.saturating_sub(since) < most
    }
}

impl MemoryStore {
    /// Looks whether somebody wrote into a file after it was replaced, and puts what they wrote where it was meant
    /// to be, or keeps it as a version if somebody saved the file again since. To be called some times in the
    /// seconds after a change, with the present in milliseconds since 1970; tells whether to go on.
    ///
    /// # Errors
    /// The past cannot be written. What was to be put back is, at the next call.
    pub fn look_for_late_saves(&self, at: i64) -> Result<bool, MemoryError> {
        let connection = self.lock();
        self.look_at_late(&connection, at)?;
        let mut files = self.late();
        let mut index = 0;
        while let Some(it) = files.get_mut(index) {
            if it.stays(at) {
                index += 1;
            } else {
                self.give_up(&connection, it, at)?;
                files.remove(index);
            }
        }
        Ok(!files.is_empty())
    }

    /// Looks at all that is held.
    pub(super) fn look_at_late(&self, connection: &Connection, at: i64) -> Result<(), MemoryError> {
        let mut files = self.late();
        let written = files.iter().enumerate();
        let mut written: Vec<(i128, usize)> =
            written.filter_map(|(index, it)| Some((it.written()?, index))).collect();
        // The earliest first: what was saved last stays.
        written.sort_unstable();
        for (_, index) in written {
            if let Some((seen, stat)) = files[index].news() {
                self.put_back(connection, &mut files, index, (&seen, &stat), at)?;
            }
        }
        self.make_room(connection, &mut files, at)
    }

    /// Refuses a file while somebody writes what it was.
    pub(super) fn admit_late(&self, path: &FilePath, spot: &FileSpot) -> Result<(), MemoryError> {
        let files = self.late();
        let writing = files.iter().filter(|it| it.real == spot.real).find_map(|it| it.writing);
        match writing {
            None => Ok(()),
            Some(LateWriter::By(by)) => Err(MemoryError::Open { path: path.clone(), by }),
            Some(LateWriter::Unseen) => Err(MemoryError::Changed { path: path.clone() }),
        }
    }

    /// Notes that what was put somewhere has been replaced by us again: a save that comes later still is meant for
    /// that file.
    pub(super) fn follow(
        &self,
        spot: &FileSpot,
        before: Option<RecordHash>,
        after: Option<RecordHash>,
    ) {
        follow(&mut self.late(), spot, before, after);
    }

    /// Takes away what lies beside, and holds it: `known` is what it holds as far as anybody has seen to it, `put`
    /// what was put in its place. What never was anybody's file (`known` is `None`) is not held.
    pub(super) fn let_go(
        &self,
        connection: &Connection,
        beside: &AdjacentFile<'_>,
        (known, put): (Option<RecordHash>, Option<RecordHash>),
        at: i64,
    ) -> Result<(), MemoryError> {
        let Some(known) = known else { return beside.clear() };
        let Some(file) = beside.let_go()? else { return Ok(()) };
        let mut files = self.late();
        hold(&mut files, file, beside.spot(), (known, put));
        self.make_room(connection, &mut files, at)
    }

    fn make_room(
        &self,
        connection: &Connection,
        files: &mut Vec<ReplacedFile>,
        at: i64,
    ) -> Result<(), MemoryError> {
        while files.len() > MAX_HELD_FILES {
            self.give_up(connection, &files[0], at)?;
            files.remove(0);
        }
        Ok(())
    }

    /// Lets a file go after a change was not made: the file is as it was, and the one beside had its name for a
    /// moment.
    pub(super) fn let_go_refused(
        &self,
        connection: &Connection,
        beside: &AdjacentFile<'_>,
        known: Option<RecordHash>,
        at: i64,
    ) -> Result<(), MemoryError> {
        match read(beside.spot()) {
            Ok(seen) => self.let_go(connection, beside, (known, seen.map(|it| it.hash)), at),
            Err(_) => beside.clear(),
        }
    }

    /// Puts a text that came late where it was meant to be. It is kept as a version before.
    fn put_back(
        &self,
        connection: &Connection,
        files: &mut Vec<ReplacedFile>,
        index: usize,
        (seen, stat): (&SeenContent, &Stat),
        at: i64,
    ) -> Result<(), MemoryError> {
        let (path, put, label) = (files[index].path.clone(), files[index].put, apply::label()?);
        let begun = connection.unchecked_transaction()?;
        history::notice(&begun, &path, Some(&seen.bytes), at)?;
        history::label_latest(&begun, &path, &label)?;
        begun.commit()?;
        // Without its folder there is nowhere to put it.
        if let Ok(spot) = self.root.find(&path) {
            let beside = AdjacentFile::new(&spot, &label);
            match beside.swap(put, Some(&seen.bytes), Some(stat), || Ok(())) {
                Ok(SwapResult::Done) => {
                    let now = Some(seen.hash);
                    follow(files, &spot, put, now);
                    if let (Some(file), Some(put)) = (beside.let_go()?, put) {
                        hold(files, file, &spot, (put, now));
                    }
                }
                Ok(SwapResult::Changed(lost)) => {
                    let known = lost.as_deref().map_or(seen.hash, hash_bytes);
                    let now = read(&spot).ok().flatten().map(|now| now.hash);
                    if let Some(file) = beside.let_go()? {
                        hold(files, file, &spot, (known, now));
                    }
                    self.keep_both(connection, &spot, lost.as_deref(), at)?;
                }
                // Later, then: until its time is over it is tried again.
                Ok(SwapResult::Open(by)) => {
                    files[index].writing = Some(LateWriter::By(by));
                    return beside.clear();
                }
                Err(_) => {
                    files[index].writing = Some(LateWriter::Unseen);
                    return beside.clear();
                }
            }
        }
        files[index].settle(seen.hash, stat);
        Ok(())
    }

    /// Keeps both contents after a late save: the one that was saved is the latest version.
    fn keep_both(
        &self,
        connection: &Connection,
        spot: &FileSpot,
        lost: Option<&[u8]>,
        at: i64,
    ) -> Result<(), MemoryError> {
        let begun = connection.unchecked_transaction()?;
        if let Some(lost) = lost {
            history::notice(&begun, &spot.asked, Some(lost), at)?;
        }
        if let Ok(now) = read(spot) {
            let now = now.as_ref().map(|now| &*now.bytes);
            history::notice(&begun, &spot.asked, now, at)?;
        }
        begun.commit()?;
        Ok(())
    }

    /// Before a file is held no longer: what is in it and nowhere else is kept as a version. If it cannot be,
    /// the file is held on.
    fn give_up(
        &self,
        connection: &Connection,
        replaced: &ReplacedFile,
        at: i64,
    ) -> Result<(), MemoryError> {
        if replaced.written().is_none() {
            return Ok(());
        }
        let Ok(Some((seen, _))) = read_open(&replaced.path, &replaced.file) else { return Ok(()) };
        if seen.hash == replaced.known {
            return Ok(());
        }
        let begun = connection.unchecked_transaction()?;
        history::notice(&begun, &replaced.path, Some(&seen.bytes), at)?;
        begun.commit()?;
        match self.root.find(&replaced.path) {
            Ok(spot) => self.keep_both(connection, &spot, None, at),
            Err(_) => Ok(()),
        }
    }

    pub(super) fn late(&self) -> MutexGuard<'_, Vec<ReplacedFile>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn follow(
    files: &mut [ReplacedFile],
    spot: &FileSpot,
    before: Option<RecordHash>,
    after: Option<RecordHash>,
) {
    let of = files.iter_mut().filter(|it| it.real == spot.real && it.put == before);
    of.for_each(|it| it.put = after);
}

fn hold(
    files: &mut Vec<ReplacedFile>,
    file: OwnedFd,
    spot: &FileSpot,
    (known, put): (RecordHash, Option<RecordHash>),
) {
    let (path, real) = (spot.asked.clone(), spot.real.clone());
    let (stamp, writing, since) = (None, None, None);
    files.push(ReplacedFile { file, path, real, known, stamp, put, writing, since });
}
