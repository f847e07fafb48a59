//! Listing the Org files below a folder. Looks at names and sizes, opens nothing but `.bridleignore`.
//!
//! Called by the index thread, and by the survey. Links are never followed: their target is read where it is, or is
//! not part of the Memex.

use std::fs::{self, DirEntry, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::folder::MemexFolder;
use super::ignore_pattern::IgnorePatterns;
use super::rules::{MAX_FOLDER_DEPTH, ReadRules};

/// The file of patterns, at the top.
pub const IGNORE_FILE: &str = ".bridleignore";

/// Bytes of it that are looked at.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Most entries of the list of what is not read; the rest is counted.
pub const MAX_SKIPPED_PATHS: usize = 10_000;

/// Facts that tell whether a file is still the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTrace {
    /// Bytes.
    pub size: u64,
    /// Last change of its content, in nanoseconds since 1970.
    pub mtime: i64,
    /// Last change of anything about it, likewise.
    pub ctime: i64,
    /// Its number in the file system.
    pub inode: u64,
}

impl FileTrace {
    pub(crate) fn of(meta: &Metadata) -> FileTrace {
        let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
        FileTrace {
            size: meta.size(),
            mtime: nanos(meta.mtime(), meta.mtime_nsec()),
            ctime: nanos(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }
}

/// An Org file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// From the top, with slashes.
    pub path: String,
    /// Trace of the file when it was found.
    pub trace: FileTrace,
}

/// A path that is not read, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedPath {
    /// From the top, with slashes; bytes that are no text are replaced.
    pub path: String,
    /// Reason.
    pub why: SkipReason,
}

/// Reason why a path is not read, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The file is encrypted.
    Encrypted,
    /// The path is a link.
    Link,
    /// The path is neither a file nor a folder.
    NotAFile,
    /// The file is larger than [`ReadRules::max_file`].
    TooLarge,
    /// The file has more headings than [`MAX_HEADINGS`](super::rules::MAX_HEADINGS).
    TooManyHeadings,
    /// There are more files than [`ReadRules::max_files`].
    TooManyFiles,
    /// The folder is deeper than [`MAX_FOLDER_DEPTH`].
    TooDeep,
    /// The file may not be read, or reading failed.
    Unreadable,
    /// The file changed again and again while it was read; the next change has it read again.
    Changing,
    /// Its name is no text.
    NameIsNoText,
    /// Some bytes of the file are no text; the rest is read, and those are replaced.
    NotUtf8,
    /// A line of `.bridleignore` names it.
    Ignored,
}

impl SkipReason {
    /// All of them.
    pub const ALL: [SkipReason; 12] = [
        SkipReason::Encrypted,
        SkipReason::Link,
        SkipReason::NotAFile,
        SkipReason::TooLarge,
        SkipReason::TooManyHeadings,
        SkipReason::TooManyFiles,
        SkipReason::TooDeep,
        SkipReason::Unreadable,
        SkipReason::Changing,
        SkipReason::NameIsNoText,
        SkipReason::NotUtf8,
        SkipReason::Ignored,
    ];

    /// The word for it, as programs read it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            SkipReason::Encrypted => "encrypted",
            SkipReason::Link => "link",
            SkipReason::NotAFile => "not-a-file",
            SkipReason::TooLarge => "too-large",
            SkipReason::TooManyHeadings => "too-many-headings",
            SkipReason::TooManyFiles => "too-many-files",
            SkipReason::TooDeep => "too-deep",
            SkipReason::Unreadable => "unreadable",
            SkipReason::Changing => "changing",
            SkipReason::NameIsNoText => "name-is-no-text",
            SkipReason::NotUtf8 => "not-utf-8",
            SkipReason::Ignored => "ignored",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<SkipReason> {
        SkipReason::ALL.into_iter().find(|why| why.word() == word)
    }
}

/// Files below a folder, and those that are left out.
#[derive(Clone, Debug, Default)]
pub struct FolderScan {
    /// The Org files, by path.
    pub files: Vec<FoundFile>,
    /// The folders that were looked into, the top (an empty path) included.
    pub folders: Vec<String>,
    /// Paths that are not read, the first [`MAX_SKIPPED_PATHS`].
    pub skipped: Vec<SkippedPath>,
    /// Number of further paths that are not read.
    pub more_skipped: usize,
    /// Files that are no Org files.
    pub others: usize,
    /// Hidden files and folders, backups, locks and autosaves.
    pub hidden: usize,
}

impl FolderScan {
    /// Bytes of all files together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.trace.size).sum()
    }

    fn skip(&mut self, path: String, why: SkipReason) {
        match self.skipped.len() < MAX_SKIPPED_PATHS {
            true => self.skipped.push(SkippedPath { path, why }),
            false => self.more_skipped += 1,
        }
    }
}

/// Kind of a directory entry by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameClass {
    Org,
    Encrypted,
    Hidden,
    Other,
}

impl NameClass {
    pub(crate) fn of(name: &str) -> NameClass {
        let is_autosave = name.len() > 1 && name.starts_with('#') && name.ends_with('#');
        if name.starts_with('.') || name.ends_with('~') || is_autosave {
            return NameClass::Hidden;
        }
        let lower = name.to_ascii_lowercase();
        let is_org = |name: &str| name.ends_with(".org") || name.ends_with(".org_archive");
        let sealed = [".gpg", ".asc", ".age"].iter().find_map(|end| lower.strip_suffix(end));
        match sealed {
            _ if is_org(&lower) => NameClass::Org,
            Some(inner) if is_org(inner) => NameClass::Encrypted,
            _ => NameClass::Other,
        }
    }
}

/// The patterns of a Memex; none where the file is missing, is none, or cannot be read.
pub(crate) fn patterns(root: &Path) -> IgnorePatterns {
    let path = root.join(IGNORE_FILE);
    let read = || -> io::Result<String> {
        if !fs::symlink_metadata(&path)?.is_file() {
            return Ok(String::new());
        }
        let mut bytes = Vec::new();
        fs::File::open(&path)?.take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    IgnorePatterns::read(&read().unwrap_or_default())
}

impl MemexFolder {
    /// Looks which files there are.
    #[must_use]
    pub fn scan(&self) -> FolderScan {
        let mut scan = FolderScan::default();
        let patterns = patterns(self.root());
        let mut open = vec![(String::new(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = fs::read_dir(self.root().join(&folder)) else {
                scan.skip(folder, SkipReason::Unreadable);
                continue;
            };
            for entry in entries.flatten() {
                if let Some(inner) = look(&mut scan, (self.rules(), &patterns), &folder, &entry) {
                    match depth < MAX_FOLDER_DEPTH {
                        true => open.push((inner, depth + 1)),
                        false => scan.skip(inner, SkipReason::TooDeep),
                    }
                }
            }
            scan.folders.push(folder);
        }
        scan.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let most = self.rules().max_files;
        for file in scan.files.split_off(most.min(scan.files.len())) {
            scan.skip(file.path, SkipReason::TooManyFiles);
        }
        scan
    }

    /// Whether a path is one that a scan would find: none of its names is hidden or left out.
    #[must_use]
    pub fn is_readable(&self, path: &str) -> bool {
        unread_reason(self.root(), path).is_none()
    }
}

/// The reason why a file of this name, from the top, is not read; `None` for a name that a scan would find.
#[must_use]
pub fn unread_reason(root: &Path, path: &str) -> Option<&'static str> {
    let patterns = patterns(root);
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    if path.split('/').any(|name| NameClass::of(name) == NameClass::Hidden || name == "..") {
        return Some("it is hidden, a backup or a lock");
    }
    match NameClass::of(path.rsplit('/').next().unwrap_or(path)) {
        NameClass::Org => {}
        NameClass::Encrypted => return Some("it is encrypted"),
        NameClass::Hidden | NameClass::Other => return Some("its name does not end with `.org`"),
    }
    let is_ignored =
        ends.any(|at| patterns.ignores(&path[..at], true)) || patterns.ignores(path, false);
    is_ignored.then_some("`.bridleignore` names it")
}

/// Takes note of an entry; hands a folder back that is to be looked into.
fn look(
    scan: &mut FolderScan,
    (rules, patterns): (&ReadRules, &IgnorePatterns),
    folder: &str,
    entry: &DirEntry,
) -> Option<String> {
    let name = entry.file_name();
    let within = |name: &str| match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    };
    let Some(text) = name.to_str() else {
        scan.skip(within(&name.to_string_lossy()), SkipReason::NameIsNoText);
        return None;
    };
    let kind = NameClass::of(text);
    if kind == NameClass::Hidden {
        scan.hidden += 1;
        return None;
    }
    let path = within(text);
    let Ok(file_type) = entry.file_type() else {
        scan.skip(path, SkipReason::Unreadable);
        return None;
    };
    if patterns.ignores(&path, file_type.is_dir()) {
        scan.skip(path, SkipReason::Ignored);
        return None;
    }
    if file_type.is_dir() {
        return Some(path);
    }
    match kind {
        // A link without an Org name may lead to a folder.
        _ if file_type.is_symlink() => scan.skip(path, SkipReason::Link),
        NameClass::Other | NameClass::Hidden => scan.others += 1,
        _ if !file_type.is_file() => scan.skip(path, SkipReason::NotAFile),
        NameClass::Encrypted => scan.skip(path, SkipReason::Encrypted),
        NameClass::Org => match entry.metadata() {
            Err(_) => scan.skip(path, SkipReason::Unreadable),
            Ok(meta) if meta.size() > rules.max_file => scan.skip(path, SkipReason::TooLarge),
            Ok(meta) => scan.files.push(FoundFile { path, trace: FileTrace::of(&meta) }),
        },
    }
    None
}
