//! `cargo xtask metrics`: the three measures of success of the Emacs shell, taken in an Emacs with a
//! terminal, so that redisplay counts; writes `docs/metrics.md`. Not called by `ci`: a busy machine would
//! fail it. What `ci` needs of it (order, bounds) is in the tests of the package.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::clients::daemon;
use crate::console::{ProgramRun, VerbConsole, root};
use crate::emacs;

pub(crate) const HELP: &str = "\
usage: cargo xtask metrics [--check]

Measures the Emacs shell against the real daemon: latency between event and response, fidelity of Org
across the bridge, how long Emacs is held up under load, how long a long session takes to open. Writes
docs/metrics.md; with --check it only compares with the bounds. Needs about a minute and a quiet machine.";

const DOCUMENT: &str = "docs/metrics.md";

/// Starts a program ahead of whatever else the machine does, as far as the system lets us: of its own session, and
/// of its scheduling group, which each session has.
const AHEAD: &str = "\
(echo -20 > /proc/self/autogroup) 2>/dev/null
renice -n -20 -p $$ >/dev/null 2>&1
exec \"$@\"
";

/// One line of what Emacs measured.
#[derive(Debug, PartialEq)]
struct Measure {
    name: String,
    value: String,
    unit: String,
    /// The most that the value may be, where there is a bound.
    bound: Option<f64>,
}

impl Measure {
    /// Reads `NAME TAB VALUE TAB UNIT TAB BOUND`.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        let (name, value, unit) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { name, value, unit, bound: fields.next()?.parse().ok() })
    }

    fn is_over(&self) -> bool {
        self.bound.is_some_and(|bound| self.value.parse::<f64>().is_ok_and(|value| value > bound))
    }

    fn row(&self) -> String {
        let bound = self.bound.map_or_else(String::new, |bound| format!("{bound}"));
        let verdict = match (self.bound, self.is_over()) {
            (None, _) => "",
            (Some(_), true) => "over",
            (Some(_), false) => "yes",
        };
        format!("| {} | {} {} | {bound} | {verdict} |", self.name, self.value, self.unit)
    }
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let is_check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" ")),
    };
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let measures = measure(console)?;
    for measure in &measures {
        console.say(measure.row());
    }
    if !is_check {
        fs::write(root().join(DOCUMENT), document(&measures))
            .with_context(|| format!("cannot write `{DOCUMENT}`"))?;
    }
    let over: Vec<&str> =
        measures.iter().filter(|it| it.is_over()).map(|it| it.name.as_str()).collect();
    ensure!(over.is_empty(), "over the bound: {}", over.join("; "));
    console.say(format!("metrics: {} measures, none over its bound", measures.len()));
    Ok(())
}

/// Has Emacs measure, in a terminal of its own, and reads what it wrote.
fn measure(console: &VerbConsole) -> Result<Vec<Measure>> {
    let compiled = emacs::compile(console)?;
    let file = root().join("target/emacs/metrics.tsv");
    drop(fs::remove_file(&file));
    let ahead = root().join("target/emacs/ahead");
    fs::write(&ahead, AHEAD).with_context(|| format!("cannot write `{}`", ahead.display()))?;
    let command = format!(
        "stty rows 50 cols 120; sh {} emacs -Q -nw -L {} -L {}/test -l bridle-metrics -f bridle-metrics-run",
        ahead.display(),
        compiled.display(),
        emacs::PACKAGE
    );
    // `script` gives it a terminal; what it draws goes nowhere.
    ProgramRun::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .env("TERM", "screen-256color")
        .env("BRIDLE_BIN", "/bin/sh")
        .env("BRIDLE_BIN_ARGUMENTS", format!("{} {}", ahead.display(), daemon().display()))
        .env("BRIDLE_METRICS", &file)
        .output()?;
    let text = fs::read_to_string(&file).context("Emacs wrote no measures")?;
    let measures: Vec<Measure> = text.lines().filter_map(Measure::read).collect();
    if let Some(failed) = measures.iter().find(|it| it.name == "failed") {
        bail!("a measurement failed: {}", failed.value);
    }
    ensure!(measures.len() > 10, "expected more than ten measures, got {}", measures.len());
    Ok(measures)
}

fn document(measures: &[Measure]) -> String {
    let rows: Vec<String> = measures.iter().map(Measure::row).collect();
    format!(
        "# The Emacs shell, measured\n\n\
         Made by `cargo xtask metrics`: a debug build of the daemon and Emacs 28.2 in a terminal, on one \
         machine with two cores; redisplay counts. The first shell of this protocol was promised three things: less than \
         100 ms between event and response, no loss of Org across the bridge, and an editor that is never \
         held up. The bounds here are tighter than that promise.\n\n\
         | measure | value | at most | holds |\n|---|---|---|---|\n{}\n\n\
         - *Event to response* is taken in Lisp, from the call that sends to the function that hears: the \
         writes to the disk that a receipt stands for are in it, two for a request that an editor carries out. *Record \
         in memory* is the same with the state directory where no disk is: what is left is what the programs take.\n\
         - *Fidelity*: the tree of `org-element-parse-buffer` is sent as the AST of an unsaved buffer, asked \
         for again, and compared as data and as the text that Org writes of both.\n\
         - *Held up*: a timer of 10 ms runs in the Emacs that shows the stream; its longest gap is how long a \
         key would have waited. What Emacs spends on its own garbage collection is told beside it: no package \
         can be quicker than that. Results of four mebibytes come in parts, are read in steps, and are shown \
         by their beginning.\n\
         - *Ahead*: Emacs and the daemon run with priority over what else the machine does, where the system lets \
         them.\n\
         - *Load*: a machine on which many more processes run than it has processors makes each of these \
         numbers larger, the garbage collection of an Emacs that does nothing among them. Processor time does not \
         count the waiting.\n\
         - *Opening*: from `M-x bridle` until the last turns are on the screen and text can be typed and sent; \
         earlier turns are fetched when asked for.\n",
        rows.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::Measure;

    #[test]
    fn a_bound_is_kept_or_told() {
        let good = Measure::read("gap\t12.5\tms\t50").expect("four fields");
        assert!(!good.is_over());
        assert_eq!(good.row(), "| gap | 12.5 ms | 50 | yes |");
        assert!(Measure::read("gap\t50.1\tms\t50").expect("four fields").is_over());
        assert!(!Measure::read("files\t9 of 9\t\t").expect("four fields").is_over());
        assert_eq!(Measure::read("nothing"), None);
    }
}
