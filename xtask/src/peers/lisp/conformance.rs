//! `cargo xtask peers lisp --conformance FOLDER`: runs the `deftest` forms of a conformance suite of Common Lisp that
//! lies beside the project. `peers/lisp/conformance.lisp` has what the suite's own helpers do with `eval` or files.
//! A test passes, is refused (outside the subset), or is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bridle_lisp::{Instance, InstanceLimits, LispErrorKind, Snapshot};

use crate::console::{VerbConsole, root};

/// Limits of one test.
const TEST_LIMITS: InstanceLimits = InstanceLimits {
    fuel: 100_000_000,
    heap_bytes: 256 << 20,
    depth: 20_000,
    output_bytes: 1 << 20,
};

/// Kinds of data that the core does not have.
const MISSING_DATA: &[&str] = &[
    "arrays that are no vectors",
    "arrays of a special element type",
    "displaced arrays",
    "strings of a special element type",
];

/// Tests that SBCL 2.2.9 does not pass either, where the core does as SBCL; tests of helpers that did not load; and
/// tests of what a condition says, where the core has its type and not its slots.
const SBCL_DIFFERS: &[&str] = &[
    "loop.1.40",
    "loop.1.41",
    "loop.1.42",
    "loop.1.43",
    "destructuring-bind.error.10",
    "shiftf.7",
    "setf-macro.2",
    "elt-displaced-array.1",
    "rationalp.2",
    "types.9a",
    "symbol-macrolet.error.3",
    "getf.error.4",
    "vector-pop.error.1",
];

/// Folders of the suite: its helpers, and its tests beyond the standard.
const LEFT_OUT: &[&str] = &["auxiliary", "beyond-ansi"];

/// Reasons of refusals that are listed.
const SHOWN_REASONS: usize = 40;

/// Result of one test.
enum TestVerdict {
    Pass,
    /// A name, a syntax or a kind of data of the standard that the core does not have.
    NameMissing,
    /// Another thing outside the subset.
    Refused(String),
    /// A helper of the suite that did not load.
    HelperMissing,
    Wrong(String),
}

#[derive(Default)]
struct ConformanceTally {
    passed: u64,
    refused: u64,
    wrong: u64,
    names_missing: u64,
    helpers_missing: u64,
    sbcl_differs: u64,
    reasons: BTreeMap<String, u64>,
    shown: u64,
}

pub(super) fn run(folder: &Path, shown: u64, console: &VerbConsole) -> Result<()> {
    let mut tally = ConformanceTally { shown, ..ConformanceTally::default() };
    let base = base_snapshot(folder)?;
    let is_file = folder.is_file();
    let mut files = if is_file { vec![folder.to_owned()] } else { lisp_files(folder)? };
    let is_left_out =
        |path: &Path| LEFT_OUT.iter().any(|name| path.iter().any(|part| part == *name));
    files.retain(|path| is_file || !is_left_out(path));
    for path in files {
        run_file(&path, &base, &mut tally, console)?;
    }
    let mut reasons: Vec<_> = tally.reasons.iter().collect();
    reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    for (reason, count) in reasons.iter().take(SHOWN_REASONS) {
        console.say(format!("  {count} {reason}"));
    }
    let counted = tally.passed + tally.refused + tally.wrong;
    console.say(format!(
        "peers: {counted} tests of what the core has: {} pass ({:.1} %), {} refused, {} wrong; {} name what it has not, {} need a helper that it refuses, {} left out",
        tally.passed,
        tally.passed as f64 * 100.0 / counted.max(1) as f64,
        tally.refused,
        tally.wrong,
        tally.names_missing,
        tally.helpers_missing,
        tally.sbcl_differs
    ));
    if tally.wrong == 0 { Ok(()) } else { bail!("{} tests are wrong", tally.wrong) }
}

/// An instance with the suite's helpers, as far as they load, and the project's in their place.
fn base_snapshot(folder: &Path) -> Result<Snapshot> {
    let mut instance = Instance::new(TEST_LIMITS);
    let own = root().join("peers/lisp/conformance.lisp");
    let own = fs::read_to_string(&own).context("cannot read peers/lisp/conformance.lisp")?;
    load_each(&mut instance, &own);
    let suite = folder.ancestors().find(|path| path.join("auxiliary").is_dir());
    let mut files = match suite {
        Some(suite) => lisp_files(&suite.join("auxiliary"))?,
        None => Vec::new(),
    };
    files.extend(suite.map(|suite| suite.join("universe.lsp")).filter(|path| path.is_file()));
    for path in files {
        load_each(&mut instance, &read_text(&path)?);
    }
    instance.load(&own, "conformance.lisp").map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(instance.snapshot())
}

/// Loads the forms of a text that load.
fn load_each(instance: &mut Instance, text: &str) {
    for form in top_level_forms(text) {
        // Helpers that need more than the subset are missing for the tests that call them.
        let _helper = instance.load(form, "helper");
    }
}

fn run_file(
    path: &Path,
    base: &Snapshot,
    tally: &mut ConformanceTally,
    console: &VerbConsole,
) -> Result<()> {
    let text = read_text(path)?;
    let (tests, others): (Vec<&str>, Vec<&str>) =
        top_level_forms(&text).into_iter().partition(|form| is_test(form));
    if tests.is_empty() {
        return Ok(());
    }
    let mut instance = base.instance();
    for form in others {
        // As above.
        let _helper = instance.load(form, "helper");
    }
    let snapshot = instance.snapshot();
    for test in tests {
        let title = test.split_whitespace().nth(1).unwrap_or("");
        if SBCL_DIFFERS.contains(&title) {
            tally.sbcl_differs += 1;
            continue;
        }
        match run_test(&snapshot, test) {
            TestVerdict::Pass => tally.passed += 1,
            TestVerdict::NameMissing => tally.names_missing += 1,
            TestVerdict::HelperMissing => tally.helpers_missing += 1,
            TestVerdict::Refused(reason) => {
                tally.refused += 1;
                *tally.reasons.entry(reason).or_default() += 1;
            }
            TestVerdict::Wrong(answer) => {
                tally.wrong += 1;
                if tally.wrong <= tally.shown {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    console.say(format!("{name}: {}\n  gave {answer}", one_line(test)));
                }
            }
        }
    }
    Ok(())
}

/// Whether a form defines a test, by itself or by a macro of the suite.
fn is_test(form: &str) -> bool {
    let head = form[1..].split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    head == "deftest" || head.starts_with("def-") && head.ends_with("-test")
}

fn run_test(snapshot: &Snapshot, test: &str) -> TestVerdict {
    let mut instance = snapshot.instance();
    let mut shown = String::new();
    let result = instance.evaluate(test, "test", |values| shown = values.join(" ; "));
    match result {
        Ok(()) if shown == ":PASS" => TestVerdict::Pass,
        Ok(()) if shown.contains("(:OTHER-CONDITION UNDEFINED-FUNCTION)") => {
            TestVerdict::HelperMissing
        }
        Ok(()) => TestVerdict::Wrong(shown),
        Err(error) => match error.kind {
            LispErrorKind::Outside => {
                let is_name = !error.message.contains(' ') || error.message.starts_with('#');
                if is_name || MISSING_DATA.contains(&error.message.as_str()) {
                    TestVerdict::NameMissing
                } else {
                    TestVerdict::Refused(error.message)
                }
            }
            LispErrorKind::Condition(name)
                if name == "UNDEFINED-FUNCTION" || name == "UNBOUND-VARIABLE" =>
            {
                TestVerdict::HelperMissing
            }
            _ if error.message.contains("does not designate a condition class") => {
                TestVerdict::HelperMissing
            }
            _ => TestVerdict::Wrong(error.to_string().lines().next().unwrap_or("").to_owned()),
        },
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn lisp_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let list =
            fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
        for entry in list {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "lsp") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Texts of the lists at the top of a file.
fn top_level_forms(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut forms, mut depth, mut start, mut at) = (Vec::new(), 0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b';' => at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(0),
            b'"' | b'|' => {
                let quote = bytes[at];
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'#' if bytes.get(at + 1) == Some(&b'|') => {
                at = text[at..].find("|#").map_or(bytes.len(), |end| at + end + 1);
            }
            b'\\' => at += 1,
            b'(' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    forms.push(&text[start..=at]);
                }
            }
            _ => {}
        }
        at += 1;
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::top_level_forms;

    #[test]
    fn forms_end_where_their_list_ends() {
        let text = "; (a)\n(b \")\" #\\) |)|) #| (c) |# (d (e))";
        assert_eq!(top_level_forms(text), ["(b \")\" #\\) |)|)", "(d (e))"]);
    }
}
