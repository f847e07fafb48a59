//! `cargo xtask peers edits`: every change that the memory offers, made by `crates/org` and by a real Emacs on the same
//! headings, which are made at random from a seed. What must be the same is the whole text, byte for byte; where bridle
//! differs on purpose, the difference has a name here and in docs/memory.md.

mod differences;
mod make;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use bridle_sexp::{Dialect, Reader, Value};

use crate::console::{ProgramRun, VerbConsole, root};
use differences::TextDifference;

#[path = "../../../crates/org/tests/it/changes.rs"]
mod changes;

use changes::{ChangeCase, recorded};

pub(super) const HELP: &str = "\
usage: cargo xtask peers edits [--headings N] [--seed S] [--show N]

Makes headings at random, changes each with crates/org and with Emacs, and compares the texts.

  --headings N   so many headings, each changed once (default 2000)
  --seed S       which ones (default 1)
  --show N       show so many of those that differ (default 10)";

/// Headings that are compared where nobody says how many, and as a part of `peers --check`.
const HEADINGS: u64 = 2000;
const CHECKED_HEADINGS: u64 = 200;

/// The seed of `peers --check`.
const SEED: u64 = 1;

/// Cases that one Emacs gets: enough to make its start cheap.
const BATCH: usize = 250;

/// Cases that differ that are shown.
const SHOWN: u64 = 10;

pub(super) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut headings, mut seed, mut shown) = (HEADINGS, SEED, SHOWN);
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let place = match flag.as_str() {
            "--headings" => &mut headings,
            "--seed" => &mut seed,
            "--show" => &mut shown,
            _ => bail!("unexpected argument `{flag}`\n\n{HELP}"),
        };
        let value = rest.next().with_context(|| format!("`{flag}` needs a number"))?;
        *place = value.parse().with_context(|| format!("`{value}` is no number"))?;
    }
    compare(headings, seed, shown, console)
}

/// The short form.
pub(super) fn check(console: &VerbConsole) -> Result<()> {
    compare(CHECKED_HEADINGS, SEED, SHOWN, console)
}

/// Number of headings compared, by operation, and of those that differ on purpose.
#[derive(Default)]
struct EditTally {
    operations: BTreeMap<String, u64>,
    named: BTreeMap<&'static str, u64>,
    different: u64,
}

fn compare(headings: u64, seed: u64, shown: u64, console: &VerbConsole) -> Result<()> {
    let forms: Vec<String> = (0..headings).map(|number| make::case(seed, number).form).collect();
    let reader = Reader::new().dialect(Dialect::Emacs);
    let read = |line: &str| -> Result<Value> {
        let tape = reader.read_one(line).with_context(|| format!("cannot read `{line}`"))?;
        Ok(tape.root().to_value())
    };
    let mut tally = EditTally::default();
    // After a change of state, Org in batch mode no longer finds the sibling to move a subtree past: those are asked apart.
    let (moves, others): (Vec<String>, Vec<String>) =
        forms.into_iter().partition(|form| form.contains(" move-up "));
    for batch in others.chunks(BATCH).chain(moves.chunks(BATCH)) {
        let printed = emacs(batch)?;
        let records: Vec<&str> = printed.lines().collect();
        if records.len() != batch.len() {
            bail!("Emacs did {} of {} changes", records.len(), batch.len());
        }
        for (form, record) in batch.iter().zip(records) {
            let case = ChangeCase::read(&read(form)?).context("a case that cannot be read")?;
            *tally.operations.entry(case.operation.clone()).or_default() += 1;
            let emacs = recorded(&read(record)?);
            let bridle = case.carry_out(&|_, _| ()).ok();
            match differences::between(&case, emacs.as_deref(), bridle.as_deref()) {
                TextDifference::None => {}
                TextDifference::Named(name) => *tally.named.entry(name).or_default() += 1,
                TextDifference::Other => {
                    tally.different += 1;
                    if tally.different <= shown {
                        let shown = show(form, emacs.as_deref(), bridle.as_deref());
                        console.say(format!("{}: {shown}", case.name));
                    }
                }
            }
        }
    }
    report(headings, &tally, console)
}

fn report(headings: u64, tally: &EditTally, console: &VerbConsole) -> Result<()> {
    let operations: Vec<String> =
        tally.operations.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let named: u64 = tally.named.values().sum();
    let same = headings - tally.different - named;
    console.say(format!("peers: {headings} headings changed ({})", operations.join(", ")));
    console.say(format!(
        "peers: {same} as Emacs does, {named} differ on purpose, {} otherwise",
        tally.different
    ));
    for (name, count) in &tally.named {
        console.say(format!("  {count} {name}: {}", differences::meaning(name)));
    }
    if tally.different > 0 {
        bail!("{} changes are not those of Emacs", tally.different);
    }
    Ok(())
}

/// Results of Emacs for the cases, a line for each.
fn emacs(cases: &[String]) -> Result<String> {
    let place = |name: &str| root().join(format!("target/org-edits-{}.{name}", std::process::id()));
    let (asked, out) = (place("cases"), place("out"));
    fs::write(&asked, cases.join("\n")).context("cannot write the cases")?;
    ProgramRun::new("emacs")
        .args(["-Q", "--batch", "-l", "peers/emacs/org-edits.el"])
        .args([&out, &asked])
        .stdout()?;
    let printed = fs::read_to_string(&out).context("cannot read what Emacs wrote")?;
    for file in [asked, out] {
        fs::remove_file(file).context("cannot remove what Emacs wrote")?;
    }
    Ok(printed)
}

fn show(form: &str, emacs: Option<&[Vec<u8>]>, bridle: Option<&[Vec<u8>]>) -> String {
    let text = |texts: Option<&[Vec<u8>]>| match texts {
        None => "refused".to_owned(),
        Some(texts) => format!("{:?}", String::from_utf8_lossy(&texts.join(&b'|'))),
    };
    format!("{form}\n  emacs  {}\n  bridle {}", text(emacs), text(bridle))
}
