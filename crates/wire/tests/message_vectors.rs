//! Runs every line of `vectors/message` against the message model.
//!
//! What the fields mean is in `docs/protocol.md`, section "Vectors".

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![allow(clippy::disallowed_methods, reason = "the vectors are files")]

use std::collections::HashSet;
use std::fs;
use std::path::Path as FilePath;

use bridle_sexp::{Dialect, Reader};
use bridle_wire::oacp::health::{HealthCheck, HealthResponse, HealthStatus};
use bridle_wire::oacp::{self, MessagePath, OacpCode, OacpMessage, PathStep, UnreadableText};
use serde_json::Value as Json;

#[test]
fn message_vectors() {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/message");
    let mut ids = HashSet::new();
    let mut codes = HashSet::new();
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let row: Json = serde_json::from_str(line).unwrap();
            let id = row["id"].as_str().unwrap().to_owned();
            check(&row);
            codes.extend(row["verdict"].as_str().map(str::to_owned));
            assert!(ids.insert(id.clone()), "{id} is there twice");
        }
    }
    assert!(ids.len() >= 70, "only {} vectors", ids.len());
    for number in 1..=ids.len() {
        assert!(ids.contains(&format!("message-{number:04}")), "number {number} is missing");
    }
    println!("message: {} passed, 0 failed", ids.len());
    for code in ["syntax", "not-a-plist", "missing-key", "wrong-type", "unknown-type"] {
        assert!(codes.contains(code), "no vector is refused with {code}");
    }
}

fn check(row: &Json) {
    match row["do"].as_str() {
        None => check_read(row),
        Some("sanitize") => {
            check_read(row);
            let tree = bridle_sexp::read_one(input(row)).unwrap();
            let clean = oacp::sanitize(&tree.root().to_value());
            assert_eq!(clean.to_string(), text(row, "out"), "{row}");
            assert_eq!(oacp::sanitize(&clean), clean, "{row}");
        }
        Some("strip") => {
            check_read(row);
            let mut message = oacp::read(input(row), &Reader::new()).unwrap();
            let dropped = oacp::strip_reserved(&mut message);
            let expected: Vec<Json> = row["dropped"].as_array().unwrap().clone();
            assert_eq!(dropped.iter().map(path_json).collect::<Vec<_>>(), expected, "{row}");
            assert_eq!(written(&message), text(row, "out"), "{row}");
            assert!(oacp::strip_reserved(&mut message).is_empty(), "{row}");
        }
        Some(other) => panic!("`{other}` is no known thing to do"),
    }
}

fn check_read(row: &Json) {
    let dialect = match row["dialect"].as_str() {
        Some("emacs") => Dialect::Emacs,
        None | Some("lisp") => Dialect::Lisp,
        Some(other) => panic!("`{other}` is no dialect"),
    };
    let reader = Reader::new().dialect(dialect);
    match oacp::read(input(row), &reader) {
        Ok(message) => check_accepted(row, &reader, &message),
        Err(unreadable) => check_refused(row, unreadable),
    }
}

fn check_accepted(row: &Json, reader: &Reader, message: &OacpMessage) {
    assert_eq!("accept", text(row, "verdict"), "{row}");
    assert_eq!(message.kind.as_str(), text(row, "type"), "{row}");
    let out = written(message);
    if let Some(expected) = row["written"].as_str() {
        assert_eq!(out, expected, "{row}");
    }
    assert_eq!(&oacp::read(&out, &Reader::new()).unwrap(), message, "reads back: {row}");
    let tree = reader.read_one(input(row)).unwrap();
    assert_eq!(OacpMessage::peek_type(&tree), Some(message.kind), "{row}");
    let asked = row["health"].as_str().map(|health| HealthCheck { detail: health == "detail" });
    if message.kind == oacp::MessageType::HealthCheck && asked.is_some() {
        assert_eq!(HealthCheck::from_tree(&tree), asked, "{row}");
        if let Some(reply) = row["reply"].as_str() {
            assert_eq!(HealthResponse::plain(HealthStatus::Healthy, true), reply, "{row}");
        }
    }
    if let Some(status) = row["status"].as_str() {
        let (got, checked) = HealthResponse::status_of(message).unwrap();
        assert_eq!((got.as_str(), checked), (status, row["checked"].as_bool().unwrap()), "{row}");
    }
}

fn check_refused(row: &Json, unreadable: UnreadableText) {
    let verdict = text(row, "verdict");
    let (code, path, place) = match &unreadable {
        UnreadableText::Syntax(error) => {
            if let Some(category) = row["category"].as_str() {
                assert_eq!(error.category().as_str(), category, "{row}");
            }
            (OacpCode::Syntax, MessagePath::ROOT, Some(error.place()))
        }
        UnreadableText::Invalid { invalid, .. } => {
            (invalid.code, invalid.path.clone(), invalid.place)
        }
    };
    assert_eq!(code.as_str(), verdict, "{unreadable}: {row}");
    assert_eq!(path_json(&path), row["path"], "{row}");
    if let Some(at) = row["at"].as_array() {
        let place = place.expect("a text always has places");
        let got = [place.line, place.column, place.offset].map(Json::from);
        assert_eq!(&got[..], &at[..], "{row}");
    }
    let answer = oacp::unreadable_response(unreadable);
    let out = written(&answer);
    if let Some(reply) = row["reply"].as_str() {
        assert_eq!(out, reply, "{row}");
    }
    let back = oacp::read(&out, &Reader::new()).unwrap();
    assert_eq!(back, answer, "an error frame reads back: {row}");
}

fn written(message: &OacpMessage) -> String {
    let mut out = String::new();
    message.write(&mut out);
    out
}

fn path_json(path: &MessagePath) -> Json {
    path.steps()
        .iter()
        .map(|step| match step {
            PathStep::Key(key) => Json::from(format!(":{key}")),
            PathStep::Index(index) => Json::from(*index),
        })
        .collect()
}

fn input(row: &Json) -> &str {
    text(row, "in")
}

fn text<'r>(row: &'r Json, key: &str) -> &'r str {
    row[key].as_str().unwrap_or_else(|| panic!("no `{key}` in {row}"))
}
