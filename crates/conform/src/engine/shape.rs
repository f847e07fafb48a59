//! What must hold for every answer of a run, whatever it answers.
//!
//! Each answer is looked at as it comes; the cases of `every` then say, class by class, whether
//! anything was wrong in any of them.

use std::collections::BTreeSet;

use bridle_wire::openharness::MessageLimits;
use bridle_wire::openharness::json::JsonDocument;
use serde_json::{Map, Value};

use super::answer::{EnvelopeAnswer, brief};

/// Types of directives that the draft names.
pub const CORE: [&str; 5] =
    ["render_ui", "simulate_action", "render_message", "request_approval", "noop"];

/// Longest run of letters of base64 in a directive, in bytes: 8 KiB decoded.
const MAX_RUN: usize = 10_923;

/// Phrases that libraries write into errors that are not caught.
const LIBRARY: [&str; 14] = [
    "Traceback",
    "panicked at",
    "at line 1 column",
    "line 1 column",
    "expected struct",
    "JSONDecodeError",
    "Expecting value",
    "SyntaxError",
    "Unexpected token",
    "NullPointer",
    "Exception",
    "/usr/lib",
    "site-packages",
    "node_modules",
];

/// Class of fault in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShapeFault {
    /// `protocol_version` of the answer.
    Version,
    /// `status`.
    Status,
    /// A null.
    Null,
    /// A key comes twice.
    Twice,
    /// An id that is no string, or an empty one.
    Ids,
    /// `supported_protocol_versions`.
    Versions,
    /// `supported_capabilities`.
    Capabilities,
    /// `capability_denials`.
    Denials,
    /// Denied and offered at once.
    Torn,
    /// A denial without a code.
    Uncoded,
    /// `engine_latency_ms`.
    Latency,
    /// An error without `error`, or a success with one.
    Mixed,
    /// `error.code`.
    Code,
    /// A code is spelled wrong.
    Spelling,
    /// `message`, `retryable` or `details` of another type.
    ErrorTypes,
    /// `retryable` that is not said.
    Retryable,
    /// Text of a library.
    Library,
    /// A field that is not in the protocol, outside `extensions`.
    Stray,
    /// A key of `extensions` without a prefix.
    Prefix,
    /// A directive that is none.
    Directive,
    /// A word of a directive that is not in its list.
    Words,
    /// `requires_user_approval` or `deadline_ms` of another type.
    Gate,
    /// `payload` or `extensions` that is no object.
    Payload,
    /// A type that is neither core nor has a prefix.
    Type,
    /// A type that shells may not know, without words for people.
    Fallback,
    /// `render_message` without text.
    Text,
    /// `text` and `message` that differ.
    Differs,
    /// A file inside a directive.
    Blob,
    /// Two directives of one name.
    Names,
    /// Dangerous, and nobody is asked.
    Danger,
    /// The header that says what the body is.
    Media,
}

/// Everything that is wrong with an answer.
pub fn faults(answer: &EnvelopeAnswer) -> Vec<(ShapeFault, String)> {
    let mut found = Vec::new();
    envelope(answer, &mut found);
    lists(answer, &mut found);
    error(answer, &mut found);
    strays(&answer.value, &mut found);
    for directive in answer.directives() {
        shape_of(directive, &mut found);
        sense_of(directive, &mut found);
    }
    names(answer, &mut found);
    found
}

type Found = Vec<(ShapeFault, String)>;

fn need(found: &mut Found, holds: bool, class: ShapeFault, what: impl FnOnce() -> String) {
    if !holds {
        found.push((class, what()));
    }
}

fn envelope(answer: &EnvelopeAnswer, found: &mut Found) {
    let value = &answer.value;
    let version = value["protocol_version"].as_str().is_some_and(is_version);
    need(found, version, ShapeFault::Version, || {
        format!("`protocol_version` of an answer is `{}`", value["protocol_version"])
    });
    let status = &value["response"]["status"];
    need(found, status == "success" || status == "error", ShapeFault::Status, || {
        format!("`response.status` is {status}; expected `success` or `error`")
    });
    need(found, !has_null(value), ShapeFault::Null, || format!("a null in {}", answer.brief()));
    // Larger than what is taken from shells: an answer may hold more than a request.
    let limits = MessageLimits { bytes: 16 << 20, values: 1 << 20, ..MessageLimits::default() };
    need(found, JsonDocument::read(&answer.reply.body, &limits).is_ok(), ShapeFault::Twice, || {
        format!("a key is there twice, or the text is not JSON for everybody: {}", answer.brief())
    });
    for key in ["request_id", "correlation_id"] {
        let id = value.get(key);
        let is_id = id.is_none_or(|id| id.as_str().is_some_and(|id| !id.is_empty()));
        need(found, is_id, ShapeFault::Ids, || {
            format!("`{key}` of an answer is no string, or empty")
        });
    }
    let latency = value["response"].get("engine_latency_ms");
    let is_time = latency.is_none_or(|it| it.as_f64().is_some_and(|it| it >= 0.0));
    need(found, is_time, ShapeFault::Latency, || {
        "`engine_latency_ms` is no number from 0".to_owned()
    });
    let media = answer.reply.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let is_json = media.starts_with("application/json") || media.contains("+json");
    need(found, is_json, ShapeFault::Media, || format!("`Content-Type` of an answer is `{media}`"));
}

fn lists(answer: &EnvelopeAnswer, found: &mut Found) {
    let value = &answer.value;
    let versions = value.get("supported_protocol_versions");
    let all = |list: &Vec<Value>| list.iter().all(|it| it.as_str().is_some_and(is_version));
    let is_list = versions.is_none_or(|it| it.as_array().is_some_and(all));
    need(found, is_list, ShapeFault::Versions, || {
        "`supported_protocol_versions` is no list of versions".to_owned()
    });
    let offered = value.get("supported_capabilities");
    need(found, offered.is_none_or(Value::is_object), ShapeFault::Capabilities, || {
        "`supported_capabilities` is no object".to_owned()
    });
    let Some(denials) = value.get("capability_denials") else { return };
    let named = |it: &Value| it["capability"].as_str().is_some_and(|name| !name.is_empty());
    let typed = |it: &Value, key: &str| it.get(key).is_none_or(Value::is_string);
    let good = |it: &Value| named(it) && typed(it, "code") && typed(it, "message");
    let is_list = denials.as_array().is_some_and(|list| list.iter().all(good));
    need(found, is_list, ShapeFault::Denials, || {
        format!("`capability_denials` is no list of objects with `capability`: {denials}")
    });
    for denial in denials.as_array().into_iter().flatten() {
        let name = denial["capability"].as_str().unwrap_or_default();
        let is_offered = offered.and_then(|it| it.get(name)).is_some_and(is_truthy);
        need(found, !is_offered, ShapeFault::Torn, || {
            format!("`{name}` is offered and denied at once")
        });
        let is_coded = denial["code"].as_str().is_some_and(|code| !code.is_empty());
        need(found, is_coded, ShapeFault::Uncoded, || {
            format!("the denial of `{name}` has no `code`")
        });
    }
}

fn error(answer: &EnvelopeAnswer, found: &mut Found) {
    let error = answer.value["response"].get("error");
    if answer.is_success() {
        need(found, error.is_none(), ShapeFault::Mixed, || "a success with an `error`".to_owned());
        return;
    }
    need(found, answer.directives().is_empty(), ShapeFault::Mixed, || {
        "an error with directives".to_owned()
    });
    let Some(error) = error else {
        found.push((ShapeFault::Mixed, "an error without `response.error`".to_owned()));
        return;
    };
    let code = error["code"].as_str().unwrap_or_default();
    need(found, !code.is_empty(), ShapeFault::Code, || "an error without a `code`".to_owned());
    let is_letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.".contains(&byte);
    let is_spelled =
        code.bytes().all(is_letter) && !code.starts_with(|it: char| !it.is_ascii_lowercase());
    need(found, is_spelled, ShapeFault::Spelling, || {
        format!("the code `{code}`; expected small letters, digits and `_`")
    });
    let message = error.get("message").is_none_or(Value::is_string);
    let retryable = error.get("retryable").is_none_or(Value::is_boolean);
    let details = error.get("details").is_none_or(Value::is_object);
    need(found, message && retryable && details, ShapeFault::ErrorTypes, || {
        "`message` is a string, `retryable` a boolean, `details` an object".to_owned()
    });
    need(found, error.get("retryable").is_some(), ShapeFault::Retryable, || {
        format!("the error `{code}` does not say `retryable`")
    });
    let text = error.to_string();
    let leak = LIBRARY.iter().find(|words| text.contains(**words));
    need(found, leak.is_none(), ShapeFault::Library, || {
        format!("the text of a library, a trace or a path in {}", brief(&text))
    });
}

/// Keys that an answer may have, place by place.
const KEYS: [(&str, &[&str]); 3] = [
    (
        "",
        &[
            "protocol_version",
            "request_id",
            "correlation_id",
            "supported_protocol_versions",
            "supported_capabilities",
            "capability_denials",
            "response",
            "extensions",
        ],
    ),
    (
        "/response",
        // No field of version 1 issues a continuation; mirrored from requests (P15.4).
        &[
            "status",
            "error",
            "engine_latency_ms",
            "action_directives",
            "extensions",
            "continuation",
        ],
    ),
    ("/response/error", &["code", "message", "retryable", "details"]),
];

const DIRECTIVE: [&str; 8] = [
    "action_type",
    "priority",
    "execution",
    "risk_tier",
    "requires_user_approval",
    "deadline_ms",
    "payload",
    "extensions",
];

fn strays(value: &Value, found: &mut Found) {
    let mut stray = |place: &str, object: Option<&Map<String, Value>>, known: &[&str]| {
        for key in object.into_iter().flat_map(Map::keys) {
            need(found, known.contains(&key.as_str()), ShapeFault::Stray, || {
                format!("`{key}` in `{place}` is not of the protocol; it belongs into `extensions`")
            });
        }
    };
    for (place, known) in KEYS {
        stray(place, value.pointer(place).and_then(Value::as_object), known);
    }
    let directives = value.pointer("/response/action_directives").and_then(Value::as_array);
    for directive in directives.into_iter().flatten() {
        stray("action_directives", directive.as_object(), &DIRECTIVE);
    }
    let places = ["/extensions", "/response/extensions"].map(|place| value.pointer(place));
    let within = directives.into_iter().flatten().map(|it| it.get("extensions"));
    for object in places.into_iter().chain(within).flatten().filter_map(Value::as_object) {
        for key in object.keys() {
            need(found, key.contains('.') || key.contains("://"), ShapeFault::Prefix, || {
                format!("`{key}` in `extensions` has no prefix such as `com.example`")
            });
        }
    }
}

fn shape_of(directive: &Value, found: &mut Found) {
    let is_named = directive["action_type"].as_str().is_some_and(|it| !it.is_empty());
    need(found, is_named, ShapeFault::Directive, || {
        format!("a directive without `action_type`: {}", brief(&directive.to_string()))
    });
    let lists: [(&str, &[&str]); 3] = [
        ("priority", &["low", "normal", "high", "critical"]),
        ("execution", &["sequential", "parallel"]),
        ("risk_tier", &["safe", "caution", "dangerous"]),
    ];
    for (key, words) in lists {
        let is_word = |it: &Value| it.as_str().is_some_and(|it| words.contains(&it));
        need(found, directive.get(key).is_none_or(is_word), ShapeFault::Words, || {
            format!("`{key}` of a directive is {}; expected one of {words:?}", directive[key])
        });
    }
    let gate = directive.get("requires_user_approval").is_none_or(Value::is_boolean);
    let is_time = |it: &Value| it.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0);
    need(found, gate && directive.get("deadline_ms").is_none_or(is_time), ShapeFault::Gate, || {
        "`requires_user_approval` is a boolean, `deadline_ms` an integer from 0".to_owned()
    });
    for key in ["payload", "extensions"] {
        need(found, directive.get(key).is_none_or(Value::is_object), ShapeFault::Payload, || {
            format!("`{key}` of a directive is no object")
        });
    }
}

fn sense_of(directive: &Value, found: &mut Found) {
    let kind = directive["action_type"].as_str().unwrap_or_default();
    let is_core = CORE.contains(&kind);
    need(found, is_core || kind.contains('.'), ShapeFault::Type, || {
        format!("the type `{kind}` is neither of the registry nor has a prefix")
    });
    let payload = &directive["payload"];
    let text = |key: &str| payload[key].as_str().filter(|it| !it.is_empty());
    need(
        found,
        is_core || text("message").or(text("fallback_message")).is_some(),
        ShapeFault::Fallback,
        || format!("`{kind}` has no `message` for shells that do not know it"),
    );
    if kind == "render_message" {
        let words = text("text").or(text("message")).or(text("fallback_message"));
        need(found, words.is_some(), ShapeFault::Text, || {
            "a `render_message` without text".to_owned()
        });
        let (one, other) = (payload.get("text"), payload.get("message"));
        let is_same = one.is_none() || other.is_none() || one == other;
        need(found, is_same, ShapeFault::Differs, || "`text` and `message` differ".to_owned());
    }
    let is_asked = directive["requires_user_approval"] == true;
    need(found, directive["risk_tier"] != "dangerous" || is_asked, ShapeFault::Danger, || {
        format!("`{kind}` is dangerous, and nobody is asked")
    });
    need(found, !has_blob(&payload.to_string()), ShapeFault::Blob, || {
        format!("a file is inside the payload of `{kind}`")
    });
}

/// Names of directives, wherever a vendor puts them.
fn names(answer: &EnvelopeAnswer, found: &mut Found) {
    let mut seen = BTreeSet::new();
    for directive in answer.directives() {
        let vendors = directive["extensions"].as_object().into_iter().flat_map(Map::values);
        for name in vendors.filter_map(|it| it["directive_id"].as_str()) {
            need(found, seen.insert(name), ShapeFault::Names, || {
                format!("two directives are called `{name}`")
            });
        }
    }
}

/// Tells whether a text is a version of this protocol's form, of its first major line.
pub fn is_version(text: &str) -> bool {
    let (core, _) = text.split_once('+').unwrap_or((text, ""));
    let (core, _) = core.split_once('-').unwrap_or((core, ""));
    let parts: Vec<&str> = core.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_number)
}

/// Tells whether a value asks for a capability, or offers it.
pub fn is_truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && *value != 0 && *value != ""
}

fn has_null(value: &Value) -> bool {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Null => return true,
            Value::Array(items) => waiting.extend(items),
            // What a payload or an extension holds is its owner's.
            Value::Object(fields) => waiting.extend(
                fields
                    .iter()
                    .filter(|(key, _)| *key != "payload" && *key != "extensions")
                    .map(|it| it.1),
            ),
            _ => {}
        }
    }
    false
}

/// Tells whether a text has a run of letters that only a file has.
fn has_blob(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
    text.as_bytes().split(|byte| !is_letter(*byte)).any(|run| run.len() > MAX_RUN)
}
