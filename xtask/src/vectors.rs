//! `cargo xtask vectors`: every vector, run by every implementation that has a runner. Called by `ci`.
//! The runners are ordinary programs: they exit nonzero on a failure and say
//! `N passed, M failed` at the end, which is all this file reads of them.

use std::ffi::OsStr;

use anyhow::{Context, Result, bail};

use crate::console::{ProgramRun, VerbConsole, files, root};
use crate::tidy;

pub(crate) const HELP: &str = "\
usage: cargo xtask vectors [rust|sbcl|emacs|python]

Runs vectors/ in Rust, SBCL, Emacs and Python, or in one of them, and prints how many each ran.";

/// Fewer than this and something was lost, not tidied up.
const AT_LEAST: usize = 300;

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let runners: Vec<(&str, ProgramRun)> = match arguments {
        [] => runners(),
        [name] => runners().into_iter().filter(|(runner, _)| runner == name).collect(),
        _ => Vec::new(),
    };
    if runners.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    let vectors = count()?;
    if vectors < AT_LEAST {
        bail!("{vectors} vectors, expected at least {AT_LEAST}");
    }
    let mut total = 0;
    for (name, runner) in runners {
        let output = runner.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = passed(&text, name);
        if !output.status.success() || passed == 0 {
            console.say(text.trim_end());
            console.say(String::from_utf8_lossy(&output.stderr).trim_end());
            bail!("vectors under {name}: `{runner}` failed: {}, {passed} passed", output.status);
        }
        console.say(format!("vectors: {name:6} {passed:5} passed"));
        total += passed;
    }
    console.say(format!("vectors: {vectors} vectors, {total} passed, 0 failed"));
    Ok(())
}

fn runners() -> Vec<(&'static str, ProgramRun)> {
    let rooms = ["sexp", "wire", "loop", "daemon"].map(|room| format!("--package=bridle-{room}"));
    let rust = ProgramRun::cargo(["test", "--locked"]).args(rooms);
    let mut runners = vec![("rust", rust.args(["--test", "*vectors", "--", "--nocapture"]))];
    runners.extend(peers(&[]));
    runners
}

/// The runners in other languages, with `options` for them.
pub(crate) fn peers(options: &[&OsStr]) -> Vec<(&'static str, ProgramRun)> {
    let emacs = ["-Q", "--batch", "-l", "peers/emacs/run-vectors.el", "--"];
    vec![
        (
            "sbcl",
            ProgramRun::new("sbcl").args(["--script", "peers/sbcl/run-vectors.lisp"]).args(options),
        ),
        ("emacs", ProgramRun::new("emacs").args(emacs).args(options)),
        ("python", ProgramRun::new("python3").args(["peers/python/run_vectors.py"]).args(options)),
    ]
}

/// Count that a runner says it passed: its last word, or, in Rust, the sum over its test programs.
fn passed(output: &str, name: &str) -> usize {
    let mut counts = output.lines().filter_map(passed_in);
    if name == "rust" { counts.sum() } else { counts.next_back().unwrap_or(0) }
}

/// 12 for `sexp: 12 passed, 0 failed`; what cargo itself says about its tests is not counted.
fn passed_in(line: &str) -> Option<usize> {
    let (head, tail) = line.split_once(" passed, ")?;
    tail.strip_suffix(" failed")?;
    head.rsplit([' ', ':']).next()?.parse().ok()
}

/// The number of vectors on disk.
fn count() -> Result<usize> {
    let mut count = 0;
    for path in files()?.iter().filter(|path| tidy::vectors::folder(path).is_some()) {
        let text = std::fs::read_to_string(root().join(path))
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        count += tidy::vectors::count(path, &text);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn only_the_runners_own_lines_count() {
        let output = "running 3 tests\nsexp: 12 passed, 0 failed\nframe: 8 passed, 0 failed\n\
                      test result: ok. 3 passed; 0 failed; 0 ignored\n";
        assert_eq!(passed(output, "rust"), 20);
        let output = "sexp: 12 passed, 0 failed\nframe: 8 passed, 0 failed\n20 passed, 0 failed\n";
        assert_eq!(passed(output, "sbcl"), 20);
        assert_eq!(passed("no word\n", "sbcl"), 0);
    }
}
