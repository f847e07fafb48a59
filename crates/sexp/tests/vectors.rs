//! Runs every vector of `vectors/sexp` against the reader, the printer and the JSON mapping.

#![allow(clippy::disallowed_methods, reason = "the crate has no IO; its vectors are files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bridle_sexp::json::{from_json, to_json};
use bridle_sexp::{Comments, Dialect, Reader, canonical, print, read_one};
use serde_json::Value;

/// The fewest vectors that a complete checkout has.
const AT_LEAST: usize = 400;

fn vectors() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sexp");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable vector file");
        for (number, line) in text.lines().enumerate() {
            let vector = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), number + 1));
            all.push(vector);
        }
    }
    all
}

fn input(vector: &Value) -> String {
    if let Some(text) = vector["in"].as_str() {
        return text.to_owned();
    }
    let repeat = &vector["in_repeat"];
    let times = repeat[1].as_u64().and_then(|times| usize::try_from(times).ok());
    repeat[0].as_str().expect("a text to repeat").repeat(times.expect("a number of times"))
}

fn reader(vector: &Value) -> Reader {
    let dialect = if vector["dialect"] == "emacs" { Dialect::Emacs } else { Dialect::Lisp };
    let comments = if vector["comments"] == true { Comments::Skip } else { Comments::Refuse };
    Reader::new().dialect(dialect).comments(comments)
}

/// The verdict that was reached, with what goes with it; `Err` tells what differs.
fn check(vector: &Value) -> Result<(), String> {
    let text = input(vector);
    let wanted = vector["verdict"].as_str().ok_or("no verdict")?;
    let tree = match reader(vector).read_one(&text) {
        Ok(tree) => tree,
        Err(error) => {
            let place = error.place();
            let at = serde_json::json!([place.line, place.column, place.offset]);
            let same = wanted == error.category().as_str() && vector["at"] == at;
            return if same { Ok(()) } else { Err(format!("got `{error}`")) };
        }
    };
    if wanted != "accept" {
        return Err("got accepted".into());
    }
    let mut got = String::new();
    canonical(tree.root(), &mut got);
    // Where nothing else is written, a repeated text is its own canonical text.
    if got != vector["canonical"].as_str().unwrap_or(&text) {
        return Err(format!("got canonical `{got}`"));
    }
    let value = tree.root().to_value();
    for dialect in [Dialect::Lisp, Dialect::Emacs] {
        let mut printed = String::new();
        print(&value, dialect, &mut printed);
        let again = Reader::new().dialect(dialect).read_one(&printed);
        let again = again.map_err(|error| format!("printed `{printed}`: {error}"))?;
        if again.root().to_value() != value {
            return Err(format!("printed `{printed}` reads differently"));
        }
    }
    let mut json = String::new();
    to_json(&value, &mut json);
    if vector["json"].as_str().is_some_and(|wanted| wanted != json) {
        return Err(format!("got JSON `{json}`"));
    }
    if from_json(&json).as_ref() != Ok(&value) {
        return Err(format!("JSON `{json}` reads differently"));
    }
    Ok(())
}

#[test]
fn every_vector_gets_its_verdict() {
    let vectors = vectors();
    let wrong: Vec<String> = vectors
        .iter()
        .filter_map(|vector| {
            check(vector).err().map(|trouble| format!("{}: {trouble}", vector["id"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(vectors.len() >= AT_LEAST, "only {} vectors", vectors.len());
    println!("sexp: {} passed, 0 failed", vectors.len());
}

#[test]
fn ids_are_dense() {
    let vectors = vectors();
    let ids: BTreeSet<&str> = vectors.iter().filter_map(|vector| vector["id"].as_str()).collect();
    let dense: BTreeSet<String> = (1..=vectors.len()).map(|n| format!("sexp-{n:04}")).collect();
    assert!(
        ids.iter().copied().eq(dense.iter().map(String::as_str)),
        "ids are not 1 to {}",
        vectors.len()
    );
}

#[test]
fn strings_are_exempt_from_the_atom_limit() {
    let text = format!("\"{}\"", "x".repeat(2 << 20));
    let tree = read_one(&text).expect("strings have no limit of their own");
    assert_eq!(tree.root().as_str().map(|contents| contents.len()), Some(2 << 20));
}
