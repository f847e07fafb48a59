//! `bridle-bench`: measures bridle and its rivals side by side. `cargo xtask bench` builds and calls it.
//!
//! - `ast`: the documents that are read and printed
//! - `visit`, `contend`, `process`, `reader`: readers and printers
//! - `client`, `echo`, `servers`, `health`: round trips
//! - `idle`: memory of many connections
//! - `hostile`: what other connections notice of an attack
//! - `codec`, `counts`: instruction counts
//! - `stats`, `report`: medians and tables
//!
//! It measures and prints; it never fails because a number is bad, only because a run went wrong.

mod ast;
mod client;
mod codec;
mod contend;
mod counts;
mod echo;
mod health;
mod hostile;
mod idle;
mod process;
mod reader;
mod report;
mod servers;
mod stats;
mod visit;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use report::{Format, Table};

/// What the user asked for.
pub struct Options {
    /// `reader`, `health`, `idle`, `hostile`, `counts` or `all`.
    what: String,
    /// Fewer and shorter rounds: to see that everything runs, not to quote.
    quick: bool,
    /// How results are printed.
    format: Format,
    /// The daemon's binary.
    bridle: PathBuf,
}

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
        ["count-region", name] => return counts::region(name),
        ["contend", word, name, path] => return contend::run(word, name, path.as_ref(), &mut out),
        ["documents", folder] => return write_documents(folder.as_ref()),
        _ => {}
    }
    let options = options(&arguments)?;
    let mut tables = vec![report::machine()];
    let mut verdicts = Vec::new();
    let wanted = |name: &str| options.what == name || options.what == "all";
    let mut show = |tables: &mut Vec<Table>| -> Result<()> {
        for table in tables.drain(..) {
            table.write(options.format, &mut out)?;
        }
        Ok(out.flush()?)
    };
    show(&mut tables)?;
    if wanted("reader") {
        reader::run(&options, &mut tables, &mut verdicts)?;
        show(&mut tables)?;
    }
    if wanted("health") {
        health::run(&options, &mut tables, &mut verdicts)?;
        show(&mut tables)?;
    }
    if wanted("idle") {
        idle::run(&options, &mut tables, &mut verdicts)?;
        show(&mut tables)?;
    }
    if wanted("hostile") {
        hostile::run(&options, &mut tables, &mut verdicts)?;
        show(&mut tables)?;
    }
    if wanted("counts") {
        counts::run(&mut tables)?;
        show(&mut tables)?;
    }
    if !verdicts.is_empty() {
        tables.push(report::verdicts(&verdicts));
        show(&mut tables)?;
    }
    Ok(())
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        what: "all".to_owned(),
        quick: false,
        format: Format::Text,
        bridle: servers::repository().join("target/release/bridle"),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "reader" | "health" | "idle" | "hostile" | "counts" | "all" => {
                options.what = argument.clone();
            }
            "--quick" => options.quick = true,
            "--markdown" => options.format = Format::Markdown,
            "--json" => options.format = Format::Json,
            "--bridle" => {
                options.bridle =
                    rest.next().context("`--bridle` needs the path of the binary")?.into();
            }
            other => bail!(
                "expected reader, health, idle, hostile, counts, all, --quick, --markdown, --json or --bridle PATH, got `{other}`"
            ),
        }
    }
    Ok(options)
}

/// Writes the documents to a folder, for a look at them or for another tool.
fn write_documents(folder: &Path) -> Result<()> {
    ast::Document::org().save(folder)?;
    ast::Document::dense().save(folder)?;
    Ok(())
}
