//! Which fault points there are: read from the sources, so that a new point is covered on the day it
//! is written and no list can fall behind. Called once at the start of a run.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::console::{files, root};

/// Source text of a fault point, up to its name.
const CALL: &str = "fault::point(\"";

/// Prefixes of points that no shell of a schedule passes: files that are handed over, and the user's Org
/// files. `tests/faults.rs` of `crates/record` and `crates/memex` dies at each of them, and `cargo xtask memory` kills a daemon that writes.
const ELSEWHERE: [&str; 2] = ["shelf.", "memory."];

/// The names of all fault points that a schedule can pass, in order.
pub(crate) fn passed() -> Result<Vec<String>> {
    Ok(all()?.into_iter().filter(|name| is_passed(name)).collect())
}

/// The names of all fault points of the product, in order.
pub(crate) fn all() -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for path in files()? {
        let is_source = path.starts_with("crates")
            && path.extension().is_some_and(|extension| extension == "rs")
            && !path.components().any(|part| part.as_os_str() == "tests");
        if is_source {
            let text = fs::read_to_string(root().join(&path))
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            names.extend(of_text(&text));
        }
    }
    ensure!(!names.is_empty(), "no `{CALL}` in crates/: nothing to kill at");
    Ok(names.into_iter().collect())
}

fn is_passed(name: &str) -> bool {
    !ELSEWHERE.iter().any(|begin| name.starts_with(begin))
}

fn of_text(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split(CALL).skip(1))
        .filter_map(|rest| rest.split_once('"').map(|(name, _)| name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{is_passed, of_text};

    #[test]
    fn names_are_found_in_code_and_not_in_comments() {
        let text =
            "fault::point(\"a-1\"); x();\n// fault::point(\"b\")\n  crate::fault::point(\"c\");";
        assert_eq!(of_text(text).collect::<Vec<_>>(), ["a-1", "c"]);
    }

    #[test]
    fn points_that_no_schedule_passes_are_left_to_others() {
        assert!(is_passed("commit.begin"));
        assert!(!is_passed("shelf.begin") && !is_passed("memory.half"));
    }
}
