//! Files that are not where they were, and what is carried from one batch to the next.

use std::collections::HashMap;

use rusqlite::Row;

use super::super::file_sheet::{Digest, FileSheet};
use super::super::scan::{FileTrace, SkippedPath};
use bridle_record::database::count;

/// A file that the index knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownFile {
    pub(super) id: i64,
    pub(crate) trace: FileTrace,
    content: Digest,
}

impl KnownFile {
    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<KnownFile> {
        let trace = FileTrace {
            size: count(row.get(1)?),
            mtime: row.get(2)?,
            ctime: row.get(3)?,
            inode: row.get::<_, i64>(4)?.cast_unsigned(),
        };
        Ok(KnownFile { id: row.get(0)?, trace, content: row.get(5)? })
    }
}

/// Files and headings that may have moved, carried from one batch to the next.
#[derive(Debug)]
pub(crate) struct FileMoves {
    /// Files that are not where they were.
    pub(super) gone: HashMap<String, KnownFile>,
    by_content: HashMap<Digest, String>,
    by_inode: HashMap<u64, String>,
    /// Objects that are new, by the hash of their text: one that vanished elsewhere may be one of them.
    pub(super) fresh: HashMap<Digest, i64>,
    /// Files that could not be read.
    pub(super) failed: Vec<SkippedPath>,
    /// Whether there is nothing in the index that anything could be compared with.
    pub(super) is_first: bool,
}

impl FileMoves {
    pub(crate) fn new(
        gone: impl Iterator<Item = (String, KnownFile)>,
        is_first: bool,
    ) -> FileMoves {
        let gone: HashMap<String, KnownFile> = gone.collect();
        let by_content = gone.iter().map(|(path, known)| (known.content, path.clone())).collect();
        let by_inode = gone.iter().map(|(path, known)| (known.trace.inode, path.clone())).collect();
        FileMoves {
            gone,
            by_content,
            by_inode,
            fresh: HashMap::new(),
            failed: Vec::new(),
            is_first,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.gone.is_empty()
    }

    /// The file that is here now under another name, if there is one.
    pub(super) fn source_of(
        &mut self,
        sheet: &FileSheet,
        trace: &FileTrace,
    ) -> Option<(KnownFile, bool)> {
        let by_content = self.by_content.get(&sheet.content).cloned();
        let is_same = by_content.is_some();
        let path = by_content.or_else(|| self.by_inode.get(&trace.inode).cloned())?;
        self.gone.remove(&path).map(|known| (known, is_same))
    }
}
