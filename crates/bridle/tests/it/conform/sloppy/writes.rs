//! What is wrong with what an engine answers.
//!
//! long: each list of faults is one table.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::super::middle::Say;
use super::{
    Made, Plant, after, down, edits, edits_directive, edits_error, edits_success, envelope, error,
    forgives, plant, refuses, says, success, up,
};
use crate::conform::middle::Up;

pub(super) fn plants() -> Vec<Plant> {
    let mut all = ids();
    all.extend(leaks());
    all.extend(every());
    all.extend(directives());
    all.extend(codes());
    all
}

fn remove(value: &mut Value, key: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(key);
    }
}

fn ids() -> Vec<Plant> {
    let previous = Mutex::new(String::new());
    let served = AtomicU32::new(0);
    vec![
        plant(
            &["E-01"],
            "answers with a page",
            down(|_, say| Say { body: b"<html>ok".to_vec(), ..say }),
        ),
        plant(&["E-02"], "serves nothing", refuses(|_| true)),
        plant(
            &["E-03"],
            "serves once",
            refuses(move |_| served.fetch_add(1, Ordering::Relaxed) > 0),
        ),
        plant(
            &["E-04", "E-13", "E-18"],
            "forgets the id of what it served",
            edits_success(|_, it| remove(it, "request_id")),
        ),
        plant(
            &["E-05", "E-16", "E-17"],
            "forgets the id of what it refused",
            edits_error(|_, it| remove(it, "request_id")),
        ),
        plant(
            &["E-06", "E-12"],
            "forgets the correlation of what it served",
            edits_success(|_, it| remove(it, "correlation_id")),
        ),
        plant(
            &["E-07"],
            "forgets the correlation of what it refused",
            edits_error(|_, it| remove(it, "correlation_id")),
        ),
        plant(
            &["E-08", "E-09"],
            "invents ids",
            edits(|_, it| {
                if it.get("request_id").is_none() {
                    it["request_id"] = "req_unknown".into();
                }
            }),
        ),
        plant(
            &["E-10"],
            "invents correlations",
            edits(|_, it| {
                if it.get("correlation_id").is_none() {
                    it["correlation_id"] = "c".into();
                }
            }),
        ),
        plant(
            &["E-11"],
            "keeps letters of ASCII",
            edits(|_, it| {
                let kept: String = it["request_id"]
                    .as_str()
                    .unwrap_or("x")
                    .chars()
                    .filter(char::is_ascii)
                    .collect();
                it["request_id"] = kept.into();
            }),
        ),
        plant(
            &["E-12"],
            "trims ids",
            edits(|_, it| {
                let kept = it["correlation_id"].as_str().unwrap_or("x").trim().to_owned();
                it["correlation_id"] = kept.into();
            }),
        ),
        plant(
            &["E-13"],
            "cuts ids",
            edits(|_, it| {
                let kept: String =
                    it["request_id"].as_str().unwrap_or("x").chars().take(64).collect();
                it["request_id"] = kept.into();
            }),
        ),
        plant(&["E-14"], "repeats numbers as ids", repeats_raw("7", json!(7))),
        plant(&["E-15"], "repeats null as an id", repeats_raw("null", Value::Null)),
        plant(
            &["E-18"],
            "mixes answers up",
            edits(move |_, it| {
                let id = it["request_id"].as_str().unwrap_or("x").to_owned();
                let mut previous = previous.lock().unwrap();
                it["request_id"] = std::mem::replace(&mut *previous, id).into();
            }),
        ),
    ]
}

fn repeats_raw(spelled: &'static str, value: Value) -> Made {
    edits(move |ask, it| {
        if ask.text().contains(&format!("\"request_id\":{spelled}")) {
            it["request_id"] = value.clone();
        }
    })
}

fn leaks() -> Vec<Plant> {
    vec![
        plant(
            &[
                "P-01", "P-02", "P-03", "P-04", "P-05", "P-06", "P-07", "P-08", "P-09", "P-10",
                "P-11", "P-12", "P-13", "P-14",
            ],
            "repeats the request in errors",
            edits_error(|ask, it| it["response"]["error"]["message"] = ask.text().into()),
        ),
        plant(
            &["P-20", "P-21", "P-22", "P-23", "P-24"],
            "repeats the request in answers",
            edits(|ask, it| {
                it["response"]["extensions"] = json!({"com.example": {"debug": ask.text()}});
            }),
        ),
        plant(
            &["P-25"],
            "repeats credentials",
            down(|ask, mut say| {
                let shown = ask.header("authorization").unwrap_or_default().to_owned();
                say.headers.push(("x-debug".to_owned(), shown));
                say
            }),
        ),
        plant(
            &["P-26", "P-27"],
            "repeats paths",
            down(|ask, mut say| {
                say.headers.push(("x-path".to_owned(), ask.line.clone()));
                say
            }),
        ),
        plant(
            &["Z-17"],
            "repeats what a library says",
            edits_error(|_, it| {
                it["response"]["error"]["message"] =
                    "invalid type: map, expected struct Auth at line 1 column 7".into();
            }),
        ),
    ]
}

fn every() -> Vec<Plant> {
    vec![
        plant(&["Z-01"], "writes no version", edits(|_, it| remove(it, "protocol_version"))),
        plant(
            &["Z-01"],
            "writes half a version",
            edits(|_, it| it["protocol_version"] = "1.0".into()),
        ),
        plant(
            &["Z-02"],
            "has words of its own for success",
            edits_success(|_, it| it["response"]["status"] = "partial".into()),
        ),
        plant(
            &["Z-03"],
            "writes null for what is absent",
            edits(|_, it| it["supported_capabilities"] = Value::Null),
        ),
        plant(
            &["Z-04"],
            "writes a key twice",
            says(
                "{\"protocol_version\":\"1.0.0\",",
                "{\"protocol_version\":\"1.0.0\",\"protocol_version\":\"1.0.0\",",
            ),
        ),
        plant(&["Z-05"], "writes an empty id", edits(|_, it| it["correlation_id"] = "".into())),
        plant(
            &["Z-06"],
            "lists versions as one string",
            edits(|_, it| it["supported_protocol_versions"] = "1.0.0".into()),
        ),
        plant(
            &["Z-06"],
            "lists ranges of versions",
            edits(|_, it| it["supported_protocol_versions"] = json!(["1.x"])),
        ),
        plant(
            &["Z-07"],
            "lists capabilities as words",
            edits_success(|_, it| it["supported_capabilities"] = json!(["openharness.streaming"])),
        ),
        plant(
            &["Z-08"],
            "denies by name alone",
            edits_success(|_, it| it["capability_denials"] = json!(["openharness.ui.rich_cards"])),
        ),
        plant(
            &["Z-09"],
            "denies what it offers",
            edits_success(|_, it| {
                it["supported_capabilities"]["openharness.ui.rich_cards"] = true.into();
            }),
        ),
        plant(
            &["Z-10"],
            "denies without a code",
            edits_success(|_, it| it["capability_denials"] = json!([{"capability": "a.b"}])),
        ),
        plant(
            &["Z-11"],
            "counts time backwards",
            edits_success(|_, it| it["response"]["engine_latency_ms"] = json!(-1)),
        ),
        plant(
            &["Z-12"],
            "has directives beside an error",
            edits_error(|_, it| {
                it["response"]["action_directives"] = json!([{"action_type": "noop"}]);
            }),
        ),
        plant(
            &["Z-12"],
            "has no `error` in an error",
            edits_error(|_, it| remove(&mut it["response"], "error")),
        ),
        plant(
            &["Z-13"],
            "has no code",
            edits_error(|_, it| remove(&mut it["response"]["error"], "code")),
        ),
        plant(
            &["Z-14"],
            "writes codes as sentences",
            edits_error(|_, it| it["response"]["error"]["code"] = "Invalid Request".into()),
        ),
        plant(
            &["Z-15"],
            "writes `retryable` as a string",
            edits_error(|_, it| it["response"]["error"]["retryable"] = "false".into()),
        ),
        plant(
            &["Z-15"],
            "writes details as a list",
            edits_error(|_, it| it["response"]["error"]["details"] = json!(["x"])),
        ),
        plant(
            &["Z-16"],
            "does not say whether to try again",
            edits_error(|_, it| remove(&mut it["response"]["error"], "retryable")),
        ),
        plant(
            &["Z-18"],
            "adds fields of its own",
            edits(|_, it| it["response"]["model"] = "m".into()),
        ),
        plant(
            &["Z-19"],
            "uses extensions without a prefix",
            edits(|_, it| it["response"]["extensions"] = json!({"debug": {}})),
        ),
        plant(
            &["Z-31"],
            "does not say that it answers JSON",
            down(|_, mut say| {
                say.headers.retain(|(name, _)| name != "content-type");
                say
            }),
        ),
        plant(&["Z-32"], "has another code each time", {
            let count = AtomicU32::new(0);
            edits_error(move |_, it| {
                let number = count.fetch_add(1, Ordering::Relaxed);
                it["response"]["error"]["code"] = format!("error_{number}").into();
            })
        }),
    ]
}

fn directives() -> Vec<Plant> {
    vec![
        plant(
            &["Z-20"],
            "has directives without a type",
            edits_directive(|it| remove(it, "action_type")),
        ),
        plant(
            &["Z-21"],
            "has tiers of its own",
            edits_directive(|it| it["risk_tier"] = "fine".into()),
        ),
        plant(
            &["Z-21"],
            "has priorities of its own",
            edits_directive(|it| it["priority"] = "urgent".into()),
        ),
        plant(
            &["Z-22"],
            "writes approval as a string",
            edits_directive(|it| it["requires_user_approval"] = "true".into()),
        ),
        plant(
            &["Z-22"],
            "writes deadlines before now",
            edits_directive(|it| it["deadline_ms"] = json!(-5)),
        ),
        plant(
            &["Z-23"],
            "writes payloads as lists",
            edits_directive(|it| it["payload"] = json!(["hello"])),
        ),
        plant(
            &["Z-24"],
            "has types without a prefix",
            edits_directive(|it| it["action_type"] = "show_toast".into()),
        ),
        plant(
            &["Z-25"],
            "has types of its own without words",
            edits_directive(|it| {
                it["action_type"] = "com.example.toast".into();
                it["payload"] = json!({"x": 1});
            }),
        ),
        plant(
            &["Z-26"],
            "has messages without text",
            edits_directive(|it| it["payload"] = json!({"format": "plain"})),
        ),
        plant(
            &["Z-27"],
            "says one thing in two ways",
            edits_directive(|it| it["payload"]["message"] = "Else.".into()),
        ),
        plant(
            &["Z-28"],
            "has a file in a directive",
            edits_directive(|it| it["payload"]["image"] = "QUJD".repeat(4_000).into()),
        ),
        plant(
            &["Z-29"],
            "gives two directives one name",
            edits_success(|_, it| {
                let directives = it["response"]["action_directives"].as_array_mut().unwrap();
                let first = directives[0].clone();
                directives.push(first);
            }),
        ),
        plant(
            &["Z-30"],
            "does dangerous things without a question",
            edits_directive(|it| it["risk_tier"] = "dangerous".into()),
        ),
        plant(
            &["C-11"],
            "runs things in parallel for everybody",
            edits_directive(|it| it["execution"] = "parallel".into()),
        ),
    ]
}

fn codes() -> Vec<Plant> {
    vec![
        plant(&["E-31"], "does not say what is missing", says("context.user_intent", "")),
        plant(
            &["V-24"],
            "has a code of its own for versions",
            says("protocol_version_unsupported", "bad_version"),
        ),
        plant(
            &["V-25"],
            "has a code of its own for everything",
            says("invalid_request", "bad_input"),
        ),
        plant(
            &["V-26"],
            "does not say what it supports",
            edits_error(|_, it| remove(it, "supported_protocol_versions")),
        ),
        plant(
            &["V-28", "G-20"],
            "lists versions that it does not serve",
            says("[\"1.0.0\"]", "[\"1.0.0\",\"3.0.0\"]"),
        ),
        plant(
            &["N-01", "N-06", "N-13"],
            "does not name the place",
            says("\"field\":", "\"where\":"),
        ),
        plant(
            &["N-01"],
            "names the place as a pointer",
            edits_error(|_, it| {
                let field = it["response"]["error"]["details"]["field"]
                    .as_str()
                    .unwrap_or_default()
                    .replace('.', "/");
                it["response"]["error"]["details"]["field"] = format!("/{field}").into();
            }),
        ),
        plant(&["K-33", "K-35"], "does not look for files", forgives("embedded_blob")),
        plant(&["I-01"], "answers otherwise each time", {
            let count = AtomicU32::new(0);
            edits_success(move |_, it| {
                let number = count.fetch_add(1, Ordering::Relaxed);
                it["response"]["action_directives"] = json!([{"action_type": "render_message", "payload": {"text": number.to_string()}}]);
            })
        }),
        plant(
            &["E-02"],
            "says no to everything, politely",
            up(|ask| {
                if after(&ask.text(), "protocol_version").is_some() {
                    return Up::Answer(envelope(&ask, error("invalid_request")));
                }
                Up::Answer(envelope(&ask, success()))
            }),
        ),
    ]
}
