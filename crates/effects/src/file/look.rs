//! Files read, listed and searched, within limits that every outcome tells when it reached one.

use std::path::{Path, PathBuf};

use bridle_host::ActIo;
use bridle_loop::FileRequest;
use bridle_sexp::Value;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::{Regex, RegexBuilder};

use super::view::FileView;
use crate::error::EffectError;
use crate::key_files::looks_like_key;
use crate::payload::{count, cut, label_of};
use crate::workspace::Workspace;

/// Largest file that is read, and most bytes of text in one outcome.
const MAX_FILE_BYTES: u64 = 16 << 20;
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Most entries of a list, and levels of it unless it says so.
const MAX_ENTRIES: usize = 1_000;
const DEFAULT_DEPTH: u64 = 1;

/// Limits of a search: files looked at, the largest of them, matches, bytes of a line.
const MAX_SEARCHED_FILES: usize = 50_000;
const MAX_SEARCHED_BYTES: u64 = 2 << 20;
const MAX_MATCHES: usize = 200;
const MAX_LINE_BYTES: usize = 400;

/// Size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Levels of folders that are walked.
const MAX_WALK_DEPTH: u64 = 64;

pub(super) fn read(
    workspace: &Workspace,
    request: &FileRequest,
    io: &ActIo,
    from: Option<u64>,
    lines: Option<u64>,
) -> Result<Value, EffectError> {
    let view = FileView::of(workspace, request, io)?;
    let (bytes, length) = view.read(&view.path, MAX_FILE_BYTES)?;
    if length > MAX_FILE_BYTES {
        let what = format!("a file of {length} bytes, expected at most {MAX_FILE_BYTES}");
        return Err(EffectError::refused(what));
    }
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let Ok(whole) = String::from_utf8(bytes) else {
        let pairs = [("binary", Value::T), ("bytes", count(length)), ("hash", Value::str(hash))];
        return Ok(Value::plist(pairs));
    };
    let total = whole.lines().count();
    let first = usize::try_from(from.unwrap_or(1)).unwrap_or(usize::MAX).max(1);
    let most = lines.map_or(usize::MAX, |lines| usize::try_from(lines).unwrap_or(usize::MAX));
    let mut text = String::new();
    let mut given = 0;
    for line in whole.split_inclusive('\n').skip(first - 1).take(most) {
        if text.len() + line.len() > MAX_TEXT_BYTES && given > 0 {
            break;
        }
        text.push_str(&cut(line, MAX_TEXT_BYTES));
        given += 1;
    }
    let label = label_of(&view.path, &text);
    let mut pairs = vec![
        ("text", Value::str(text)),
        ("from", count(first)),
        ("lines", count(given)),
        ("total", count(total)),
        ("hash", Value::str(hash)),
    ];
    if first - 1 + given < total {
        pairs.push(("more", Value::T));
    }
    pairs.extend(label);
    Ok(Value::plist(pairs))
}

pub(super) fn list(
    workspace: &Workspace,
    request: &FileRequest,
    io: &ActIo,
    depth: Option<u64>,
) -> Result<Value, EffectError> {
    let view = FileView::of(workspace, request, io)?;
    require_folder(&view)?;
    let mut found = Vec::new();
    let mut is_cut = false;
    let depth = depth.unwrap_or(DEFAULT_DEPTH).min(MAX_WALK_DEPTH);
    let protected = |path: &Path| workspace.is_protected(path);
    walk(&view, &view.path, depth, &mut |path, metadata| {
        let relative = path.strip_prefix(&view.path).unwrap_or(path);
        if found.len() == MAX_ENTRIES || io.is_canceled() {
            is_cut = true;
            return WalkStep::End;
        }
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => "folder",
            kind if kind.is_symlink() => "link",
            kind if kind.is_file() => "file",
            _ => "special",
        };
        let mut pairs =
            vec![("path", Value::str(relative.to_string_lossy())), ("kind", Value::keyword(kind))];
        if kind == "file" {
            pairs.push(("bytes", count(metadata.len())));
        }
        found.push(Value::plist(pairs));
        match protected(path) || relative.ends_with(".git") {
            true => WalkStep::Skip,
            false => WalkStep::On,
        }
    });
    let mut pairs = vec![("entries", Value::list(found))];
    if is_cut {
        pairs.push(("more", Value::T));
    }
    Ok(Value::plist(pairs))
}

/// Step after an entry.
enum WalkStep {
    On,
    /// Nothing below this folder.
    Skip,
    End,
}

/// Visits entries below a folder in order, no links followed.
fn walk(
    view: &FileView,
    folder: &Path,
    depth: u64,
    visit: &mut dyn FnMut(&Path, &std::fs::Metadata) -> WalkStep,
) {
    // By a list and not by calls: the depth of folders is the user's.
    let mut open: Vec<(PathBuf, u64)> = children(view, folder, depth);
    while let Some((path, depth)) = open.pop() {
        let Some(metadata) = view.kind(&path) else { continue };
        match visit(&path, &metadata) {
            WalkStep::End => return,
            WalkStep::On if metadata.is_dir() && depth > 1 => {
                open.extend(children(view, &path, depth - 1));
            }
            WalkStep::On | WalkStep::Skip => {}
        }
    }
}

fn children(view: &FileView, folder: &Path, depth: u64) -> Vec<(PathBuf, u64)> {
    view.names(folder).into_iter().rev().map(|name| (folder.join(name), depth)).collect()
}

fn require_folder(view: &FileView) -> Result<(), EffectError> {
    match view.kind(&view.path) {
        Some(metadata) if metadata.is_dir() => Ok(()),
        Some(_) => Err(EffectError::refused(format!("`{}` is no folder", view.path.display()))),
        None => Err(EffectError::refused(format!("`{}` is not there", view.path.display()))),
    }
}

pub(super) fn search(
    workspace: &Workspace,
    request: &FileRequest,
    io: &ActIo,
    pattern: &str,
) -> Result<Value, EffectError> {
    let view = FileView::of(workspace, request, io)?;
    let pattern = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
    let pattern = pattern.map_err(|error| EffectError::refused(format!("the pattern: {error}")))?;
    let mut search = FileSearch::new(&view, pattern);
    if view.kind(&view.path).is_some_and(|metadata| metadata.is_file()) {
        search.look_into(&view.path);
    } else {
        require_folder(&view)?;
        walk(&view, &view.path, MAX_WALK_DEPTH, &mut |path, metadata| {
            if search.is_full() || io.is_canceled() {
                return WalkStep::End;
            }
            let is_skipped = search.is_ignored(path, metadata.is_dir())
                || workspace.is_protected(path)
                // What looks like a key is asked for by its name.
                || (metadata.is_file() && looks_like_key(path.strip_prefix(&view.path).unwrap_or(path)));
            if is_skipped {
                return WalkStep::Skip;
            }
            if metadata.is_file() {
                search.look_into(path);
            }
            WalkStep::On
        });
    }
    Ok(search.told())
}

/// A search under way.
struct FileSearch<'v> {
    view: &'v FileView,
    pattern: Regex,
    ignored: Gitignore,
    matches: Vec<Value>,
    /// Label of the strictest line.
    label: Option<(&'static str, Value)>,
    files: usize,
    left_out: usize,
}

impl<'v> FileSearch<'v> {
    fn new(view: &'v FileView, pattern: Regex) -> Self {
        let mut builder = GitignoreBuilder::new(&view.path);
        let rules = view.read(&view.path.join(".gitignore"), MAX_SEARCHED_BYTES);
        let rules = rules.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
        for line in rules.unwrap_or_default().lines() {
            // A pattern that cannot be read ignores nothing.
            let _ = builder.add_line(None, line);
        }
        let ignored = builder.build().unwrap_or_else(|_| Gitignore::empty());
        Self { view, pattern, ignored, matches: Vec::new(), label: None, files: 0, left_out: 0 }
    }

    fn is_full(&self) -> bool {
        self.matches.len() >= MAX_MATCHES || self.files >= MAX_SEARCHED_FILES
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        path.ends_with(".git") || self.ignored.matched(path, is_folder).is_ignore()
    }

    fn look_into(&mut self, path: &Path) {
        self.files += 1;
        let Ok((bytes, length)) = self.view.read(path, MAX_SEARCHED_BYTES) else { return };
        let Ok(text) = String::from_utf8(bytes) else { return };
        if length > MAX_SEARCHED_BYTES {
            self.left_out += 1;
            return;
        }
        let shown = path.strip_prefix(&self.view.path).ok().filter(|it| *it != Path::new(""));
        let shown = shown.unwrap_or(path).to_string_lossy().into_owned();
        for (number, line) in text.lines().enumerate() {
            if self.is_full() {
                return;
            }
            if self.pattern.is_match(line) {
                self.label = self.label.take().or_else(|| label_of(path, line));
                self.matches.push(Value::plist([
                    ("path", Value::str(shown.as_str())),
                    ("line", count(number + 1)),
                    ("text", Value::str(cut(line, MAX_LINE_BYTES))),
                ]));
            }
        }
    }

    fn told(self) -> Value {
        let is_full = self.is_full();
        let mut pairs = vec![("matches", Value::list(self.matches)), ("files", count(self.files))];
        if is_full {
            pairs.push(("more", Value::T));
        }
        pairs.extend(self.label);
        if self.left_out > 0 {
            pairs.push(("left-out", count(self.left_out)));
        }
        Value::plist(pairs)
    }
}
