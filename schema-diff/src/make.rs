//! Messages to judge: good ones, each of them spoiled at every place in every way, and thousands that
//! are spoiled at a few places at once. The same messages in every run.

use bridle_wire::openharness::SchemaDirection;
use serde_json::{Value, json};

/// Messages that are spoiled at several places at once, for each direction.
const MIXED: usize = 20_000;

/// A message and what was done to it.
pub(crate) struct Case {
    pub(crate) text: String,
    /// Place and kind of each change; none for a good message.
    pub(crate) changes: Vec<Change>,
}

/// One change of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// Keys with dots, `[]` for the elements of an array.
    pub(crate) place: String,
    pub(crate) kind: &'static str,
}

/// All cases of a direction.
pub(crate) fn cases(direction: SchemaDirection) -> Vec<Case> {
    let seeds = match direction {
        SchemaDirection::Request => requests(),
        SchemaDirection::Response => responses(),
    };
    let mut cases = Vec::new();
    for seed in &seeds {
        cases.push(case(seed.clone(), Vec::new()));
        for pointer in pointers(seed) {
            for (kind, value) in substitutes(&pointer) {
                let mut message = seed.clone();
                let change = spoil(&mut message, &pointer, kind, value);
                cases.extend(change.map(|change| case(message, vec![change])));
            }
        }
    }
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..MIXED {
        let mut message = seeds[random.below(seeds.len())].clone();
        let mut changes = Vec::new();
        for _ in 0..2 + random.below(3) {
            let places = pointers(&message);
            let pointer = &places[random.below(places.len())];
            let choices = substitutes(pointer);
            let (kind, value) = choices[random.below(choices.len())].clone();
            changes.extend(spoil(&mut message, pointer, kind, value));
        }
        cases.push(case(message, changes));
    }
    cases
}

/// Text for a key that is there twice, which no tree of values can hold.
const TWICE: &str = "\"there twice\":\"\"";

fn case(message: Value, changes: Vec<Change>) -> Case {
    let text = message.to_string().replace(TWICE, "\"k\":1,\"k\":2");
    Case { text, changes }
}

/// Change to a place.
#[derive(Clone)]
enum Spoil {
    Replace(Value),
    Remove,
    /// Adds a field to an object.
    Add(&'static str, Value),
}

fn substitutes(pointer: &str) -> Vec<(&'static str, Spoil)> {
    let replace = |kind, value| (kind, Spoil::Replace(value));
    let mut all = vec![
        ("removed", Spoil::Remove),
        replace("null", Value::Null),
        replace("true", json!(true)),
        replace("false", json!(false)),
        replace("zero", json!(0)),
        replace("negative", json!(-1)),
        replace("fraction", json!(1.5)),
        replace("integer-float", json!(1.0)),
        replace("large-integer", json!(9_223_372_036_854_775_808_u64)),
        replace("empty-string", json!("")),
        replace("blank", json!(" ")),
        replace("word", json!("word")),
        replace("long-1025", json!("w ".repeat(513)[..1025])),
        replace("long-8193", json!("w ".repeat(4097)[..8193])),
        replace("long-65537", json!("w ".repeat(32769)[..65537])),
        replace("array", json!([])),
        replace("array-of-null", json!([null])),
        replace("array-of-words", json!(["word"])),
        replace("object", json!({})),
        replace("object-with-field", json!({"k": 1})),
        ("unknown-field", Spoil::Add("com.example.unknown", json!({"k": [1, null]}))),
        ("unknown-deep", Spoil::Add("com.example.unknown", deep(100))),
        ("blob", Spoil::Add("com.example.unknown", json!("QUJD".repeat(3000)))),
        ("other-direction", Spoil::Add("response", json!(7))),
        ("duplicate-key", Spoil::Add("there twice", json!(""))),
    ];
    if pointer.ends_with("/protocol_version") {
        all.extend(VERSIONS.iter().map(|(kind, version)| replace(*kind, json!(version))));
    }
    all
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

const VERSIONS: &[(&str, &str)] = &[
    ("version-major", "2.0.0"),
    ("version-zero", "0.9.0"),
    ("version-minor", "1.99.0"),
    ("version-patch", "1.0.7"),
    ("version-draft", "1.0.0-draft"),
    ("version-build", "1.0.0+b.1"),
    ("version-leading-zero", "01.0.0"),
    ("version-dots", "1.0.0-.."),
    ("version-short", "1.0"),
    ("version-letter", "v1.0.0"),
    ("version-hyphen", "1.0.0-"),
    ("version-blank", " 1.0.0"),
    ("version-newline", "1.0.0\n"),
    ("version-digits", "\u{661}.0.0"),
    ("version-huge", "999999999999999999999.0.0"),
    (
        "version-long",
        "1.0.0-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ),
];

/// Changes a place; `None` when that cannot be done there.
fn spoil(message: &mut Value, pointer: &str, kind: &'static str, how: Spoil) -> Option<Change> {
    let change = Change { place: place(pointer), kind };
    match how {
        Spoil::Replace(value) => {
            let target = message.pointer_mut(pointer)?;
            if *target == value {
                return None;
            }
            *target = value;
        }
        Spoil::Add(key, value) => {
            message.pointer_mut(pointer)?.as_object_mut()?.insert(key.into(), value);
        }
        Spoil::Remove => {
            let (parent, last) = pointer.rsplit_once('/')?;
            let key = last.replace("~1", "/").replace("~0", "~");
            match message.pointer_mut(parent)? {
                Value::Object(fields) => drop(fields.remove(&key)?),
                Value::Array(items) => drop(items.remove(key.parse().ok()?)),
                _ => return None,
            }
        }
    }
    Some(change)
}

/// `request.context.attachments[]` for `/request/context/attachments/0`; `message` for the root.
fn place(pointer: &str) -> String {
    let mut out = String::new();
    for step in pointer.split('/').skip(1) {
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str("[]");
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&step.replace("~1", "/").replace("~0", "~"));
        }
    }
    if out.is_empty() { "message".into() } else { out }
}

/// Pointers to every value of a message, itself included.
fn pointers(message: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), message)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::Object(fields) => open.extend(fields.iter().map(|(key, value)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                (format!("{pointer}/{key}"), value)
            })),
            Value::Array(items) => open.extend(
                items.iter().enumerate().map(|(n, value)| (format!("{pointer}/{n}"), value)),
            ),
            _ => {}
        }
        found.push(pointer);
    }
    found
}

fn requests() -> Vec<Value> {
    let full = json!({
        "protocol_version": "1.0.0", "request_id": "r1", "correlation_id": "c1",
        "capabilities": {"openharness.ui.approval": true, "openharness.streaming": {"profiles": ["p"]}},
        "request": {
            "auth": {"tenant_id": "t", "credential_ref": "c", "session_id": "l"},
            "context": {
                "session_id": "s", "conversation_id": "v", "user_intent": "go on",
                "task_hint": {"sop_id": "p", "plugin_id": "q", "business_key": "k"},
                "continuation": {"run_id": "u", "sop_id": "p", "continuation_token": "w"},
                "environment_state": {
                    "privacy_tier": "restricted", "os": "o", "active_window": "a", "screen_hash": "h",
                },
                "attachments": [{
                    "ref_id": "f", "uri": "https://example.org/f", "asset_id": "e",
                    "mime_type": "image/png", "filename": "n", "size_bytes": 7, "sha256": "h",
                }],
                "shell": {"shell_kind": "tv", "shell_version": "1", "locale": "en", "timezone": "UTC"},
                "extensions": {
                    "com.example": {"a": 1},
                    "dev.bridle": {
                        "directive_results": [{
                            "directive_id": "d1", "outcome": "completed", "output": {"n": 1},
                            "error": {"code": "x", "message": "m"},
                            "decision": {"by": "user", "option_id": "o", "edited_payload": {}},
                            "started_ms": 1, "finished_ms": 2,
                        }],
                        "timeout_ms": 1000,
                    },
                },
            },
            "extensions": {"com.example": 2},
        },
    });
    let least = json!({
        "protocol_version": "1.0.0", "request": {"context": {"user_intent": "hi"}},
    });
    vec![full, least]
}

fn responses() -> Vec<Value> {
    let step =
        json!({"run_id": "u", "continuation_token": "w", "expires_at": "2026-11-15T12:00:00Z"});
    let success = json!({
        "protocol_version": "1.0.0", "request_id": "r1", "correlation_id": "c1",
        "supported_protocol_versions": ["1.0.0"],
        "supported_capabilities": {"dev.bridle.feedback": {"version": 1}},
        "capability_denials": [{"capability": "x", "code": "not_supported", "message": "m"}],
        "response": {
            "status": "success", "engine_latency_ms": 12,
            "action_directives": [{
                "action_type": "render_message", "priority": "normal", "execution": "sequential",
                "risk_tier": "safe", "requires_user_approval": false, "deadline_ms": 5000,
                "payload": {"text": "t"},
                "extensions": {"dev.bridle": {
                    "directive_id": "d1", "result": "none", "depends_on": ["d0"], "commit": "early",
                }},
            }],
            "continuation": step,
            "extensions": {"dev.bridle": {"continuation": step}},
        },
    });
    let error = json!({
        "protocol_version": "1.0.0",
        "response": {"status": "error", "error": {
            "code": "invalid_request", "message": "m", "retryable": false, "details": {"field": "f"},
        }},
    });
    vec![success, error]
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
