//! `bridle org`: whether a file comes back as it was, and what it is made of.

use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use bridle_org::{Count, Fact, Shown, Span, Tree};

use super::record::print;
use crate::args::org as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(verb: &args::OrgCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::OrgCommand::Check { files, json } => check(files, *json),
        args::OrgCommand::Tree(args) => tree(args),
    }
}

/// Reads every file, whatever becomes of the others.
fn check(files: &[PathBuf], as_json: bool) -> Result<BridleExit, CommandFailure> {
    let (mut bytes, mut is_good) = (0_usize, true);
    for file in files {
        let read = read(file);
        let loss = read.as_ref().ok().and_then(|source| Tree::read(source).first_loss());
        is_good &= read.is_ok() && loss.is_none();
        bytes += read.as_ref().map_or(0, Vec::len);
        if as_json {
            print(&checked(file, &read, loss))?;
            continue;
        }
        match (&read, loss) {
            // Where nobody reads that, the exit code says it.
            (Err(failed), _) => drop(write!(io::stderr().lock(), "{failed}")),
            (_, Some(offset)) => {
                print(&format!("{}: differs at byte {offset}\n", file.display())).map(drop)?;
            }
            _ => {}
        }
    }
    if !is_good {
        return Ok(BridleExit::Answered);
    }
    let count = files.len();
    let files = if count == 1 { "file" } else { "files" };
    let same = format!("{count} {files}, {bytes} bytes: the same\n");
    if as_json { Ok(BridleExit::Ok) } else { print(&same) }
}

/// Result for one file, as a line of JSON.
fn checked(file: &Path, read: &Result<Vec<u8>, CommandFailure>, loss: Option<usize>) -> String {
    let status = match (read, loss) {
        (Err(_), _) => "unreadable",
        (_, Some(_)) => "differs",
        _ => "same",
    };
    let null = || "null".to_owned();
    let line = object(&[
        ("file", quoted(&file.to_string_lossy())),
        ("status", quoted(status)),
        ("bytes", read.as_ref().map_or_else(|_| null(), |source| source.len().to_string())),
        ("offset", loss.map_or_else(null, |offset| offset.to_string())),
        ("reason", read.as_ref().err().map_or_else(null, |failed| quoted(failed.what()))),
    ]);
    format!("{line}\n")
}

fn tree(args: &args::OrgTreeArgs) -> Result<BridleExit, CommandFailure> {
    let source = read(&args.file)?;
    let count = if args.chars { Count::Characters } else { Count::Bytes };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut result = Ok(());
    Tree::read(&source).show(count, |node| {
        if result.is_ok() {
            let line = match (args.json, args.sexp) {
                (true, _) => json(node).into_bytes(),
                (_, true) => node.sexp(),
                _ => plain(node).into_bytes(),
            };
            result = out.write_all(&line).and_then(|()| out.write_all(b"\n"));
        }
    });
    match result.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::because(BridleExit::Io, "cannot write", &error))
        }
        _ => Ok(BridleExit::Ok),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, CommandFailure> {
    let mut bytes = Vec::new();
    let result = if file == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    let name = file.display();
    let failed = |error| {
        CommandFailure::because(BridleExit::NoInput, format!("cannot read `{name}`"), &error)
    };
    result.map_err(failed).map(|()| bytes)
}

/// A line for people: how deep, what, where, and what it says.
fn plain(node: &Shown<'_>) -> String {
    let Span { start, end } = node.span;
    let mut line = format!("{}{} {start}-{end}", "  ".repeat(node.depth), node.node.kind.name());
    for (name, fact) in node.facts.iter().filter(|(_, fact)| !matches!(fact, Fact::Nil)) {
        if !matches!(fact, Fact::List(all) if all.is_empty()) {
            line.push_str(&format!(" {name}={}", value(fact)));
        }
    }
    line
}

fn json(node: &Shown<'_>) -> String {
    let span = |span: Span| format!("[{},{}]", span.start, span.end);
    let facts: Vec<(&str, String)> =
        node.facts.iter().map(|(name, fact)| (*name, value(fact))).collect();
    object(&[
        ("depth", node.depth.to_string()),
        ("type", quoted(node.node.kind.name())),
        ("span", span(node.span)),
        ("contents", node.contents.map_or_else(|| "null".to_owned(), span)),
        ("after_affiliated", node.after_affiliated.to_string()),
        ("facts", object(&facts)),
    ])
}

/// A value as JSON. Bytes that are no text are replaced.
fn value(fact: &Fact<'_>) -> String {
    match fact {
        Fact::True => "true".to_owned(),
        Fact::Number(number) => number.to_string(),
        Fact::Word(word) => quoted(word),
        Fact::Text(text) => quoted(&String::from_utf8_lossy(text)),
        Fact::List(all) => {
            // What is in a list is never a list.
            let leaves = all.iter().filter(|fact| !matches!(fact, Fact::List(_)));
            format!("[{}]", leaves.map(value).collect::<Vec<_>>().join(","))
        }
        _ => "null".to_owned(),
    }
}
