//! `cargo xtask tidy`: house style that neither rustfmt nor clippy checks. Each rule family is a file
//! under `tidy/`; this one walks the tree and prints what they found. Looks only at files of the
//! repository (tracked, or new and not ignored), and changes none.

pub(crate) mod limits;
mod links;
pub(crate) mod mask;
mod names;
mod rust;
mod text;
pub(crate) mod vectors;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::console::{VerbConsole, files, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask tidy

Rust files:   a `//!` header; at most 600 lines a file and 60 a function, unless the header says why
              after the word `long:`; no ignored tests, unfinished or debugging macros, unsafe blocks;
              type names unique in their crate; modules not called core, util, common or misc; constants
              that measure something with their subject; item docs that begin with a noun or a verb.
Text files:   no trailing blanks, no tabs, a newline at the end, no path of somebody's machine,
              every TODO with an owner: TODO(name).
Markdown:     every relative link leads somewhere, every limit that is named exists;
              docs/limits-constants.md is what `cargo xtask limits` writes.
Vectors:      every line parses, ids are unique and dense.";

/// One thing that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TidyFinding {
    pub(crate) path: PathBuf,
    /// One-based; 0 speaks of the whole file.
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl TidyFinding {
    fn new(path: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    let files = files()?;
    let mut findings = Vec::new();
    let mut types = names::TypeNames::default();
    let mut limits = limits::LimitTable::default();
    for path in &files {
        let bytes = std::fs::read(root().join(path))
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        // Bytes that are not UTF-8 are data, not prose or code.
        if let Ok(text) = std::str::from_utf8(&bytes) {
            check_file(path, text, &mut findings);
            if path.extension().is_some_and(|extension| extension == "rs") {
                types.collect(path, text);
                limits.collect(path, text);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                limits.collect_page(path, text);
            }
        }
    }
    types.report(&mut findings);
    limits.report(&mut findings);
    let vectors = vectors::check(root(), &files, &mut findings)?;
    for finding in &findings {
        let TidyFinding { path, line, what } = finding;
        console.say(format!("{}:{line}: {what}", path.display()));
    }
    if !findings.is_empty() {
        bail!("tidy: {} findings in {} files", findings.len(), files.len());
    }
    console.say(format!("tidy: {} files, {vectors} vectors, nothing to say", files.len()));
    Ok(())
}

fn check_file(path: &Path, text: &str, findings: &mut Vec<TidyFinding>) {
    text::check(path, text, findings);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => {
            rust::check(path, text, findings);
            names::check(path, text, findings);
        }
        Some("md") => links::check(root(), path, text, findings),
        _ => {}
    }
}
