//! What must not come back: secrets, in whatever field, whatever went wrong (draft, sections 7, 8
//! and 13).
//!
//! long: most of it is tables.

use super::EngineUnderTest;
use super::http::HttpReply;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Requests with a secret at `@CANARY` that must be refused.
const SPILLS: [(&str, &str, &str); 14] = [
    (
        "P-01",
        "a token is not in the error about a version",
        r#"{"protocol_version":"9.0.0","request_id":"@ID","request":{"auth":{"token":"@CANARY"},"context":{@U}}}"#,
    ),
    (
        "P-02",
        "a key is not in the error about a shape",
        r#"{@V,"request":{"auth":{"api_key":"@CANARY"},"context":{@U,"attachments":7}}}"#,
    ),
    (
        "P-03",
        "a reference is not in the error about a text",
        r#"{@V,"request":{"auth":{"credential_ref":"@CANARY"},"context":{@U}"#,
    ),
    ("P-04", "a secret is not in the error about its own type", r#"{@V,"request":"@CANARY"}"#),
    ("P-05", "a secret that is a key is not in the error about a text", r#"{@V,"@CANARY":tru}"#),
    (
        "P-06",
        "an intent is not in the error about a shape",
        r#"{@V,"request":{"context":{"user_intent":"mail me at @CANARY@example.com","attachments":7}}}"#,
    ),
    (
        "P-07",
        "an environment is not in the error about a shape",
        r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"secret","pin":"@CANARY"},"attachments":7}}}"#,
    ),
    (
        "P-08",
        "a version is not in the error about it",
        r#"{"protocol_version":"@CANARY","request_id":"@ID",@R}"#,
    ),
    (
        "P-09",
        "an unknown field is not in the error about another",
        r#"{@V,"@CANARY":{"x":"@CANARY"},"request":7}"#,
    ),
    (
        "P-10",
        "a list item is not in the error about it",
        r#"{@V,"request":{"context":{@U,"attachments":["@CANARY"]}}}"#,
    ),
    ("P-11", "a list in place of a message is not in the error about it", r#"["@CANARY"]"#),
    ("P-12", "a string in place of a message is not in the error about it", r#""@CANARY""#),
    ("P-13", "words in place of a message are not in the error about them", "password=@CANARY"),
    (
        "P-14",
        "a number behind a secret is not an error that repeats it",
        r#"{@V,"request":{"auth":{"token":"@CANARY","x":01}}}"#,
    ),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "errors end up in logs and on screens";
    let mut all: Vec<ConformanceCase<EngineUnderTest>> = SPILLS
        .iter()
        .map(|(id, title, body)| {
            ConformanceCase::new(
                id,
                RequirementLevel::Must,
                "13",
                title,
                why,
                move |peer: &mut EngineUnderTest| {
                    let (filled, answer) = peer.ask_filled(body)?;
                    answer.is_refused()?;
                    clean(&answer.reply, &filled.canary)
                },
            )
        })
        .collect();
    all.extend(kept());
    all.extend(around());
    all
}

/// Checks that a secret is nowhere in an answer, head and body.
pub(super) fn clean(reply: &HttpReply, canary: &str) -> Checked {
    let text = reply.text();
    if text.contains(canary) {
        return Err(CheckFinding::fault("a secret of the request is in the answer"));
    }
    Ok(())
}

fn kept() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "what a shell marks as secret stays between the shell and the engine";
    let kept = |id, section, title, body: &'static str| {
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            section,
            title,
            why,
            move |peer: &mut EngineUnderTest| {
                let (filled, answer) = peer.ask_filled(body)?;
                clean(&answer.reply, &filled.canary)
            },
        )
    };
    vec![
        kept(
            "P-20",
            "8",
            "a secret environment is in no answer",
            r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"secret","clipboard":"@CANARY"}}}}"#,
        ),
        kept(
            "P-21",
            "8",
            "an environment of an unknown tier is in no answer",
            r#"{@V,"request":{"context":{@U,"environment_state":{"privacy_tier":"cosmic","clipboard":"@CANARY"}}}}"#,
        ),
        kept(
            "P-22",
            "7",
            "a token is in no answer",
            r#"{@V,"request":{"auth":{"token":"@CANARY","api_key":"@CANARY"},"context":{@U}}}"#,
        ),
        kept(
            "P-23",
            "9.2",
            "a token of a continuation is in no answer",
            r#"{@V,"request":{"context":{@U,"continuation":{"continuation_token":"@CANARY"}}}}"#,
        ),
        kept(
            "P-24",
            "9.1",
            "a password in an address is in no answer",
            r#"{@V,"request":{"context":{@U,"attachments":[{"uri":"https://u:@CANARY@example.invalid/x"}]}}}"#,
        ),
    ]
}

fn around() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "credentials travel in heads, and gateways write heads and addresses down";
    vec![
        ConformanceCase::new(
            "P-25",
            RequirementLevel::Must,
            "7",
            "a credential that is not good is not in the answer",
            why,
            |peer: &mut EngineUnderTest| {
                let filled = peer.fill("{@V,@R}");
                let asked = peer.post(filled.text.as_str());
                let asked = asked.with("Authorization", &format!("Bearer {}", filled.canary));
                let reply = peer.exchange(&asked)?;
                clean(&reply, &filled.canary)
            },
        ),
        ConformanceCase::new(
            "P-26",
            RequirementLevel::Must,
            "7",
            "what is in a query is not in the answer",
            why,
            |peer: &mut EngineUnderTest| {
                let filled = peer.fill(r#"{@V,"request":7}"#);
                let mut asked = peer.post(filled.text.as_str());
                asked.path = format!("{}?key={}", asked.path, filled.canary);
                let reply = peer.exchange(&asked)?;
                clean(&reply, &filled.canary)
            },
        ),
        ConformanceCase::new(
            "P-27",
            RequirementLevel::Should,
            "7",
            "a path that is not there is not in the answer",
            why,
            |peer: &mut EngineUnderTest| {
                let filled = peer.fill("{@V,@R}");
                let mut asked = peer.post(filled.text.as_str());
                asked.path = peer.way().url.beside(&filled.canary);
                let reply = peer.exchange(&asked)?;
                clean(&reply, &filled.canary)
            },
        ),
    ]
}
