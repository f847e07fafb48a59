//! Survey of a folder before it becomes a Memex; and its index, made without a daemon. Called by `bridle init`.

mod keywords;

use std::path::Path;
use std::sync::Arc;

use crate::{
    FolderScan, IndexChanges, IndexStatus, MemexCatalog, MemexFolder, MemexIndex, PrivateAccess,
    SkipReason, count_headings,
};
use bridle_record::StoreError;

pub use crate::{IndexProgress, OrgDefaults, ReadRules, SkippedPath};

use self::keywords::KeywordCount;
pub use self::keywords::{UndeclaredKeyword, suggested_keywords};

/// Files between two reports of the progress.
const FILES_PER_PROGRESS_REPORT: usize = 16;

/// Contents of a folder that would become a Memex.
#[derive(Debug, Default)]
pub struct MemexSurvey {
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their headings.
    pub headings: usize,
    /// Paths that would not be read, with the reasons.
    pub skipped: Vec<SkippedPath>,
    /// Number of further paths that would not be read.
    pub more_skipped: usize,
    /// Files that are no Org files.
    pub others: usize,
    /// Hidden files and folders, backups and locks.
    pub hidden: usize,
    /// Keywords that headings have and neither a file nor a setting declares.
    pub undeclared_keywords: Vec<UndeclaredKeyword>,
}

/// Looks at a folder, and reads it without keeping anything.
///
/// # Errors
/// There is no such folder, or it may not be read.
pub fn survey(
    folder: &Path,
    rules: &ReadRules,
    mut heed: impl FnMut(IndexProgress),
) -> Result<MemexSurvey, StoreError> {
    let memex = MemexFolder::open(folder, rules.clone())?;
    let FolderScan { files, skipped, more_skipped, others, hidden, .. } = memex.scan();
    let all_bytes = files.iter().map(|file| file.trace.size).sum();
    let mut survey =
        MemexSurvey { skipped, more_skipped, others, hidden, ..MemexSurvey::default() };
    let mut progress =
        IndexProgress { all_files: files.len(), all_bytes, ..IndexProgress::default() };
    let mut keywords = KeywordCount::default();
    for file in files {
        match memex.read(&file.path) {
            Ok((bytes, _)) => {
                survey.files += 1;
                survey.bytes += bytes.len() as u64;
                survey.headings += count_headings(&bytes);
                keywords.add(&bytes);
            }
            Err(why) => survey
                .skipped
                .push(SkippedPath { path: file.path, why: why.unwrap_or(SkipReason::Unreadable) }),
        }
        progress.files += 1;
        progress.bytes += file.trace.size;
        if progress.files.is_multiple_of(FILES_PER_PROGRESS_REPORT)
            || progress.files == progress.all_files
        {
            heed(progress);
        }
    }
    survey.undeclared_keywords = keywords.undeclared(&rules.org.todo_sequences);
    Ok(survey)
}

/// Makes the index, or brings it up to date. The caller holds the lock of the state directory.
///
/// # Errors
/// The folder cannot be read, or the index cannot be written.
pub fn index(
    folder: &Path,
    rules: &ReadRules,
    state: &Path,
    mut heed: impl FnMut(IndexProgress),
) -> Result<(IndexChanges, IndexStatus), StoreError> {
    let memex = Arc::new(MemexFolder::open(folder, rules.clone())?);
    let mut index = MemexIndex::open(state, &memex)?;
    let mut go_on = |progress| {
        heed(progress);
        true
    };
    let changes = index.sync(&memex, &memex.scan(), &mut go_on)?;
    index.settle()?;
    let status = MemexCatalog::open(state, memex)?.status(PrivateAccess::Owner)?;
    Ok((changes, status))
}
