//! Modes and options of a session.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::editor_link::EditorLink;
use super::{AgentCase, AgentUnderTest, CaseText, expect, must, profile};
use crate::case::CheckFinding;

pub(super) fn cases() -> Vec<AgentCase> {
    vec![
        profile(
            "modes",
            "M-01",
            CaseText("each mode can be chosen", "Session Modes", "people choose from the menu"),
            |peer| {
                let (mut link, modes) = with(peer, "modes")?;
                for mode in modes["availableModes"].as_array().into_iter().flatten() {
                    link.ok(
                        "session/set_mode",
                        &json!({"sessionId": link.session, "modeId": mode["id"]}),
                    )?;
                }
                Ok(())
            },
        ),
        must(
            "M-02",
            CaseText(
                "a mode that is not there is refused",
                "Session Modes",
                "people would think that it holds",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.refused(
                    "session/set_mode",
                    &json!({"sessionId": link.session, "modeId": "kit-none"}),
                )
                .map(drop)
            },
        ),
        profile(
            "options",
            "M-03",
            CaseText(
                "a value that is chosen holds, and all options are told",
                "Session Config Options",
                "people choose from the menu",
            ),
            |peer| {
                let (mut link, options) = with(peer, "configOptions")?;
                let option = options[0].clone();
                let value = option["currentValue"].clone();
                let params =
                    json!({"sessionId": link.session, "configId": option["id"], "value": value});
                let told = link.ok("session/set_config_option", &params)?;
                let listed = told["configOptions"].as_array().cloned().unwrap_or_default();
                let is_it = |it: &Value| it["id"] == option["id"] && it["currentValue"] == value;
                let is_whole = options.as_array().is_some_and(|all| all.len() == listed.len());
                expect(is_whole && listed.iter().any(is_it), "all options with the value", told)
            },
        ),
        must(
            "M-04",
            CaseText(
                "an option that is not there is refused",
                "Session Config Options",
                "people would think that it holds",
            ),
            |peer| {
                let mut link = peer.open()?;
                let params =
                    json!({"sessionId": link.session, "configId": "kit-none", "value": "kit-none"});
                link.refused("session/set_config_option", &params).map(drop)
            },
        ),
        profile(
            "options",
            "M-05",
            CaseText(
                "a value that is not there is refused",
                "Session Config Options",
                "people would think that it holds",
            ),
            |peer| {
                let (mut link, options) = with(peer, "configOptions")?;
                let is_choice = |it: &&Value| it["type"] == "select";
                let option = options.as_array().into_iter().flatten().find(is_choice).cloned();
                let option = option
                    .ok_or_else(|| CheckFinding::unoffered("no option of the type `select`"))?;
                let params = json!({"sessionId": link.session, "configId": option["id"], "value": "kit-none"});
                link.refused("session/set_config_option", &params).map(drop)
            },
        ),
    ]
}

/// A new session and what it says about itself under a key.
fn with(peer: &AgentUnderTest, key: &str) -> Result<(EditorLink, Value), CheckFinding> {
    let mut link = peer.greet()?;
    let made = link.ok("session/new", &peer.place())?;
    link.session = made["sessionId"].as_str().unwrap_or_default().to_owned();
    let found = made[key].clone();
    let is_empty = found.as_array().is_some_and(Vec::is_empty);
    if found.is_null() || is_empty {
        return Err(CheckFinding::unoffered(format!("a new session has no `{key}`")));
    }
    Ok((link, found))
}

/// Whether a value of an option is one of its values.
pub(super) fn can_be_chosen(option: &Value, value: &Value) -> bool {
    if option["type"] == "boolean" {
        return value.is_boolean();
    }
    // Options are listed as they are, or in groups.
    let listed = option["options"].as_array().cloned().unwrap_or_default();
    let grouped = listed.iter().filter_map(|group| group["options"].as_array()).flatten();
    value.is_string() && listed.iter().chain(grouped).any(|it| it["value"] == *value)
}
