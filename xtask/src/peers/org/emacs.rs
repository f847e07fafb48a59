//! Emacs over many Org files. There are texts on which Org never ends: such a file is told apart, and the others are read
//! all the same. Called by the comparison of trees.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::console::{ProgramRun, root};

/// Files that one Emacs reads: enough to make its start cheap.
const BATCH: usize = 50;

/// Seconds of processor time that Emacs gets to start, and bytes of files that it gets another second for: several times
/// what it needs. Processor time, because a machine that is busy with something else is no reason to give up.
const START_SECONDS: u64 = 10;
const BYTES_A_SECOND: u64 = 20_000;

/// Memory that Emacs gets, in KiB.
const MEMORY: &str = "8000000";

/// View that Emacs has of a file.
pub(super) enum EmacsView {
    /// One form for each node.
    Tree(Vec<String>),
    /// Org itself gave up on it.
    Failed,
    /// Org did not end in time.
    Endless,
}

/// Views that Emacs has of the files, in their order.
pub(super) fn trees(files: &[PathBuf]) -> Result<Vec<(PathBuf, EmacsView)>> {
    let mut all = Vec::with_capacity(files.len());
    let mut left = files;
    while !left.is_empty() {
        let batch = &left[..left.len().min(BATCH)];
        let mut seen = read(batch)?;
        // The one it began with and did not end with may have been the last of many: it gets another try, alone.
        if let Some(ended) = batch.get(seen.len()) {
            let alone = read(std::slice::from_ref(ended))?;
            seen.push(
                alone.into_iter().next().unwrap_or_else(|| (ended.clone(), EmacsView::Endless)),
            );
        }
        left = &left[seen.len()..];
        all.extend(seen);
    }
    Ok(all)
}

/// Results of Emacs for the changes in `vectors/org/edits`, one line for each.
pub(super) fn edits() -> Result<String> {
    let out = root().join(format!("target/org-edits-{}.out", std::process::id()));
    ProgramRun::new("emacs")
        .args(["-Q", "--batch", "-l", "peers/emacs/org-edits.el"])
        .args([&out, &root().join("vectors/org/edits/cases.sexp")])
        .stdout()?;
    let printed = fs::read_to_string(&out).context("cannot read what Emacs wrote")?;
    fs::remove_file(&out).context("cannot remove what Emacs wrote")?;
    Ok(printed)
}

/// Views of the files up to the one that Emacs did not end with, or to the last.
fn read(files: &[PathBuf]) -> Result<Vec<(PathBuf, EmacsView)>> {
    let out = root().join(format!("target/org-tree-{}.out", std::process::id()));
    if out.exists() {
        fs::remove_file(&out).context("cannot remove what Emacs wrote before")?;
    }
    let sizes = files.iter().map(|file| fs::metadata(file).map_or(0, |file| file.len()));
    let seconds = (START_SECONDS + sizes.sum::<u64>() / BYTES_A_SECOND).to_string();
    let script = "ulimit -t \"$1\" && ulimit -v \"$2\" && shift 2 && exec emacs \"$@\"";
    let run = ProgramRun::new("sh")
        .args(["-c", script, "sh", &seconds, MEMORY])
        .args(["-Q", "--batch", "-l", "peers/emacs/org-tree.el"])
        .args([out.as_path()])
        .args(files);
    let output = run.output()?;
    let printed = fs::read(&out).with_context(|| {
        format!("Emacs wrote nothing: {}", String::from_utf8_lossy(&output.stderr).trim_end())
    })?;
    fs::remove_file(&out).context("cannot remove what Emacs wrote")?;
    Ok(parsed(&String::from_utf8_lossy(&printed)))
}

/// The files that are whole.
fn parsed(printed: &str) -> Vec<(PathBuf, EmacsView)> {
    let mut seen = Vec::new();
    let mut file = Path::new("");
    let mut lines = Vec::new();
    for line in printed.lines() {
        if let Some(name) = line.strip_prefix("FILE ") {
            file = Path::new(name);
            lines.clear();
        } else if line == "DONE" {
            let tree = std::mem::take(&mut lines);
            let failed = tree.first().is_some_and(|line| line == "failed");
            seen.push((
                file.to_owned(),
                if failed { EmacsView::Failed } else { EmacsView::Tree(tree) },
            ));
        } else {
            lines.push(line.to_owned());
        }
    }
    seen
}
