//! Rules for names and item docs: a type name is unique in its crate, a module is named for what is in
//! it, an item's doc begins with the noun or the verb, and `# Errors` says in a sentence when there is one.
//! Test code is left alone, in files and in modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::TidyFinding;
use super::mask::mask;

/// Module names that say nothing of what is inside.
const EMPTY_MODULE_NAMES: &[&str] =
    &["core", "util", "utils", "common", "misc", "helper", "helpers", "manager"];

/// First words of a doc that make a reader ask "of what?".
const EMPTY_FIRST_WORDS: &[&str] = &[
    "What",
    "Who",
    "Whose",
    "How",
    "Where",
    "When",
    "Which",
    "Why",
    "It",
    "It's",
    "Something",
    "Somebody",
    "This",
    "That",
    "They",
];

/// First words of a doc that refer to another item instead of saying it again.
const SAME: &str = "The same";

/// Types of constants that count or measure: such a constant says of what, and in which unit.
const MEASURED_TYPES: [&str; 2] = ["usize", "Duration"];

/// First words of an `# Errors` section that refer to something else.
const PRONOUNS: &[&str] = &["It ", "They ", "That ", "This ", "What "];

/// Type definitions of product code, by crate and name.
#[derive(Default)]
pub(super) struct TypeNames {
    by_crate: BTreeMap<(PathBuf, String), Vec<(PathBuf, usize)>>,
}

impl TypeNames {
    /// Notes the type definitions of one file.
    pub(super) fn collect(&mut self, path: &Path, text: &str) {
        if is_test_code(path) {
            return;
        }
        let Some(room) = room_of(path) else { return };
        for (line, name) in type_definitions(product_code(text)) {
            let places = self.by_crate.entry((room.clone(), name)).or_default();
            places.push((path.to_path_buf(), line));
        }
    }

    /// Reports every name that a crate gives to more than one type.
    pub(super) fn report(self, findings: &mut Vec<TidyFinding>) {
        for ((_, name), places) in self.by_crate {
            let Some(((first, first_line), others)) = places.split_first() else { continue };
            for (path, line) in others {
                let what = format!(
                    "type `{name}` has the name of the one at {}:{first_line}: a name is unique in its crate",
                    first.display()
                );
                findings.push(TidyFinding::new(path, *line, what));
            }
        }
    }
}

/// Checks module names and item docs of one file.
pub(super) fn check(path: &Path, text: &str, findings: &mut Vec<TidyFinding>) {
    if is_test_code(path) {
        return;
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if EMPTY_MODULE_NAMES.contains(&stem) {
        let what = format!("module `{stem}`: name it for what is inside");
        findings.push(TidyFinding::new(path, 0, what));
    }
    let lines: Vec<&str> = product_code(text).lines().collect();
    for (number, line) in lines.iter().enumerate() {
        if is_product(path)
            && let Some(name) = bare_measure(line)
        {
            let what = format!("constant `{name}`: say of what it is, and in which unit");
            findings.push(TidyFinding::new(path, number + 1, what));
        }
        let Some(doc) = doc_text(line) else { continue };
        let begins_doc = number == 0 || doc_text(lines[number - 1]).is_none();
        if begins_doc && let Some(word) = empty_beginning(doc) {
            let what = format!("a doc begins with `{word}`: begin with the noun or the verb");
            findings.push(TidyFinding::new(path, number + 1, what));
        }
        let follows_errors =
            number > 0 && doc_text(lines[number - 1]).is_some_and(|doc| doc == "# Errors");
        if follows_errors && PRONOUNS.iter().any(|pronoun| doc.starts_with(pronoun)) {
            let what = "`# Errors` refers to something else: say when there is an error";
            findings.push(TidyFinding::new(path, number + 1, what));
        }
    }
}

/// Tells whether a file is of the product: conformance kits, tasks and benchmarks name fewer things.
fn is_product(path: &Path) -> bool {
    path.starts_with("crates")
        && !["crates/conform", "crates/test-support"].iter().any(|room| path.starts_with(room))
}

/// The name of a constant that counts or measures something and has one word.
fn bare_measure(line: &str) -> Option<&str> {
    let (before, after) = line.trim_start().split_once("const ")?;
    let (name, rest) = after.split_once(": ")?;
    let is_constant = before.is_empty() || before.starts_with("pub");
    let is_shouted = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let is_measured = MEASURED_TYPES.iter().any(|kind| rest.split(' ').next() == Some(kind));
    (is_constant && is_shouted && is_measured).then_some(name)
}

/// The first word of a doc when it is one that says nothing, and no term such as `When` in a name.
fn empty_beginning(doc: &str) -> Option<&str> {
    if doc.starts_with(SAME) {
        return Some(SAME);
    }
    let word = doc.split([' ', ',']).next().unwrap_or_default();
    EMPTY_FIRST_WORDS.contains(&word).then_some(word)
}

/// The text behind `///`, if the line is an item's doc.
fn doc_text(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("///").map(str::trim)
}

/// Line and name of every type that is defined in the code.
fn type_definitions(code: &str) -> Vec<(usize, String)> {
    let masked = mask(code);
    let definition = |line: &str| {
        let mut words = line.split_whitespace();
        let mut word = words.next()?;
        if word.starts_with("pub") {
            word = words.next()?;
            // `pub(in crate::x)` has a blank inside.
            if word.ends_with(')') {
                word = words.next()?;
            }
        }
        let kinds = ["struct", "enum", "trait", "union"];
        let name = kinds.contains(&word).then(|| words.next()).flatten()?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        (end > 0).then(|| name[..end].to_owned())
    };
    let lines = masked.lines().enumerate();
    lines.filter_map(|(number, line)| Some((number + 1, definition(line)?))).collect()
}

/// The text before an inline test module.
fn product_code(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    &text[..tests]
}

pub(super) fn is_test_code(path: &Path) -> bool {
    let names: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    names.iter().any(|name| {
        ["tests", "examples", "benches", "fuzz", "tests.rs"].contains(name)
            || name.ends_with("_tests.rs")
    })
}

/// The folder of the crate that a file belongs to.
fn room_of(path: &Path) -> Option<PathBuf> {
    let mut parts = path.iter();
    let first = parts.next()?;
    let room = Path::new(first);
    Some(if first == "crates" { room.join(parts.next()?) } else { room.to_path_buf() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{TypeNames, check};

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check(Path::new(path), text, &mut found);
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_doc_begins_with_a_noun_or_a_verb() {
        let cases = [
            ("/// What it is.\nstruct A;\n", 1),
            ("/// The same for others.\nfn a() {}\n", 1),
            ("/// It's odd.\nfn a() {}\n", 1),
            ("    /// How long.\n    field: u8,\n", 1),
            ("/// Whatever comes.\nfn a() {}\n", 0),
            ("/// Waits.\n/// What follows is the second line.\nfn a() {}\n", 0),
            ("/// A.\n///\n/// # Errors\n/// It does not.\nfn a() {}\n", 1),
            ("/// A.\n///\n/// # Errors\n/// The file cannot be read.\nfn a() {}\n", 0),
            ("const PAGE: usize = 3;\n", 1),
            ("    pub(crate) const WAIT: Duration = X;\n", 1),
            ("const PAGE_BYTES: usize = 3;\nconst FLAG: u8 = 1;\n", 0),
            ("#[cfg(test)]\nmod tests {\n/// What.\nfn a() {}\n}\n", 0),
        ];
        for (text, expect) in cases {
            assert_eq!(findings("crates/x/src/a.rs", text).len(), expect, "{text}");
        }
    }

    #[test]
    fn a_module_says_what_is_inside() {
        assert_eq!(findings("crates/x/src/core.rs", "//! A.\n").len(), 1);
        assert_eq!(findings("crates/x/src/record.rs", "//! A.\n").len(), 0);
        assert_eq!(findings("crates/x/tests/common.rs", "//! A.\n").len(), 0);
    }

    #[test]
    fn a_type_name_is_unique_in_its_crate() {
        let mut names = TypeNames::default();
        let text = "pub(crate) struct Told {\n}\n";
        names.collect(Path::new("crates/x/src/a.rs"), text);
        names.collect(Path::new("crates/x/src/b.rs"), text);
        names.collect(Path::new("crates/y/src/a.rs"), text);
        names.collect(Path::new("crates/x/src/b/tests.rs"), text);
        names
            .collect(Path::new("crates/x/src/c.rs"), "// struct Told;\nlet x = \"struct Told\";\n");
        let mut found = Vec::new();
        names.report(&mut found);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path, Path::new("crates/x/src/b.rs"));
    }
}
