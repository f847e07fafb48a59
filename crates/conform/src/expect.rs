//! Failures that are known: a file with one line a case, its id and the reason.
//!
//! `bridle conform --expect FILE` reads it. Such a failure does not count; a case that passes after
//! all does, so that the list stays true.

use std::collections::BTreeMap;

/// Cases that are expected to fail, each with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedFailures(BTreeMap<String, String>);

/// A file of known failures that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectError {
    /// A line without a reason.
    #[error("line {line}: expected an id and a reason, got only `{id}`")]
    NoReason {
        /// Counted from 1.
        line: usize,
        /// The id.
        id: String,
    },
    /// An id that is there twice.
    #[error("line {line}: `{id}` is listed twice")]
    Twice {
        /// Counted from 1.
        line: usize,
        /// The id.
        id: String,
    },
    /// An id of no case.
    #[error("line {line}: no case is called `{id}`; `--list` shows them all")]
    Unknown {
        /// Counted from 1.
        line: usize,
        /// The id.
        id: String,
    },
}

impl ExpectedFailures {
    /// Reads a file's text. Blank lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// A line is not an id of one of these cases and a reason.
    pub fn parse(text: &str, ids: &[&str]) -> Result<ExpectedFailures, ExpectError> {
        let mut known = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (id, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let (id, reason) = (id.to_owned(), reason.trim().to_owned());
            if reason.is_empty() {
                return Err(ExpectError::NoReason { line: number, id });
            }
            if !ids.contains(&id.as_str()) {
                return Err(ExpectError::Unknown { line: number, id });
            }
            if known.contains_key(&id) {
                return Err(ExpectError::Twice { line: number, id });
            }
            known.insert(id, reason);
        }
        Ok(ExpectedFailures(known))
    }

    /// Reason why a case is expected to fail; `None` if it is not.
    pub fn reason(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpectError, ExpectedFailures};

    #[test]
    fn each_line_is_a_case_and_a_reason() {
        let ids = ["F-01", "F-02"];
        let good = ExpectedFailures::parse("# old peer\n\nF-02  counts letters\n", &ids).unwrap();
        assert_eq!(good.reason("F-02"), Some("counts letters"));
        assert_eq!(good.reason("F-01"), None);
        let bad = |text| ExpectedFailures::parse(text, &ids).unwrap_err();
        assert_eq!(bad("F-01"), ExpectError::NoReason { line: 1, id: "F-01".to_owned() });
        assert_eq!(bad("\nF-09 x"), ExpectError::Unknown { line: 2, id: "F-09".to_owned() });
        assert_eq!(bad("F-01 a\nF-01 b"), ExpectError::Twice { line: 2, id: "F-01".to_owned() });
    }
}
