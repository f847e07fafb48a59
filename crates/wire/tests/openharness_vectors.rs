//! Runs every line of `vectors/openharness` against the two stages of the OpenHarness reader.
//!
//! What the fields mean is in `vectors/README.md`.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![allow(clippy::disallowed_methods, reason = "the vectors are files")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use bridle_wire::openharness::discovery::DiscoveryDocument;
use bridle_wire::openharness::exchange::CancelRequest;
use bridle_wire::openharness::json::{JsonDocument, JsonFault};
use bridle_wire::openharness::pairing::{PairConfirm, PairPoll};
use bridle_wire::openharness::payload::RequestApproval;
use bridle_wire::openharness::socket::ShellFrame;
use bridle_wire::openharness::{
    JsonShape, MessageLimits, OpenHarnessCode, OpenHarnessEvent, ReadMode, RefusedMessage,
    RequestEcho, read, read_response, receive,
};
use serde_json::{Map, Value as Json};

/// Stands for a secret in the inputs; no answer may repeat it.
const CANARY: &str = "OHCANARY";

#[test]
fn openharness_vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/openharness");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let (mut ids, mut reasons, mut canaries) = (HashSet::new(), HashSet::new(), 0);
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let row: Json = serde_json::from_str(line).unwrap();
            check(&row);
            let id = text(&row, "id").to_owned();
            assert!(ids.insert(id.clone()), "{id} is there twice");
            reasons.extend(row["reason"].as_str().map(str::to_owned));
            canaries += usize::from(line.contains(CANARY));
        }
    }
    assert!(ids.len() >= 120, "only {} vectors", ids.len());
    assert!(canaries >= 10, "only {canaries} canaries");
    for fault in JsonFault::ALL {
        assert!(reasons.contains(fault.as_str()), "no vector is refused as {fault}");
    }
    println!("openharness: {} passed, 0 failed", ids.len());
}

/// What a reader made of an input: its text if it was accepted.
enum Got {
    Written(String, Option<RequestEcho>),
    Frame(&'static str),
    Ignored,
}

fn check(row: &Json) {
    let bytes = input(row);
    let mode = if row["mode"] == "strict" { ReadMode::Strict } else { ReadMode::Lenient };
    let limits = MessageLimits { mode, ..MessageLimits::default() };
    match run(row, &bytes, &limits) {
        Ok(Got::Written(written, echo)) => {
            assert_eq!("accept", text(row, "verdict"), "{row}");
            if let Some(expected) = row["written"].as_str() {
                assert_eq!(written, expected, "{row}");
            }
            if row["same"] == true {
                assert_eq!(written.as_bytes(), bytes, "{row}");
            }
            if let Some(echo) = &echo {
                let document = JsonDocument::read(&bytes, &limits).unwrap();
                assert_eq!(RequestEcho::of(document.root()), *echo, "{row}");
            }
            if let (Some(expected), Some(echo)) = (echo_of(row), echo) {
                assert_eq!(echo_json(&echo), expected, "{row}");
                assert_eq!(RequestEcho::salvage(&bytes), echo, "both stages find the same: {row}");
            }
            let again = run(row, written.as_bytes(), &limits).map_err(|it| it.to_string());
            let Ok(Got::Written(twice, _)) = again else { panic!("does not read back: {row}") };
            assert_eq!(twice, written, "{row}");
        }
        Ok(Got::Frame(kind)) => assert_eq!(kind, text(row, "frame_type"), "{row}"),
        Ok(Got::Ignored) => assert_eq!("ignored", text(row, "verdict"), "{row}"),
        Err(refused) => check_refused(row, &refused),
    }
}

fn run(row: &Json, bytes: &[u8], limits: &MessageLimits) -> Result<Got, Box<RefusedMessage>> {
    match row["as"].as_str().unwrap_or("request") {
        "request" => {
            receive(bytes, limits).map(|it| Got::Written(it.message.to_text(), Some(it.echo)))
        }
        "response" => read_response(bytes, limits).map(|it| Got::Written(it.to_text(), None)),
        "cancel" => written::<CancelRequest>(bytes, limits),
        "discovery" => written::<DiscoveryDocument>(bytes, limits),
        "pair:confirm" => written::<PairConfirm>(bytes, limits),
        "pair:poll" => written::<PairPoll>(bytes, limits),
        "payload:request_approval" => written::<RequestApproval>(bytes, limits),
        "frame" => Ok(Got::Frame(match ShellFrame::read(bytes, limits)? {
            ShellFrame::Request(_) => "request",
            ShellFrame::Cancel(_) => "cancel",
            ShellFrame::Results(_) => "results",
        })),
        other => {
            let name = other.strip_prefix("event:").unwrap_or_else(|| panic!("`{other}`: {row}"));
            let Some(event) = OpenHarnessEvent::read(name, bytes, limits)? else {
                return Ok(Got::Ignored);
            };
            assert_eq!(event.name(), name, "{row}");
            if let Some(frame) = row["frame"].as_str() {
                assert_eq!(event.to_frame(), frame, "{row}");
            }
            let block = format!("id: {}\nevent: {name}\ndata: {}\n\n", event.seq(), event.data());
            assert_eq!(event.to_sse(), block, "{row}");
            Ok(Got::Written(event.data(), None))
        }
    }
}

fn written<T: JsonShape>(bytes: &[u8], limits: &MessageLimits) -> Result<Got, Box<RefusedMessage>> {
    read::<T>(bytes, limits).map(|it| Got::Written(it.to_text(), None))
}

fn check_refused(row: &Json, refused: &RefusedMessage) {
    let code = refused.refusal.code();
    assert_eq!(code.as_str(), text(row, "verdict"), "{refused}: {row}");
    assert!((400..500).contains(&code.http_status()) && !code.retryable(), "{row}");
    assert_eq!(Some(echo_json(&refused.echo)), echo_of(row), "{row}");
    let reply = refused.response().to_text();
    if let Some(expected) = row["reply"].as_str() {
        assert_eq!(reply, expected, "{row}");
    }
    assert!(!reply.contains(CANARY), "{reply}");
    assert!(!format!("{refused:?} {refused}").contains(CANARY), "{row}");
    let answer: Json = serde_json::from_str(&reply).unwrap();
    for id in ["request_id", "correlation_id"] {
        assert_eq!(answer.get(id), echo_of(row).unwrap().get(id), "{row}");
    }
    let details = &answer["response"]["error"]["details"];
    for key in ["field", "expected", "reason", "offset"] {
        if let Some(expected) = row.get(key) {
            assert_eq!(&details[key], expected, "{key}: {row}");
        }
    }
    assert_eq!(details.get("field"), row.get("field"), "{row}");
    assert_eq!(details.get("reason"), row.get("reason"), "{row}");
    let strict = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
    let back = read_response(reply.as_bytes(), &strict).unwrap();
    assert_eq!(back, refused.response(), "an answer reads back: {row}");
    assert_eq!(back.response.error.unwrap().known(), OpenHarnessCode::parse(text(row, "verdict")));
}

fn echo_of(row: &Json) -> Option<Json> {
    if let Some(repeat) = row["echo_repeat"].as_array() {
        let count = usize::try_from(repeat[1].as_u64().unwrap()).unwrap();
        let id = repeat[0].as_str().unwrap().repeat(count);
        return Some(serde_json::json!({"protocol_version": "1.0.0", "request_id": id}));
    }
    row.get("echo").cloned()
}

fn echo_json(echo: &RequestEcho) -> Json {
    let mut found = Map::new();
    let mut put = |key: &str, text: Option<&str>| {
        found.extend(text.map(|text| (key.to_owned(), Json::from(text))));
    };
    put("request_id", echo.request_id.as_ref().map(AsRef::as_ref));
    put("correlation_id", echo.correlation_id.as_ref().map(AsRef::as_ref));
    put("protocol_version", echo.protocol_version.as_deref());
    found.into()
}

fn input(row: &Json) -> Vec<u8> {
    if let Some(text) = row["in"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(hex) = row["in_hex"].as_str() {
        let pairs = (0..hex.len()).step_by(2).map(|at| &hex[at..at + 2]);
        return pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
    }
    let repeat = row["in_repeat"].as_array().unwrap();
    let pieces = repeat.chunks(2).map(|piece| {
        let count = usize::try_from(piece[1].as_u64().unwrap()).unwrap();
        piece[0].as_str().unwrap().repeat(count)
    });
    pieces.collect::<String>().into_bytes()
}

fn text<'r>(row: &'r Json, key: &str) -> &'r str {
    row[key].as_str().unwrap_or_else(|| panic!("no `{key}` in {row}"))
}
