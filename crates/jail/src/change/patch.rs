//! Differences as people read them: unified for text, hash and size for everything else. Shown, never
//! applied: what is committed are the files of the stage.

use std::fs;
use std::path::Path;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

use super::{ChangeSet, FileChange};
use crate::error::JailError;
use crate::tree::{PathState, open_file};

/// Largest file that is compared line by line, in bytes.
const MAX_COMPARED: u64 = 4 << 20;

/// Bytes at the start in which a NUL makes a file binary.
const BINARY_PREFIX: usize = 8_000;

/// Difference of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextDiff {
    /// Unified diff with its header.
    Unified(String),
    /// Not text: sizes and hashes.
    Binary(String),
    /// Mode, link, folder: a sentence.
    Note(String),
}

impl ChangeSet {
    /// Difference of one change.
    ///
    /// # Errors
    ///
    /// A file that changed since the change set was computed, or cannot be read, is an error.
    pub fn diff(&self, change: &FileChange) -> Result<TextDiff, JailError> {
        let old = self.side(&change.before, &self.project.join(&change.path))?;
        let new = self.side(&change.after, &self.contents.join(&change.path))?;
        Ok(unified_or_summary(change, old, new))
    }

    /// All differences, ignored build output in one line.
    ///
    /// # Errors
    ///
    /// Files that cannot be read are errors.
    pub fn patch(&self) -> Result<String, JailError> {
        let mut out = String::new();
        for change in self.changes.iter().filter(|change| !change.ignored) {
            if let Some(from) = &change.renamed_from {
                out.push_str(&format!("{}: renamed from {from}\n", change.path.display()));
                continue;
            }
            match self.diff(change)? {
                TextDiff::Unified(text) => out.push_str(&text),
                TextDiff::Binary(text) | TextDiff::Note(text) => {
                    out.push_str(&text);
                    out.push('\n');
                }
            }
        }
        let (files, bytes, folders) = self.ignored_summary();
        if files > 0 {
            let names: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
            out.push_str(&format!(
                "ignored by git: {files} changes, {bytes} bytes in {}\n",
                names.join(", ")
            ));
        }
        Ok(out)
    }

    fn side(&self, state: &PathState, path: &Path) -> Result<DiffSide, JailError> {
        DiffSide::read(state, path)
    }
}

/// One side of a difference.
pub(crate) enum DiffSide {
    Text(String),
    Other,
}

impl DiffSide {
    /// Reads what a state has at a path.
    pub(crate) fn read(state: &PathState, path: &Path) -> Result<DiffSide, JailError> {
        match state {
            PathState::Absent => Ok(DiffSide::Text(String::new())),
            PathState::File { bytes, .. } if *bytes <= MAX_COMPARED => {
                open_file(path).map_err(JailError::io("open", path))?;
                let bytes = fs::read(path).map_err(JailError::io("read", path))?;
                let is_binary = bytes[..bytes.len().min(BINARY_PREFIX)].contains(&0);
                Ok(match String::from_utf8(bytes) {
                    Ok(text) if !is_binary => DiffSide::Text(text),
                    _ => DiffSide::Other,
                })
            }
            _ => Ok(DiffSide::Other),
        }
    }
}

/// The difference of two sides as people read it.
pub(crate) fn unified_or_summary(change: &FileChange, old: DiffSide, new: DiffSide) -> TextDiff {
    let name = change.path.display();
    let is_file = |state: &PathState| matches!(state, PathState::File { .. });
    if !is_file(&change.before) && !is_file(&change.after) {
        return TextDiff::Note(note(change));
    }
    let (old_name, new_name) =
        (side_name("a", change, &change.before), side_name("b", change, &change.after));
    match (old, new) {
        (DiffSide::Text(old), DiffSide::Text(new)) => {
            let modes = mode_note(change);
            let body = unified(&old, &new);
            TextDiff::Unified(format!("{modes}--- {old_name}\n+++ {new_name}\n{body}"))
        }
        _ => TextDiff::Binary(format!(
            "{name}: {} -> {}",
            summary(&change.before),
            summary(&change.after)
        )),
    }
}

/// Unified diff of two texts of one file, with its header; `None` is a side without the file.
#[must_use]
pub fn diff_texts(name: &Path, old: Option<&str>, new: Option<&str>) -> String {
    let side = |prefix: &str, text: Option<&str>| match text {
        None => "/dev/null".to_owned(),
        Some(_) => format!("{prefix}/{}", name.display()),
    };
    let body = unified(old.unwrap_or_default(), new.unwrap_or_default());
    format!("--- {}\n+++ {}\n{body}", side("a", old), side("b", new))
}

fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string()
}

fn side_name(prefix: &str, change: &FileChange, state: &PathState) -> String {
    match state {
        PathState::Absent => "/dev/null".to_owned(),
        _ => format!("{prefix}/{}", change.path.display()),
    }
}

fn mode_note(change: &FileChange) -> String {
    match (&change.before, &change.after) {
        (PathState::File { mode: old, .. }, PathState::File { mode: new, .. }) if old != new => {
            format!("{}: mode {old:o} -> {new:o}\n", change.path.display())
        }
        (PathState::Absent, PathState::File { mode, .. }) if mode & 0o111 != 0 => {
            format!("{}: new, executable\n", change.path.display())
        }
        _ => String::new(),
    }
}

fn note(change: &FileChange) -> String {
    let (before, after) = (summary(&change.before), summary(&change.after));
    format!("{}: {before} -> {after}", change.path.display())
}

fn summary(state: &PathState) -> String {
    match state {
        PathState::Absent => "nothing".to_owned(),
        PathState::File { hash, bytes, mode } => {
            format!("file of {bytes} bytes, mode {mode:o}, {}", &hash[..hash.len().min(16)])
        }
        PathState::Link { target } => format!("link to `{}`", target.display()),
        PathState::Folder { mode } => format!("folder, mode {mode:o}"),
        PathState::Special => "socket, pipe or device".to_owned(),
    }
}
