//! `cargo xtask peers org`: the tree of `crates/org` beside that of `org-element` in a real Emacs, on the texts of
//! `vectors/org`, on texts made of lines and pieces that Org knows, and on real files from pinned packages. Prints how
//! many elements and objects are the same in type, nesting, places and what they say, and what is not.

mod corpus;
mod emacs;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bridle_org::{Count, Tree};

use crate::console::{VerbConsole, root};
use emacs::EmacsView;

pub(super) const HELP: &str = "\
usage: cargo xtask peers org [--record | --check] [--no-made] [--no-packages] [FOLDER...]
       cargo xtask peers org --texts COUNT

Compares the Org tree with that of Emacs. Without a flag: on the vectors, on made texts, on the Org files of the
packages that peers/org-corpus.txt pins (fetched once into target/org-corpus), and on those below each FOLDER.

  --record        write what Emacs sees in vectors/org, and what it makes of the changes in vectors/org/edits, to
                  vectors/org/peers
  --check         write nothing; fail when those files differ from what Emacs does now
  --no-made       make no texts
  --no-packages   fetch nothing
  --texts COUNT   without Emacs: make so many texts, and read and print each; every byte must come back";

/// Differences that are listed for one file, and for all.
const SHOWN_OF_A_FILE: usize = 8;
const SHOWN: usize = 80;

/// Share of elements and of objects that must be the same, of ten thousand.
const ELEMENTS: usize = 9_950;
const OBJECTS: usize = 9_900;

pub(super) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let flags: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match flags.as_slice() {
        ["--record"] => {
            fs::write(recorded("emacs"), printed()?).context("cannot write the record")?;
            fs::write(recorded("edits"), emacs::edits()?).context("cannot write the record")?;
            console.say("peers: vectors/org/peers/emacs.sexp and edits.sexp written");
            Ok(())
        }
        ["--check"] => check(console),
        ["--texts", count] => {
            let count = count.parse().with_context(|| format!("`{count}` is no count"))?;
            texts::round_trips(count, console)
        }
        _ => compare(&flags, console),
    }
}

/// Fails when the record no longer tells the truth.
pub(super) fn check(console: &VerbConsole) -> Result<()> {
    for (name, fresh) in [("emacs", printed()?), ("edits", emacs::edits()?)] {
        let committed = fs::read_to_string(recorded(name)).context("cannot read the record")?;
        if committed != fresh {
            bail!(
                "Emacs does otherwise than vectors/org/peers/{name}.sexp says: `cargo xtask peers org --record`, and look \
                 at the diff"
            );
        }
    }
    console.say("peers: the trees and changes of vectors/org are those of Emacs");
    Ok(())
}

fn recorded(name: &str) -> PathBuf {
    root().join(format!("vectors/org/peers/{name}.sexp"))
}

/// Results of Emacs for the vectors, by their names alone.
fn printed() -> Result<String> {
    let folder = root().join("vectors/org");
    let mut text = String::new();
    for (file, seen) in emacs::trees(&org_files(&folder)?)? {
        let name = file.strip_prefix(&folder).unwrap_or(&file).display();
        let EmacsView::Tree(lines) = seen else { bail!("Org fails on `{name}`") };
        text += &format!("FILE {name}\n{}\n", lines.join("\n"));
    }
    Ok(text)
}

/// The Org files that are asked for, by what they are.
pub(super) fn sets<'f>(
    flags: &[&'f str],
    console: &VerbConsole,
) -> Result<Vec<(&'f str, Vec<PathBuf>)>> {
    let known = |flag: &str| ["--no-made", "--no-packages"].contains(&flag);
    if let Some(flag) = flags.iter().find(|flag| flag.starts_with("--") && !known(flag)) {
        bail!("unexpected argument `{flag}`: `--help` says what there is");
    }
    let mut sets = vec![("vectors", org_files(&root().join("vectors/org"))?)];
    if !flags.contains(&"--no-made") {
        sets.push(("made", texts::made()?));
    }
    if !flags.contains(&"--no-packages") {
        sets.push(("packages", corpus::fetched(console)?));
    }
    for folder in flags.iter().filter(|flag| !flag.starts_with("--")) {
        sets.push((*folder, org_files(Path::new(folder))?));
    }
    Ok(sets)
}

fn compare(flags: &[&str], console: &VerbConsole) -> Result<()> {
    let sets = sets(flags, console)?;
    let mut all = OrgScore::default();
    for (name, files) in sets {
        let mut score = OrgScore::default();
        for (file, seen) in emacs::trees(&files)? {
            score.add(&file, &seen)?;
        }
        score.report(name, console);
        all.join(score);
    }
    all.report("all", console);
    all.failed.iter().for_each(|name| console.say(format!("Org fails on {name}")));
    all.endless.iter().for_each(|name| console.say(format!("Emacs did not end on {name}")));
    for line in all.different.iter().take(SHOWN) {
        console.say(line);
    }
    if all.different.len() > SHOWN {
        console.say(format!("and {} more", all.different.len() - SHOWN));
    }
    let short = |same: usize, of: usize, share: usize| same * 10_000 < of * share;
    if short(all.elements.0, all.elements.1, ELEMENTS)
        || short(all.objects.0, all.objects.1, OBJECTS)
    {
        bail!("fewer elements or objects are the same than must be");
    }
    Ok(())
}

/// The Org files below a folder, sorted.
fn org_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for path in super::entries(&folder)? {
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "org") && path.is_file()
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Number of equal trees, and the differences.
#[derive(Default)]
struct OrgScore {
    files: usize,
    /// Files that Org gives up on, and files that it does not end on: nothing to compare with.
    failed: Vec<String>,
    endless: Vec<String>,
    elements: (usize, usize),
    objects: (usize, usize),
    different: Vec<String>,
}

impl OrgScore {
    fn add(&mut self, file: &Path, seen: &EmacsView) -> Result<()> {
        self.files += 1;
        let name = file.display().to_string();
        let source = fs::read(file).with_context(|| format!("cannot read `{name}`"))?;
        if let Some(offset) = Tree::read(&source).first_loss() {
            bail!("`{name}` does not come back from byte {offset} on");
        }
        match seen {
            EmacsView::Failed => self.failed.push(name),
            EmacsView::Endless => self.endless.push(name),
            EmacsView::Tree(expect) => self.count(&name, expect, &shown(&source)),
        }
        Ok(())
    }

    /// Counts what both have; what only one has counts against.
    fn count(&mut self, name: &str, emacs: &[String], bridle: &[String]) {
        let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        emacs.iter().for_each(|line| tally.entry(line).or_default().0 += 1);
        bridle.iter().for_each(|line| tally.entry(line).or_default().1 += 1);
        let mut different = Vec::new();
        for (line, (left, right)) in tally {
            let class = if is_object(line) { &mut self.objects } else { &mut self.elements };
            class.0 += left.min(right);
            class.1 += left.max(right);
            if left != right {
                let side = if left > right { "emacs " } else { "bridle" };
                different.push((place(line), format!("  {side} {line}")));
            }
        }
        different.sort();
        if !different.is_empty() {
            self.different.push(name.to_owned());
            self.different
                .extend(different.into_iter().take(SHOWN_OF_A_FILE).map(|(_, line)| line));
        }
    }

    fn join(&mut self, other: OrgScore) {
        self.files += other.files;
        self.failed.extend(other.failed);
        self.endless.extend(other.endless);
        for (sum, part) in
            [(&mut self.elements, other.elements), (&mut self.objects, other.objects)]
        {
            sum.0 += part.0;
            sum.1 += part.1;
        }
        self.different.extend(other.different);
    }

    fn report(&self, name: &str, console: &VerbConsole) {
        let share = |(same, of): (usize, usize)| {
            // Hundredths of a percent, rounded down: 100.00 is all of them.
            let share = (same * 10_000).checked_div(of).unwrap_or(10_000);
            format!("{same} of {of} ({}.{:02} %)", share / 100, share % 100)
        };
        console.say(format!(
            "{name}: {} files (Org fails on {}, Emacs did not end on {}), elements {}, objects {}",
            self.files,
            self.failed.len(),
            self.endless.len(),
            share(self.elements),
            share(self.objects)
        ));
    }
}

fn shown(source: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    Tree::read(source).show(Count::Characters, |node| {
        lines.push(String::from_utf8_lossy(&node.sexp()).into_owned());
    });
    lines
}

/// Whether the form is of an object, by the name of its type.
fn is_object(line: &str) -> bool {
    const OBJECTS: &[&str] = &[
        "bold",
        "italic",
        "underline",
        "strike-through",
        "verbatim",
        "code",
        "link",
        "timestamp",
        "footnote-reference",
        "citation",
        "citation-reference",
        "entity",
        "latex-fragment",
        "macro",
        "inline-src-block",
        "inline-babel-call",
        "export-snippet",
        "subscript",
        "superscript",
        "target",
        "radio-target",
        "statistics-cookie",
        "line-break",
        "table-cell",
    ];
    line.split(' ').nth(1).is_some_and(|kind| OBJECTS.contains(&kind))
}

/// Place of the form.
fn place(line: &str) -> usize {
    line.split(' ').nth(2).and_then(|place| place.parse().ok()).unwrap_or(0)
}
