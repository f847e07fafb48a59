//! Cycles among the modules of a folder, read from the source: modules of a cycle can only be read together.
//!
//! A path counts when it begins with `crate::` or `super::`, in a `use` or in code; inline test modules and files of
//! tests do not count. Judged are the top modules of every crate and the folders of [`INNER_FOLDERS`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

use super::source_paths::paths_of;
use crate::console::{files, root};

/// Folders below the top of a crate whose modules are judged, too.
const INNER_FOLDERS: &[&str] = &["crates/daemon/src/engine", "crates/daemon/src/http"];

/// Crates whose top modules may be in a cycle: types of one language that name each other.
const KNOWN_CYCLES: &[&str] = &[
    "crates/bridle/src",
    "crates/jail/src",
    "crates/lisp/src",
    "crates/loop/src",
    "crates/models/src",
    "crates/org/src",
    "crates/sexp/src",
    "crates/skill/src",
    "crates/wire/src",
];

/// A module by its names from the root of its crate.
type ModulePath = Vec<String>;

/// Modules of a crate with the paths that each one names.
type CrateModules = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// Judges the crates; returns how many folders were looked at, and each cycle as a sentence.
pub(super) fn check_crates() -> Result<(usize, Vec<String>)> {
    let crates = read_crates(&files()?)?;
    let mut folders: Vec<(&str, &str)> = crates.keys().map(|name| (&**name, "")).collect();
    for folder in INNER_FOLDERS {
        let (source, inner) = folder.split_once("/src/").context("a folder below a source")?;
        let source = crates.keys().find(|name| name.strip_suffix("/src") == Some(source));
        folders.push((source.with_context(|| format!("no crate of `{folder}`"))?, inner));
    }
    let mut violations = Vec::new();
    for &(source, inner) in &folders {
        let folder: ModulePath =
            inner.split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let found = modules_in_cycles(&crates[source], &folder);
        let is_known = inner.is_empty() && KNOWN_CYCLES.contains(&source);
        match (found.is_empty(), is_known) {
            (false, false) => {
                let names = found.into_iter().collect::<Vec<_>>().join(", ");
                violations.push(format!("cycle among the modules of `{source}/{inner}`: {names}"));
            }
            (true, true) => violations.push(format!(
                "`{source}` has no cycle any more: take it off the list in xtask/src/layers/cycles.rs"
            )),
            _ => {}
        }
    }
    Ok((folders.len(), violations))
}

/// The modules of every crate, by the folder of its source.
fn read_crates(files: &[std::path::PathBuf]) -> Result<BTreeMap<String, CrateModules>> {
    let mut crates: BTreeMap<String, CrateModules> = BTreeMap::new();
    for path in files {
        let Some((source, module)) = module_of(path) else { continue };
        let text = std::fs::read_to_string(root().join(path))
            .with_context(|| path.display().to_string())?;
        let targets = paths_of(&text, &module);
        crates.entry(source).or_default().entry(module).or_default().extend(targets);
    }
    Ok(crates)
}

/// Source folder and module of a product file; `None` for one of tests, and for the root of a crate.
fn module_of(path: &Path) -> Option<(String, ModulePath)> {
    let text = path.to_str()?;
    let (room, below) = text.strip_suffix(".rs")?.split_once("/src/")?;
    let module: ModulePath = below.split('/').map(str::to_owned).collect();
    let is_root = matches!(below, "lib" | "main");
    let is_test = module.iter().any(|name| name == "tests" || name.ends_with("_tests"));
    let is_crate = room.starts_with("crates/") && room.matches('/').count() == 1;
    (is_crate && !is_root && !is_test).then(|| (format!("{room}/src"), module))
}

/// Names of the modules right below `folder` that reach themselves.
fn modules_in_cycles(modules: &CrateModules, folder: &[String]) -> BTreeSet<String> {
    let child = |path: &[String]| path.strip_prefix(folder)?.first().cloned();
    let names: BTreeSet<String> = modules.keys().filter_map(|path| child(path)).collect();
    let mut reach: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, targets) in modules {
        let Some(from) = child(path) else { continue };
        let to = targets.iter().filter_map(|target| child(target));
        let to = to.filter(|to| *to != from && names.contains(to));
        reach.entry(from.clone()).or_default().extend(to);
    }
    loop {
        let before: usize = reach.values().map(BTreeSet::len).sum();
        for name in &names {
            let next = reach.get(name).cloned().unwrap_or_default();
            let further: BTreeSet<String> =
                next.iter().filter_map(|to| reach.get(to)).flatten().cloned().collect();
            reach.entry(name.clone()).or_default().extend(further);
        }
        if reach.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    names.into_iter().filter(|name| reach.get(name).is_some_and(|to| to.contains(name))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CrateModules, check_crates, module_of, modules_in_cycles, paths_of};

    fn modules(files: &[(&str, &str)]) -> CrateModules {
        let read = |(name, text): &(&str, &str)| {
            let path: Vec<String> = name.split('/').map(str::to_owned).collect();
            (path.clone(), paths_of(text, &path))
        };
        files.iter().map(read).collect()
    }

    #[test]
    fn the_crates_keep_to_the_list() {
        let (count, violations) = check_crates().expect("the source is read");
        assert_eq!(violations, Vec::<String>::new());
        assert!(count > 20, "{count} folders were found");
    }

    #[test]
    fn a_planted_cycle_is_found() {
        let folder = ["http".to_owned()];
        let one_way =
            [("http/a", "use super::b::B;"), ("http/b", "use crate::http::c;"), ("http/c", "")];
        assert!(modules_in_cycles(&modules(&one_way), &folder).is_empty());
        let round = [
            ("http/a/inner", "use super::super::{b::B, other};"),
            ("http/b", "fn f() { crate::http::c::g() }"),
            ("http/c", "use crate::http::{x, a};"),
            ("http/d", "use super::a;"),
        ];
        let found: Vec<String> = modules_in_cycles(&modules(&round), &folder).into_iter().collect();
        assert_eq!(found, ["a", "b", "c"]);
        assert!(modules_in_cycles(&modules(&round), &[]).is_empty(), "inside of one top module");
    }

    #[test]
    fn tests_and_roots_are_no_modules() {
        let module = |path: &str| module_of(Path::new(path)).map(|(_, module)| module.join("/"));
        assert_eq!(module("crates/x/src/a/b.rs").as_deref(), Some("a/b"));
        for path in [
            "crates/x/src/lib.rs",
            "crates/x/src/a/tests.rs",
            "crates/x/tests/a.rs",
            "xtask/src/a.rs",
        ] {
            assert_eq!(module(path), None, "{path}");
        }
    }
}
