//! `cargo xtask clients`: the packages of `clients/`, each tested with the runner of its own language:
//! types, units, every vector that concerns a client, and the real daemon, killed on the way. Called by
//! `ci`. What the tests check is in the packages; this file only starts them and counts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::chaos;
use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask clients [python|typescript]

Tests the clients, or one of them: types, vectors and units with the runner of its language, then
against the daemon. Without a name, also plays schedules of `cargo xtask chaos --clients`. The
compiler of TypeScript is fetched with npm when it is not there.";

/// Schedules of faults that both clients live through.
const SCHEDULES: &str = "12";

/// Folder of the Python package.
const PYTHON: &str = "clients/python";
const TYPESCRIPT: &str = "clients/typescript";

/// The kits for clients, and the wrapper of each in the packages' `conform`.
const KITS: [(&str, &str); 2] = [("shell", "shell"), ("oacp-client", "client")];

/// Longest wait of a kit for anything, in seconds: a loaded machine is slow, and a fault is not.
const PATIENCE: &str = "60";

/// Fewer tests than this and something was lost, not tidied up.
const AT_LEAST: usize = 20;

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let known: [(&str, Tester); 2] = [("python", python), ("typescript", typescript)];
    let chosen: Vec<_> = match arguments {
        [] => known.into(),
        [name] => known.into_iter().filter(|(known, _)| known == name).collect(),
        _ => Vec::new(),
    };
    if chosen.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let mut counts = Vec::new();
    for (name, test) in chosen {
        let count = test(&daemon(), console).with_context(|| format!("the {name} client"))?;
        ensure!(count >= AT_LEAST, "{name} ran {count} tests, expected at least {AT_LEAST}");
        counts.push(format!("{name} {count}"));
    }
    if arguments.is_empty() {
        chaos::run(&["--clients", "--schedules", SCHEDULES].map(str::to_owned), console)?;
    }
    console.say(format!("clients: tests passed: {}", counts.join(", ")));
    Ok(())
}

/// Tests a client against the daemon at this path; how many tests passed.
type Tester = fn(&Path, &VerbConsole) -> Result<usize>;

/// The daemon that cargo has built.
pub(crate) fn daemon() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join("debug/bridle")
}

fn python(daemon: &Path, console: &VerbConsole) -> Result<usize> {
    let folders =
        ["src", "tests", "examples", "conform"].map(|folder| format!("{PYTHON}/{folder}"));
    let config = format!("{PYTHON}/pyproject.toml");
    let types = ProgramRun::new("mypy").args(["--strict", "--config-file", &config]).args(folders);
    types.env("MYPYPATH", format!("{PYTHON}/src")).run(console)?;
    let unittest = |pattern: &str| {
        ProgramRun::new("python3")
            .args(["-m", "unittest", "discover", "-s", PYTHON, "-t", PYTHON, "-p", pattern])
            .env("PYTHONPATH", format!("{PYTHON}/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("BRIDLE_BIN", daemon)
    };
    for (kit, file) in KITS {
        let client = format!("{PYTHON}/conform/{file}.py");
        conforms(daemon, kit, &["python3", &client], console)?;
    }
    Ok(counted(&unittest("test_*.py"), console)? + counted(&unittest("e2e.py"), console)?)
}

/// Has a kit look at a client; it must do all that it must, and all that it should.
fn conforms(daemon: &Path, kit: &str, client: &[&str], console: &VerbConsole) -> Result<()> {
    let options = ["conform", kit, "--fail-on", "should", "--timeout", PATIENCE, "--"];
    ProgramRun::new(daemon)
        .args(options)
        .args(client)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .run(console)
}

fn typescript(daemon: &Path, console: &VerbConsole) -> Result<usize> {
    compile(console)?;
    for (kit, file) in KITS {
        let client = format!("{TYPESCRIPT}/dist/conform/{file}.js");
        conforms(daemon, kit, &["node", &client], console)?;
    }
    let mut count = 0;
    for folder in ["tests", "e2e"] {
        let files = tests_in(&root().join(TYPESCRIPT).join("dist").join(folder))?;
        let tests = ProgramRun::new("node").args(["--test"]).args(files).env("BRIDLE_BIN", daemon);
        count += counted(&tests, console)?;
    }
    Ok(count)
}

/// The test files of a folder, one by one: what Node makes of a folder differs between its versions.
fn tests_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let list =
        fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let paths = list.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().ends_with(".test.js")).collect();
    files.sort();
    Ok(files)
}

/// Compiles the TypeScript client, with everything that is checked by that.
pub(crate) fn compile(console: &VerbConsole) -> Result<()> {
    let modules = root().join(TYPESCRIPT).join("node_modules/typescript");
    if !modules.exists() {
        let quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
        ProgramRun::new("npm")
            .args(["install", "--prefix", TYPESCRIPT])
            .args(quiet)
            .run(console)?;
    }
    // What was compiled of files that are gone would still be run.
    drop(fs::remove_dir_all(root().join(TYPESCRIPT).join("dist")));
    let compiler = format!("{TYPESCRIPT}/node_modules/typescript/bin/tsc");
    ProgramRun::new("node").args([&compiler, "--project", TYPESCRIPT]).run(console)
}

/// Runs tests to their end, and reads how many there were out of what their runner says last.
fn counted(tests: &ProgramRun, console: &VerbConsole) -> Result<usize> {
    let output = tests.output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    console.say(text.trim_end());
    ensure!(output.status.success(), "`{tests}` failed: {}", output.status);
    text.lines()
        .filter_map(count)
        .next_back()
        .with_context(|| format!("`{tests}` counted no tests"))
}

/// 12 for `Ran 12 tests in 0.3s` of Python and for `# pass 12` of Node.
fn count(line: &str) -> Option<usize> {
    let python = line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" test"));
    let node = line.strip_prefix("# pass ").or_else(|| line.strip_prefix("ℹ pass "));
    python.map(|(number, _)| number).or(node)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn both_runners_are_understood() {
        assert_eq!(count("Ran 28 tests in 3.297s"), Some(28));
        assert_eq!(count("Ran 1 test in 3.297s"), Some(1));
        assert_eq!(count("# pass 27"), Some(27));
        assert_eq!(count("ℹ pass 27"), Some(27));
        assert_eq!(count("# fail 0"), None);
    }
}
