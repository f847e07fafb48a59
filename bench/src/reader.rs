//! Readers and printers side by side on the same tree: `bridle-bench reader`.
//!
//! Every contender runs in its own process (`process`, `contend`). Every round lets each of them go
//! once, in turn, so that a change of the machine's mood meets all of them; tables show medians.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::Options;
use crate::ast::Document;
use crate::contend::{BRIDLE, Notation, PRINTERS, READERS};
use crate::process::{Ask, Process};
use crate::report::{Bound, Cell, Table, Verdict};
use crate::stats::Spread;

/// The document that the targets speak of; the other one shows how far they carry.
const JUDGED: &str = "org";

/// Speed over each rival that the design asks for.
const READER_TARGETS: [(&str, f64); 3] =
    [("serde_json::Value", 3.0), ("sonic-rs Value", 0.9), ("SBCL read-from-string", 20.0)];
const PRINTER_TARGETS: [(&str, f64); 1] = [("serde_json::to_string", 2.0)];

/// Program that reads or prints the document.
struct Contender {
    name: &'static str,
    process: Process,
    /// Size of the text that it reads or writes.
    bytes: usize,
    /// Milliseconds of each round.
    work: Vec<f64>,
    free: Vec<f64>,
}

/// Runs both documents through all readers and printers.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for document in [Document::org(), Document::dense()] {
        document.save(folder.path())?;
        let mut readers = contenders(&document, Ask::Read, folder.path())?;
        let nodes = agree(&readers)?;
        rounds(options.rounds(), &mut readers)?;
        let shape = format!(
            "{} document, {:.2} MB as S-expression, {:.2} MB as JSON, {nodes} nodes",
            document.name,
            megabytes(document.sexp.len()),
            megabytes(document.json.len()),
        );
        tables.push(table(format!("Read and visit: {shape}"), &readers));
        if document.name == JUDGED {
            judge("reader", &READER_TARGETS, &readers, verdicts)?;
        }
        drop(readers);

        let mut printers = contenders(&document, Ask::Print, folder.path())?;
        rounds(options.rounds(), &mut printers)?;
        tables.push(table(format!("Print: {shape}"), &printers));
        if document.name == JUDGED {
            judge("printer", &PRINTER_TARGETS, &printers, verdicts)?;
        }
    }
    Ok(())
}

/// Starts everybody who can do `ask`.
fn contenders(document: &Document, ask: Ask, folder: &Path) -> Result<Vec<Contender>> {
    let names = match ask {
        Ask::Read => READERS.as_slice(),
        Ask::Print => PRINTERS.as_slice(),
    };
    let mut contenders = Vec::new();
    let mut add = |name, process: Process, bytes| {
        contenders.push(Contender { name, process, bytes, work: Vec::new(), free: Vec::new() });
    };
    for (name, notation) in names {
        let (path, read_bytes) = match notation {
            Notation::Sexp => (document.sexp_path(folder), document.sexp.len()),
            Notation::Lines => (document.lines_path(folder), document.lines.len()),
            Notation::Json => (document.json_path(folder), document.json.len()),
        };
        let process = Process::contender(ask, name, &path).with_context(|| format!("`{name}`"))?;
        let bytes = match ask {
            Ask::Read => read_bytes,
            Ask::Print => {
                process.ready.parse().with_context(|| format!("`{name}` gave no size"))?
            }
        };
        add(name, process, bytes);
    }
    let path = document.sexp_path(folder);
    let (sbcl, emacs) = match ask {
        Ask::Read => ("SBCL read-from-string", "Emacs read"),
        Ask::Print => ("SBCL prin1-to-string", "Emacs prin1-to-string"),
    };
    add(sbcl, Process::sbcl(ask, &path)?, document.sexp.len());
    add(emacs, Process::emacs(ask, &path)?, document.sexp.len());
    Ok(contenders)
}

/// Checks that all readers in Rust saw the same tree; returns its number of nodes.
fn agree(readers: &[Contender]) -> Result<String> {
    let saw = |contender: &Contender| contender.process.ready.clone();
    let expected = readers.first().map(saw).context("no reader")?;
    for reader in readers.iter().filter(|reader| !reader.process.ready.is_empty()) {
        ensure!(saw(reader) == expected, "`{}` saw {}, not {expected}", reader.name, saw(reader));
    }
    Ok(expected.split(' ').next().unwrap_or_default().to_owned())
}

fn rounds(rounds: usize, contenders: &mut [Contender]) -> Result<()> {
    for _ in 0..rounds {
        for contender in contenders.iter_mut() {
            let sample =
                contender.process.step().with_context(|| format!("`{}`", contender.name))?;
            contender.work.push(sample.work.as_secs_f64() * 1e3);
            contender.free.push(sample.free.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

fn table(title: String, contenders: &[Contender]) -> Table {
    let columns = [
        "contender",
        "median ms",
        "lowest",
        "highest",
        "then free ms",
        "MB/s of its text",
        "bridle is faster by",
        "by MB/s",
    ];
    let mut table = Table::new(title, columns);
    let Some(own) = contenders.first() else { return table };
    let own_time = Spread::of(&own.work).median;
    let own_rate = megabytes(own.bytes) / own_time;
    for contender in contenders {
        let work = Spread::of(&contender.work);
        let rate = megabytes(contender.bytes) / work.median;
        table.push(vec![
            Cell::text(contender.name),
            Cell::Number(work.median, 2),
            Cell::Number(work.low, 2),
            Cell::Number(work.high, 2),
            Cell::Number(Spread::of(&contender.free).median, 2),
            Cell::Number(rate * 1e3, 0),
            Cell::Number(work.median / own_time, 2),
            Cell::Number(own_rate / rate, 2),
        ]);
    }
    table
}

/// Ratios of times for the same tree. Freeing is left out, which favors the rivals that allocate most.
fn judge(
    what: &str,
    targets: &[(&str, f64)],
    contenders: &[Contender],
    verdicts: &mut Vec<Verdict>,
) -> Result<()> {
    let time = |name: &str| -> Result<f64> {
        let contender = contenders.iter().find(|contender| contender.name == name);
        Ok(Spread::of(&contender.with_context(|| format!("no contender `{name}`"))?.work).median)
    };
    for (rival, target) in targets {
        verdicts.push(Verdict {
            what: format!("{what}: speed over {rival}"),
            target: *target,
            got: time(rival)? / time(BRIDLE)?,
            bound: Bound::AtLeast,
        });
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "documents have a few million bytes")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
