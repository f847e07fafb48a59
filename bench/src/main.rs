//! `bridle-bench`: measures bridle and its rivals side by side. `cargo xtask bench` builds and calls it.
//!
//! - `ast`: the documents that are read and printed
//! - `visit`, `contend`, `process`, `reader`: readers and printers
//! - `memex`: the index of a large Memex, beside grep
//! - `org`: Org files, beside orgize and Emacs
//! - `client`, `echo`, `servers`, `health`: round trips
//! - `idle`: memory of many connections, and of many attached shells
//! - `shells`, `turns`, `soak`: shells that talk: how soon they are answered, whether memory grows
//! - `bare`, `store`: the record beside a bare SQLite table
//! - `guard`: what a verdict costs, beside one bare call of Cedar
//! - `attach`: what history costs
//! - `hostile`: what other connections notice of an attack
//! - `codec`, `counts`: instruction counts
//! - `http`: requests over HTTP beside a bare axum handler
//! - `stats`, `report`: medians and tables
//!
//! It measures and prints; it never fails because a number is bad, only because a run went wrong.

mod ast;
mod attach;
mod bare;
mod client;
mod codec;
mod contend;
mod counts;
mod echo;
mod guard;
mod health;
mod hostile;
mod http;
mod idle;
mod memex;
mod org;
mod process;
mod reader;
mod report;
mod servers;
mod shells;
mod soak;
mod stats;
mod store;
mod turns;
mod visit;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use report::{Format, Table, Verdict};

/// Options of a run.
pub struct Options {
    /// One of [`KINDS`], or `all`.
    what: String,
    /// Duration of `soak`, in minutes.
    minutes: u64,
    /// Fewer and shorter rounds: to see that everything runs, not to quote.
    quick: bool,
    /// Format of the results.
    format: Format,
    /// The daemon's binary.
    bridle: PathBuf,
}

/// Measurements by name, and whether `all` includes them: half an hour of load is asked for by name.
const KINDS: &[(&str, InAll, Measure)] = &[
    ("reader", InAll::Yes, reader::run),
    ("org", InAll::Yes, org::run),
    ("health", InAll::Yes, health::run),
    ("loop", InAll::Yes, turns::run),
    ("store", InAll::Yes, store::run),
    ("guard", InAll::Yes, guard::run),
    ("attach", InAll::Yes, attach::run),
    ("memex", InAll::Yes, memex::run),
    ("http", InAll::Yes, http::run),
    ("idle", InAll::Yes, idle::run),
    ("hostile", InAll::Yes, hostile::run),
    ("counts", InAll::Yes, counts::run),
    ("soak", InAll::No, soak::run),
];

type Measure = fn(&Options, &mut Vec<Table>, &mut Vec<Verdict>) -> Result<()>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InAll {
    Yes,
    No,
}

/// Minutes of load when nothing else is said.
const SOAK_MINUTES: u64 = 30;

impl Options {
    /// Rounds of readers and printers; the median needs at least nine.
    fn rounds(&self) -> usize {
        if self.quick { 3 } else { 15 }
    }

    /// Rounds of round trips.
    fn health_rounds(&self) -> usize {
        if self.quick { 1 } else { 9 }
    }

    /// Measured time of one run of round trips.
    fn health_time(&self) -> Duration {
        if self.quick { health::QUICK_TIME } else { health::FULL_TIME }
    }

    /// Rounds of loads that last seconds each.
    fn load_rounds(&self) -> usize {
        if self.quick { 1 } else { 5 }
    }

    /// Measured time of one load of shells.
    fn load_time(&self) -> Duration {
        Duration::from_secs(if self.quick { 1 } else { 5 })
    }

    /// Measured time of one load of the record.
    fn store_time(&self) -> Duration {
        Duration::from_millis(if self.quick { 300 } else { 2_000 })
    }

    /// Tells the user something that is not a result.
    fn note(&self, text: &str) {
        // A closed stderr is no reason to lose the measurement.
        let _written = writeln!(std::io::stderr(), "note: {text}");
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout().lock();
    // The program's own child processes.
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve-echo"] => return echo::serve(&mut out),
        ["serve-http", answer] => return http::serve(answer.as_ref(), &mut out),
        ["count-region", name] => return counts::region(name),
        ["contend", word, name, path] => return contend::run(word, name, path.as_ref(), &mut out),
        ["documents", folder] => return write_documents(folder.as_ref()),
        ["push", how, address, seconds] => return push(how, address, seconds, &mut out),
        ["--help" | "-h"] => return Ok(writeln!(out, "usage: bridle-bench {}", usage())?),
        _ => {}
    }
    let options = options(&arguments)?;
    let mut tables = vec![report::machine()];
    let mut verdicts = Vec::new();
    let mut show = |tables: &mut Vec<Table>| -> Result<()> {
        for table in tables.drain(..) {
            table.write(options.format, &mut out)?;
        }
        Ok(out.flush()?)
    };
    show(&mut tables)?;
    for (name, in_all, measure) in KINDS {
        if options.what == *name || (options.what == "all" && *in_all == InAll::Yes) {
            measure(&options, &mut tables, &mut verdicts)?;
            show(&mut tables)?;
        }
    }
    if !verdicts.is_empty() {
        tables.push(report::verdicts(&verdicts));
        show(&mut tables)?;
    }
    Ok(())
}

/// Usage of the program; `cargo xtask bench --help` explains it.
fn usage() -> String {
    let kinds: Vec<&str> = KINDS.iter().map(|(kind, ..)| *kind).collect();
    format!("[{}|all] [--quick] [--minutes N] [--markdown|--json] [--bridle PATH]", kinds.join("|"))
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        what: "all".to_owned(),
        minutes: SOAK_MINUTES,
        quick: false,
        format: Format::Text,
        bridle: servers::repository().join("target/dist/bridle"),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "all" => options.what = argument.clone(),
            name if KINDS.iter().any(|(kind, ..)| *kind == name) => options.what = argument.clone(),
            "--minutes" => {
                let minutes = rest.next().context("`--minutes` needs a number")?;
                options.minutes = minutes
                    .parse()
                    .with_context(|| format!("not a number of minutes: `{minutes}`"))?;
            }
            "--quick" => options.quick = true,
            "--markdown" => options.format = Format::Markdown,
            "--json" => options.format = Format::Json,
            "--bridle" => {
                options.bridle =
                    rest.next().context("`--bridle` needs the path of the binary")?.into();
            }
            other => bail!("unexpected `{other}`; usage: bridle-bench {}", usage()),
        }
    }
    Ok(options)
}

/// Asks a daemon that is there already, for a look at it with a profiler.
fn push(how: &str, address: &str, seconds: &str, out: &mut dyn Write) -> Result<()> {
    let address = address.parse().with_context(|| format!("not an address: `{address}`"))?;
    let seconds = seconds.parse().with_context(|| format!("not a number: `{seconds}`"))?;
    let time = Duration::from_secs(seconds);
    let pushed = match how {
        "loop" => turns::push(address, time)?,
        way => http::push(way, address, time)?,
    };
    let at = |share| stats::quantile(&pushed.latencies, share);
    let (rate, p50, p99, worst) = (pushed.per_second, at(0.5), at(0.99), at(1.0));
    writeln!(out, "{rate:.0} a second, ms: p50 {p50:.2}, p99 {p99:.2}, worst {worst:.2}")?;
    Ok(())
}

/// Writes the documents to a folder, for a look at them or for another tool.
fn write_documents(folder: &Path) -> Result<()> {
    ast::Document::org().save(folder)?;
    ast::Document::dense().save(folder)?;
    Ok(())
}
