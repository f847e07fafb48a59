//! `cargo xtask emacs`: the package of `editors/emacs`. Byte-compiled without a warning, checked by the
//! linters of Emacs, installed as users do, and tested: units, a hostile daemon, the real one, which is
//! killed on the way, and an Emacs in a terminal. Called by `ci`; `metrics` uses its compiled copy.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::clients::daemon;
use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask emacs [TEST...]

Byte-compiles and lints the Emacs package, installs it into an empty home, builds its manual, and runs
its tests: unit, hostile (a daemon that wants Emacs to act), e2e (the real daemon), chaos (connections cut
and daemons killed by a seed), screen (an Emacs in a terminal, used with its keys). Names choose tests.
BRIDLE_CHAOS_SCHEDULES=100 makes chaos longer, BRIDLE_SCREENS=write puts its screens into docs/emacs.md.";

/// Test files, and fewer tests than which mean that something was lost.
const TESTS: [(&str, usize); 5] =
    [("unit", 40), ("hostile", 20), ("e2e", 27), ("chaos", 2), ("screen", 1)];

/// Folder of the package.
pub(crate) const PACKAGE: &str = "editors/emacs";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let chosen: Vec<_> = TESTS
        .iter()
        .filter(|(name, _)| arguments.is_empty() || arguments.iter().any(|it| it == name))
        .collect();
    if chosen.len() < arguments.len() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let compiled = compile(console)?;
    if arguments.is_empty() {
        lint(console)?;
        install(console)?;
        manual(console)?;
    }
    let mut counts = Vec::new();
    for (name, at_least) in chosen {
        let count = test(name, &compiled, console)?;
        ensure!(count >= *at_least, "{name} ran {count} tests, expected at least {at_least}");
        counts.push(format!("{name} {count}"));
    }
    console.say(format!("emacs: tests passed: {}", counts.join(", ")));
    Ok(())
}

/// The Emacs that everything runs in: no init file, no window.
pub(crate) fn batch() -> ProgramRun {
    ProgramRun::new("emacs").args(["-Q", "--batch"])
}

/// Lisp files of the package, without tests.
fn sources() -> Result<Vec<PathBuf>> {
    let folder = root().join(PACKAGE);
    let list =
        fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let paths = list.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "el")).collect();
    files.sort();
    Ok(files)
}

/// Copies the package below `target` and compiles it there: a warning is an error, and the tree of the
/// user stays as it is.
pub(crate) fn compile(console: &VerbConsole) -> Result<PathBuf> {
    let folder = root().join("target/emacs/package");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let mut copies = Vec::new();
    for source in sources()? {
        let copy = folder.join(source.file_name().context("a file has a name")?);
        fs::copy(&source, &copy).with_context(|| format!("cannot copy `{}`", source.display()))?;
        copies.push(copy);
    }
    batch()
        .args(["-L".as_ref(), folder.as_os_str()])
        .args(["--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile"])
        .args(copies)
        .run(console)?;
    Ok(folder)
}

fn lint(console: &VerbConsole) -> Result<()> {
    for check in ["bridle-lint-checkdoc", "bridle-lint-package"] {
        batch()
            .args(["-L", PACKAGE, "-l", &format!("{PACKAGE}/test/bridle-lint.el"), "-f", check])
            .args(sources()?)
            .run(console)?;
    }
    Ok(())
}

/// Installs the package as `package-install-file` does, into a home that is empty.
fn install(console: &VerbConsole) -> Result<()> {
    let home = root().join("target/emacs/home");
    drop(fs::remove_dir_all(&home));
    fs::create_dir_all(&home).with_context(|| format!("cannot make `{}`", home.display()))?;
    let lint = format!("{PACKAGE}/test/bridle-lint.el");
    batch()
        .args(["-l", &lint, "-f", "bridle-lint-install"])
        .args([root().join(PACKAGE)])
        .env("HOME", &home)
        .run(console)?;
    batch().args(["-l", &lint, "-f", "bridle-lint-installed"]).env("HOME", &home).run(console)
}

fn manual(console: &VerbConsole) -> Result<()> {
    ProgramRun::new("makeinfo")
        .args(["--error-limit=1", "-o", "target/emacs/bridle.info"])
        .args([format!("{PACKAGE}/bridle.texi")])
        .run(console)
}

/// Runs one file of tests to its end; how many passed.
fn test(name: &str, compiled: &Path, console: &VerbConsole) -> Result<usize> {
    let folder = root().join(PACKAGE).join("test");
    // An Emacs without a terminal dies of a broken pipe; one with a terminal ignores it, and so do the tests.
    let tests = ProgramRun::new("sh")
        .args(["-c", "trap '' PIPE; exec emacs -Q --batch \"$@\"", "emacs"])
        .args(["-L".as_ref(), compiled.as_os_str(), "-L".as_ref(), folder.as_os_str()])
        .args(["-l", &format!("bridle-{name}-test"), "-f", "ert-run-tests-batch-and-exit"])
        .env("BRIDLE_BIN", daemon());
    let output = tests.output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    console.say(text.trim_end());
    ensure!(output.status.success(), "`{tests}` failed: {}", output.status);
    text.lines().filter_map(count).next_back().with_context(|| format!("`{tests}` ran no tests"))
}

/// 12 for `Ran 12 tests, 12 results as expected, 0 unexpected (..)`.
fn count(line: &str) -> Option<usize> {
    let (number, rest) = line.strip_prefix("Ran ")?.split_once(" test")?;
    rest.contains("0 unexpected").then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn only_a_good_run_is_counted() {
        assert_eq!(count("Ran 16 tests, 16 results as expected, 0 unexpected (..)"), Some(16));
        assert_eq!(count("Ran 1 test, 1 results as expected, 0 unexpected (..)"), Some(1));
        assert_eq!(count("Ran 16 tests, 15 results as expected, 1 unexpected (..)"), None);
        assert_eq!(count("   passed  1/16  bridle-e2e-signed (0.1 sec)"), None);
    }
}
