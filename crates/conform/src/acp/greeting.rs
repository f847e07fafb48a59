//! `initialize` and authentication.
//!
//! long: each list of cases is one table.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{AgentCase, AgentUnderTest, CaseText, expect, must, profile, should};
use crate::case::{CheckFinding, Checked};

/// A version that no agent has.
const FUTURE_VERSION: u16 = 65_000;

pub(super) fn cases() -> Vec<AgentCase> {
    vec![
        must(
            "I-01",
            CaseText(
                "version 1 is answered with version 1",
                "Initialization",
                "an editor disconnects from an agent of another version",
            ),
            |peer| {
                let greeting = peer.greet()?.greeting;
                expect(greeting["protocolVersion"] == 1, "`protocolVersion` 1", greeting)
            },
        ),
        must(
            "I-02",
            CaseText(
                "a version that the agent does not know is answered with its latest",
                "Initialization",
                "a newer editor can go on with an older agent",
            ),
            |peer| {
                let mut link = peer.start()?;
                let greeting = link.ok(
                    "initialize",
                    &json!({"protocolVersion": FUTURE_VERSION, "clientCapabilities": {}}),
                )?;
                let version = greeting["protocolVersion"].as_u64().unwrap_or_default();
                expect(
                    (1..u64::from(FUTURE_VERSION)).contains(&version),
                    "a version of its own",
                    greeting,
                )
            },
        ),
        must(
            "I-03",
            CaseText(
                "capabilities that are left out are none",
                "Initialization",
                "the protocol lets an editor leave them out",
            ),
            |peer| {
                let mut link = peer.start()?;
                link.ok("initialize", &json!({"protocolVersion": 1})).map(drop)
            },
        ),
        must(
            "I-04",
            CaseText(
                "unknown capabilities of the editor are passed over",
                "Initialization",
                "an editor that is newer offers more",
            ),
            |peer| {
                let mut link = peer.start()?;
                let more =
                    json!({"kitUnknown": {"a": true}, "fs": {"kitUnknown": 7}, "_meta": {"x": 1}});
                let params = json!({"protocolVersion": 1, "clientCapabilities": more, "clientInfo": {"name": "kit", "version": "1"}});
                link.ok("initialize", &params).map(drop)
            },
        ),
        must(
            "I-05",
            CaseText(
                "capabilities of the agent have their types",
                "Initialization",
                "an editor shows what is offered, and only that",
            ),
            capabilities,
        ),
        should(
            "I-06",
            CaseText(
                "the agent says its name and version",
                "Initialization",
                "people ask which one it was",
            ),
            |peer| {
                let info = peer.greet()?.greeting["agentInfo"].clone();
                expect(
                    info["name"].is_string() && info["version"].is_string(),
                    "`agentInfo` with `name` and `version`",
                    info,
                )
            },
        ),
        must(
            "I-07",
            CaseText(
                "methods of authentication have an id of their own and a name",
                "Authentication",
                "people choose one by its name",
            ),
            |peer| {
                let methods = peer.greet()?.greeting["authMethods"].clone();
                let listed = methods.as_array().cloned().unwrap_or_default();
                let ids: BTreeSet<&str> =
                    listed.iter().filter_map(|it| it["id"].as_str()).collect();
                let are_named = listed.iter().all(|it| it["name"].is_string());
                expect(ids.len() == listed.len() && are_named, "an id and a name each", &methods)
            },
        ),
        must(
            "I-08",
            CaseText(
                "a method in a terminal is offered only to editors that have one",
                "Authentication",
                "a button that can do nothing",
            ),
            |peer| {
                let methods = peer.greet()?.greeting["authMethods"].clone();
                let listed = methods.as_array().cloned().unwrap_or_default();
                expect(
                    listed.iter().all(|it| it["type"] != "terminal"),
                    "no method of the type `terminal`",
                    &methods,
                )
            },
        ),
        should(
            "I-09",
            CaseText(
                "an unknown method of authentication is refused",
                "Authentication",
                "an editor would hold somebody for known who is not",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.refused("authenticate", &json!({"methodId": "kit-none"})).map(drop)
            },
        ),
        should(
            "I-10",
            CaseText(
                "a session before `initialize` is refused",
                "Initialization",
                "what both sides can do is not settled yet",
            ),
            |peer| {
                let mut link = peer.start()?;
                let place = peer.place();
                link.refused("session/new", &place).map(drop)
            },
        ),
        should(
            "I-11",
            CaseText(
                "a `protocolVersion` that is no number is refused",
                "Initialization",
                "a version that was not understood is no version",
            ),
            |peer| {
                let mut link = peer.start()?;
                link.refused(
                    "initialize",
                    &json!({"protocolVersion": {"a": 1}, "clientCapabilities": {}}),
                )
                .map(drop)
            },
        ),
        profile(
            "logout",
            "I-12",
            CaseText(
                "`logout` is answered",
                "Authentication",
                "people leave a machine that is not theirs",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.needs("auth.logout")?;
                link.ok("logout", &json!({})).map(drop)
            },
        ),
    ]
}

fn capabilities(peer: &mut AgentUnderTest) -> Checked {
    let greeting = peer.greet()?.greeting;
    let offered = greeting["agentCapabilities"].clone();
    let is_flag = |value: &Value| value.is_null() || value.is_boolean();
    let mut wrong = Vec::new();
    for path in [
        "/loadSession",
        "/promptCapabilities/image",
        "/promptCapabilities/audio",
        "/promptCapabilities/embeddedContext",
        "/mcpCapabilities/http",
        "/mcpCapabilities/sse",
    ] {
        if !offered.pointer(path).is_none_or(is_flag) {
            wrong.push(path);
        }
    }
    for path in ["list", "delete", "resume", "close"] {
        let value = &offered["sessionCapabilities"][path];
        if !(value.is_null() || value.is_object()) {
            wrong.push(path);
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let wrong = wrong.join(", ");
    Err(CheckFinding::fault(format!("expected other types of {wrong}, got {offered}")))
}
