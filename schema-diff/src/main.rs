//! `cargo xtask schema-diff PATH` runs this: messages are made, valid and spoiled, and five judges say
//! whether each is good: the published schema at PATH, bridle's schema and bridle's reader, both strict
//! and lenient. Every difference must be justified by a row of the table in `docs/protocol.md`; one
//! that is not, ends the program with 1. Not part of the product, and needs no published schema to
//! build.

mod judge;
mod justify;
mod make;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use bridle_wire::openharness::SchemaDirection;

use judge::Judges;
use justify::Justifications;
use report::Report;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [published, document] = &arguments[..] else {
        bail!("usage: bridle-schema-diff SCHEMA|FOLDER DOCUMENT");
    };
    let justifications = Justifications::read(&text(document)?)?;
    let judges = Judges::new(&text(&schema_file(published)?)?)?;
    let mut report = Report::new(&justifications);
    for direction in [SchemaDirection::Request, SchemaDirection::Response] {
        for case in make::cases(direction) {
            report.add(&case, &judges.judge(direction, &case.text));
        }
    }
    examples(published, &judges, &mut report)?;
    let (page, good) = report.page();
    say(&page);
    Ok(good)
}

/// PATH itself, or the schema in the folder.
fn schema_file(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let mut found = json_files(path)?;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => bail!("`{}`: expected a schema, or a folder with exactly one", path.display()),
    }
}

/// Judges every message in the folder `examples` beside the schema, however deep.
fn examples(path: &Path, judges: &Judges, report: &mut Report<'_>) -> Result<()> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let mut open = vec![folder.join("examples")];
    while let Some(folder) = open.pop().filter(|folder| folder.is_dir()) {
        for file in json_files(&folder)? {
            let message = text(&file)?;
            let is_request = message.contains("\"request\":");
            let direction =
                if is_request { SchemaDirection::Request } else { SchemaDirection::Response };
            report.example(&file, &judges.judge(direction, &message));
        }
        for entry in folder.read_dir().with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            open.extend(path.is_dir().then_some(path));
        }
    }
    Ok(())
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = folder.read_dir().with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut files = list.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.is_file() && file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    Ok(files)
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

#[allow(clippy::print_stdout, reason = "this program prints a report")]
fn say(text: &str) {
    println!("{}", text.trim_end());
}
