//! What an engine says about itself before anybody asks (P15.7): the document, and health.
//!
//! long: each list of cases is one table.

use serde_json::Value;

use super::EngineUnderTest;
use super::rows::GOOD;
use super::shape::{CORE, is_truthy, is_version};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "shells choose by it what to send, and what to offer to people";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = document();
    all.extend(kept());
    all.extend(health());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    check: fn(&mut EngineUnderTest, &Value) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(
        id,
        RequirementLevel::Profile("disc"),
        "P15.7",
        title,
        WHY,
        move |peer: &mut EngineUnderTest| {
            let document = peer.discovery()?;
            check(peer, &document)
        },
    )
}

fn need(holds: bool, expected: &str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(CheckFinding::fault(format!("expected {expected} in the document")))
    }
}

fn strings(value: &Value) -> bool {
    let is_text = |it: &Value| it.as_str().is_some_and(|it| !it.is_empty());
    value.as_array().is_some_and(|list| list.iter().all(is_text))
}

fn document() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case(
            "G-01",
            "`protocol_versions` is a list of versions that is not empty",
            |_, document| {
                let versions = document["protocol_versions"].as_array();
                let all = |list: &Vec<Value>| {
                    !list.is_empty() && list.iter().all(|it| it.as_str().is_some_and(is_version))
                };
                need(versions.is_some_and(all), "versions")
            },
        ),
        case("G-02", "the engine has a name and a version", |_, document| {
            let engine = &document["engine"];
            need(engine["name"].is_string() && engine["version"].is_string(), "`engine`")
        }),
        case("G-03", "`capabilities` is an object", |_, document| {
            need(document["capabilities"].is_object(), "an object `capabilities`")
        }),
        case("G-04", "`action_types` lists types with their tier", |_, document| {
            let good = |it: &Value| {
                let kind = it["type"].as_str().unwrap_or_default();
                let tier = it["risk_tier"].as_str().unwrap_or_default();
                (CORE.contains(&kind) || kind.contains('.'))
                    && ["safe", "caution", "dangerous"].contains(&tier)
            };
            let list = document["action_types"].as_array();
            need(
                list.is_some_and(|list| list.iter().all(good)),
                "`action_types` with `type`, `risk_tier`",
            )
        }),
        case("G-05", "`error_codes` is a list of codes", |_, document| {
            let codes = &document["error_codes"];
            need(
                strings(codes) && codes.as_array().is_some_and(|it| !it.is_empty()),
                "`error_codes`",
            )
        }),
        case("G-06", "`profiles` is a list of names", |_, document| {
            need(strings(&document["profiles"]), "`profiles`")
        }),
        case("G-07", "`limits` are numbers above zero", |_, document| {
            let above = |key: &str| document["limits"][key].as_u64().is_some_and(|it| it > 0);
            let keys = ["max_body_bytes", "max_depth", "max_inline_blob_bytes"];
            need(keys.iter().all(|key| above(key)), "`limits`")
        }),
        case("G-08", "`auth.schemes` is a list of names", |_, document| {
            need(strings(&document["auth"]["schemes"]), "`auth.schemes`")
        }),
        case("G-09", "the document is also at `/.well-known/openharness`", |peer, document| {
            let asked = super::AskedRequest::new("GET", "/.well-known/openharness");
            let reply = peer.exchange(&asked)?;
            let other: Option<Value> = serde_json::from_slice(&reply.body).ok();
            let is_same = other.as_ref() == Some(document);
            if is_same {
                Ok(())
            } else {
                Err(CheckFinding::fault("expected the same document there"))
            }
        }),
        case("G-10", "the document holds no credential", |peer, document| {
            let text = document.to_string();
            let setup = peer.setup();
            let tokens = [&setup.token, &setup.token2].into_iter().flatten();
            need(tokens.into_iter().all(|token| !text.contains(token.as_str())), "no credential")
        }),
    ]
}

fn kept() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("G-20", "every version of the document is served", |peer, document| {
            let versions = document["protocol_versions"].as_array().cloned().unwrap_or_default();
            for version in versions.iter().filter_map(Value::as_str).take(16) {
                let body = format!(r#"{{"protocol_version":"{version}","request_id":"@ID",@R}}"#);
                peer.ask_filled(&body)?.1.is_served()?;
            }
            Ok(())
        }),
        case("G-21", "codes of errors are in the document", |peer, document| {
            let codes = document["error_codes"].as_array().cloned().unwrap_or_default();
            for body in [r#"{@V,"request":7}"#, r#"{"protocol_version":"2.0.0",@R}"#, "x"] {
                let (_, answer) = peer.ask_filled(body)?;
                let is_there = answer.code().is_some_and(|code| codes.iter().any(|it| it == code));
                answer.has(is_there, "a code that the document lists")?;
            }
            Ok(())
        }),
        case("G-22", "types of directives are in the document", |peer, document| {
            let types = document["action_types"].as_array().cloned().unwrap_or_default();
            let (_, answer) = peer.ask_filled(GOOD)?;
            let is_listed =
                |it: &Value| types.iter().any(|known| known["type"] == it["action_type"]);
            answer.has(answer.directives().iter().all(is_listed), "types that the document lists")
        }),
        case("G-23", "what an answer offers is in the document", |peer, document| {
            let (_, answer) = peer.ask_filled(GOOD)?;
            let offered = answer.at("/supported_capabilities").as_object().cloned();
            let is_there =
                |name: &String| document["capabilities"].get(name).is_some_and(is_truthy);
            let fits = offered
                .unwrap_or_default()
                .iter()
                .all(|(name, it)| !is_truthy(it) || is_there(name));
            answer.has(fits, "capabilities that the document lists")
        }),
        case("G-24", "a message as large as the document says is served", |peer, document| {
            let most = document["limits"]["max_body_bytes"].as_u64().unwrap_or_default();
            let body = padded(peer, most);
            peer.ask(&body)?.is_served()
        }),
        case("G-25", "a message of one byte more is `payload_too_large`", |peer, document| {
            let most = document["limits"]["max_body_bytes"].as_u64().unwrap_or_default();
            let body = padded(peer, most.saturating_add(1));
            peer.ask(&body)?.is_refused_as(&["payload_too_large"])
        }),
        case(
            "G-26",
            "as much inside a message as the document says is served",
            |peer, document| {
                let body = blob(document, 0);
                peer.ask_filled(&body)?.1.is_served()
            },
        ),
        case("G-27", "a little more inside is `embedded_blob`", |peer, document| {
            let body = blob(document, 3);
            peer.ask_filled(&body)?.1.is_refused_as(&["embedded_blob"])
        }),
        case(
            "G-28",
            "what is kept and deeper than the document says is refused",
            |peer, document| {
                let most = document["limits"]["max_depth"].as_u64().unwrap_or_default().min(10_000);
                let levels = usize::try_from(most).unwrap_or_default();
                let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
                let body = format!(
                    r#"{{@V,"request":{{"context":{{@U}},"extensions":{{"a.b":{deep}}}}}}}"#
                );
                peer.ask_filled(&body)?.1.is_refused_as(&["invalid_request"])
            },
        ),
    ]
}

/// A good message of so many bytes, at most 64 MiB.
fn padded(peer: &mut EngineUnderTest, bytes: u64) -> String {
    let bytes = usize::try_from(bytes.min(64 << 20)).unwrap_or_default();
    let text = peer.fill(r#"{@V,@R,"x":""}"#).text;
    let missing = bytes.saturating_sub(text.len());
    text.replace(r#""x":"""#, &format!(r#""x":"{}""#, "x".repeat(missing)))
}

/// A message with a file inside that decodes to the limit and so many bytes more.
fn blob(document: &Value, more: u64) -> String {
    let most = document["limits"]["max_inline_blob_bytes"].as_u64().unwrap_or_default();
    let letters =
        usize::try_from((most.saturating_add(more).min(4 << 20)) / 3 * 4).unwrap_or_default();
    let file = "QUJD".repeat(letters / 4);
    format!(
        r#"{{@V,"request":{{"context":{{@U,"environment_state":{{"privacy_tier":"public","x":"{file}"}}}}}}}}"#
    )
}

fn health() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "whoever keeps the engine running looks here";
    let case = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(id, RequirementLevel::Profile("health"), "P15.7", title, why, check)
    };
    vec![
        case("G-30", "`GET /health` says `ok`, without a credential", |peer| {
            let asked = super::AskedRequest::new("GET", "/health");
            let reply = peer.exchange(&asked)?;
            let value: Option<Value> = serde_json::from_slice(&reply.body).ok();
            match value {
                Some(value) if reply.status == 200 && value["status"] == "ok" => Ok(()),
                Some(value) if value["status"].is_string() => {
                    Err(CheckFinding::fault(format!("expected status 200 and `ok`, got {value}")))
                }
                _ => Err(CheckFinding::unoffered("`/health` gives no JSON with a `status`")),
            }
        }),
        case("G-31", "`/health` holds no names and no credential", |peer| {
            let session = peer.name();
            let template = GOOD.replace(
                "@R",
                &format!(r#""request":{{"context":{{@U,"session_id":"{session}"}}}}"#),
            );
            peer.ask_filled(&template)?;
            let reply = peer.exchange(&super::AskedRequest::new("GET", "/health"))?;
            if reply.status != 200 {
                return Err(CheckFinding::unoffered("there is no `/health`"));
            }
            super::privacy::clean(&reply, &session)
        }),
    ]
}
