//! Instruction counts under callgrind: `bridle-bench counts`. They hardly vary between runs and
//! machines, so two commits can be compared where clocks are too noisy.
//!
//! The program runs itself under valgrind, once for each work, as `bridle-bench count-region NAME`;
//! callgrind collects only inside the functions named `counted_..`.

use std::hint::black_box;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use bridle_sexp::Tree;

use crate::Options;
use crate::ast::Document;
use crate::codec;
use crate::report::{Cell, Table, Verdict};
use crate::visit::{self, Checksum};

/// Works that are counted: name, unit of work, how many units.
const WORKS: [(&str, &str, u64); 6] = [
    ("read", "byte", crate::ast::DOCUMENT_BYTES as u64),
    ("visit", "byte", crate::ast::DOCUMENT_BYTES as u64),
    ("print", "byte", crate::ast::DOCUMENT_BYTES as u64),
    ("print canonical source", "byte", crate::ast::DOCUMENT_BYTES as u64),
    ("health", "frame", HEALTH_FRAMES as u64),
    ("health in another spelling", "frame", HEALTH_FRAMES as u64),
];

/// Pipelined health checks of the codec's count.
const HEALTH_FRAMES: usize = 100_000;

/// Counts every work.
pub fn run(_: &Options, tables: &mut Vec<Table>, _: &mut Vec<Verdict>) -> Result<()> {
    let columns = ["work", "million instructions", "per", "instructions each"];
    let mut table = Table::new(
        "Instructions, by callgrind (org document; 100,000 pipelined health frames)",
        columns,
    );
    for (name, unit, units) in WORKS {
        let instructions = count(name)?;
        table.push(vec![
            Cell::text(name),
            Cell::Number(float(instructions) / 1e6, 2),
            Cell::text(unit),
            Cell::Number(float(instructions) / float(units), 2),
        ]);
    }
    tables.push(table);
    Ok(())
}

/// Runs one work under callgrind, and reads the total from what it prints.
pub fn count(name: &str) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*counted_{}*", name.split(' ').next().unwrap_or(name)))
        .arg(std::env::current_exe()?)
        .args(["count-region", name])
        .output()
        .context("cannot start `valgrind`: apt-get install valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "counting `{name}` failed: {said}");
    let total = said
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .context("callgrind gave no total")?
        .1;
    total.trim().parse().with_context(|| format!("bad total `{total}`"))
}

/// Does one work; under callgrind, only its `counted_` part is collected.
pub fn region(name: &str) -> Result<()> {
    match name {
        "read" => {
            let document = Document::org();
            black_box(counted_read(&document.sexp)?);
        }
        "visit" => {
            let document = Document::org();
            let tree = bridle_sexp::read_one(&document.sexp)?;
            black_box(counted_visit(&tree));
        }
        "print" | "print canonical source" => {
            let document = Document::org();
            let text = if name == "print" { &document.lines } else { &document.sexp };
            let tree = bridle_sexp::read_one(text)?;
            black_box(counted_print(&tree));
        }
        "health" | "health in another spelling" => {
            let check = if name == "health" { codec::PLAIN_CHECK } else { codec::OTHER_CHECK };
            let input = check.repeat(HEALTH_FRAMES);
            let answered = counted_health(&input)?;
            ensure!(answered == HEALTH_FRAMES, "answered {answered} of {HEALTH_FRAMES} frames");
        }
        other if other.starts_with("org ") => crate::org::region(&other["org ".len()..])?,
        other => bail!("no work is called `{other}`"),
    }
    Ok(())
}

#[inline(never)]
fn counted_read(text: &str) -> Result<Tree<'_>> {
    Ok(bridle_sexp::read_one(text)?)
}

#[inline(never)]
fn counted_visit(tree: &Tree<'_>) -> Checksum {
    visit::bridle(tree.root())
}

#[inline(never)]
fn counted_print(tree: &Tree<'_>) -> String {
    let mut out = String::new();
    bridle_sexp::canonical(tree.root(), &mut out);
    out
}

/// Decodes every frame, recognizes the check and writes the answer: a connection's work without
/// sockets.
#[inline(never)]
fn counted_health(input: &[u8]) -> Result<usize> {
    codec::answer_all(input)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below what an f64 can count")]
fn float(count: u64) -> f64 {
    count as f64
}
