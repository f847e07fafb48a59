//! Which top module of the daemon, and which room of its engine, may use which: read from the source, since the compiler allows them all.
//!
//! A path counts when it begins with `crate::`, in a `use` or in code; inline test modules and files of tests do not
//! count. The table goes from the bottom up, so it can have no cycle: a row may only name rows above it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Source folder whose modules are judged, from the root of the repository.
const DAEMON_SOURCE: &str = "crates/daemon/src";

/// Each module with those that it may use; both in the order from the bottom up.
pub(super) const MODULE_RULES: &[(&str, &[&str])] = &[
    ("numbered_names", &[]),
    ("log_line", &[]),
    ("bounded_queue", &[]),
    ("byte_budget", &[]),
    ("metrics", &[]),
    ("state_folder", &[]),
    ("access", &["numbered_names", "state_folder"]),
    ("fetch", &["access"]),
    ("error", &["access"]),
    ("config", &["access", "error", "fetch"]),
    ("self_checks", &["config"]),
    ("lock", &["error", "state_folder"]),
    ("descriptors", &["config"]),
    ("connection_slots", &["access", "config", "descriptors"]),
    ("listen", &["error", "state_folder"]),
    (
        "engine",
        &[
            "access",
            "bounded_queue",
            "byte_budget",
            "config",
            "error",
            "fetch",
            "log_line",
            "metrics",
        ],
    ),
    (
        "shared",
        &[
            "access",
            "byte_budget",
            "config",
            "connection_slots",
            "engine",
            "metrics",
            "self_checks",
        ],
    ),
    (
        "oacp",
        &[
            "access",
            "byte_budget",
            "config",
            "connection_slots",
            "engine",
            "error",
            "listen",
            "log_line",
            "metrics",
            "self_checks",
            "shared",
        ],
    ),
    (
        "http",
        &[
            "access",
            "bounded_queue",
            "byte_budget",
            "config",
            "connection_slots",
            "engine",
            "error",
            "fetch",
            "listen",
            "numbered_names",
            "shared",
        ],
    ),
    (
        "run",
        &[
            "access",
            "config",
            "descriptors",
            "engine",
            "error",
            "http",
            "listen",
            "lock",
            "oacp",
            "self_checks",
            "shared",
        ],
    ),
    ("upkeep", &["lock"]),
];

/// Source folder of the engine, whose rooms are judged like the modules of the daemon.
const ENGINE_SOURCE: &str = "crates/daemon/src/engine";

/// Each room of the engine with those that it may use; both in the order from the bottom up.
pub(super) const ENGINE_ROOM_RULES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("clock", &[]),
    ("stream", &["error"]),
    ("home", &["clock", "error", "stream"]),
    ("sessions", &["error", "home", "stream"]),
    ("hub", &["error", "home", "sessions"]),
    ("workers", &["error", "home", "hub", "sessions"]),
    ("commit", &["error", "home", "hub", "sessions", "stream", "workers"]),
    ("queries", &["error", "home", "hub", "sessions", "stream"]),
    ("shells", &["error", "home", "hub", "queries", "sessions", "stream"]),
    ("skills", &["error", "home", "hub", "queries", "sessions", "shells", "stream"]),
    ("start", &["clock", "commit", "home", "hub", "queries", "sessions", "skills"]),
];

/// Judges the daemon's source below `root`; returns how many edges there are, and every one that no row allows.
pub(super) fn check_daemon(root: &Path) -> Result<(usize, Vec<String>)> {
    let mut edges = BTreeMap::new();
    let source = root.join(DAEMON_SOURCE);
    read_edges((&source, "crate::"), &source, &mut edges)?;
    let mut rooms = BTreeMap::new();
    let source = root.join(ENGINE_SOURCE);
    read_edges((&source, "crate::engine::"), &source, &mut rooms)?;
    let count = edges.values().chain(rooms.values()).map(BTreeSet::len).sum();
    let mut violations = judge(&edges, MODULE_RULES);
    violations.extend(judge(&rooms, ENGINE_ROOM_RULES));
    Ok((count, violations))
}

/// Source folder of the command line.
const COMMAND_SOURCE: &str = "crates/bridle/src";

/// Commands that run something: the only ones that may name a runtime. All others read, ask and print.
const RUNTIME_COMMANDS: &[&str] = &["cmd/up.rs", "cmd/model.rs"];

/// Finds files of the command line that name a runtime and are no command that runs something.
pub(super) fn check_commands(root: &Path) -> Result<Vec<String>> {
    let mut named = Vec::new();
    let source = root.join(COMMAND_SOURCE);
    read_runtimes(&source, &source, &mut named)?;
    let sentence =
        |name: &String| format!("`{COMMAND_SOURCE}/{name}` may not name `tokio` or `axum`");
    Ok(named
        .iter()
        .filter(|name| !RUNTIME_COMMANDS.contains(&name.as_str()))
        .map(sentence)
        .collect())
}

/// Adds the files below `folder` whose code names a runtime, by their path in `source`.
fn read_runtimes(source: &Path, folder: &Path, named: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read_runtimes(source, &path, named)?;
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let code = crate::tidy::mask::mask(&text);
        if ["tokio::", "axum::"].iter().any(|name| code.contains(name)) {
            named.push(path.strip_prefix(source)?.display().to_string());
        }
    }
    Ok(())
}

/// Every edge that no row allows, as a sentence.
fn judge(edges: &BTreeMap<String, BTreeSet<String>>, rules: &[(&str, &[&str])]) -> Vec<String> {
    let mut violations = Vec::new();
    for (module, targets) in edges {
        let Some((_, allowed)) = rules.iter().find(|(name, _)| name == module) else {
            let text = "has no rule: add a row to xtask/src/layers/modules.rs";
            violations.push(format!("module `{module}` of the daemon {text}"));
            continue;
        };
        let forbidden = targets.iter().filter(|target| !allowed.contains(&target.as_str()));
        let sentence = |target| format!("module `{module}` of the daemon may not use `{target}`");
        violations.extend(forbidden.map(sentence));
    }
    violations
}

/// Adds the edges of every file below `folder`.
fn read_edges(
    (source, prefix): (&Path, &str),
    folder: &Path,
    edges: &mut BTreeMap<String, BTreeSet<String>>,
) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "tests" {
            read_edges((source, prefix), &path, edges)?;
            continue;
        }
        if !name.ends_with(".rs") || ["tests.rs", "lib.rs"].contains(&name) {
            continue;
        }
        let below = path.strip_prefix(source)?;
        let top = below.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
        let module = top.trim_end_matches(".rs");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let targets = edges.entry(module.to_owned()).or_default();
        targets.extend(targets_of(&text, prefix).into_iter().filter(|target| target != module));
    }
    Ok(())
}

/// The top modules that a file names, without those of its inline tests and comments.
fn targets_of(text: &str, prefix: &str) -> BTreeSet<String> {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut targets = BTreeSet::new();
    for (at, start) in code.match_indices(prefix) {
        // Not the end of a longer name.
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if code[..at].ends_with(is_name) {
            continue;
        }
        let rest = &code[at + start.len()..];
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or_default();
                targets.extend(group.split(',').map(first_name));
            }
            None => drop(targets.insert(first_name(rest))),
        }
    }
    targets.retain(|target| target.starts_with(|c: char| c.is_ascii_lowercase()));
    targets
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{ENGINE_ROOM_RULES, MODULE_RULES, check_commands, check_daemon, judge, targets_of};

    fn edges(module: &str, text: &str) -> BTreeMap<String, BTreeSet<String>> {
        BTreeMap::from([(module.to_owned(), targets_of(text, "crate::"))])
    }

    #[test]
    fn the_daemon_keeps_to_the_table() {
        let (count, violations) = check_daemon(crate::console::root()).expect("the source is read");
        assert_eq!(violations, Vec::<String>::new());
        assert!(count > 50, "{count} edges were found");
    }

    #[test]
    fn a_planted_violation_is_found() {
        for text in [
            "use crate::oacp::connection::PeerOrigin;\n",
            "use crate::{access, oacp};\n",
            "fn f() { crate::oacp::listen() }\n",
        ] {
            let expect = ["module `engine` of the daemon may not use `oacp`".to_owned()];
            assert_eq!(judge(&edges("engine", text), MODULE_RULES), expect, "{text}");
        }
        assert_eq!(judge(&edges("nowhere", ""), MODULE_RULES).len(), 1);
    }

    #[test]
    fn commands_that_read_name_no_runtime() {
        let found = check_commands(crate::console::root()).expect("the source is read");
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn comments_and_inline_tests_do_not_count() {
        let text =
            "/// See `crate::oacp::x`.\nfn f() {}\n#[cfg(test)]\nmod tests { use crate::oacp; }\n";
        assert_eq!(targets_of(text, "crate::"), BTreeSet::new());
    }

    #[test]
    fn a_row_names_only_rows_above_it() {
        for rules in [MODULE_RULES, ENGINE_ROOM_RULES] {
            for (at, (module, allowed)) in rules.iter().enumerate() {
                for target in *allowed {
                    let is_above = rules[..at].iter().any(|(name, _)| name == target);
                    assert!(is_above, "`{module}` names `{target}`, which is not below it");
                }
            }
        }
    }
}
