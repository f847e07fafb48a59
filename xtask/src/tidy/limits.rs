//! Limits in docs and in code: a limit that a page names exists, and each one in the code is on the page of
//! constants, which `cargo xtask limits` writes. Conformance kits and test code have limits of their own and
//! are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::TidyFinding;
use super::names::is_test_code;
use crate::console::{VerbConsole, files, root};

/// Page that has every constant.
const CONSTANTS_PAGE: &str = "docs/limits-constants.md";

/// Page of the limits that a user meets: every constant that it names must exist.
const LIMITS_PAGE: &str = "docs/limits.md";

/// Beginnings of the names of limits.
const LIMIT_PREFIXES: [&str; 2] = ["MAX_", "MIN_"];

/// Rooms without limits that a user meets.
const ROOMS_LEFT_OUT: [&str; 2] = ["crates/conform", "crates/test-support"];

/// Names in docs that are no constants of ours: environment variables and keys of other programs.
const FOREIGN_PREFIXES: [&str; 3] = ["BRIDLE_", "OACP_", "HARNESS_"];

pub(crate) const HELP: &str = "\
usage: cargo xtask limits

Writes docs/limits-constants.md: every constant MAX_.. and MIN_.. of the product with its value and the
first sentence of its doc. `cargo xtask tidy` fails while the page is not what this would write.";

/// Constant of the product that bounds something.
struct LimitConstant {
    name: String,
    value: String,
    meaning: String,
}

/// Limits by room, and all names of constants, test code included.
#[derive(Default)]
pub(super) struct LimitTable {
    by_room: BTreeMap<String, Vec<LimitConstant>>,
    names: BTreeSet<String>,
    named: Vec<(PathBuf, usize, String)>,
}

impl LimitTable {
    /// Notes the constants of a Rust file.
    pub(super) fn collect(&mut self, path: &Path, text: &str) {
        for constant in constants(text) {
            self.names.insert(constant.name.clone());
            let room = path.iter().take(2).collect::<PathBuf>();
            let is_left_out = ROOMS_LEFT_OUT.iter().any(|left_out| room == Path::new(left_out));
            if !path.starts_with("crates") || is_left_out || is_test_code(path) {
                continue;
            }
            let room = room.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let all = self.by_room.entry(room).or_default();
            if is_limit(&constant.name) && !all.iter().any(|known| known.is_like(&constant)) {
                all.push(constant);
            }
        }
    }

    /// Notes the limits that a page names.
    pub(super) fn collect_page(&mut self, path: &Path, text: &str) {
        if !path.starts_with("docs") || path == Path::new(CONSTANTS_PAGE) {
            return;
        }
        let is_table = path == Path::new(LIMITS_PAGE);
        for (line, text) in (1..).zip(text.lines()) {
            let names = text.split('`').skip(1).step_by(2);
            let names = names.filter(|name| is_limit(name) || (is_table && is_constant(name)));
            self.named.extend(names.map(|name| (path.to_path_buf(), line, name.to_owned())));
        }
    }

    /// Reports limits that exist on a page alone, and a page of constants that is not up to date.
    pub(super) fn report(mut self, findings: &mut Vec<TidyFinding>) {
        for (path, line, name) in std::mem::take(&mut self.named) {
            let is_foreign = FOREIGN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if !is_foreign && !self.names.contains(&name) {
                findings.push(TidyFinding::new(
                    &path,
                    line,
                    format!("no constant `{name}` exists"),
                ));
            }
        }
        let page = Path::new(CONSTANTS_PAGE);
        if std::fs::read_to_string(root().join(page)).unwrap_or_default() != self.page() {
            findings.push(TidyFinding::new(page, 0, "not up to date: run `cargo xtask limits`"));
        }
    }

    /// Text of the page of constants.
    fn page(mut self) -> String {
        let mut page = String::from(
            "# Constants\n\nEvery constant that bounds something, by crate. `cargo xtask limits` writes this \
             page from the code. Settings, and the effects of the limits that a user meets, are in \
             [limits.md](limits.md).\n",
        );
        for (room, constants) in &mut self.by_room {
            constants.retain(|constant| is_limit(&constant.name));
            constants.sort_by(|a, b| a.name.cmp(&b.name));
            if constants.is_empty() {
                continue;
            }
            let _ = writeln!(page, "\n## {room}\n\n| name | value | bounds |\n|---|---|---|");
            for LimitConstant { name, value, meaning } in constants {
                let _ = writeln!(page, "| `{name}` | `{value}` | {meaning} |");
            }
        }
        page
    }
}

impl LimitConstant {
    fn is_like(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value && self.meaning == other.meaning
    }
}

/// Writes the page of constants.
pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    let mut table = LimitTable::default();
    for path in files()?.iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
        let text = std::fs::read_to_string(root().join(path))
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        table.collect(path, &text);
    }
    std::fs::write(root().join(CONSTANTS_PAGE), table.page())
        .with_context(|| format!("cannot write `{CONSTANTS_PAGE}`"))?;
    console.say(format!("limits: wrote {CONSTANTS_PAGE}"));
    Ok(())
}

fn is_limit(name: &str) -> bool {
    is_shouted(name) && LIMIT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Tells whether a word of a page is the name of a constant; hexadecimal digits are none.
fn is_constant(word: &str) -> bool {
    word.len() > 2 && is_shouted(word) && !word.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_shouted(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Constants of a file with the first sentences of their docs.
fn constants(text: &str) -> Vec<LimitConstant> {
    let mut found = Vec::new();
    let mut doc = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(said) = line.strip_prefix("///") {
            doc.push_str(said);
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let meaning = first_sentence(&std::mem::take(&mut doc));
        let Some((name, value)) = declaration(line) else { continue };
        let mut value = value.to_owned();
        while !value.contains(';') {
            let Some(more) = lines.next() else { break };
            value = format!("{value} {}", more.trim());
        }
        let value = value.split(';').next().unwrap_or_default().trim().replace('|', "\\|");
        found.push(LimitConstant { name: name.to_owned(), value, meaning });
    }
    found
}

/// Name of the constant that a line declares, and the beginning of its value.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let (before, after) = line.split_once("const ")?;
    if !(before.is_empty() || before.starts_with("pub")) {
        return None;
    }
    let (name, rest) = after.split_once(':')?;
    Some((name.trim(), rest.split_once('=').map_or("", |(_, value)| value)))
}

fn first_sentence(doc: &str) -> String {
    let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = doc.find(". ").unwrap_or(doc.len());
    plain(doc[..end].trim_end_matches('.'))
}

/// Text of a doc comment without links of rustdoc and without what would end a cell of a table.
fn plain(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{constants, is_constant, is_limit};

    #[test]
    fn a_constant_has_its_value_and_the_first_sentence_of_its_doc() {
        let text = "/// Bytes of [`Frame`], about. More.\n#[allow(x)]\npub(crate) const MAX_A: usize =\n    1 << 10;\n\
                    let x = \"const MAX_B: u8 = 1;\";\n";
        let found = constants(text);
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (&*one.name, &*one.value, &*one.meaning),
            ("MAX_A", "1 << 10", "Bytes of `Frame`, about")
        );
    }

    #[test]
    fn limits_begin_with_most_or_least() {
        assert!(is_limit("MAX_FRAME_BYTES") && is_limit("MIN_PAUSE"));
        assert!(!is_limit("MAX_x") && !is_limit("PAUSE"));
        assert!(is_constant("SWEEP_INTERVAL") && !is_constant("FFFFFF") && !is_constant("a"));
    }
}
