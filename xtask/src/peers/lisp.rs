//! `cargo xtask peers lisp`: forms evaluated by `crates/lisp` and by SBCL. Printed text, values and the category of a
//! condition must be the same, or bridle refuses the form. Forms are those of `peers/lisp`, functions applied
//! to values from the tables of `peers/lisp/tables.txt`, and programs made at random from a seed.

mod conformance;
mod corpus;
mod evaluate;
mod generate;
mod sbcl;
mod shrink;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

pub(crate) use corpus::written_forms;

use crate::console::VerbConsole;
use evaluate::bridle_answer;
use sbcl::{SbclMode, SbclProcess};

pub(super) const HELP: &str = "\
usage: cargo xtask peers lisp [--generate N] [--seed S] [--show N]
       cargo xtask peers lisp --forms FILE [--show N]
       cargo xtask peers lisp --conformance FOLDER [--show N]

Evaluates the forms of peers/lisp and programs made at random in bridle and in SBCL, and compares output, values and
kinds of conditions.

  --generate N          only N programs made at random
  --seed S              which programs (default 1)
  --forms FILE          only the forms of this file, one on each line
  --show N              show so many differences (default 20)
  --conformance FOLDER  run the DEFTEST forms of a conformance suite instead, without SBCL";

/// Differences that are shown.
const SHOWN_DIFFERENCES: u64 = 20;

/// Programs of the short form, which `peers --check` runs.
const CHECKED_PROGRAMS: u64 = 2_000;

/// Seed where nobody names one.
const DEFAULT_SEED: u64 = 1;

/// Forms that SBCL gets at once.
const BATCH_FORMS: usize = 1_000;

/// Batches that one SBCL answers: its heap fills with what programs define.
const PROCESS_BATCHES: usize = 50;

/// One program in so many is compiled by SBCL, the others run in its interpreter, which starts sooner.
const COMPILED_SHARE: u64 = 20;

pub(super) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut programs, mut seed, mut shown) = (None, DEFAULT_SEED, SHOWN_DIFFERENCES);
    let (mut conformance, mut file) = (None, None);
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().with_context(|| format!("`{flag}` needs a value\n\n{HELP}"))?;
        let number = || value.parse().with_context(|| format!("`{value}` is no number"));
        match flag.as_str() {
            "--generate" => programs = Some(number()?),
            "--seed" => seed = number()?,
            "--show" => shown = number()?,
            "--forms" => file = Some(PathBuf::from(value)),
            "--conformance" => conformance = Some(PathBuf::from(value)),
            _ => bail!("unexpected argument `{flag}`\n\n{HELP}"),
        }
    }
    if let Some(folder) = conformance {
        return conformance::run(&folder, shown, console);
    }
    let mut tally = Tally { shown, ..Tally::default() };
    if let Some(file) = file {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        compare_forms(&corpus::lines_of(&text), &mut tally, console)?;
    } else {
        if programs.is_none() {
            compare_forms(&corpus::forms()?, &mut tally, console)?;
        }
        compare_programs(programs.unwrap_or(CHECKED_PROGRAMS), seed, &mut tally, console)?;
    }
    console.say(format!(
        "peers: {} forms, {} the same, {} refused, {} different",
        tally.same + tally.refused + tally.different,
        tally.same,
        tally.refused,
        tally.different
    ));
    tally.refusals.sort();
    if tally.different == 0 { Ok(()) } else { bail!("bridle and SBCL differ") }
}

/// Counts of one run.
#[derive(Default)]
struct Tally {
    same: u64,
    refused: u64,
    different: u64,
    shown: u64,
    refusals: Vec<String>,
}

/// Compares forms with SBCL's compiler.
fn compare_forms(forms: &[String], tally: &mut Tally, console: &VerbConsole) -> Result<()> {
    let mut process = SbclProcess::start(SbclMode::Compile)?;
    for batch in forms.chunks(BATCH_FORMS) {
        let answers = process.answer(batch)?;
        for (form, theirs) in batch.iter().zip(&answers) {
            match bridle_answer(form) {
                Err(name) => {
                    tally.refused += 1;
                    tally.refusals.push(name);
                }
                Ok(ours) if ours == *theirs => tally.same += 1,
                Ok(ours) => tally.note_difference(console, form, &ours, theirs),
            }
        }
    }
    Ok(())
}

/// Compares programs made at random. A difference with SBCL's interpreter is asked again of its compiler.
fn compare_programs(count: u64, seed: u64, tally: &mut Tally, console: &VerbConsole) -> Result<()> {
    let mut interpreter = SbclProcess::start(SbclMode::Interpret)?;
    let mut compiler = SbclProcess::start(SbclMode::Compile)?;
    let numbers: Vec<u64> = (0..count).collect();
    for (turn, batch) in numbers.chunks(BATCH_FORMS).enumerate() {
        if turn % PROCESS_BATCHES == PROCESS_BATCHES - 1 {
            interpreter = SbclProcess::start(SbclMode::Interpret)?;
            compiler = SbclProcess::start(SbclMode::Compile)?;
        }
        let programs: Vec<String> =
            batch.iter().map(|number| generate::program(seed, *number)).collect();
        let (compiled, interpreted): (Vec<_>, Vec<_>) =
            programs.into_iter().zip(batch).partition(|(_, number)| *number % COMPILED_SHARE == 0);
        for (share, process) in [(compiled, &mut compiler), (interpreted, &mut interpreter)] {
            let forms: Vec<String> = share.into_iter().map(|(form, _)| form).collect();
            let (forms, answers) = answer_all(process, &forms)?;
            compare_answers(&forms, &answers, tally, console)?;
        }
    }
    Ok(())
}

/// Answers of the forms that have one: a form that ends SBCL is left out, and a new SBCL goes on behind it.
fn answer_all(process: &mut SbclProcess, forms: &[String]) -> Result<(Vec<String>, Vec<String>)> {
    let (mut answered, mut answers) = (Vec::new(), Vec::new());
    let mut rest = forms;
    while !rest.is_empty() {
        let found = process.answer_some(rest)?;
        answered.extend_from_slice(&rest[..found.len()]);
        rest = &rest[found.len()..];
        answers.extend(found);
        if !rest.is_empty() {
            rest = &rest[1..];
            *process = SbclProcess::start(process.mode())?;
        }
    }
    Ok((answered, answers))
}

fn compare_answers(
    forms: &[String],
    answers: &[String],
    tally: &mut Tally,
    console: &VerbConsole,
) -> Result<()> {
    for (form, theirs) in forms.iter().zip(answers) {
        match bridle_answer(form) {
            Err(name) => {
                tally.refused += 1;
                tally.refusals.push(name);
            }
            Ok(ours) if ours == *theirs => tally.same += 1,
            Ok(_) if tally.different >= tally.shown => tally.different += 1,
            Ok(_) => match shrink::smallest_difference(form)? {
                Some((form, ours, theirs)) => tally.note_difference(console, &form, &ours, &theirs),
                None => tally.same += 1,
            },
        }
    }
    Ok(())
}

impl Tally {
    fn note_difference(&mut self, console: &VerbConsole, form: &str, ours: &str, theirs: &str) {
        self.different += 1;
        if self.different <= self.shown {
            console.say(format!("{form}\n  bridle {ours}\n  sbcl   {theirs}"));
        }
    }
}
