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
        let (parsed, forced) = bridle(text.as_bytes());
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
        #[expect(clippy::cast_precision_loss, reason = "a few million bytes")]
        let rate = text.len() as f64 / 1e3 / spread.median;
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
    growth(options, tables, verdicts);
    for (rival, target) in TARGETS {
        let time = Spread::of(if rival == ORGIZE { &orgize } else { &emacs }).median;
        let what = format!("org: speed over {rival}");
        verdicts.push(Verdict { what, target, got: time / own_time, bound: Bound::AtLeast });
    }
    Ok(())
}

/// Texts made to be slow on: what each is made of, and how much of it. The items are each in the one before.
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

/// Items in one another in the second of three texts. The first has fewer and the third has more, so that they too have
/// half as many bytes and twice as many.
const NESTED: usize = 3_000;

/// How much longer a byte may take in the longest text than in the shortest.
const GROWTH: f64 = 1.5;

/// Measures whether time grows as the text does.
fn growth(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) {
    let mut table = Table::new(
        "Hostile texts, objects forced: time as they grow",
        ["text, repeated", "ms", "ms for twice", "ms for four times", "a byte takes longer by"],
    );
    let repeated = HOSTILE.iter().map(|piece| {
        let texts = [1, 2, 4].map(|times| piece.repeat(times * HOSTILE_SIZE / piece.len()));
        (format!("`{}`", piece.replace('\n', "\\n").replace('|', "\\|")), texts)
    });
    let nested = || {
        // Bytes grow with the square of the depth.
        let texts = [NESTED * 1_000 / 1_414, NESTED, NESTED * 1_414 / 1_000].map(|deepest| {
            (0..deepest).map(|depth| format!("{}- a\n", " ".repeat(depth))).collect::<String>()
        });
        (format!("{NESTED} items in one another, half and twice as many bytes"), texts)
    };
    let mut worst: f64 = 0.0;
    for (name, texts) in repeated.chain([nested()]) {
        let times = texts.each_ref().map(|text| {
            let samples: Vec<f64> =
                (0..options.rounds()).map(|_| millis(bridle(text.as_bytes()).1)).collect();
            Spread::of(&samples).median
        });
        #[expect(clippy::cast_precision_loss, reason = "a few million bytes")]
        let [first, _, last] = [0, 1, 2].map(|index| times[index] / texts[index].len() as f64);
        worst = worst.max(last / first);
        let mut row = vec![Cell::text(name)];
        row.extend(times.map(|time| Cell::Number(time, 2)));
        row.push(Cell::Number(last / first, 2));
        table.push(row);
    }
    tables.push(table);
    let what = "org: growth of a byte's time over four times the text, worst".to_owned();
    verdicts.push(Verdict { what, target: GROWTH, got: worst, bound: Bound::AtMost });
}

/// Time for the elements, and for all.
fn bridle(text: &[u8]) -> (Duration, Duration) {
    let start = Instant::now();
    let tree = Tree::read(text);
    let parsed = start.elapsed();
    let (mut scratch, mut objects, mut count) = (Scratch::default(), Objects::default(), 0);
    for id in tree.ids() {
        tree.objects_into(id, &mut scratch, &mut objects);
        count += objects.nodes().len();
    }
    black_box(count);
    (parsed, start.elapsed())
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
