//! The reader against the Org of a real Emacs: the texts of `vectors/org`, and texts made of lines that Org
//! has opinions about. Both must see the same headings, properties, source blocks and keywords.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]
// The room does no IO; its tests run another program.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::{Path, PathBuf};
use std::process::Command;

use bridle_org::{Document, HeadingId, Property, TodoState};
use bridle_sexp::{Dialect, Reader, Value};

use crate::lines::LINES;

/// Pieces that change what the rest of their line means.
const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "TODO",
    "DONE",
    "[#A]",
    "[#",
    "]",
    "COMMENT",
    ":a:",
    ":b",
    ":",
    "::",
    "+",
    "x",
    "é",
    "日",
    "\"",
    "\\",
    "(",
    ")",
    "[",
    "-n",
    "+n",
    "10",
    "-l \"",
    "-i",
    "-r",
    ":tangle no",
    "_",
    "*",
    "#+",
    ",",
    "src",
    "@",
    "%",
    "<",
    ">",
];

/// Texts made at random, always the same ones.
const GENERATED: u64 = 150;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What Emacs sees in each file, in order.
fn emacs(files: &[PathBuf]) -> Vec<Value> {
    let mut command = Command::new("emacs");
    command.args(["-Q", "--batch", "-l", "peers/emacs/org-elements.el"]).args(files);
    let output = command.current_dir(root()).output().expect("emacs is installed");
    let printed = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "emacs failed after {} files: {said}",
        printed.lines().count()
    );
    let reader = Reader::new().dialect(Dialect::Emacs);
    printed.lines().map(|line| reader.read_one(line).unwrap().root().to_value()).collect()
}

fn nil() -> Value {
    Value::list([])
}

/// Emacs counts `\r\n` as one character when all lines end with it.
fn text(bytes: &[u8]) -> Value {
    Value::str(String::from_utf8(bytes.to_vec()).unwrap().replace("\r\n", "\n"))
}

fn option(bytes: Option<&[u8]>) -> Value {
    bytes.map_or_else(nil, text)
}

fn number(number: usize) -> Value {
    Value::int(i64::try_from(number).unwrap())
}

fn texts<'t>(all: impl IntoIterator<Item = &'t [u8]>) -> Value {
    Value::list(all.into_iter().map(text))
}

fn properties(all: &[Property]) -> Value {
    Value::list(all.iter().map(|property| texts([property.key, property.value])))
}

/// What bridle sees, in the shape that `org-elements.el` prints.
fn bridle(source: &[u8]) -> Value {
    let document = Document::read(source);
    let line_of = |id: HeadingId| number(document.heading(id).unwrap().line);
    let headings = document.headings().iter().map(|heading| {
        let subtree = source[..heading.subtree.end].trim_ascii_end();
        let last = document.line_at(subtree.len() - 1);
        let state = heading.todo.map_or_else(nil, |todo| match todo.state {
            TodoState::Open => Value::symbol("todo"),
            TodoState::Done => Value::symbol("done"),
        });
        let planning = heading.planning.as_ref();
        Value::list([
            number(heading.line),
            number(last),
            number(heading.level),
            option(heading.todo.map(|todo| todo.keyword)),
            state,
            option(heading.priority),
            Value::bool(heading.commented),
            text(heading.title),
            texts(heading.tags.iter().copied()),
            properties(&heading.properties),
            Value::list([
                option(planning.and_then(|planning| planning.scheduled)),
                option(planning.and_then(|planning| planning.deadline)),
                option(planning.and_then(|planning| planning.closed)),
            ]),
        ])
    });
    let blocks = document.sources().iter().map(|block| {
        let arguments = block.arguments();
        let arguments = arguments.iter().map(|argument| texts([argument.key, argument.value]));
        Value::list([
            number(document.line_at(block.span.start)),
            number(block.line),
            option(block.language),
            option(block.switches),
            option(block.parameters),
            text(&block.body()),
            option(block.name()),
            texts(block.captions()),
            block.heading.map_or_else(nil, line_of),
            Value::list(arguments),
        ])
    });
    let keywords = document.keywords().iter().map(|keyword| {
        let key = String::from_utf8(keyword.key.to_vec()).unwrap().to_uppercase();
        Value::list([number(keyword.line), Value::str(key), text(keyword.value)])
    });
    Value::list([
        Value::list(headings),
        Value::list(blocks),
        Value::list(keywords),
        texts(document.file_tags()),
        properties(document.properties()),
    ])
}

/// Compares file by file, and returns in how many of them Org itself failed.
fn compare(files: &[PathBuf]) -> usize {
    let seen = emacs(files);
    assert_eq!(seen.len(), files.len());
    let mut different = String::new();
    let failed = Value::symbol("failed");
    let count = seen.iter().filter(|value| **value == failed).count();
    for (file, expected) in files.iter().zip(seen).filter(|(_, value)| *value != failed) {
        let source = std::fs::read(file).unwrap();
        let got = bridle(&source);
        let parts = expected.elements().unwrap().iter().zip(got.elements().unwrap());
        for (expected, got) in parts.filter(|(expected, got)| expected != got) {
            let (name, source) = (file.display(), String::from_utf8_lossy(&source));
            different += &format!("{name}\n  emacs  {expected}\n  bridle {got}\n{source}\n====\n");
        }
    }
    assert!(different.is_empty(), "{different}");
    count
}

#[test]
fn the_texts_of_the_vectors() {
    let folder = root().join("vectors/org");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Where a level is not a number of stars, the tree has it, a document has not.
    let odd = ["outline-odd-levels.org", "settings-startup.org"];
    files.retain(|file| file.is_file() && !odd.iter().any(|name| file.ends_with(name)));
    files.sort();
    assert!(files.len() >= 60, "{} texts, expected at least 60", files.len());
    assert_eq!(compare(&files), 0);
}

/// Numbers that look random and are always the same (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// Files with the texts that `make` returns for the numbers from 1 on.
fn generated(make: impl Fn(Dice) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let write = |seed: u64| {
        let file = folder.path().join(format!("{seed:04}.org"));
        std::fs::write(&file, make(Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))).unwrap();
        file
    };
    let files: Vec<PathBuf> = (1..=GENERATED).map(write).collect();
    let failed = compare(&files);
    assert!(failed * 100 < files.len(), "Org failed {failed} times");
}

#[test]
fn texts_made_of_lines_that_org_knows() {
    generated(|mut dice| {
        let count = 5 + dice.roll(40);
        let lines: Vec<&str> = (0..count).map(|_| LINES[dice.roll(LINES.len())]).collect();
        let ends = ["\n", "\n", "\n", "\r\n"][dice.roll(4)];
        let last = ["", ends][dice.roll(2)];
        lines.join(ends) + last
    });
}

#[test]
fn lines_made_of_pieces_that_org_knows() {
    generated(|mut dice| {
        let mut row = |start: &str| {
            let pieces = (0..dice.roll(9)).map(|_| PIECES[dice.roll(PIECES.len())]);
            pieces.fold(start.to_owned(), |row, piece| row + piece)
        };
        let mut text = String::new();
        for _ in 0..8 {
            let (heading, planning, property) =
                (row("** "), row("SCHEDULED: <2026-11-15 Sun>"), row(":A"));
            let (name, header, body) = (row("#+name:"), row("#+begin_src"), row(""));
            let (caption, keyword) = (row("#+caption"), row("#+"));
            text += &format!("{heading}\n{planning}\n:PROPERTIES:\n{property}\n:END:\n{keyword}\n");
            text += &format!("{caption}\n{name}\n{header}\n{body}\n#+end_src\n");
        }
        text
    });
}
