//! Rule for vectors: every line is a JSON object with an id, or, in a file of scenarios, every
//! scenario begins with one; ids of a folder are unique and dense, so that a number named in a commit
//! or a bug report always leads somewhere. What a vector *means* is checked by the runners, not here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::TidyFinding;

/// Place of each id.
type Seen = BTreeMap<usize, (PathBuf, usize)>;

/// Checks every file of `vectors/FOLDER/` and returns the number of vectors.
pub(super) fn check(
    root: &Path,
    files: &[PathBuf],
    findings: &mut Vec<TidyFinding>,
) -> Result<usize> {
    let mut folders: BTreeMap<String, Seen> = BTreeMap::new();
    for path in files {
        let Some(folder) = folder(path) else { continue };
        let text = std::fs::read_to_string(root.join(path))
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        check_file(path, folder, &text, folders.entry(folder.into()).or_default(), findings);
    }
    for (folder, seen) in &folders {
        if let Some(gap) = (1..=seen.len()).find(|number| !seen.contains_key(number)) {
            let what = format!("`{folder}-{gap:04}` is missing: ids have no gaps");
            findings.push(TidyFinding::new(&Path::new("vectors").join(folder), 0, what));
        }
    }
    Ok(folders.values().map(BTreeMap::len).sum())
}

/// `sexp` for `vectors/sexp/atoms.jsonl`, `scenario` for `vectors/scenario/turns.scn`; `None` for
/// anything else, records of peers included.
pub(crate) fn folder(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts[..] {
        ["vectors", folder, file] if file.ends_with(".jsonl") => Some(folder),
        ["vectors", folder, _] if is_scenarios(path) => Some(folder),
        _ => None,
    }
}

/// The number of vectors in a file.
pub(crate) fn count(path: &Path, text: &str) -> usize {
    if is_scenarios(path) { scenarios(text).count() } else { text.lines().count() }
}

fn is_scenarios(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "scn")
}

/// The lines that begin a scenario, with their numbers from 0 and without their mark.
fn scenarios(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let marked = text.lines().enumerate();
    marked.filter_map(|(number, line)| Some((number, line.strip_prefix("= ")?)))
}

fn check_file(
    path: &Path,
    folder: &str,
    text: &str,
    seen: &mut Seen,
    findings: &mut Vec<TidyFinding>,
) {
    let ids: Vec<(usize, Result<String, String>)> = if is_scenarios(path) {
        scenarios(text).map(|(number, line)| (number, id_of_scenario(line))).collect()
    } else {
        text.lines().enumerate().map(|(number, line)| (number, id_of_object(line))).collect()
    };
    for (number, id) in ids {
        let mut find = |what: String| findings.push(TidyFinding::new(path, number + 1, what));
        let id = match id {
            Ok(id) => id,
            Err(what) => {
                find(what);
                continue;
            }
        };
        let digits = id.strip_prefix(folder).and_then(|rest| rest.strip_prefix('-'));
        let Some(index) = digits.filter(|digits| digits.len() == 4).and_then(|d| d.parse().ok())
        else {
            find(format!("id `{id}`, expected `{folder}-` and four digits"));
            continue;
        };
        if let Some((other, line)) = seen.insert(index, (path.into(), number + 1)) {
            find(format!("id `{id}` is already in {}:{line}", other.display()));
        }
    }
}

/// The id of a line of JSON, or what is wrong with it.
fn id_of_object(line: &str) -> Result<String, String> {
    let vector: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    vector["id"].as_str().map(Into::into).ok_or_else(|| "no `id`".into())
}

/// The id of a scenario that begins with this line, or what is wrong with it.
fn id_of_scenario(line: &str) -> Result<String, String> {
    match line.split_once(' ') {
        Some((id, title)) if !title.trim().is_empty() => Ok(id.into()),
        _ => Err("a scenario without a title".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::{check_file, count, folder};

    fn findings(text: &str) -> Vec<String> {
        findings_in("vectors/sexp/a.jsonl", "sexp", text)
    }

    fn findings_in(path: &str, folder: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_file(Path::new(path), folder, text, &mut BTreeMap::new(), &mut findings);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn ids_are_unique_and_well_formed() {
        assert_eq!(
            findings("{\"id\":\"sexp-0001\"}\n{\"id\":\"sexp-0002\"}\n"),
            Vec::<String>::new()
        );
        let twice = findings("{\"id\":\"sexp-0001\"}\n{\"id\":\"sexp-0001\"}\n");
        assert_eq!(twice, ["id `sexp-0001` is already in vectors/sexp/a.jsonl:1"]);
        assert_eq!(findings("{\"id\":\"frame-0001\"}\n").len(), 1);
        assert_eq!(findings("{\n").len(), 1);
    }

    #[test]
    fn scenarios_are_counted_by_their_first_lines() {
        let path = "vectors/scenario/a.scn";
        let text = "# about\n= scenario-0001 one\n> began\n= scenario-0002 two\n";
        assert_eq!(folder(Path::new(path)), Some("scenario"));
        assert_eq!(count(Path::new(path), text), 2);
        assert_eq!(findings_in(path, "scenario", text), Vec::<String>::new());
        let twice = findings_in(path, "scenario", "= scenario-0001 a\n= scenario-0001 b\n");
        assert_eq!(twice, ["id `scenario-0001` is already in vectors/scenario/a.scn:1"]);
        let untitled = findings_in(path, "scenario", "= scenario-0001\n");
        assert_eq!(untitled, ["a scenario without a title"]);
    }

    #[test]
    fn records_of_peers_are_no_vectors() {
        assert_eq!(folder(Path::new("vectors/sexp/a.jsonl")), Some("sexp"));
        assert_eq!(folder(Path::new("vectors/sexp/peers/sbcl.jsonl")), None);
        assert_eq!(folder(Path::new("vectors/README.md")), None);
    }
}
