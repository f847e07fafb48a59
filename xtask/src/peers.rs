//! `cargo xtask peers`: records what real SBCL, Emacs and Python do with the vectors, in
//! `vectors/*/peers/*.jsonl`. `--check` records into a scratch folder instead and compares, so that a
//! record that no longer tells the truth fails `ci`. The peers write; this file only starts and compares.

mod circle;
mod edits;
mod lisp;
mod org;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use lisp::written_forms as written_lisp_forms;

use crate::console::{VerbConsole, root};
use crate::vectors;

pub(crate) const HELP: &str = "\
usage: cargo xtask peers [--check]
       cargo xtask peers org [--record | --check] [--no-packages] [FOLDER...]
       cargo xtask peers edits [--headings N] [--seed S]
       cargo xtask peers circle [--no-packages] [FOLDER...]
       cargo xtask peers lisp

Runs the vectors through SBCL, Emacs and Python and writes what they did to vectors/*/peers/*.jsonl.

  --check   write nothing; fail when the files differ from what the peers do now
  org       compare the trees of Org files with those of Emacs; `peers org --help` says how
  edits     compare changes of headings with those of Emacs; `peers edits --help` says how
  circle    send the trees of Org files from Emacs to a daemon and back; `peers circle --help` says how
  lisp      compare what the skill language answers with SBCL";

/// Number of differing lines to show of one file.
const SHOWN_DIFFERENCES: usize = 5;

/// Text of `--help`, of the part that is named if one is.
pub(crate) fn help(arguments: &[String]) -> &'static str {
    match arguments.first().map(String::as_str) {
        Some("org") => org::HELP,
        Some("edits") => edits::HELP,
        Some("circle") => circle::HELP,
        Some("lisp") => lisp::HELP,
        _ => HELP,
    }
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    match arguments {
        [] => {
            record(&root().join("vectors"), console)?;
            let files = records(&root().join("vectors"))?;
            console.say(format!("peers: {} files written", files.len()));
            Ok(())
        }
        [flag] if flag == "--check" => {
            org::check(console)?;
            edits::check(console)?;
            lisp::run(&[], console)?;
            check(console)
        }
        [verb, rest @ ..] if verb == "org" => org::run(rest, console),
        [verb, rest @ ..] if verb == "edits" => edits::run(rest, console),
        [verb, rest @ ..] if verb == "circle" => circle::run(rest, console),
        [verb, rest @ ..] if verb == "lisp" => lisp::run(rest, console),
        _ => bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" ")),
    }
}

/// Runs every peer; each writes `FOLDER/peers/NAME.jsonl` below `out`.
fn record(out: &Path, console: &VerbConsole) -> Result<()> {
    for (_, runner) in vectors::peers(&["--record".as_ref(), out.as_os_str()]) {
        runner.run(console)?;
    }
    Ok(())
}

fn check(console: &VerbConsole) -> Result<()> {
    let scratch = root().join("target/peers");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).context("cannot clear the scratch folder")?;
    }
    let committed = records(&root().join("vectors"))?;
    for name in committed.keys() {
        let folder = scratch.join(name);
        let folder = folder.parent().unwrap_or(&scratch);
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    record(&scratch, console)?;
    let fresh = records(&scratch)?;
    let differences = differences(&committed, &fresh);
    for line in &differences {
        console.say(line);
    }
    if !differences.is_empty() {
        bail!(
            "records of peers drifted: look at the lines above, then `cargo xtask peers` to accept"
        );
    }
    let lines: usize = committed.values().map(|text| text.lines().count()).sum();
    console.say(format!("peers: {} files, {lines} records, no drift", committed.len()));
    Ok(())
}

/// Every `FOLDER/peers/NAME.jsonl` below `base` with its text, by relative path.
fn records(base: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    for folder in entries(base)? {
        let peers = folder.join("peers");
        if !peers.is_dir() {
            continue;
        }
        for path in entries(&peers)? {
            // Trees of Org files have a verb of their own.
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            let name = path.strip_prefix(base).unwrap_or(&path);
            found.insert(name.to_owned(), text);
        }
    }
    if found.is_empty() {
        bail!("no records of peers below `{}`", base.display());
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list =
        fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    list.map(|entry| Ok(entry?.path())).collect()
}

fn differences(
    committed: &BTreeMap<PathBuf, String>,
    fresh: &BTreeMap<PathBuf, String>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, old) in committed {
        match fresh.get(name) {
            None => lines.push(format!("{}: no peer writes it any more", name.display())),
            Some(new) if new != old => lines.extend(compare(name, old, new)),
            Some(_) => {}
        }
    }
    for name in fresh.keys().filter(|name| !committed.contains_key(*name)) {
        lines.push(format!("{}: not in the repository", name.display()));
    }
    lines
}

fn compare(name: &Path, old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut lines = vec![format!("{}: {} records, now {}", name.display(), old.len(), new.len())];
    let pairs = (0..old.len().max(new.len())).map(|at| (old.get(at), new.get(at)));
    for (was, is) in pairs.filter(|(was, is)| was != is).take(SHOWN_DIFFERENCES) {
        lines.push(format!("  - {}", was.unwrap_or(&"")));
        lines.push(format!("  + {}", is.unwrap_or(&"")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::differences;

    fn tree(files: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
        files.iter().map(|(name, text)| (PathBuf::from(name), (*text).into())).collect()
    }

    #[test]
    fn drift_is_shown_line_by_line() {
        let old = tree(&[("sexp/peers/sbcl.jsonl", "a\nb\n")]);
        assert_eq!(differences(&old, &old), Vec::<String>::new());
        let new = tree(&[("sexp/peers/sbcl.jsonl", "a\nc\n")]);
        let shown = differences(&old, &new);
        assert_eq!(shown, ["sexp/peers/sbcl.jsonl: 2 records, now 2", "  - b", "  + c"]);
    }

    #[test]
    fn files_that_come_or_go_are_drift() {
        let one = tree(&[("sexp/peers/sbcl.jsonl", "a\n")]);
        assert_eq!(differences(&one, &tree(&[])).len(), 1);
        assert_eq!(differences(&tree(&[]), &one).len(), 1);
    }
}
