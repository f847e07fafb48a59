//! Runs every frame vector of `vectors/frame` against the codec: in one piece and byte by byte.

#![allow(clippy::disallowed_methods, reason = "the crate has no IO; its vectors are files")]

use std::fs;
use std::path::{Path, PathBuf};

use bridle_wire::frame::{
    DecodeStep, DecoderOptions, FrameDecoder, FrameEncoder, LengthUnit, UnknownUnitPolicy,
};
use bridle_wire::seal::{FrameSigner, FrameVerifier, KeyId, SigningKey, SigningKeyring};
use serde_json::{Value, json};

/// Streams longer than this are not also given byte by byte: the blanks and pipelines of the
/// vectors gain nothing from it.
const BYTEWISE_MAX: usize = 4096;

#[test]
fn every_vector_gets_its_verdict() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, line) in lines() {
        let vector: Value = serde_json::from_str(&line).expect("a vector is JSON");
        count += 1;
        let check = match vector["do"].as_str() {
            Some("decode") => check_decode(&vector),
            Some("encode") => check_encode(&vector),
            other => Err(format!("expected `decode` or `encode`, got {other:?}")),
        };
        if let Err(reason) = check {
            failures.push(format!("{name} {} ({}): {reason}", vector["id"], vector["note"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= 80, "expected at least 80 vectors, got {count}");
    println!("frame: {count} passed, 0 failed");
}

#[test]
fn ids_are_dense_and_notes_are_there() {
    let mut ids: Vec<String> = Vec::new();
    for (name, line) in lines() {
        let vector: Value = serde_json::from_str(&line).expect("a vector is JSON");
        ids.push(vector["id"].as_str().expect("a vector has an id").to_owned());
        let note = vector["note"].as_str().unwrap_or_default();
        assert!(!note.is_empty(), "{name}: {} has no note", vector["id"]);
    }
    ids.sort();
    let dense: Vec<String> = (1..=ids.len()).map(|n| format!("frame-{n:04}")).collect();
    assert_eq!(ids, dense);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frame")
}

/// All vectors, each with the name of its file.
fn lines() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .expect("vectors/frame is there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut lines = Vec::new();
    for file in files {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("a vector file is UTF-8");
        lines.extend(text.lines().map(|line| (name.clone(), line.to_owned())));
    }
    lines
}

fn check_decode(vector: &Value) -> Result<(), String> {
    let input = input(vector);
    let expected = json!({
        "out": vector["out"], "end": vector["end"], "unit_after": vector["unit_after"],
    });
    compare(&decode(vector, &input, input.len().max(1)), &expected)?;
    if input.len() <= BYTEWISE_MAX {
        compare(&decode(vector, &input, 1), &expected).map_err(|why| format!("bytewise: {why}"))?;
    }
    Ok(())
}

fn check_encode(vector: &Value) -> Result<(), String> {
    let payload = match vector["payload_repeat"].as_array() {
        Some(repeat) => repeated(repeat),
        None => vector["payload"].as_str().expect("a payload").to_owned(),
    };
    let mut encoder = FrameEncoder::new(match vector["unknown_unit"].as_str() {
        None | Some("pad") => UnknownUnitPolicy::Pad,
        Some("bytes") => UnknownUnitPolicy::Bytes,
        Some("chars") => UnknownUnitPolicy::Chars,
        Some(other) => return Err(format!("unknown_unit `{other}`")),
    });
    if let Some(unit) = unit(vector) {
        encoder.set_unit(unit);
    }
    if let Some(max) = max_frame(vector) {
        encoder.set_max_frame(max);
    }
    if let Some(key) = key(vector) {
        encoder.set_signer(FrameSigner::v1(key));
    }
    let mut out = Vec::new();
    let got = match encoder.encode(&payload, &mut out) {
        Ok(()) => json!({"out": String::from_utf8(out).expect("a frame is UTF-8")}),
        Err(error) if out.is_empty() => json!({"error": error.code().as_str()}),
        Err(error) => return Err(format!("{error}, but something was written")),
    };
    let mut expected = json!({});
    for name in ["out", "error"] {
        if let Some(value) = vector.get(name) {
            expected[name] = value.clone();
        }
    }
    compare(&got, &expected)
}

/// What the stream gives when it arrives in pieces of `size` bytes.
fn decode(vector: &Value, input: &[u8], size: usize) -> Value {
    let mut options = DecoderOptions { unit: unit(vector), ..DecoderOptions::default() };
    if let Some(max) = max_frame(vector) {
        options.max_frame = max;
    }
    let mut decoder = match key(vector) {
        Some(key) => FrameDecoder::signed(options, FrameVerifier::v1(SigningKeyring::of(key))),
        None => FrameDecoder::new(options),
    };
    let mut out = Vec::new();
    let mut buffer = Vec::new();
    let mut lost = None;
    'pieces: for piece in input.chunks(size) {
        buffer.extend_from_slice(piece);
        loop {
            let drop = match decoder.decode(&buffer) {
                Ok(DecodeStep::Need { skip, .. }) => {
                    buffer.drain(..skip);
                    break;
                }
                Ok(DecodeStep::Frame { payload, consumed }) => {
                    let text = std::str::from_utf8(&buffer[payload]).expect("UTF-8");
                    out.push(json!({"payload": text}));
                    consumed
                }
                Ok(DecodeStep::Refused { consumed, error }) => {
                    out.push(json!({"error": error.code().as_str()}));
                    consumed
                }
                Err(error) => {
                    lost = Some(format!("lost:{}", error.code().as_str()));
                    break 'pieces;
                }
            };
            buffer.drain(..drop);
        }
    }
    let end = lost.unwrap_or_else(|| match decoder.finish(&buffer) {
        Ok(()) => "open".to_owned(),
        Err(_) => "incomplete".to_owned(),
    });
    json!({"out": out, "end": end, "unit_after": decoder.unit().map(LengthUnit::as_str)})
}

fn compare(got: &Value, expected: &Value) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("expected {expected}, got {got}")) }
}

fn input(vector: &Value) -> Vec<u8> {
    if let Some(text) = vector["in"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(digits) = vector["in_hex"].as_str() {
        return unhex(digits);
    }
    repeated(vector["in_repeat"].as_array().expect("an input")).into_bytes()
}

/// Texts and counts by turns, written out.
fn repeated(turns: &[Value]) -> String {
    let mut text = String::new();
    for turn in turns.chunks(2) {
        let times = turn[1].as_u64().and_then(|n| usize::try_from(n).ok()).expect("a count");
        text.push_str(&turn[0].as_str().expect("a text").repeat(times));
    }
    text
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
}

fn key(vector: &Value) -> Option<SigningKey> {
    assert!(vector["hmac"].is_null() || vector["hmac"] == "v1", "{}", vector["hmac"]);
    vector["hmac"].as_str()?;
    let secret = match vector["key_hex"].as_str() {
        Some(digits) => unhex(digits),
        None => vector["key"].as_str().expect("a key").as_bytes().to_vec(),
    };
    Some(SigningKey::from_bytes(KeyId::new("vector"), &secret))
}

fn unit(vector: &Value) -> Option<LengthUnit> {
    match vector["unit"].as_str()? {
        "bytes" => Some(LengthUnit::Bytes),
        "chars" => Some(LengthUnit::Chars),
        other => panic!("unit `{other}`"),
    }
}

fn max_frame(vector: &Value) -> Option<usize> {
    vector["max_frame"].as_u64().and_then(|n| usize::try_from(n).ok())
}
