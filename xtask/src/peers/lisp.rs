//! `cargo xtask peers lisp`: forms evaluated by `crates/lisp` and by SBCL. Printed text, values and the category of a
//! condition must be the same, or bridle refuses the form. Forms are those of `peers/lisp/forms.txt`, and functions
//! applied to values from the tables of `peers/lisp/tables.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use bridle_lisp::{Instance, InstanceLimits, LispErrorKind};

use crate::console::{VerbConsole, root};

pub(super) const HELP: &str = "\
usage: cargo xtask peers lisp

Evaluates the forms of peers/lisp in bridle and in SBCL and compares output, values and kinds of conditions.";

/// Differences that are shown.
const SHOWN: usize = 20;

pub(super) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    let forms = forms()?;
    let theirs = sbcl(&forms)?;
    if theirs.len() != forms.len() {
        bail!("SBCL answered {} of {} forms", theirs.len(), forms.len());
    }
    let (mut same, mut refused) = (0, 0);
    let mut different = Vec::new();
    for (form, theirs) in forms.iter().zip(&theirs) {
        match ours(form) {
            None => refused += 1,
            Some(ours) if ours == *theirs => same += 1,
            Some(ours) => different.push(format!("{form}\n  bridle {ours}\n  sbcl   {theirs}")),
        }
    }
    different.iter().take(SHOWN).for_each(|line| console.say(line));
    console.say(format!(
        "peers: {} forms, {same} the same, {refused} refused, {} different",
        forms.len(),
        different.len()
    ));
    if different.is_empty() { Ok(()) } else { bail!("bridle and SBCL differ") }
}

/// All forms: written ones, and functions applied to values.
fn forms() -> Result<Vec<String>> {
    let read = |name: &str| {
        let path = root().join("peers/lisp").join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let mut forms: Vec<String> = read("forms.txt")?.lines().map(str::to_owned).collect();
    let tables = read("tables.txt")?;
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in tables.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(": ").context("a table without a name")?;
        rows.entry(name).or_default().extend(rest.split(" | "));
    }
    let row = |name: &str| rows.get(name).with_context(|| format!("no table `{name}`"));
    for function in row("functions of one")? {
        forms.extend(row("values")?.iter().map(|value| format!("({function} {value})")));
    }
    for function in row("functions of two")? {
        for one in row("operands")? {
            forms.extend(row("operands")?.iter().map(|two| format!("({function} {one} {two})")));
        }
    }
    Ok(forms)
}

/// What SBCL says of each form.
fn sbcl(forms: &[String]) -> Result<Vec<String>> {
    let mut child = Command::new("sbcl")
        .args(["--script", "peers/sbcl/lisp-forms.lisp"])
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start sbcl")?;
    let mut input = child.stdin.take().context("sbcl has no input")?;
    let text = forms.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().context("cannot read what sbcl says")?;
    if !matches!(writer.join(), Ok(Ok(()))) {
        bail!("sbcl did not read all forms");
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// What bridle says of a form, in the same words; `None` when it refuses it.
fn ours(form: &str) -> Option<String> {
    let mut instance = Instance::new(InstanceLimits::default());
    let mut shown = Vec::new();
    let text = match instance.evaluate(form, "form", |values| shown = values.to_vec()) {
        Ok(()) => shown.join(" ; "),
        Err(error) => match error.kind {
            LispErrorKind::Condition(name) => format!("!{}", category(&name)),
            LispErrorKind::Outside => return None,
            LispErrorKind::Limit(limit) => format!("!LIMIT {}", limit.name()),
            LispErrorKind::Syntax | LispErrorKind::Incomplete => "!READER-ERROR".to_owned(),
        },
    };
    let escape = |text: &str| text.replace('\\', "\\\\").replace('\n', "\\n");
    Some(format!("{}|{}", escape(&instance.take_output()), escape(&text)))
}

/// The class that `peers/sbcl/lisp-forms.lisp` would name.
fn category(name: &str) -> &str {
    match name {
        "SIMPLE-TYPE-ERROR" | "INDEX-ERROR" | "CASE-FAILURE" => "TYPE-ERROR",
        "SIMPLE-PROGRAM-ERROR" => "PROGRAM-ERROR",
        "SIMPLE-CONTROL-ERROR" => "CONTROL-ERROR",
        "SIMPLE-PARSE-ERROR" => "PARSE-ERROR",
        "SIMPLE-READER-ERROR" => "READER-ERROR",
        "SIMPLE-ERROR" | "FORMAT-ERROR" | "CELL-ERROR" => "ERROR",
        name if name.starts_with("FLOATING-POINT") => "ARITHMETIC-ERROR",
        name => name,
    }
}
