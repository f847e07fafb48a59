//! The properties of `fuzz/properties.rs` on stable, in every test run: the vectors, and mutations of
//! them from a fixed seed. The same cases every time; `cargo xtask fuzz` looks for new ones.
#![allow(clippy::disallowed_methods, reason = "the corpus is files")]

use std::fs;
use std::path::Path;

use bridle_wire::openharness::MessageLimits;
use bridle_wire::openharness::json::{JsonDocument, JsonFault};

#[path = "../../../fuzz/properties.rs"]
mod properties;

/// Mutations of each vector: with some hundred vectors a folder, a few seconds in a debug build.
const MUTATIONS: usize = 300;

/// Fewer where every case is read three times over, in six ways.
const FRAME_MUTATIONS: usize = 12;

/// Fewer where every case is read in two ways as nine documents.
const DOCUMENT_MUTATIONS: usize = 50;

/// Longer vectors are about limits; mutating them would only be slow.
const MAX_INPUT_BYTES: usize = 4096;

/// Pieces that mean something to one of the readers.
const PIECES: &[&str] = &[
    "(",
    ")",
    "\"",
    "\\",
    "|",
    "#",
    "'",
    "`",
    ",",
    ",@",
    ".",
    " . ",
    ":",
    "::",
    ";",
    "#|",
    "|#",
    "#(",
    "[",
    "]",
    "?",
    "#\\",
    "#:",
    "#'",
    "#x",
    "1/2",
    "1.5d0",
    "-0.0",
    "nil",
    "NIL",
    "t",
    ":type ",
    ":id 1 ",
    ":payload (:sensor :user-prompt) ",
    "\n",
    "\u{0}",
    "\u{7f}",
    "\u{e9}",
    "\u{4e2d}",
    "\u{1f40e}",
    "000003",
    "00000A",
    "ffffff",
    "000000",
    "(:a)",
    "000005(:a)",
    " ",
    "{",
    "}",
    ":null",
    "true",
    "\\u00e9",
    "\\ud83d",
    "\"request_id\":\"r\",",
    "\"protocol_version\":\"1.0.0\"",
    "\"request\":{\"context\":{\"user_intent\":\"hi\"}}",
    "1e400",
    "NaN",
];

#[test]
fn sexp_read() {
    run("sexp", &[], MUTATIONS, properties::sexp_read);
}

#[test]
fn sexp_roundtrip() {
    run("sexp", &[], MUTATIONS, properties::sexp_roundtrip);
}

#[test]
fn frame_decode() {
    for mode in [[0, 7], [1, 8], [2, 9], [4, 10], [8, 11], [9, 12]] {
        run("frame", &mode, FRAME_MUTATIONS, properties::frame_decode);
    }
}

#[test]
fn message_decode() {
    run("message", &[], MUTATIONS, properties::message_decode);
}

#[test]
fn openharness_read() {
    run("openharness", &[], DOCUMENT_MUTATIONS, properties::openharness_read);
}

/// Another reader agrees on what is JSON, but for what is refused here on purpose.
#[test]
fn openharness_agrees_with_serde_json() {
    run("openharness", &[], DOCUMENT_MUTATIONS, |data| {
        let ours = JsonDocument::read(data, &MessageLimits::default());
        let theirs = serde_json::from_slice::<serde_json::Value>(data);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                // Theirs rounds numbers and sorts keys: compare what neither touches.
                let strings = ours.root().descendants().filter(|node| node.as_str().is_some());
                assert_eq!(strings.count(), count_strings(&theirs));
            }
            (Ok(_), Err(error)) => {
                let why = error.to_string();
                let known = ["number out of range", "recursion limit exceeded"];
                assert!(known.iter().any(|known| why.starts_with(known)), "{why}");
            }
            (Err(broken), Ok(_)) => assert_eq!(broken.fault, JsonFault::DuplicateKey),
            (Err(_), Err(_)) => {}
        }
    });
}

fn count_strings(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(_) => 1,
        serde_json::Value::Array(items) => items.iter().map(count_strings).sum(),
        serde_json::Value::Object(fields) => {
            fields.values().map(|value| 1 + count_strings(value)).sum()
        }
        _ => 0,
    }
}

/// Checks every vector of a folder and its mutations; `prefix` goes in front of each.
fn run(folder: &str, prefix: &[u8], mutations: usize, property: fn(&[u8])) {
    let corpus = corpus(folder);
    assert!(corpus.len() >= 50, "only {} vectors in {folder}", corpus.len());
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for input in &corpus {
        property(&[prefix, input].concat());
        let mut mutated = input.clone();
        for _ in 0..mutations {
            mutate(&mut mutated, &corpus, &mut random);
            property(&[prefix, &mutated].concat());
        }
    }
}

fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(folder);
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("vectors").map(|entry| entry.expect("entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut corpus = Vec::new();
    for file in files {
        for line in fs::read_to_string(file).expect("a vector file is UTF-8").lines() {
            let vector: serde_json::Value = serde_json::from_str(line).expect("a vector is JSON");
            corpus.extend(input(&vector).filter(|input| input.len() <= MAX_INPUT_BYTES));
        }
    }
    corpus
}

fn input(vector: &serde_json::Value) -> Option<Vec<u8>> {
    if let Some(text) = vector["in"].as_str().or_else(|| vector["payload"].as_str()) {
        return Some(text.as_bytes().to_vec());
    }
    let hex = vector["in_hex"].as_str()?;
    let pairs = (0..hex.len()).step_by(2).map(|at| hex.get(at..at + 2));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// One small change: what a fuzzer does, without its patience.
fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 => drop(bytes.drain(at..(at + random.below(8)).min(bytes.len()))),
        2 => {
            let other = &corpus[random.below(corpus.len())];
            let start = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[start..]);
        }
        3 => {
            let end = (at + random.below(32)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            let piece = PIECES[random.below(PIECES.len())];
            bytes.splice(at..at, piece.bytes());
        }
    }
    bytes.truncate(MAX_INPUT_BYTES);
}

/// Marsaglia's xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % bound
    }
}
