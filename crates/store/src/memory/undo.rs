//! Changes taken back: one, or all of a turn, by bringing their reverse together with what was written
//! since. What comes out are changes like any other, to be decided about and applied.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::error::Error;
use super::merge::{Conflict, Merged, merge};
use super::place::Root;
use super::versions::{self, Version, Wanted};
use super::{Change, FilePath, Memory, Seen, blobs};
use crate::record::Hash;

/// The past and the files, looked at together.
pub(super) struct View<'v> {
    pub(super) connection: &'v Connection,
    pub(super) root: &'v Root,
}

impl Memory {
    /// What takes the changes of a record back, and keeps all that was written since. Files that are
    /// as they were before are left out.
    ///
    /// # Errors
    /// [`Error::Conflicts`] where both are about the same lines: then no file is to be written.
    pub fn undo(&self, record: u64) -> Result<Vec<Change>, Error> {
        View { connection: &self.lock(), root: &self.root }.undo(record)
    }

    /// What takes all changes of a turn back, and keeps all that others wrote meanwhile and since.
    ///
    /// # Errors
    /// [`Error::Conflicts`] where both are about the same lines: then no file is to be written.
    pub fn rollback(&self, session: &str, turn: u64) -> Result<Vec<Change>, Error> {
        View { connection: &self.lock(), root: &self.root }.rollback(session, turn)
    }
}

impl View<'_> {
    pub(super) fn undo(&self, record: u64) -> Result<Vec<Change>, Error> {
        let of = Wanted { record: Some(record), ..Wanted::default() };
        let versions = versions::list(self.connection, &of, usize::MAX)?;
        if versions.is_empty() {
            return Err(Error::NoChange(record));
        }
        let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
        for version in &versions {
            match self.reverse(&version.path, &[version])? {
                Reversed::Change(change) => changes.extend(change),
                Reversed::Conflicts(found) => conflicts.extend(found),
            }
        }
        if conflicts.is_empty() { Ok(changes) } else { Err(Error::Conflicts(conflicts)) }
    }

    pub(super) fn rollback(&self, session: &str, turn: u64) -> Result<Vec<Change>, Error> {
        let versions = versions::of_turn(self.connection, session, turn)?;
        if versions.is_empty() {
            return Err(Error::NoTurn { session: session.into(), turn });
        }
        let mut files: BTreeMap<&FilePath, Vec<&Version>> = BTreeMap::new();
        for version in &versions {
            files.entry(&version.path).or_default().push(version);
        }
        let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
        for (path, versions) in files {
            match self.reverse(path, &versions)? {
                Reversed::Change(change) => changes.extend(change),
                Reversed::Conflicts(found) => conflicts.extend(found),
            }
        }
        if conflicts.is_empty() { Ok(changes) } else { Err(Error::Conflicts(conflicts)) }
    }

    /// Takes changes of one file back, the latest first. Those that follow on one another are one: a
    /// text that came and went in between is in nobody's way.
    fn reverse(&self, path: &FilePath, versions: &[&Version]) -> Result<Reversed, Error> {
        let now = self.root.read(path)?;
        let mut text = now.as_ref().map(|seen| seen.bytes.clone());
        for run in versions.chunk_by(|one, next| one.after == next.before).rev() {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let (before, after) = (self.bytes(first.before)?, self.bytes(last.after)?);
            let of = |bytes: &Option<Vec<u8>>| bytes.clone().unwrap_or_default();
            match merge(&of(&after), &of(&text), &of(&before)) {
                Merged::Conflicts(mut conflicts) => {
                    conflicts.iter_mut().for_each(|it| it.path = Some(path.clone()));
                    return Ok(Reversed::Conflicts(conflicts));
                }
                Merged::Clean(merged) => {
                    // A file goes if it was not there before and nothing of anybody else's is in it.
                    let is_nothing = merged.is_empty() && (before.is_none() || text.is_none());
                    text = (!is_nothing).then_some(merged);
                }
            }
        }
        let change = Change { path: path.clone(), before: hash(now.as_ref()), after: text };
        let is_news = change.after_hash() != change.before;
        Ok(Reversed::Change(is_news.then_some(change)))
    }

    fn bytes(&self, hash: Option<Hash>) -> Result<Option<Vec<u8>>, Error> {
        Ok(hash.map(|hash| blobs::get(self.connection, hash)).transpose()?)
    }
}

enum Reversed {
    Change(Option<Change>),
    Conflicts(Vec<Conflict>),
}

fn hash(seen: Option<&Seen>) -> Option<Hash> {
    seen.map(|seen| seen.hash)
}
