//! What is wrong with the profiles that an engine offers.
//!
//! long: each list of faults is one table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

use super::super::middle::{Ask, Say, Up, find};
use super::{
    Made, Plant, after, down, edits, edits_document, edits_success, envelope, error, forgives,
    ignores, omits, piped, plant, reads, refuses, says, success, up,
};

pub(super) fn plants(tokens: &[String; 2]) -> Vec<Plant> {
    let mut all = status();
    all.extend(document(tokens));
    all.extend(repeats(tokens));
    all.extend(questions());
    all.extend(answers());
    all.extend(cancel());
    all.extend(files());
    all.extend(streams());
    all.extend(sockets());
    all
}

fn status() -> Vec<Plant> {
    let teapot = || {
        down(|_, mut say| {
            if say.status >= 400 {
                say.status = 418;
            }
            say
        })
    };
    vec![
        plant(
            &["S-02", "S-03", "S-04", "S-05", "S-06", "S-07", "S-08", "S-09"],
            "has one status for all refusals",
            teapot(),
        ),
        plant(
            &["S-01"],
            "has a status of its own for success",
            down(|_, mut say| {
                if say.status == 200 {
                    say.status = 201;
                }
                say
            }),
        ),
        plant(&["S-05"], "does not say which methods there are", omits("allow")),
        plant(&["S-06"], "does not look at `Accept`", ignores("accept")),
        plant(
            &["S-07"],
            "does not look at media types",
            up(|mut ask| {
                ask.set("Content-Type", "application/json");
                Up::Pass(ask)
            }),
        ),
        plant(&["S-20", "S-21"], "drops correlations in headers", omits("x-correlation-id")),
        plant(
            &["S-21"],
            "puts headers before bodies",
            down(|ask, mut say| {
                if let Some(id) = ask.header("x-correlation-id") {
                    say.headers.retain(|(name, _)| name != "x-correlation-id");
                    say.headers.push(("x-correlation-id".to_owned(), id.to_owned()));
                }
                say
            }),
        ),
        plant(&["S-22"], "drops traces", omits("traceparent")),
        plant(&["S-23", "M-08"], "lets answers be stored", omits("cache-control")),
        plant(
            &["B-02", "B-03", "B-04", "B-05", "B-07"],
            "takes a bad credential for none",
            forgives("unauthenticated"),
        ),
        plant(
            &["B-01"],
            "refuses credentials",
            refuses(|ask| ask.header("authorization").is_some()),
        ),
        plant(&["B-06"], "does not say how to get in", omits("www-authenticate")),
        plant(
            &["O-10", "O-11", "O-12"],
            "says nothing to pages",
            omits("access-control-allow-origin"),
        ),
        plant(&["O-13"], "does not say that answers differ", omits("vary")),
    ]
}

fn document(tokens: &[String; 2]) -> Vec<Plant> {
    let token = tokens[0].clone();
    let sessions = Mutex::new(Vec::<String>::new());
    let set = |pointer: &'static str, value: Value| {
        edits_document(move |it| *it.pointer_mut(pointer).unwrap() = value.clone())
    };
    vec![
        plant(&["G-01"], "names versions that are none", set("/protocol_versions", json!(["one"]))),
        plant(&["G-02"], "does not say who it is", set("/engine", json!("bridle"))),
        plant(
            &["G-03"],
            "lists capabilities as words in the document",
            set("/capabilities", json!(["a"])),
        ),
        plant(
            &["G-04"],
            "lists types without a tier",
            set("/action_types", json!([{"type": "noop"}])),
        ),
        plant(&["G-05", "G-21"], "lists no codes", set("/error_codes", json!([]))),
        plant(&["G-06"], "lists profiles as one word", set("/profiles", json!("sse"))),
        plant(&["G-07"], "has limits of zero", set("/limits/max_depth", json!(0))),
        plant(&["G-08"], "does not say how to get in, in the document", set("/auth", json!({}))),
        plant(
            &["G-09"],
            "has one place for the document",
            up(|ask| {
                if ask.line.contains(".well-known") {
                    Up::Answer(Say::json(404, "{}"))
                } else {
                    Up::Pass(ask)
                }
            }),
        ),
        plant(
            &["G-10"],
            "writes a credential into the document",
            edits_document(move |it| it["debug"] = token.clone().into()),
        ),
        plant(
            &["G-22"],
            "sends types that it does not list",
            set("/action_types", json!([{"type": "noop", "risk_tier": "safe"}])),
        ),
        plant(&["G-23"], "offers what it does not list", set("/capabilities", json!({}))),
        plant(
            &["G-24"],
            "says it takes more than it does",
            set("/limits/max_body_bytes", json!(2 << 20)),
        ),
        plant(
            &["G-25"],
            "says it takes less than it does",
            set("/limits/max_body_bytes", json!(512 << 10)),
        ),
        plant(
            &["G-26"],
            "says it takes larger files than it does",
            set("/limits/max_inline_blob_bytes", json!(16 << 10)),
        ),
        plant(
            &["G-27"],
            "says it takes smaller files than it does",
            set("/limits/max_inline_blob_bytes", json!(4 << 10)),
        ),
        plant(
            &["G-28"],
            "says it reads less deep than it does",
            set("/limits/max_depth", json!(20)),
        ),
        plant(&["G-30"], "is never well", says("\"status\":\"ok\"", "\"status\":\"degraded\"")),
        plant(&["G-31"], "tells everybody about sessions", {
            down(move |ask, mut say| {
                let mut sessions = sessions.lock().unwrap();
                sessions.extend(after(&ask.text(), "session_id"));
                if ask.line.starts_with("GET /health") {
                    say.body =
                        json!({"status": "ok", "sessions": *sessions}).to_string().into_bytes();
                }
                say
            })
        }),
    ]
}

/// Changes every answer of the kind, each time otherwise.
fn otherwise() -> Made {
    let count = AtomicU32::new(0);
    edits(move |_, it| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        it["response"]["extensions"] = json!({"com.example": {"number": number}});
    })
}

fn repeats(tokens: &[String; 2]) -> Vec<Plant> {
    let [one, other] = tokens.clone();
    let bodies = Mutex::new(BTreeMap::<String, String>::new());
    let refused = Mutex::new(BTreeSet::<String>::new());
    vec![
        plant(
            &["I-01", "I-12", "I-13", "L-06", "L-08", "M-05", "T-30", "W-12"],
            "runs repeats again",
            otherwise(),
        ),
        plant(
            &["I-10", "I-11", "I-14"],
            "has the newest of two bodies under one id",
            forgives("idempotency_conflict"),
        ),
        plant(&["I-12"], "does not say that it repeats", omits("idempotency-replayed")),
        plant(
            &["I-16"],
            "says that everything is a repeat",
            down(|_, mut say| {
                say.headers.push(("idempotency-replayed".to_owned(), "true".to_owned()));
                say
            }),
        ),
        plant(
            &["I-15"],
            "remembers what it refused",
            up(move |ask| {
                let id = after(&ask.text(), "request_id").unwrap_or_default();
                let mut refused = refused.lock().unwrap();
                if refused.contains(&id) {
                    return Up::Answer(envelope(&ask, error("idempotency_conflict")));
                }
                if ask.text().contains("\"request\":7") {
                    refused.insert(id);
                }
                Up::Pass(ask)
            }),
        ),
        plant(
            &["I-17", "I-18"],
            "compares bodies byte by byte",
            up(move |ask| {
                let (id, text) = (after(&ask.text(), "request_id"), ask.text());
                // Blanks behind a colon are spelled otherwise.
                let id = id
                    .or_else(|| after(&text.replace("\": \"", "\":\""), "request_id"))
                    .unwrap_or_default();
                let mut bodies = bodies.lock().unwrap();
                if bodies.get(&id).is_some_and(|known| *known != text) {
                    return Up::Answer(envelope(&ask, error("idempotency_conflict")));
                }
                bodies.insert(id, text);
                Up::Pass(ask)
            }),
        ),
        plant(
            &["I-19"],
            "does not want `Idempotency-Key`",
            refuses(|ask| ask.header("idempotency-key").is_some()),
        ),
        plant(&["I-20"], "does not look at `Idempotency-Key`", ignores("idempotency-key")),
        plant(
            &["I-21", "T-37", "L-07", "A-09", "A-24"],
            "takes everybody for one",
            up(move |mut ask| {
                if ask.header("authorization").is_some_and(|it| it.contains(&other)) {
                    ask.set("Authorization", &format!("Bearer {one}"));
                }
                Up::Pass(ask)
            }),
        ),
    ]
}

fn questions() -> Vec<Plant> {
    let first = |change: fn(&mut Value)| {
        edits_success(move |_, it| {
            let directives = it["response"]["action_directives"].as_array_mut();
            let question =
                directives.into_iter().flatten().find(|it| it["action_type"] == "request_approval");
            if let Some(question) = question {
                change(question);
            }
        })
    };
    vec![
        plant(
            &["T-01"],
            "asks without a way back",
            edits_success(|_, it| {
                it["response"].as_object_mut().unwrap().remove("continuation");
            }),
        ),
        plant(
            &["T-02"],
            "has options without a kind",
            first(|it| it["payload"]["options"] = json!([{"option_id": "a", "label": "A"}])),
        ),
        plant(&["T-02"], "asks without words", first(|it| it["payload"]["message"] = "".into())),
        plant(
            &["T-03"],
            "has no option to refuse",
            first(|it| {
                it["payload"]["options"] =
                    json!([{"option_id": "a", "label": "A", "kind": "allow_once"}]);
            }),
        ),
        plant(
            &["T-04"],
            "does not want to hear the answer",
            first(|it| it["extensions"]["dev.bridle"]["result"] = "none".into()),
        ),
        plant(
            &["T-05"],
            "has two ways back",
            edits_success(|_, it| {
                it["response"]["extensions"]["dev.bridle"]["continuation"]["continuation_token"] =
                    "x".into();
            }),
        ),
        plant(
            &["T-06", "T-07"],
            "asks shells that cannot ask",
            up(|mut ask| {
                let able =
                    r#"{"dev.bridle.feedback":{"version":1},"openharness.ui.approval":true}"#;
                ask.body = ask
                    .text()
                    .replace(r#"{"dev.bridle.feedback":{"version":1}}"#, able)
                    .replace(r#"{"openharness.ui.approval":true}"#, able)
                    .into_bytes();
                Up::Pass(ask)
            }),
        ),
    ]
}

/// Gives the answer that a shell did not give.
fn supplies(holds: impl Fn(&str) -> bool + Send + Sync + 'static) -> Made {
    let names = std::sync::Arc::new(Mutex::new(String::new()));
    let known = std::sync::Arc::clone(&names);
    let mut made = up(move |mut ask| {
        let text = ask.text();
        if let Ok(mut value) = serde_json::from_str::<Value>(&text)
            && value.pointer("/request/context/continuation").is_some()
            && holds(&text)
        {
            let name = known.lock().unwrap().clone();
            let decision = json!({"by": "user", "option_id": "allow_once"});
            let result =
                json!({"directive_id": name, "outcome": "completed", "decision": decision});
            value["request"]["context"]["extensions"]["dev.bridle"]["directive_results"] =
                json!([result]);
            ask.body = value.to_string().into_bytes();
        }
        Up::Pass(ask)
    });
    made.down = Box::new(move |_, say| {
        if let Some(name) = after(&say.text(), "directive_id") {
            *names.lock().unwrap() = name;
        }
        say
    });
    made
}

fn answers() -> Vec<Plant> {
    vec![
        plant(
            &["T-10", "T-11"],
            "does not hear answers",
            reads("\"directive_results\":[{", "\"other\":[{"),
        ),
        plant(
            &["T-12"],
            "takes silence for a yes",
            supplies(|text| text.contains("\"directive_results\":[]")),
        ),
        plant(&["T-13"], "takes a rule for a yes", reads("\"by\":\"policy\"", "\"by\":\"user\"")),
        plant(
            &["T-14"],
            "takes anybody for the user",
            reads("\"by\":\"somebody\"", "\"by\":\"user\""),
        ),
        plant(
            &["T-15"],
            "takes any option that begins so for a yes",
            reads("allow_everything", "allow_once"),
        ),
        plant(
            &["T-16"],
            "takes any outcome for done",
            reads("\"outcome\":\"perhaps\"", "\"outcome\":\"completed\""),
        ),
        plant(&["T-17"], "takes done for a yes", supplies(|text| !text.contains("\"decision\""))),
        plant(
            &["T-18"],
            "takes any answer for that to its question",
            supplies(|text| text.contains("none-of-ours")),
        ),
        plant(
            &["T-19"],
            "takes the first answer of two",
            supplies(|text| text.contains("reject_once") && text.contains("allow_once")),
        ),
        plant(
            &["T-20"],
            "does what was not asked",
            up(|mut ask| {
                if let Ok(mut value) = serde_json::from_slice::<Value>(&ask.body) {
                    let place =
                        "/request/context/extensions/dev.bridle/directive_results/0/decision";
                    if let Some(decision) = value.pointer_mut(place).and_then(Value::as_object_mut)
                    {
                        decision.remove("edited_payload");
                    }
                    ask.body = value.to_string().into_bytes();
                }
                Up::Pass(ask)
            }),
        ),
        plant(&["T-31"], "takes a token twice", forgives("continuation_consumed")),
        plant(
            &["T-32", "T-33", "T-34", "T-35", "T-40", "T-41", "T-42"],
            "takes any token",
            forgives("continuation_invalid"),
        ),
        plant(&["T-36", "T-38"], "takes a token anywhere", forgives("continuation_mismatch")),
    ]
}

fn is_cancel(ask: &Ask) -> bool {
    ask.line.contains("/cancel ")
}

fn accepted(ask: &Ask) -> Up {
    let id = after(&ask.text(), "request_id");
    Up::Answer(Say::json(202, &json!({"request_id": id, "status": "accepted"}).to_string()))
}

fn cancel() -> Vec<Plant> {
    let count = AtomicU32::new(0);
    let called = Mutex::new(BTreeSet::<String>::new());
    vec![
        plant(
            &["L-01"],
            "cannot call off",
            up(|ask| {
                if is_cancel(&ask) {
                    Up::Answer(envelope(&ask, error("not_found")))
                } else {
                    Up::Pass(ask)
                }
            }),
        ),
        plant(
            &["L-02"],
            "tells whether there was something to call off",
            down(move |ask, mut say| {
                if is_cancel(ask) && count.fetch_add(1, Ordering::Relaxed) > 0 {
                    say.body = say.text().replace('}', ",\"again\":true}").into_bytes();
                }
                say
            }),
        ),
        plant(
            &["L-03", "L-04"],
            "calls off whatever",
            up(|ask| if is_cancel(&ask) { accepted(&ask) } else { Up::Pass(ask) }),
        ),
        plant(
            &["L-05"],
            "says that it called off, and goes on",
            up(|ask| if is_cancel(&ask) { accepted(&ask) } else { Up::Pass(ask) }),
        ),
        plant(
            &["L-08"],
            "calls off what is done",
            up(move |ask| {
                let id = after(&ask.text(), "request_id").unwrap_or_default();
                let mut called = called.lock().unwrap();
                if is_cancel(&ask) {
                    called.insert(id);
                    return accepted(&ask);
                }
                if called.contains(&id) {
                    Up::Answer(envelope(&ask, error("cancelled")))
                } else {
                    Up::Pass(ask)
                }
            }),
        ),
        plant(
            &["L-09", "L-10"],
            "does not look at the time",
            reads("\"timeout_ms\"", "\"timeout\""),
        ),
        plant(&["L-11"], "is always out of time", refuses(|ask| ask.text().contains("timeout_ms"))),
    ]
}

fn files() -> Vec<Plant> {
    let count = AtomicU32::new(0);
    let is_upload = |ask: &Ask| ask.line.starts_with("POST /v1/openharness/attachments");
    let is_download = |ask: &Ask| ask.line.starts_with("GET /v1/openharness/attachments");
    vec![
        plant(&["A-01"], "hashes something else", says("ba7816bf", "00000000")),
        plant(
            &["A-02"],
            "has a new name each time",
            down(move |ask, mut say| {
                if is_upload(ask) {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    say.body = say.text().replace("att-", &format!("att-{number}")).into_bytes();
                }
                say
            }),
        ),
        plant(
            &["A-03"],
            "adds a line end to files",
            down(move |ask, mut say| {
                if is_download(ask) {
                    say.body.push(b'\n');
                }
                say
            }),
        ),
        plant(&["A-04"], "shows files", omits("content-disposition")),
        plant(
            &["A-05"],
            "hands pages out",
            down(move |ask, mut say| {
                if is_download(ask) {
                    say.headers.retain(|(name, _)| name != "content-type");
                    say.headers.push(("content-type".to_owned(), "text/html".to_owned()));
                }
                say
            }),
        ),
        plant(&["A-06"], "does not know digests", refuses(|ask| ask.header("digest").is_some())),
        plant(&["A-07"], "does not look at digests", ignores("digest")),
        plant(
            &["A-08"],
            "has an empty file for every name",
            down(
                move |ask, say| {
                    if is_download(ask) {
                        Say { status: 200, body: Vec::new(), ..say }
                    } else {
                        say
                    }
                },
            ),
        ),
        plant(&["A-10"], "takes files of any size", forgives("payload_too_large")),
        plant(
            &["A-20"],
            "does not find what it has",
            refuses(|ask| ask.text().contains("\"ref_id\"")),
        ),
        plant(
            &["A-21", "A-25"],
            "does without what it cannot find",
            forgives("attachment_unresolved"),
        ),
        plant(
            &["A-21"],
            "has a spelling of its own for places",
            says("attachments.0", "attachments[0]"),
        ),
        plant(&["A-22"], "does not look at sizes", reads("\"size_bytes\"", "\"size\"")),
        plant(&["A-23"], "does not look at hashes", reads("\"sha256\"", "\"hash\"")),
    ]
}

/// Changes the text of streams.
fn streams_say(change: impl Fn(String) -> String + Send + Sync + 'static) -> Made {
    down(move |_, mut say| {
        if say.headers.iter().any(|(_, value)| value.starts_with("text/event-stream")) {
            say.body = change(say.text()).into_bytes();
        }
        say
    })
}

fn streams() -> Vec<Plant> {
    let begun = AtomicBool::new(false);
    let always = |mut ask: Ask| {
        ask.set("Accept", "text/event-stream");
        let profile = r#"{"profiles":["dev.bridle.sse.1"]}"#;
        ask.body = ask
            .text()
            .replace(
                r#""openharness.streaming":true"#,
                &format!(r#""openharness.streaming":{profile}"#),
            )
            .into_bytes();
        Up::Pass(ask)
    };
    vec![
        plant(
            &["M-01"],
            "begins without `open`",
            streams_say(|text| text.replacen("event: open", "event: hello", 1)),
        ),
        plant(
            &["M-01"],
            "ends without `final`",
            streams_say(|text| text.replace("event: final", "event: end")),
        ),
        plant(
            &["M-02"],
            "numbers events from 1",
            streams_say(|text| text.replacen("id: 0", "id: 1", 1)),
        ),
        plant(
            &["M-03"],
            "does not say whose events these are",
            streams_say(|text| text.replace("\"request_id\":", "\"request\":")),
        ),
        plant(
            &["M-04"],
            "ends with half an answer",
            streams_say(|text| text.replace("\"status\":\"success\"", "\"status\":\"\"")),
        ),
        plant(
            &["M-05"],
            "ends with another answer",
            streams_say(|text| text.replace("something.\",\"message\"", "else.\",\"message\"")),
        ),
        plant(
            &["M-06"],
            "shows other words than it says",
            streams_say(|text| {
                text.lines().map(|line| if line.contains("\"value\"") { line.replace("something", "else") } else { line.to_owned() } + "\n").collect()
            }),
        ),
        plant(
            &["M-07"],
            "counts directives from 1",
            streams_say(|text| text.replace("\"index\":0", "\"index\":1")),
        ),
        plant(
            &["M-09"],
            "does not say how long it remembers",
            streams_say(|text| text.replace("\"resume\"", "\"again\"")),
        ),
        plant(&["M-20", "M-21"], "streams to everybody", up(always)),
        plant(&["M-22"], "streams to who is refused", forgives("invalid_request")),
        plant(&["M-30", "M-33"], "begins streams anew", ignores("last-event-id")),
        plant(
            &["M-31"],
            "cannot take a stream up",
            up(|ask| {
                if ask.header("last-event-id").is_some() {
                    Up::Answer(envelope(&ask, error("stream_expired")))
                } else {
                    Up::Pass(ask)
                }
            }),
        ),
        plant(
            &["M-32"],
            "knows streamed requests as streams alone",
            refuses(move |ask| {
                let is_stream = ask.header("accept") == Some("text/event-stream");
                if is_stream {
                    begun.store(true, Ordering::Relaxed);
                }
                begun.load(Ordering::Relaxed) && !is_stream
            }),
        ),
        plant(
            &["G-21"],
            "has codes that it does not list",
            edits_document(|it| it["error_codes"] = json!(["other"])),
        ),
        plant(
            &["H-24"],
            "says yes to everything",
            up(|ask| {
                if ask.text().contains("openharness.streaming") {
                    return Up::Answer(Say {
                        headers: Vec::new(),
                        ..Say::json(200, &success().to_string())
                    });
                }
                Up::Pass(ask)
            }),
        ),
    ]
}

/// Replaces bytes by as many others.
fn swaps(old: &'static [u8], new: &'static [u8]) -> Made {
    assert_eq!(old.len(), new.len(), "lengths of frames must stay");
    piped(move |mut bytes| {
        while let Some(at) = find(&bytes, old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
        bytes
    })
}

fn sockets() -> Vec<Plant> {
    vec![
        plant(&["W-01"], "does not compute what it is asked for", swaps(b"s3pPLM", b"s3pPLX")),
        plant(
            &["W-02"],
            "does not look at subprotocols",
            up(|mut ask| {
                if ask.header("upgrade").is_some() {
                    ask.set("Sec-WebSocket-Protocol", "openharness.v1");
                }
                Up::Pass(ask)
            }),
        ),
        plant(
            &["W-10"],
            "begins sockets without `open`",
            swaps(b"\"type\":\"open\"", b"\"type\":\"opem\""),
        ),
        plant(
            &["W-11"],
            "answers under other ids",
            swaps(b"\"request_id\":\"kit-", b"\"request_id\":\"kat-"),
        ),
        plant(&["W-12"], "answers otherwise on sockets", swaps(b"something.", b"otherwise.")),
        plant(
            &["W-13"],
            "does not say that it called off",
            swaps(b"\"canceled\"", b"\"accepted\""),
        ),
        plant(&["W-14"], "answers pings with its own words", swaps(b"\x03kit", b"\x03kat")),
        plant(
            &["W-20", "W-21"],
            "takes any frame for a good one",
            swaps(b"\"status\":\"error\"", b"\"status\":\"succe\""),
        ),
        plant(&["W-22"], "closes for bytes without a reason", swaps(b"\x03\xeb", b"\x03\xe8")),
        plant(
            &["W-23"],
            "closes for broken text without a reason",
            swaps(b"\x03\xef", b"\x03\xe8"),
        ),
        plant(
            &["W-24"],
            "reads frames without a mask",
            piped(|mut bytes| {
                if bytes.first() == Some(&0x88) {
                    bytes[0] = 0x81;
                }
                bytes
            }),
        ),
        plant(
            &["W-25"],
            "closes for large frames without a reason",
            swaps(b"\x03\xf1", b"\x03\xe8"),
        ),
    ]
}
