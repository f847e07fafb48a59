//! What a folder would be as a Memex, before anything is written; and its index, made without a daemon. Called by
//! `bridle init`.

mod keywords;

use std::path::Path;
use std::sync::Arc;

use bridle_store::Error;
use bridle_store::memex::{
    Catalog, Changes, Eyes, Index, Memex, Scan, Status, Why, count_headings,
};

pub use bridle_store::memex::{OrgDefaults, Progress, Rules, Skipped};

use self::keywords::KeywordCount;
pub use self::keywords::{UndeclaredKeyword, suggested_keywords};

/// Files between two reports of the progress.
const STEP: usize = 16;

/// What would be read.
#[derive(Debug, Default)]
pub struct Survey {
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their headings.
    pub headings: usize,
    /// What would not be read, and why.
    pub skipped: Vec<Skipped>,
    /// How much more would not be.
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
    rules: &Rules,
    mut heed: impl FnMut(Progress),
) -> Result<Survey, Error> {
    let memex = Memex::open(folder, rules.clone())?;
    let Scan { files, skipped, more_skipped, others, hidden, .. } = memex.scan();
    let all_bytes = files.iter().map(|file| file.trace.size).sum();
    let mut survey = Survey { skipped, more_skipped, others, hidden, ..Survey::default() };
    let mut progress = Progress { all_files: files.len(), all_bytes, ..Progress::default() };
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
                .push(Skipped { path: file.path, why: why.unwrap_or(Why::Unreadable) }),
        }
        progress.files += 1;
        progress.bytes += file.trace.size;
        if progress.files.is_multiple_of(STEP) || progress.files == progress.all_files {
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
    rules: &Rules,
    state: &Path,
    mut heed: impl FnMut(Progress),
) -> Result<(Changes, Status), Error> {
    let memex = Arc::new(Memex::open(folder, rules.clone())?);
    let mut index = Index::open(state, &memex)?;
    let mut go_on = |progress| {
        heed(progress);
        true
    };
    let changes = index.sync(&memex, &memex.scan(), &mut go_on)?;
    index.settle()?;
    let status = Catalog::open(state, memex)?.status(Eyes::Owner)?;
    Ok((changes, status))
}
