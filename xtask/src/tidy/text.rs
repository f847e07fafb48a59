//! Rules for every text file: blanks, line ends, paths of somebody's machine, unowned promises.

use std::path::Path;

use super::TidyFinding;

/// Files that people write; tabs and trailing blanks are noise there. Others may hold them as data.
const WRITTEN: &[&str] =
    &["rs", "md", "toml", "el", "lisp", "asd", "py", "sh", "yml", "yaml", "org"];

/// Start of a comment, by file type. Org is absent: there `TODO` is a word of the language.
const COMMENTS: &[(&str, &str)] = &[
    ("rs", "//"),
    ("el", ";"),
    ("lisp", ";"),
    ("asd", ";"),
    ("py", "#"),
    ("sh", "#"),
    ("toml", "#"),
];

/// Promises that need an owner.
const PROMISES: &[&str] = &["TODO", "FIXME", "XXX"];

/// Beginnings of paths that exist on one machine only, in halves so that this file passes.
const PRIVATE_PATHS: &[(&str, &str)] =
    &[("/ho", "me/"), ("/ro", "ot/"), ("/Us", "ers/"), ("/wo", "rk/"), ("../sh", "ared")];

pub(super) fn check(path: &Path, text: &str, findings: &mut Vec<TidyFinding>) {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    // Org vectors are input to a reader: what is untidy in them is what they test.
    let is_vector = ["vectors/org", "vectors/org-tags"].iter().any(|it| path.starts_with(it));
    if !text.is_empty() && !text.ends_with('\n') && !is_vector {
        findings.push(TidyFinding::new(path, 0, "no newline at the end"));
    }
    let is_written = WRITTEN.contains(&extension) && !is_vector;
    if is_written && text.ends_with("\n\n") {
        findings.push(TidyFinding::new(path, 0, "blank lines at the end"));
    }
    for (number, line) in text.lines().enumerate() {
        let mut find = |what: String| findings.push(TidyFinding::new(path, number + 1, what));
        if is_written {
            if line.ends_with([' ', '\t', '\r']) {
                find("blanks at the end of the line".into());
            }
            if line.contains('\t') {
                find("a tab: indent with blanks, write it as an escape in strings".into());
            }
        }
        for (left, right) in PRIVATE_PATHS {
            // Vectors quote what real programs sent: somebody's home directory there is data.
            let is_data = extension == "jsonl" && *right == "me/";
            if !is_data && is_private(line, &format!("{left}{right}")) {
                find(format!("`{left}{right}`: a path of one machine"));
            }
        }
        if let Some(word) = unowned(line, extension) {
            find(format!("`{word}` without an owner, expected `{word}(name)`"));
        }
    }
}

/// Whether `line` has `start` as the start of an absolute path, not as the middle of another one.
fn is_private(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~}/".contains(c))
    })
}

fn unowned(line: &str, extension: &str) -> Option<&'static str> {
    let (_, start) = COMMENTS.iter().find(|(name, _)| *name == extension)?;
    let comment = &line[line.find(start)?..];
    PROMISES.iter().copied().find(|word| {
        comment.match_indices(word).any(|(at, _)| {
            let before = comment[..at].chars().next_back();
            let after = comment[at + word.len()..].chars().next();
            let is_word = !before.is_some_and(char::is_alphanumeric)
                && !after.is_some_and(char::is_alphanumeric);
            // Quoted, it is spoken about and not made.
            let is_quoted = before.is_some_and(|c| "`\"'".contains(c));
            is_word && !is_quoted && after != Some('(')
        })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check;

    fn count(path: &str, text: &str) -> usize {
        let mut findings = Vec::new();
        check(Path::new(path), text, &mut findings);
        findings.len()
    }

    #[test]
    fn blanks_and_line_ends() {
        assert_eq!(count("a.md", "fine\n"), 0);
        assert_eq!(count("a.md", "no end"), 1);
        assert_eq!(count("a.md", "blank \n"), 1);
        assert_eq!(count("a.el", "\ttab\n"), 1);
        assert_eq!(count("a.jsonl", "\ttab \n"), 0);
        assert_eq!(count("a.org", "\ttab \n\n"), 3);
        assert_eq!(count("vectors/org/a.org", "\ttab \r\n\nno end"), 0);
    }

    #[test]
    fn paths_of_one_machine() {
        let start = ["/ho", "me/"].concat();
        assert_eq!(count("a.md", &format!("see {start}me/notes\n")), 1);
        assert_eq!(count("a.md", &format!("see https://example.org{start}me\n")), 0);
        assert_eq!(count("a.jsonl", &format!("\"{start}me\"\n")), 0);
        let start = ["/ro", "ot/"].concat();
        assert_eq!(count("a.jsonl", &format!("\"{start}me\"\n")), 1);
    }

    #[test]
    fn promises_have_owners() {
        let word = ["TO", "DO"].concat();
        assert_eq!(count("a.rs", &format!("// {word}: later\n")), 1);
        assert_eq!(count("a.rs", &format!("// {word}(ann): later\n")), 0);
        assert_eq!(count("a.rs", &format!("let heading = \"* {word} buy milk\";\n")), 0);
        assert_eq!(count("a.org", &format!("* {word} buy milk\n")), 0);
    }
}
