//! Changes are made: kept first, then written, then noted as done. Also what became of a change that a
//! crash interrupted, which can be told from what lies beside the file.
//!
//! Several files of one change are written one after the other; if one cannot be, those before it go
//! back. After a crash in between, the same change can be made again: what was written stays.

use rusqlite::Connection;

use super::error::MemoryError;
use super::file_place::FileSpot;
use super::file_swap::{AdjacentFile, SwapLeftover, SwapResult};
use super::history::{self, ChangeEnd, LabeledVersion, VersionFilter, VersionId, VersionOrigin};
use super::{
    ChangeCause, FileChange, FilePath, MemoryStore, RecordHash, TEMPORARY_PREFIX, hash_bytes,
};
use bridle_record::cipher;
use bridle_record::fault;

/// A file that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The version that it has now.
    pub version: VersionId,
}

/// Outcome of the changes that follow from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// All of these files were written.
    Done,
    /// Not all of them: the rest can be written now.
    NotDone,
}

/// One change on its way.
struct ChangeStep<'c> {
    change: &'c FileChange,
    spot: FileSpot,
    label: String,
    version: VersionId,
}

impl MemoryStore {
    /// Makes changes: of all these files or of none. One that was made for the same record already is
    /// left as it is.
    ///
    /// # Errors
    /// Nothing is changed, save after [`MemoryError::Partly`].
    pub fn apply(
        &self,
        changes: &[FileChange],
        why: &ChangeCause,
    ) -> Result<Vec<WrittenFile>, MemoryError> {
        let mut connection = self.lock();
        self.look_at_late(&connection, why.at)?;
        let done = done(&connection, why.record)?;
        let is_done = |change: &&FileChange| done.contains(&change.path);
        let left = changes.iter().filter(|change| !is_done(change));
        let steps = self.plan(&mut connection, left, why)?;
        fault::point("memory.planned");
        for (index, step) in steps.iter().enumerate() {
            if let Err(error) = self.write(&connection, step, why) {
                for never in &steps[index + 1..] {
                    history::settle(&connection, never.version, ChangeEnd::GivenUp)?;
                }
                return Err(self.take_back(&connection, &steps[..index], error, why));
            }
        }
        let settled = history::begin(&mut connection)?;
        for step in &steps {
            history::settle(&settled, step.version, ChangeEnd::Done)?;
        }
        settled.commit()?;
        fault::point("memory.settled");
        for step in &steps {
            let beside = AdjacentFile::new(&step.spot, &step.label);
            let (known, put) = self.bring_late_back(&connection, step, &beside, why.at)?;
            self.follow(&step.spot, step.change.before, put);
            self.let_go(&connection, &beside, (known, put), why.at)?;
        }
        fault::point("memory.cleared");
        Ok(steps.iter().map(|step| WrittenFile { version: step.version }).collect())
    }

    /// Takes back what was written for a record that could not be carried out as a whole, and keeps what
    /// was written since. Tells whether there was something.
    ///
    /// # Errors
    /// Nothing is taken back.
    pub fn withdraw(&self, why: &ChangeCause) -> Result<bool, MemoryError> {
        let Some(record) = why.record else { return Ok(false) };
        let changes = match self.undo(record) {
            Err(MemoryError::NoChange(_)) => return Ok(false),
            changes => changes?,
        };
        // Of no record: what is done for one counts as carried out.
        let why = ChangeCause { origin: VersionOrigin::Rollback, record: None, ..why.clone() };
        self.apply(&changes, &why)?;
        Ok(!changes.is_empty())
    }

    /// Returns the outcome of the changes to these files that follow from a record. Each is made once; `memory.db`
    /// knows, also of changes that a crash interrupted.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn outcome_of(
        &self,
        record: u64,
        files: &[FilePath],
    ) -> Result<ChangeOutcome, MemoryError> {
        let done = done(&self.lock(), Some(record))?;
        let is_done = files.iter().all(|path| done.contains(path));
        Ok(if is_done { ChangeOutcome::Done } else { ChangeOutcome::NotDone })
    }

    /// Looks at every file, keeps what is there and what is to be, and gives each a name to lie
    /// beside under.
    fn plan<'c>(
        &self,
        connection: &mut Connection,
        changes: impl Iterator<Item = &'c FileChange>,
        why: &ChangeCause,
    ) -> Result<Vec<ChangeStep<'c>>, MemoryError> {
        let mut steps = Vec::new();
        let begun = history::begin(connection)?;
        history::cleared(&begun)?;
        for change in changes {
            let spot = self.root.find(&change.path)?;
            self.admit(&change.path, &spot)?;
            self.admit_late(&change.path, &spot)?;
            let seen = super::file_swap::read(&spot)?;
            if seen.as_ref().map(|seen| seen.hash) != change.before {
                return Err(MemoryError::Changed { path: change.path.clone() });
            }
            let bytes = seen.as_ref().map(|seen| &*seen.bytes);
            let texts = [bytes, change.after.as_deref()];
            if texts.into_iter().flatten().any(|text| !self.may_keep(&change.path, text)) {
                return Err(MemoryError::InClear { path: change.path.clone() });
            }
            history::notice(&begun, &change.path, bytes, why.at)?;
            let label = label()?;
            let version = history::plan(&begun, change, why, &label)?;
            steps.push(ChangeStep { change, spot, label, version });
        }
        begun.commit()?;
        Ok(steps)
    }

    fn write(
        &self,
        connection: &Connection,
        step: &ChangeStep<'_>,
        why: &ChangeCause,
    ) -> Result<(), MemoryError> {
        let ChangeStep { change, spot, label, version } = step;
        let beside = AdjacentFile::new(spot, label);
        let admit = || self.admit(&change.path, spot);
        let ours = change.after_hash();
        let (failed, known) = match beside.swap(change.before, change.after.as_deref(), None, admit)
        {
            Ok(SwapResult::Done) => return Ok(()),
            Ok(SwapResult::Changed(lost)) => {
                self.keep_lost(step, lost.as_deref(), connection, why.at)?;
                let lost = lost.as_deref().map(hash_bytes);
                (MemoryError::Changed { path: change.path.clone() }, lost.or(ours))
            }
            Ok(SwapResult::Open(by)) => (MemoryError::Open { path: change.path.clone(), by }, ours),
            Err(error) => (error, None),
        };
        history::settle(connection, *version, ChangeEnd::GivenUp)?;
        self.let_go_refused(connection, &beside, known, why.at)?;
        Err(failed)
    }

    /// A program that had the old file open may have written into it after it was replaced: then that
    /// file comes back, as if it had been saved a moment later. Tells what lies beside then, and what the
    /// file holds unless somebody else wrote it.
    fn bring_late_back(
        &self,
        connection: &Connection,
        step: &ChangeStep<'_>,
        beside: &AdjacentFile<'_>,
        at: i64,
    ) -> Result<(Option<RecordHash>, Option<RecordHash>), MemoryError> {
        let (before, after) = (step.change.before, step.change.after_hash());
        let is_late = |left: &SwapLeftover| before.is_some_and(|it| it != left.seen.hash);
        let Some(left) = beside.left()?.filter(is_late) else { return Ok((before, after)) };
        let late = Some(left.seen.hash);
        let is_back = beside.bring_back(after)?;
        self.keep_lost(step, Some(&left.seen.bytes), connection, at)?;
        Ok(if is_back { (after, late) } else { (late, after) })
    }

    /// Keeps a text that somebody wrote and somebody else replaced in the same moment.
    fn keep_lost(
        &self,
        step: &ChangeStep<'_>,
        lost: Option<&[u8]>,
        connection: &Connection,
        at: i64,
    ) -> Result<(), MemoryError> {
        let Some(lost) = lost else { return Ok(()) };
        let begun = connection.unchecked_transaction()?;
        history::notice(&begun, &step.change.path, Some(lost), at)?;
        begun.commit()?;
        Ok(())
    }

    /// Takes back what was written of a change that cannot be made whole.
    fn take_back(
        &self,
        connection: &Connection,
        written: &[ChangeStep<'_>],
        error: MemoryError,
        why: &ChangeCause,
    ) -> MemoryError {
        for step in written.iter().rev() {
            if let Err(other) = self.take_one_back(connection, step, why.at) {
                let path = step.change.path.clone();
                return match other {
                    // Somebody has written it since: theirs stays.
                    MemoryError::Changed { .. } => {
                        MemoryError::Partly { path, source: Box::new(error) }
                    }
                    other => other,
                };
            }
        }
        error
    }

    fn take_one_back(
        &self,
        connection: &Connection,
        step: &ChangeStep<'_>,
        at: i64,
    ) -> Result<(), MemoryError> {
        let ChangeStep { change, spot, label, version } = step;
        let (before, after) = (change.before, change.after_hash());
        self.let_go(connection, &AdjacentFile::new(spot, label), (before, after), at)?;
        let text = before.map(|hash| super::blobs::get(connection, hash)).transpose()?;
        let back = AdjacentFile::new(spot, &format!("{label}b"));
        let swapped = back.swap(after, text.as_deref(), None, || Ok(()))?;
        let (ended, known) = match &swapped {
            SwapResult::Done => (ChangeEnd::GivenUp, after),
            SwapResult::Changed(lost) => {
                self.keep_lost(step, lost.as_deref(), connection, at)?;
                (ChangeEnd::Done, lost.as_deref().map(hash_bytes).or(before))
            }
            SwapResult::Open(_) => (ChangeEnd::Done, before),
        };
        history::settle(connection, *version, ended)?;
        if matches!(swapped, SwapResult::Done) {
            self.follow(spot, after, before);
            self.let_go(connection, &back, (known, before), at)?;
        } else {
            self.let_go_refused(connection, &back, known, at)?;
        }
        match swapped {
            SwapResult::Done => Ok(()),
            SwapResult::Changed(_) | SwapResult::Open(_) => {
                Err(MemoryError::Changed { path: change.path.clone() })
            }
        }
    }

    /// Finds out how interrupted changes ended, and clears away what lies beside files.
    pub(super) fn recover(&self) -> Result<(), MemoryError> {
        let connection = self.lock();
        for labeled in history::labeled(&connection)? {
            let version = &labeled.version;
            let ended = match self.root.find(&version.path) {
                // The folder is gone, and what lay in it.
                Err(_) => ChangeEnd::GivenUp,
                Ok(spot) => {
                    let beside = AdjacentFile::new(&spot, &labeled.label);
                    // What cannot be looked at now is looked at again at the next start.
                    let Ok(ended) = self.ended(&connection, &labeled, &spot, &beside) else {
                        continue;
                    };
                    beside.clear()?;
                    AdjacentFile::new(&spot, &format!("{}b", labeled.label)).clear()?;
                    ended
                }
            };
            if labeled.ended.is_none() {
                history::settle(&connection, version.id, ended)?;
            }
        }
        Ok(history::cleared(&connection)?)
    }

    /// Tells how an interrupted change ended: the file beside is the new text until it has changed places with the
    /// old one.
    fn ended(
        &self,
        connection: &Connection,
        labeled: &LabeledVersion,
        spot: &FileSpot,
        beside: &AdjacentFile<'_>,
    ) -> Result<ChangeEnd, MemoryError> {
        let (version, left) = (&labeled.version, beside.left()?);
        let now = super::file_swap::read(spot)?.map(|seen| seen.hash);
        let Some(left) = left else {
            let is_there = now == version.after && now != version.before;
            return Ok(if is_there { ChangeEnd::Done } else { ChangeEnd::GivenUp });
        };
        let was_swapped = match (labeled.ended, version.before, version.after) {
            (Some(ended), _, _) => ended == ChangeEnd::Done,
            (None, None, Some(_)) => left.has_other_name,
            (None, _, None) => true,
            (None, Some(_), Some(after)) => left.seen.hash != after,
        };
        if was_swapped && version.before.is_some() && Some(left.seen.hash) != version.before {
            // Somebody saved in the very moment: their text is nowhere else, and goes where they put it.
            let begun = connection.unchecked_transaction()?;
            history::notice(&begun, &version.path, Some(&left.seen.bytes), version.at)?;
            begun.commit()?;
            if labeled.ended.is_none() && beside.bring_back(version.after)? {
                return Ok(ChangeEnd::GivenUp);
            }
        }
        Ok(if was_swapped { ChangeEnd::Done } else { ChangeEnd::GivenUp })
    }
}

/// A name to lie beside a file under, which nothing else has.
pub(super) fn label() -> Result<String, MemoryError> {
    let random: [u8; 8] = cipher::random()?;
    Ok(format!("{TEMPORARY_PREFIX}{:016x}", u64::from_le_bytes(random)))
}

/// Files that were written for a record.
fn done(connection: &Connection, record: Option<u64>) -> Result<Vec<FilePath>, MemoryError> {
    if record.is_none() {
        return Ok(Vec::new());
    }
    let known = history::list(
        connection,
        &VersionFilter { record, ..VersionFilter::default() },
        usize::MAX,
    )?;
    Ok(known.into_iter().map(|version| version.path).collect())
}
