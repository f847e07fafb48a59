//! The Rust contenders, as child processes: `bridle-bench contend read|print NAME FILE`. `reader` starts
//! one for each name and tells it when to go; what each one does is written in `reader` and `printer`.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bridle_sexp::Dialect;

use crate::visit::{self, Checksum};

/// bridle's own row, the first of each table.
pub const BRIDLE: &str = "bridle-sexp";

/// bridle's printer where the source is canonical already, so that stretches of it are copied.
const BRIDLE_COPIED: &str = "bridle-sexp, canonical source";

/// bridle with a tree that outlives its text.
const BRIDLE_OWNED: &str = "bridle-sexp, owned Value";

/// Names of the readers, and whether they read JSON.
pub const READERS: [(&str, Notation); 8] = [
    (BRIDLE, Notation::Sexp),
    (BRIDLE_OWNED, Notation::Sexp),
    ("serde_json::Value", Notation::Json),
    ("simd-json owned, with its copy", Notation::Json),
    ("simd-json borrowed, with its copy", Notation::Json),
    ("simd-json tape, with its copy", Notation::Json),
    ("sonic-rs Value", Notation::Json),
    ("lexpr", Notation::Sexp),
];

/// Names of the printers, and what they print.
pub const PRINTERS: [(&str, Notation); 7] = [
    (BRIDLE, Notation::Lines),
    (BRIDLE_COPIED, Notation::Sexp),
    (BRIDLE_OWNED, Notation::Sexp),
    ("serde_json::to_string", Notation::Json),
    ("simd-json encode", Notation::Json),
    ("sonic-rs to_string", Notation::Json),
    ("lexpr", Notation::Sexp),
];

/// Notation in which a contender writes the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// S-expressions.
    Sexp,
    /// S-expressions with newlines for blanks, of which no stretch is canonical.
    Lines,
    /// JSON.
    Json,
}

/// Reading and visiting once: the time it took, the time to free the tree, what was seen.
type Reading = (Duration, Duration, Checksum);

/// Serves lines on standard input until it ends.
pub fn run(word: &str, name: &str, path: &Path, out: &mut dyn Write) -> Result<()> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    match word {
        "read" => serve_reader(name, &text, out),
        "print" => serve_printer(name, &text, out),
        other => bail!("expected `read` or `print`, got `{other}`"),
    }
}

fn serve_reader(name: &str, text: &str, out: &mut dyn Write) -> Result<()> {
    let mut read = reader(name, text)?;
    let (_, _, expected) = read()?;
    writeln!(out, "ready {expected}")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        // Once unmeasured: caches are cold after another process had the core.
        read()?;
        let (work, free, sum) = read()?;
        ensure!(sum == expected, "checksum differs: expected {expected}, got {sum}");
        writeln!(out, "{} {}", work.as_nanos(), free.as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

fn serve_printer(name: &str, text: &str, out: &mut dyn Write) -> Result<()> {
    let mut print = printer(name, text)?;
    let bytes = print()?.len();
    writeln!(out, "ready {bytes}")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        print()?;
        let begin = Instant::now();
        let printed = black_box(print()?);
        let work = begin.elapsed();
        let begin = Instant::now();
        ensure!(printed.len() == bytes, "expected {bytes} bytes, got {}", printed.len());
        drop(printed);
        writeln!(out, "{} {}", work.as_nanos(), begin.elapsed().as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

/// Makes a tree with `read`, visits it with `walk`, frees it.
fn timed<T>(
    read: impl FnOnce() -> Result<T>,
    walk: impl FnOnce(&T, &mut Checksum),
) -> Result<Reading> {
    let begin = Instant::now();
    let tree = read()?;
    let mut sum = Checksum::default();
    walk(&tree, &mut sum);
    let sum = black_box(sum);
    let work = begin.elapsed();
    let begin = Instant::now();
    drop(tree);
    Ok((work, begin.elapsed(), sum))
}

fn reader<'t>(name: &str, text: &'t str) -> Result<Box<dyn FnMut() -> Result<Reading> + 't>> {
    Ok(match name {
        // The tape that borrows the source: what the daemon uses. Strings are unescaped by the walk.
        BRIDLE => Box::new(move || {
            timed(
                || Ok(bridle_sexp::read_one(text)?),
                |tree, sum| *sum = visit::bridle(tree.root()),
            )
        }),
        // The same and an owned value on top, which outlives its source as `serde_json::Value` does.
        BRIDLE_OWNED => Box::new(move || {
            timed(|| Ok(bridle_sexp::read_one(text)?.root().to_value()), visit::bridle_value)
        }),
        "serde_json::Value" => {
            Box::new(move || timed(|| Ok(serde_json::from_str(text)?), visit::serde_json))
        }
        // simd-json rewrites its input, so a caller that keeps the text pays for the copy.
        "simd-json owned, with its copy" => Box::new(move || {
            timed(
                || Ok(simd_json::to_owned_value(&mut text.as_bytes().to_vec())?),
                visit::simd_owned,
            )
        }),
        "simd-json borrowed, with its copy" => Box::new(move || simd_borrowed(text)),
        "simd-json tape, with its copy" => Box::new(move || simd_tape(text)),
        "sonic-rs Value" => Box::new(move || timed(|| Ok(sonic_rs::from_str(text)?), visit::sonic)),
        "lexpr" => Box::new(move || {
            let options = lexpr::parse::Options::elisp();
            timed(|| Ok(lexpr::from_str_custom(text, options)?), visit::lexpr)
        }),
        other => bail!("no reader is called `{other}`"),
    })
}

/// Borrows from its own copy, which `timed` cannot hold.
fn simd_borrowed(text: &str) -> Result<Reading> {
    let begin = Instant::now();
    let mut copy = text.as_bytes().to_vec();
    let value = simd_json::to_borrowed_value(&mut copy)?;
    let mut sum = Checksum::default();
    visit::simd_borrowed(&value, &mut sum);
    let sum = black_box(sum);
    let work = begin.elapsed();
    let begin = Instant::now();
    drop(value);
    drop(copy);
    Ok((work, begin.elapsed(), sum))
}

/// As above, without building values: the nearest thing to bridle's tape.
fn simd_tape(text: &str) -> Result<Reading> {
    let begin = Instant::now();
    let mut copy = text.as_bytes().to_vec();
    let tape = simd_json::to_tape(&mut copy)?;
    let sum = black_box(visit::simd_tape(&tape.0));
    let work = begin.elapsed();
    let begin = Instant::now();
    drop(tape);
    drop(copy);
    Ok((work, begin.elapsed(), sum))
}

/// Every printer makes a fresh `String`, grown as it pleases.
fn printer<'t>(name: &str, text: &'t str) -> Result<Box<dyn FnMut() -> Result<String> + 't>> {
    Ok(match name {
        // From the tape. Which of the two it is depends on the text that was handed in.
        BRIDLE | BRIDLE_COPIED => {
            let tree = bridle_sexp::read_one(text)?;
            Box::new(move || {
                let mut out = String::new();
                bridle_sexp::canonical(tree.root(), &mut out);
                Ok(out)
            })
        }
        BRIDLE_OWNED => {
            let value = bridle_sexp::read_one(text)?.root().to_value();
            Box::new(move || {
                let mut out = String::new();
                bridle_sexp::print(&value, Dialect::Lisp, &mut out);
                Ok(out)
            })
        }
        "serde_json::to_string" => {
            let value: serde_json::Value = serde_json::from_str(text)?;
            Box::new(move || Ok(serde_json::to_string(&value)?))
        }
        "simd-json encode" => {
            let value = simd_json::to_owned_value(&mut text.as_bytes().to_vec())?;
            Box::new(move || Ok(simd_json::prelude::Writable::encode(&value)))
        }
        "sonic-rs to_string" => {
            let value: sonic_rs::Value = sonic_rs::from_str(text)?;
            Box::new(move || Ok(sonic_rs::to_string(&value)?))
        }
        "lexpr" => {
            let value = lexpr::from_str_custom(text, lexpr::parse::Options::elisp())?;
            Box::new(move || Ok(lexpr::to_string_custom(&value, lexpr::print::Options::elisp())?))
        }
        other => bail!("no printer is called `{other}`"),
    })
}
