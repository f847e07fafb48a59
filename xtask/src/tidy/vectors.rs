//! Rule for vectors: every line is a JSON object with an id; ids of a folder are unique and dense, so
//! that a number named in a commit or a bug report always leads somewhere. What a vector *means* is
//! checked by the runners, not here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Finding;

/// Where one id was seen.
type Seen = BTreeMap<usize, (PathBuf, usize)>;

/// Checks every file of `vectors/FOLDER/` and returns the number of vectors.
pub(super) fn check(root: &Path, files: &[PathBuf], findings: &mut Vec<Finding>) -> Result<usize> {
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
            findings.push(Finding::new(&Path::new("vectors").join(folder), 0, what));
        }
    }
    Ok(folders.values().map(BTreeMap::len).sum())
}

/// `sexp` for `vectors/sexp/atoms.jsonl`; `None` for anything else, records of peers included.
pub(crate) fn folder(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts[..] {
        ["vectors", folder, file] if file.ends_with(".jsonl") => Some(folder),
        _ => None,
    }
}

fn check_file(path: &Path, folder: &str, text: &str, seen: &mut Seen, findings: &mut Vec<Finding>) {
    for (number, line) in text.lines().enumerate() {
        let mut find = |what: String| findings.push(Finding::new(path, number + 1, what));
        let vector: Value = match serde_json::from_str(line) {
            Ok(vector) => vector,
            Err(error) => {
                find(format!("not JSON: {error}"));
                continue;
            }
        };
        let Some(id) = vector["id"].as_str() else {
            find("no `id`".into());
            continue;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::{check_file, folder};

    fn findings(text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_file(
            Path::new("vectors/sexp/a.jsonl"),
            "sexp",
            text,
            &mut BTreeMap::new(),
            &mut findings,
        );
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
    fn records_of_peers_are_no_vectors() {
        assert_eq!(folder(Path::new("vectors/sexp/a.jsonl")), Some("sexp"));
        assert_eq!(folder(Path::new("vectors/sexp/peers/sbcl.jsonl")), None);
        assert_eq!(folder(Path::new("vectors/README.md")), None);
    }
}
