//! Org readers side by side on one file of five mebibytes, objects forced: `bridle-bench org`. The tree of bridle, that of
//! orgize, and `org-element-parse-buffer` in Emacs. The two in Rust run in this process, one after the other; Emacs runs
//! in its own and measures itself, the buffer already there.

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bridle_org::{Objects, Scratch, Tree};

use crate::Options;
use crate::counts;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::repository;
use crate::stats::Spread;

/// Size of the file, in bytes.
const SIZE: usize = 5 << 20;

/// Speed over each rival that the design asks for.
const TARGETS: [(&str, f64); 2] = [(ORGIZE, 5.0), (EMACS, 100.0)];

const ORGIZE: &str = "orgize 0.10 alpha";
const EMACS: &str = "org-element of Emacs";

/// Runs all readers over the file.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let text = document();
    let (mut own, mut elements, mut orgize) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds() {
        let (parsed, forced) = Lists::default().read(text.as_bytes());
        elements.push(millis(parsed));
        own.push(millis(forced));
    }
    // Not by turns: what orgize frees, the allocator sorts out when somebody else asks for a lot.
    for _ in 0..options.rounds() {
        let start = Instant::now();
        // Freeing is left out for everybody, which favors those that allocate most.
        let parsed = black_box(orgize::Org::parse(&text));
        orgize.push(millis(start.elapsed()));
        drop(parsed);
    }
    let emacs = emacs(&text, if options.quick { 1 } else { 3 })?;
    let mut table = Table::new(
        format!("Read an Org file of {} bytes, objects forced", text.len()),
        ["reader", "median ms", "lowest", "highest", "MB/s", "bridle is faster by"],
    );
    let own_time = Spread::of(&own).median;
    for (name, samples) in [
        ("bridle", &own),
        ("bridle, elements alone", &elements),
        (ORGIZE, &orgize),
        (EMACS, &emacs),
    ] {
        let spread = Spread::of(samples);
        let rate = float(text.len()) / 1e3 / spread.median;
        table.push(vec![
            Cell::text(name),
            Cell::Number(spread.median, 2),
            Cell::Number(spread.low, 2),
            Cell::Number(spread.high, 2),
            Cell::Number(rate, 1),
            Cell::Number(spread.median / own_time, 2),
        ]);
    }
    tables.push(table);
    growth(options, tables, verdicts)?;
    for (rival, target) in TARGETS {
        let time = Spread::of(if rival == ORGIZE { &orgize } else { &emacs }).median;
        let what = format!("org: speed over {rival}");
        verdicts.push(Verdict { what, target, got: time / own_time, bound: Bound::AtLeast });
    }
    Ok(())
}

/// Texts made to be slow on: what each is made of.
const HOSTILE: &[&str] = &[
    "*a ",
    "*a /b _c ",
    "|",
    "| a ",
    "[[a][b ",
    "[fn:a:",
    "[cite:@a ",
    "<http:",
    "<2020-01-01+",
    "{{{a(",
    "a_{",
    "$a ",
    "\\begin{a}\n",
    "#+begin_x\n",
    ":d:\n",
    "#+caption: x\n",
    "- a\n",
    "* a\n",
    "\n",
];

/// Bytes of the smallest of three such texts; the others are twice and four times as long.
const HOSTILE_SIZE: usize = 1 << 20;

/// Bytes of the texts whose instructions are counted: callgrind takes fifty times as long.
const COUNTED_SIZES: [usize; 2] = [128 << 10, 512 << 10];

/// Factor by which a byte may take longer in the longest text than in the shortest, and how many more instructions. A search
/// by halves may be among them; anything else grows with the text.
const GROWTH: f64 = 1.5;
const INSTRUCTIONS_GROWTH: f64 = 1.1;

/// Measures whether time grows as the text does, and instructions.
fn growth(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let mut table = Table::new(
        "Hostile texts, objects forced: time and instructions as they grow",
        [
            "text, repeated",
            "ms",
            "ms for twice",
            "ms for four times",
            "a byte takes longer by",
            "instructions a byte",
            "more for four times, by",
        ],
    );
    let (mut slower, mut more): (f64, f64) = (0.0, 0.0);
    for number in 0..=HOSTILE.len() {
        let texts = [1, 2, 4].map(|times| hostile(number, times * HOSTILE_SIZE));
        let mut lists = Lists::default();
        let times = texts.each_ref().map(|text| {
            // The lists have grown when it is measured, as for a caller that reads more than one text.
            lists.read(text.as_bytes());
            let samples: Vec<f64> =
                (0..options.rounds()).map(|_| millis(lists.read(text.as_bytes()).1)).collect();
            Spread::of(&samples).median
        });
        let [first, _, last] = [0, 1, 2].map(|index| times[index] / float(texts[index].len()));
        let instructions = counted(number)?;
        slower = slower.max(last / first);
        more = more.max(instructions[1] / instructions[0]);
        let mut row = vec![Cell::text(name(number))];
        row.extend(times.map(|time| Cell::Number(time, 2)));
        row.push(Cell::Number(last / first, 2));
        row.push(Cell::Number(instructions[0], 1));
        row.push(Cell::Number(instructions[1] / instructions[0], 3));
        table.push(row);
    }
    tables.push(table);
    for (what, target, got) in [
        ("org: growth of a byte's time over four times the text, worst", GROWTH, slower),
        ("org: growth of a byte's instructions, the same", INSTRUCTIONS_GROWTH, more),
    ] {
        verdicts.push(Verdict { what: what.to_owned(), target, got, bound: Bound::AtMost });
    }
    Ok(())
}

/// A hostile text of about so many bytes; behind the repeated ones comes one of items each in the one before.
fn hostile(number: usize, bytes: usize) -> String {
    match HOSTILE.get(number) {
        Some(piece) => piece.repeat(bytes / piece.len()),
        None => {
            // Bytes grow with the square of the depth.
            let deepest = (2 * bytes).isqrt();
            (0..deepest).map(|depth| format!("{}- a\n", " ".repeat(depth))).collect()
        }
    }
}

fn name(number: usize) -> String {
    match HOSTILE.get(number) {
        Some(piece) => format!("`{}`", piece.replace('\n', "\\n").replace('|', "\\|")),
        None => "items in one another".to_owned(),
    }
}

/// Instructions for a byte of the two texts that are counted.
fn counted(number: usize) -> Result<[f64; 2]> {
    let mut found = [0.0; 2];
    for (found, size) in found.iter_mut().zip(COUNTED_SIZES) {
        let instructions = counts::count(&format!("org {number} {size}"))?;
        *found = instructions as f64 / float(hostile(number, size).len());
    }
    Ok(found)
}

/// Reads the hostile text `NUMBER BYTES` once, for whoever counts instructions.
pub fn region(text: &str) -> Result<()> {
    let (number, bytes) = text.split_once(' ').context("expected a number and bytes")?;
    let text = hostile(number.parse()?, bytes.parse()?);
    black_box(counted_org(text.as_bytes()));
    Ok(())
}

#[inline(never)]
fn counted_org(text: &[u8]) -> Duration {
    Lists::default().read(text).1
}

fn float(count: usize) -> f64 {
    count as f64
}

/// Lists that are used for one text after the other.
#[derive(Default)]
struct Lists {
    scratch: Scratch,
    objects: Objects,
}

impl Lists {
    /// Time for the elements, and for all.
    fn read(&mut self, text: &[u8]) -> (Duration, Duration) {
        let start = Instant::now();
        let tree = Tree::read(text);
        let parsed = start.elapsed();
        let mut count = 0;
        for id in tree.ids() {
            tree.objects_into(id, &mut self.scratch, &mut self.objects);
            count += self.objects.nodes().len();
        }
        black_box(count);
        (parsed, start.elapsed())
    }
}

/// Milliseconds that Emacs says it took.
fn emacs(text: &str, rounds: usize) -> Result<Vec<f64>> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let file = folder.path().join("large.org");
    std::fs::write(&file, text).context("cannot write the file")?;
    let script = repository().join("bench/lisp/org.el");
    let mut command = Command::new("emacs");
    command.args(["-Q", "--batch", "-l"]).arg(script).arg(&file).arg(rounds.to_string());
    let output = command.output().context("cannot start emacs")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let samples: Vec<f64> = printed.lines().filter_map(|line| line.parse().ok()).collect();
    ensure!(samples.len() == rounds, "emacs measured {} rounds of {rounds}", samples.len());
    Ok(samples)
}

/// A file as people keep them: headlines with plans and properties, prose with markup and links, lists, tables, code.
fn document() -> String {
    let mut text = String::with_capacity(SIZE + 4096);
    text.push_str("#+TITLE: Notes\n#+TODO: TODO NEXT | DONE\n\n");
    let mut number = 0_usize;
    while text.len() < SIZE {
        number += 1;
        let stars = "*".repeat(1 + number % 4);
        let state = ["", "TODO ", "DONE ", "NEXT [#A] "][number % 4];
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{stars} {state}Entry {number} about /something/ :tag:n{number}:\n\
             SCHEDULED: <2026-11-{day:02} Sun 10:00 +1w>\n\
             :PROPERTIES:\n:ID: id-{number}\n:CREATED: [2026-11-{day:02} Sun]\n:END:\n\
             A paragraph with *bold words*, =verbatim= and ~code~, a [[https://example.org/{number}][link to it]], a plain\n\
             https://example.org/page_{number}, some H_2O and x^{{2}}, a footnote[fn:{number}] and the rest of the prose that\n\
             goes on for a while, as prose does, without anything special in it until the end of the line.\n\n\
             - [X] first item :: with a tag and some words\n  - nested item [1/2]\n    more text of it\n\
             - [ ] second item of the list, see \\alpha and $x + y$\n  1. numbered\n  2. again\n\n\
             | name | value | *sum* |\n|------+-------+-------|\n| a | {number} | <2026-11-{day:02}> |\n| b | 2 | 3 |\n\
             #+TBLFM: $3=$2\n\n\
             #+begin_src rust :tangle no\nfn main() {{\n    println!(\"{number}\");\n}}\n#+end_src\n\n\
             [fn:{number}] A note with {{{{{{macro({number})}}}}}} in it.\n\n",
            day = 1 + number % 28,
        );
    }
    text
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
