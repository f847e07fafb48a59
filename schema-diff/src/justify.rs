//! The table of justified differences in `docs/protocol.md`: which comparison, at which place, after
//! which change, and why. A cell holds one or more patterns as code; `*` stands for any text.

use anyhow::{Result, bail};

/// The heading of the section that holds the table.
const HEADING: &str = "### 15.6 Differences";

pub(crate) struct Justifications {
    rows: Vec<Row>,
}

struct Row {
    comparisons: Vec<String>,
    places: Vec<String>,
    kinds: Vec<String>,
    reason: String,
}

impl Justifications {
    pub(crate) fn read(document: &str) -> Result<Self> {
        let Some(start) = document.find(HEADING) else { bail!("no section `{HEADING}`") };
        let section = &document[start + HEADING.len()..];
        let section = &section[..section.find("\n#").unwrap_or(section.len())];
        let rows: Vec<Row> = section.lines().filter_map(row).collect();
        if rows.is_empty() {
            bail!("no rows in `{HEADING}`");
        }
        Ok(Self { rows })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn reason(&self, index: usize) -> &str {
        &self.rows[index].reason
    }

    /// The row that justifies a difference, if one does.
    pub(crate) fn find(&self, comparison: &str, place: &str, kind: &str) -> Option<usize> {
        self.rows.iter().position(|row| {
            any(&row.comparisons, comparison) && any(&row.places, place) && any(&row.kinds, kind)
        })
    }
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").collect();
    let [comparisons, places, kinds, reason] = cells[..] else { return None };
    let (comparisons, places, kinds) = (spans(comparisons), spans(places), spans(kinds));
    if comparisons.is_empty() || places.is_empty() || kinds.is_empty() {
        return None;
    }
    Some(Row { comparisons, places, kinds, reason: reason.trim().to_owned() })
}

/// The code spans of a cell.
fn spans(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn any(patterns: &[String], text: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, text))
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{Justifications, matches};

    #[test]
    fn patterns() {
        for (pattern, text) in [
            ("a", "a"),
            ("*", ""),
            ("a*", "ab"),
            ("*b", "ab"),
            ("a*c*e", "abcde"),
            ("a.*", "a.b.c"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("a*b*b", "ab"), ("", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn rows_of_the_table() {
        let page = "### 15.6 Differences\n\n| a | b | c | why |\n|---|---|---|---|\n\
                    | `strict-` `lenient-` | `x.*` | `long-*` | bounded |\n### 15.7\n| `*` | `*` | `*` | no |\n";
        let table = Justifications::read(page).expect("a table");
        assert_eq!(table.len(), 1);
        assert_eq!(table.find("lenient-", "x.y", "long-9"), Some(0));
        assert_eq!(table.find("lenient+", "x.y", "long-9"), None);
        assert_eq!(table.reason(0), "bounded");
    }
}
