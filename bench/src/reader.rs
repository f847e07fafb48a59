//! Readers and printers side by side on the same tree: `bridle-bench reader`.
//!
//! Every round runs every contender once, in turn, so that a change of the machine's mood meets all of
//! them; tables show medians over the rounds. What each side does is written at its line in
//! `readers` and `printers`. SBCL and Emacs run the same document in their own processes.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bridle_sexp::{Dialect, Value};

use crate::Options;
use crate::ast::Document;
use crate::lisp::{Ask, Lisp};
use crate::report::{Bound, Cell, Table, Verdict};
use crate::stats::Spread;
use crate::visit::{self, Checksum};

/// Name of bridle's own row, which the ratios divide by.
const BRIDLE: &str = "bridle-sexp";

/// One step of a contender.
struct Sample {
    /// Reading and visiting, or printing.
    work: Duration,
    /// Freeing what the work allocated.
    free: Duration,
}

/// Somebody who reads or prints the document.
struct Contender<'d> {
    name: &'static str,
    /// Size of the text that it reads or writes.
    bytes: usize,
    run: Box<dyn FnMut() -> Result<Sample> + 'd>,
    work: Vec<f64>,
    free: Vec<f64>,
}

/// Runs both documents through all readers and printers.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for document in [Document::org(), Document::dense()] {
        let path = folder.path().join(format!("{}.el", document.name));
        std::fs::write(&path, &document.sexp)?;
        measure(options, &document, &path, tables, verdicts)?;
    }
    Ok(())
}

fn measure(
    options: &Options,
    document: &Document,
    path: &Path,
    tables: &mut Vec<Table>,
    verdicts: &mut Vec<Verdict>,
) -> Result<()> {
    let expected = read_bridle(document)?.1;
    let mut readers = readers(document, expected);
    readers.extend(lisps(document, path, Ask::Read)?);
    rounds(options.rounds(), &mut readers)?;
    let mut printers = printers(document)?;
    printers.extend(lisps(document, path, Ask::Print)?);
    rounds(options.rounds(), &mut printers)?;

    let shape = format!(
        "{} document, {:.2} MB as S-expression, {:.2} MB as JSON, {} nodes",
        document.name,
        megabytes(document.sexp.len()),
        megabytes(document.json.len()),
        expected.nodes
    );
    tables.push(table(format!("Read and visit: {shape}"), &readers));
    tables.push(table(format!("Print: {shape}"), &printers));
    for (rival, target) in
        [("serde_json::Value", 3.0), ("sonic-rs Value", 0.9), ("SBCL read-from-string", 20.0)]
    {
        verdicts.push(verdict(
            format!("reader, {}: speed over {rival}", document.name),
            target,
            rival,
            &readers,
        )?);
    }
    let rival = "serde_json::to_string";
    verdicts.push(verdict(
        format!("printer, {}: speed over {rival}", document.name),
        2.0,
        rival,
        &printers,
    )?);
    Ok(())
}

fn rounds(rounds: usize, contenders: &mut [Contender<'_>]) -> Result<()> {
    // One round unmeasured: page faults and cold caches belong to nobody.
    for round in 0..=rounds {
        for contender in contenders.iter_mut() {
            let sample =
                (contender.run)().with_context(|| format!("`{}` failed", contender.name))?;
            if round > 0 {
                contender.work.push(sample.work.as_secs_f64() * 1e3);
                contender.free.push(sample.free.as_secs_f64() * 1e3);
            }
        }
    }
    Ok(())
}

/// A reader: `read` makes a tree, `walk` visits it; both are timed, freeing the tree apart.
fn reader<'d, T: 'd>(
    name: &'static str,
    bytes: usize,
    expected: Checksum,
    mut read: impl FnMut() -> Result<T> + 'd,
    walk: impl Fn(&T, &mut Checksum) + 'd,
) -> Contender<'d> {
    let run = move || {
        let begin = Instant::now();
        let tree = read()?;
        let mut sum = Checksum::default();
        walk(&tree, &mut sum);
        black_box(&sum);
        let work = begin.elapsed();
        let begin = Instant::now();
        drop(tree);
        let free = begin.elapsed();
        ensure!(sum == expected, "checksum differs: expected {expected:?}, got {sum:?}");
        Ok(Sample { work, free })
    };
    Contender { name, bytes, run: Box::new(run), work: Vec::new(), free: Vec::new() }
}

/// A printer: `print` makes a fresh `String`, grown as it pleases.
fn printer<'d>(
    name: &'static str,
    bytes: usize,
    mut print: impl FnMut() -> Result<String> + 'd,
) -> Contender<'d> {
    let run = move || {
        let begin = Instant::now();
        let text = black_box(print()?);
        let work = begin.elapsed();
        let begin = Instant::now();
        ensure!(text.len() == bytes, "expected {bytes} bytes, got {}", text.len());
        drop(text);
        Ok(Sample { work, free: begin.elapsed() })
    };
    Contender { name, bytes, run: Box::new(run), work: Vec::new(), free: Vec::new() }
}

fn read_bridle(document: &Document) -> Result<(bridle_sexp::Tree<'_>, Checksum)> {
    let tree = bridle_sexp::read_one(&document.sexp).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut sum = Checksum::default();
    visit::bridle(tree.root(), &mut sum);
    Ok((tree, sum))
}

fn readers(document: &Document, expected: Checksum) -> Vec<Contender<'_>> {
    let (sexp, json) = (document.sexp.as_str(), document.json.as_str());
    vec![
        // The tape that borrows the source: what the daemon uses. Strings are unescaped by the walk.
        reader(
            BRIDLE,
            sexp.len(),
            expected,
            || Ok(bridle_sexp::read_one(sexp)?),
            |tree, sum| visit::bridle(tree.root(), sum),
        ),
        // The same and an owned value on top, which outlives its source as `serde_json::Value` does.
        reader(
            "bridle-sexp, owned Value",
            sexp.len(),
            expected,
            || Ok(bridle_sexp::read_one(sexp)?.root().to_value()),
            visit::bridle_value,
        ),
        reader(
            "serde_json::Value",
            json.len(),
            expected,
            || Ok(serde_json::from_str::<serde_json::Value>(json)?),
            visit::serde_json,
        ),
        // simd-json rewrites its input, so a caller that keeps the text pays for the copy.
        reader(
            "simd-json owned, with its copy",
            json.len(),
            expected,
            || Ok(simd_json::to_owned_value(&mut json.as_bytes().to_vec())?),
            visit::simd_owned,
        ),
        simd_borrowed(json, expected),
        simd_tape(json, expected),
        reader(
            "sonic-rs Value",
            json.len(),
            expected,
            || Ok(sonic_rs::from_str::<sonic_rs::Value>(json)?),
            visit::sonic,
        ),
        reader(
            "lexpr",
            sexp.len(),
            expected,
            || Ok(lexpr::from_str_custom(sexp, lexpr::parse::Options::elisp())?),
            visit::lexpr,
        ),
    ]
}

/// Borrows from its own copy, which the general `reader` cannot hold.
fn simd_borrowed<'d>(json: &'d str, expected: Checksum) -> Contender<'d> {
    let run = move || {
        let begin = Instant::now();
        let mut copy = json.as_bytes().to_vec();
        let value = simd_json::to_borrowed_value(&mut copy)?;
        let mut sum = Checksum::default();
        visit::simd_borrowed(&value, &mut sum);
        black_box(&sum);
        let work = begin.elapsed();
        let begin = Instant::now();
        drop(value);
        drop(copy);
        let free = begin.elapsed();
        ensure!(sum == expected, "checksum differs: expected {expected:?}, got {sum:?}");
        Ok(Sample { work, free })
    };
    let name = "simd-json borrowed, with its copy";
    Contender { name, bytes: json.len(), run: Box::new(run), work: Vec::new(), free: Vec::new() }
}

/// As above, without building values: the nearest thing to bridle's tape.
fn simd_tape<'d>(json: &'d str, expected: Checksum) -> Contender<'d> {
    let run = move || {
        let begin = Instant::now();
        let mut copy = json.as_bytes().to_vec();
        let tape = simd_json::to_tape(&mut copy)?;
        let mut sum = Checksum::default();
        visit::simd_tape(&tape.0, &mut sum);
        black_box(&sum);
        let work = begin.elapsed();
        let begin = Instant::now();
        drop(tape);
        drop(copy);
        let free = begin.elapsed();
        ensure!(sum == expected, "checksum differs: expected {expected:?}, got {sum:?}");
        Ok(Sample { work, free })
    };
    let name = "simd-json tape, with its copy";
    Contender { name, bytes: json.len(), run: Box::new(run), work: Vec::new(), free: Vec::new() }
}

fn printers(document: &Document) -> Result<Vec<Contender<'_>>> {
    let (sexp, json) = (document.sexp.len(), document.json.len());
    let tree = bridle_sexp::read_one(&document.sexp)?;
    let value: Value = tree.root().to_value();
    let serde: serde_json::Value = serde_json::from_str(&document.json)?;
    let sonic: sonic_rs::Value = sonic_rs::from_str(&document.json)?;
    let lexpr = lexpr::from_str_custom(&document.sexp, lexpr::parse::Options::elisp())?;
    Ok(vec![
        // Node by node from the tape: atoms are respelled, the source is not copied whole.
        printer(BRIDLE, sexp, move || {
            let mut out = String::new();
            bridle_sexp::canonical(tree.root(), &mut out);
            Ok(out)
        }),
        printer("bridle-sexp, owned Value", sexp, move || {
            let mut out = String::new();
            bridle_sexp::print(&value, Dialect::Lisp, &mut out);
            Ok(out)
        }),
        printer("serde_json::to_string", json, move || Ok(serde_json::to_string(&serde)?)),
        printer("sonic-rs to_string", json, move || Ok(sonic_rs::to_string(&sonic)?)),
        lexpr_printer(lexpr),
    ])
}

/// lexpr escapes newlines, so its text is longer than the source; its first print gives the size.
fn lexpr_printer<'d>(value: lexpr::Value) -> Contender<'d> {
    let print = move || Ok(lexpr::to_string_custom(&value, lexpr::print::Options::elisp())?);
    let bytes = print().map_or(0, |text: String| text.len());
    printer("lexpr", bytes, print)
}

fn lisps<'d>(document: &Document, path: &Path, ask: Ask) -> Result<Vec<Contender<'d>>> {
    let bytes = document.sexp.len();
    let (sbcl_name, emacs_name) = match ask {
        Ask::Read => ("SBCL read-from-string", "Emacs read"),
        Ask::Print => ("SBCL prin1-to-string", "Emacs prin1-to-string"),
    };
    let contender = |name, mut lisp: Lisp| {
        let run = move || Ok(Sample { work: lisp.ask(ask)?, free: Duration::ZERO });
        Contender { name, bytes, run: Box::new(run), work: Vec::new(), free: Vec::new() }
    };
    Ok(vec![contender(sbcl_name, Lisp::sbcl(path)?), contender(emacs_name, Lisp::emacs(path)?)])
}

fn table(title: String, contenders: &[Contender<'_>]) -> Table {
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

/// The ratio of times for the same tree; freeing is left out, which favors the rivals that allocate most.
fn verdict(
    what: String,
    target: f64,
    rival: &str,
    contenders: &[Contender<'_>],
) -> Result<Verdict> {
    let time = |name: &str| -> Result<f64> {
        let contender = contenders.iter().find(|contender| contender.name == name);
        Ok(Spread::of(&contender.with_context(|| format!("no contender `{name}`"))?.work).median)
    };
    Ok(Verdict { what, target, got: time(rival)? / time(BRIDLE)?, bound: Bound::AtLeast })
}

#[expect(clippy::cast_precision_loss, reason = "documents have a few million bytes")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
