//! Sizes of the daemon's types: no type has more fields or methods than a reader can keep in mind.
//!
//! Counted are the named fields of a struct and the methods of all its `impl` blocks, those of traits excepted.
//! The text is read as rustfmt leaves it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::console::{files, root};
use crate::tidy::mask::mask;

/// Source folder whose types are counted.
const DAEMON_SOURCE: &str = "crates/daemon/src";

const MAX_FIELDS: usize = 12;

const MAX_METHODS: usize = 25;

/// Types that may be larger, with the reason.
const LARGER: &[(&str, &str)] = &[
    ("DaemonConfig", "one field for each setting"),
    ("DaemonLimits", "one field for each setting"),
    ("DaemonMetrics", "one field for each counter"),
    (
        "OacpConnection",
        "a future written by hand, a few hundred bytes: one field for each thing that it waits for",
    ),
    ("Conversation", "one method for each thing that a peer may say"),
];

/// Fields and methods of one type.
#[derive(Debug, Default, PartialEq, Eq)]
struct TypeSize {
    fields: usize,
    methods: usize,
}

/// Judges the types of the daemon; returns how many there are, and each one that is too large as a sentence.
pub(super) fn check_daemon() -> Result<(usize, Vec<String>)> {
    let mut sizes = BTreeMap::new();
    for path in files()? {
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust && !is_test && path.starts_with(Path::new(DAEMON_SOURCE)) {
            let text = std::fs::read_to_string(root().join(&path))
                .with_context(|| path.display().to_string())?;
            count(&text, &mut sizes);
        }
    }
    let mut violations = Vec::new();
    for (name, size) in &sizes {
        let is_large = size.fields > MAX_FIELDS || size.methods > MAX_METHODS;
        let is_known = LARGER.iter().any(|(known, _)| known == name);
        if is_large && !is_known {
            violations.push(format!(
                "type `{name}` has {} fields and {} methods, expected at most {MAX_FIELDS} and {MAX_METHODS}",
                size.fields, size.methods
            ));
        }
        if is_known && !is_large {
            violations.push(format!(
                "type `{name}` is small now: take it off the list in xtask/src/layers/type_size.rs"
            ));
        }
    }
    Ok((sizes.len(), violations))
}

/// Adds the types of one file.
fn count(text: &str, sizes: &mut BTreeMap<String, TypeSize>) {
    let code = mask(text.split("#[cfg(test)]\nmod ").next().unwrap_or(text));
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let body = || lines.clone().take_while(|line| *line != "}");
        let item = without_visibility(line);
        if let Some(rest) = item.strip_prefix("struct ").filter(|_| line.ends_with('{')) {
            sizes.entry(first_name(rest)).or_default().fields +=
                body().filter(|line| is_field(line)).count();
        } else if let Some(rest) = item.strip_prefix("impl").filter(|_| !line.contains(" for ")) {
            sizes.entry(impl_name(rest)).or_default().methods +=
                body().filter(|line| is_method(line)).count();
        }
    }
}

/// Text of a line at one level of indentation, without its visibility.
fn member(line: &str) -> Option<&str> {
    let text = line.strip_prefix("    ")?;
    (!text.starts_with(' ')).then(|| without_visibility(text))
}

fn without_visibility(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("pub") else { return text };
    match rest.strip_prefix('(') {
        Some(place) => place.split_once(')').map_or(rest, |(_, rest)| rest).trim_start(),
        None => rest.trim_start(),
    }
}

fn is_field(line: &str) -> bool {
    member(line).is_some_and(|text| {
        let name = first_name(text);
        !name.is_empty() && text[name.len()..].starts_with(':')
    })
}

fn is_method(line: &str) -> bool {
    let mut words = member(line).into_iter().flat_map(|text| text.split(' '));
    words.find(|word| !["const", "async", "unsafe"].contains(word)) == Some("fn")
}

/// Name of the type behind `impl`, whose own parameters come first.
fn impl_name(rest: &str) -> String {
    let mut depth = 0_usize;
    let own = rest.find(|c: char| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c == ' '
    });
    first_name(rest[own.unwrap_or(0)..].trim_start())
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{TypeSize, check_daemon, count};

    #[test]
    fn the_daemon_keeps_to_the_list() {
        let (types, violations) = check_daemon().expect("the source is read");
        assert_eq!(violations, Vec::<String>::new());
        assert!(types > 200, "{types} types were found");
    }

    #[test]
    fn fields_and_methods_are_counted() {
        let text = "pub(crate) struct A<'a> {\n    /// b: no.\n    b: u8,\n    pub(in crate::x) c: Vec<(u8, u8)>,\n}\n\
                    impl<'a, T: Into<u8>> A<'a> {\n    pub(crate) async fn f() {\n        fn inner() {}\n    }\n\
                    \n    const fn g() {}\n    const H: u8 = 1;\n}\nimpl Clone for A<'_> {\n    fn clone() {}\n}\n\
                    struct Unit;\nimpl A<'_> {\n    fn i() {}\n}\n";
        let mut sizes = BTreeMap::new();
        count(text, &mut sizes);
        assert_eq!(sizes.get("A"), Some(&TypeSize { fields: 2, methods: 3 }));
    }
}
