//! Rule for Markdown: a relative link leads to a file of the repository. Addresses on the network are
//! not looked at: a check that needs the network fails for reasons that are nobody's here.

use std::path::Path;

use super::TidyFinding;

pub(super) fn check(root: &Path, path: &Path, text: &str, findings: &mut Vec<TidyFinding>) {
    let folder = root.join(path);
    let folder = folder.parent().unwrap_or(root);
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        for target in targets(line) {
            let file = target.split('#').next().unwrap_or("");
            if !file.is_empty() && !folder.join(file).exists() {
                findings.push(TidyFinding::new(
                    path,
                    number + 1,
                    format!("link to `{target}`, which does not exist"),
                ));
            }
        }
    }
}

/// The relative targets of `[text](target)` in a line, code spans left out.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Every second piece between backquotes is code.
    for prose in line.split('`').step_by(2) {
        for (at, _) in prose.match_indices("](") {
            let rest = &prose[at + 2..];
            let target = rest.split([')', ' ']).next().unwrap_or("");
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push(target);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn relative_targets_alone() {
        let line = "[a](docs/a.md#b), [b](https://example.org) and `[c](d)` but [`e`](f.md)";
        assert_eq!(targets(line), ["docs/a.md#b", "f.md"]);
    }
}
