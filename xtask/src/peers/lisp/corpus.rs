//! The forms that bridle and SBCL are asked: those of the files in `peers/lisp`, one on each line, and functions applied
//! to values from its tables.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use crate::console::root;

/// Files of forms: control, iteration, `format`, functions, and forms that once differed.
pub(crate) const FILES: &[&str] =
    &["control.txt", "loop.txt", "format.txt", "data.txt", "forms.txt"];

/// All forms of the corpus: written ones, and functions applied to values.
pub(super) fn forms() -> Result<Vec<String>> {
    let mut forms = written_forms()?;
    let tables = read("tables.txt")?;
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in tables.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(": ").context("a table without a name")?;
        rows.entry(name).or_default().extend(rest.split(" | "));
    }
    let row = |name: &str| rows.get(name).with_context(|| format!("no table `{name}`"));
    for function in row("functions of one")? {
        forms.extend(row("values")?.iter().map(|value| format!("({function} {value})")));
    }
    for function in row("functions of two")? {
        for one in row("operands")? {
            forms.extend(row("operands")?.iter().map(|two| format!("({function} {one} {two})")));
        }
    }
    Ok(forms)
}

/// The forms that somebody wrote.
pub(crate) fn written_forms() -> Result<Vec<String>> {
    let mut forms = Vec::new();
    for file in FILES {
        forms.extend(lines_of(&read(file)?));
    }
    Ok(forms)
}

/// The forms of a text, one on each line; a line that begins with a semicolon is none.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.starts_with(';')).map(str::to_owned).collect()
}

fn read(name: &str) -> Result<String> {
    let path = root().join("peers/lisp").join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use bridle_lisp::{Instance, InstanceLimits};

    use super::{forms, written_forms};
    use crate::console::root;

    /// Words of the forms, in upper case.
    fn words(forms: &[String]) -> BTreeSet<String> {
        let is_end = |c: char| c.is_whitespace() || "()'`,\"#;".contains(c);
        let text = forms.join("\n").to_uppercase();
        text.split(is_end).map(|word| word.trim_start_matches(':').to_owned()).collect()
    }

    /// The words between two marks of a text.
    fn listed<'t>(text: &'t str, from: &str, to: &str) -> Vec<&'t str> {
        let start = text.find(from).expect(from) + from.len();
        let end = text[start..].find(to).expect(to) + start;
        text[start..end].split_whitespace().map(|word| word.trim_matches('`')).collect()
    }

    #[test]
    fn every_function_of_the_core_is_compared() {
        let words = words(&forms().unwrap());
        let names = fs::read_to_string(root().join("crates/lisp/src/prelude/names.txt")).unwrap();
        let fresh = Instance::new(InstanceLimits::default()).snapshot();
        let is_function = |name: &&str| {
            fresh.instance().evaluate(&format!("(fdefinition '{name})"), "name", |_| {}).is_ok()
        };
        let functions: Vec<&str> = names.lines().filter(is_function).collect();
        assert!(functions.len() > 380, "{} functions", functions.len());
        let missing: Vec<&&str> = functions.iter().filter(|name| !words.contains(**name)).collect();
        assert!(missing.is_empty(), "no form of peers/lisp has {missing:?}");
    }

    #[test]
    fn every_special_form_macro_and_loop_word_is_compared() {
        let words = words(&written_forms().unwrap());
        let manual = fs::read_to_string(root().join("docs/lisp.md")).unwrap();
        let listed_words = listed(&manual, "**Special forms and macros.**", ", and backquote")
            .into_iter()
            .chain(listed(&manual, "**`loop`.**", "finally`.").into_iter().chain(["finally"]))
            .flat_map(|word| word.split('/'))
            .map(|word| word.trim_matches(|c: char| "`(),".contains(c)).to_uppercase());
        let prose = ["OF", "DESTRUCTURING", "CL-USER", ""];
        let missing: Vec<String> = listed_words
            .filter(|word| !prose.contains(&word.as_str()) && !words.contains(word))
            .collect();
        assert!(missing.is_empty(), "no form of peers/lisp has {missing:?}");
    }

    #[test]
    fn every_format_directive_is_compared() {
        let text = written_forms().unwrap().join("\n").to_lowercase();
        let manual = fs::read_to_string(root().join("docs/lisp.md")).unwrap();
        for word in listed(&manual, "**`format`.**", "and the newline") {
            let directive = word.trim_start_matches('~');
            let is_parameter = |c: char| c.is_ascii_digit() || ",:@#v'*x ".contains(c);
            let is_found = text.match_indices('~').any(|(at, _)| {
                text[at + 1..].trim_start_matches(is_parameter).starts_with(directive)
                    || text[at + 1..].starts_with(directive)
            });
            assert!(is_found, "no form of peers/lisp has `{word}`");
        }
    }
}
