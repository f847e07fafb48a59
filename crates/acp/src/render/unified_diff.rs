//! The daemon's unified diffs as hunks: the lines before and after, and the line at which they begin. What is no
//! diff is an empty list.

/// Most hunks of a diff that are shown; a change beyond that is for the daemon's own faces.
const MAX_HUNKS: usize = 256;

/// Piece of a file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffHunk {
    /// Name in the diff, without `a/` and `b/`.
    pub(crate) name: String,
    /// First line of it, from 1.
    pub(crate) line: u32,
    /// Lines before; `None` when the file is new.
    pub(crate) old: Option<String>,
    /// Lines after.
    pub(crate) new: String,
}

/// Takes a diff apart.
pub(crate) fn hunks(diff: &str) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let (mut old_name, mut name) = ("", "");
    // Lines of the hunk that are still to come: of the old text, of the new one.
    let mut left = (0_u32, 0_u32);
    for line in diff.split_inclusive('\n') {
        if left == (0, 0) {
            if let Some(rest) = line.strip_prefix("--- ") {
                old_name = rest.trim_end();
            } else if let Some(rest) = line.strip_prefix("+++ ") {
                name = rest.trim_end();
            } else if let Some((begin, counts)) = header(line) {
                if hunks.len() == MAX_HUNKS {
                    return hunks;
                }
                left = counts;
                hunks.push(begun(old_name, name, begin));
            } else if line.starts_with('\\')
                && let Some(hunk) = hunks.last_mut()
            {
                without_newline(hunk);
            }
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { return hunks };
        let (mark, text) = line.split_at_checked(1).unwrap_or((line, ""));
        let (in_old, in_new) = match mark {
            "-" => (true, false),
            "+" => (false, true),
            "\\" => {
                without_newline(hunk);
                continue;
            }
            _ => (true, true),
        };
        if in_old {
            left.0 = left.0.saturating_sub(1);
            hunk.old.get_or_insert_default().push_str(text);
        }
        if in_new {
            left.1 = left.1.saturating_sub(1);
            hunk.new.push_str(text);
        }
    }
    hunks
}

fn begun(old_name: &str, name: &str, line: u32) -> DiffHunk {
    let is_new = old_name == "/dev/null";
    let name = if name == "/dev/null" { old_name } else { name };
    let name = name.strip_prefix("b/").or_else(|| name.strip_prefix("a/")).unwrap_or(name);
    let old = (!is_new).then(String::new);
    DiffHunk { name: name.to_owned(), line: line.max(1), old, new: String::new() }
}

/// The line before has no newline at its end.
fn without_newline(hunk: &mut DiffHunk) {
    for text in [hunk.old.as_mut(), Some(&mut hunk.new)].into_iter().flatten() {
        if text.ends_with('\n') {
            text.pop();
        }
    }
}

/// Reads `@@ -L,N +L,N @@`: the first new line, and the counts of both.
fn header(line: &str) -> Option<(u32, (u32, u32))> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let (_, old) = range(old)?;
    let (begin, new) = range(new)?;
    Some((begin, (old, new)))
}

fn range(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((line, count)) => Some((line.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{DiffHunk, hunks};

    fn hunk(name: &str, line: u32, old: Option<&str>, new: &str) -> DiffHunk {
        DiffHunk { name: name.into(), line, old: old.map(Into::into), new: new.into() }
    }

    #[test]
    fn hunks_have_the_lines_before_and_after() {
        let diff = "--- a/x.org\n+++ b/x.org\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n@@ -9 +9,2 @@\n--- e\n+f\n+g\n";
        let expected = [
            hunk("x.org", 1, Some("a\nb\nd\n"), "a\nc\nd\n"),
            hunk("x.org", 9, Some("-- e\n"), "f\ng\n"),
        ];
        assert_eq!(hunks(diff), expected);
    }

    #[test]
    fn new_and_deleted_files_are_told_apart() {
        assert_eq!(
            hunks("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"),
            [hunk("n", 1, None, "a\n")]
        );
        assert_eq!(
            hunks("--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
            [hunk("n", 1, Some("a\n"), "")]
        );
    }

    #[test]
    fn a_missing_newline_is_missing() {
        let diff = "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(hunks(diff), [hunk("n", 1, Some("a"), "b")]);
    }

    #[test]
    fn what_is_no_diff_has_no_hunks() {
        for text in ["", "hello", "@@ -x +1 @@\n", "@@", "--- a\n+++ b\n"] {
            assert_eq!(hunks(text), [], "{text:?}");
        }
        // A hunk that is cut off keeps what came.
        assert_eq!(hunks("@@ -1,9 +1,9 @@\n a"), [hunk("", 1, Some("a"), "a")]);
    }
}
