//! Shapes of updates and questions, as the protocol's schema has them. What the protocol leaves to the sender is not
//! looked at; kinds and fields of later versions are the sender's risk.

use serde_json::Value;

use super::wire_watch::{WireRule, is_absolute};

const TOOL_KINDS: [&str; 10] = [
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
];

const STATUSES: [&str; 4] = ["pending", "in_progress", "completed", "failed"];

const OPTION_KINDS: [&str; 4] = ["allow_once", "allow_always", "reject_once", "reject_always"];

/// Faults of the parameters of an update.
pub(super) fn faults(params: &Value) -> Vec<(WireRule, String)> {
    let mut found = Vec::new();
    if !params["sessionId"].is_string() {
        found.push((WireRule::Updates, "no `sessionId`".to_owned()));
    }
    let update = &params["update"];
    let Some(kind) = update["sessionUpdate"].as_str() else {
        found.push((WireRule::Updates, "no `sessionUpdate`".to_owned()));
        return found;
    };
    let judged = match kind {
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
            content(&update["content"]).map_err(|what| (WireRule::Content, what))
        }
        "tool_call" | "tool_call_update" => tool_call(update, kind == "tool_call"),
        "plan" => plan(update).map_err(|what| (WireRule::Plans, what)),
        "available_commands_update" => commands(update).map_err(|what| (WireRule::Commands, what)),
        "usage_update" => usage(update).map_err(|what| (WireRule::Usage, what)),
        "current_mode_update" => is_text(update, "currentModeId"),
        "config_option_update" => match update["configOptions"].is_array() {
            true => Ok(()),
            false => Err((WireRule::Updates, "no `configOptions`".to_owned())),
        },
        "session_info_update" => Ok(()),
        other if other.starts_with('_') => Ok(()),
        other => Err((WireRule::Updates, format!("no kind of update: `{other}`"))),
    };
    found.extend(judged.err());
    found
}

/// Judges the parameters of a question.
pub(super) fn question(params: &Value) -> Result<(), String> {
    if !params["sessionId"].is_string() || !params["toolCall"]["toolCallId"].is_string() {
        return Err("no `sessionId`, or no `toolCall` with a `toolCallId`".to_owned());
    }
    let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut ids: Vec<&str> = options.iter().filter_map(|it| it["optionId"].as_str()).collect();
    if ids.is_empty() || ids.len() != options.len() {
        return Err("no options, or one without an `optionId`".to_owned());
    }
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("two options with one id".to_owned());
    }
    let is_whole =
        |option: &Value| option["name"].is_string() && one_of(&option["kind"], &OPTION_KINDS);
    match options.iter().all(is_whole) {
        true => Ok(()),
        false => Err("an option without a name, or of no kind".to_owned()),
    }
}

fn one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}

fn is_text(value: &Value, key: &str) -> Result<(), (WireRule, String)> {
    match value[key].is_string() {
        true => Ok(()),
        false => Err((WireRule::Updates, format!("no `{key}`"))),
    }
}

fn content(block: &Value) -> Result<(), String> {
    let has = |keys: &[&str]| keys.iter().all(|key| block[*key].is_string());
    let is_whole = match block["type"].as_str() {
        Some("text") => has(&["text"]),
        Some("image" | "audio") => has(&["data", "mimeType"]),
        Some("resource_link") => has(&["name", "uri"]),
        Some("resource") => {
            let resource = &block["resource"];
            resource["uri"].is_string()
                && (resource["text"].is_string() || resource["blob"].is_string())
        }
        _ => return Err("a content block of no type".to_owned()),
    };
    if is_whole { Ok(()) } else { Err("a content block that misses a field".to_owned()) }
}

fn tool_call(call: &Value, is_new: bool) -> Result<(), (WireRule, String)> {
    let wrong = |what: &str| Err((WireRule::ToolCalls, what.to_owned()));
    let fits = |key: &str, words: &[&str]| call[key].is_null() || one_of(&call[key], words);
    if !call["toolCallId"].is_string() {
        return wrong("a tool call without an id");
    }
    if is_new && !call["title"].is_string() {
        return wrong("a tool call without a title");
    }
    if !fits("kind", &TOOL_KINDS) || !fits("status", &STATUSES) {
        return wrong("a tool call of no kind or status");
    }
    for part in call["content"].as_array().map(Vec::as_slice).unwrap_or_default() {
        match part["type"].as_str() {
            Some("content") => {
                content(&part["content"]).map_err(|what| (WireRule::Content, what))?;
            }
            Some("diff") => {
                absolute(&part["path"])?;
                if !part["newText"].is_string() {
                    return wrong("a diff without its new text");
                }
            }
            Some("terminal") if part["terminalId"].is_string() => {}
            _ => return wrong("content of a tool call of no type"),
        }
    }
    for place in call["locations"].as_array().map(Vec::as_slice).unwrap_or_default() {
        absolute(&place["path"])?;
    }
    Ok(())
}

fn absolute(path: &Value) -> Result<(), (WireRule, String)> {
    match path.as_str().is_some_and(is_absolute) {
        true => Ok(()),
        false => Err((WireRule::Paths, "a path that is not absolute".to_owned())),
    }
}

fn plan(update: &Value) -> Result<(), String> {
    let entries = update["entries"].as_array().ok_or("a plan without entries")?;
    let is_whole = |entry: &Value| {
        entry["content"].is_string()
            && one_of(&entry["priority"], &["high", "medium", "low"])
            && one_of(&entry["status"], &["pending", "in_progress", "completed"])
    };
    match entries.iter().all(is_whole) {
        true => Ok(()),
        false => Err("an entry of a plan that misses a field".to_owned()),
    }
}

fn commands(update: &Value) -> Result<(), String> {
    let listed = update["availableCommands"].as_array().ok_or("no `availableCommands`")?;
    let is_whole = |command: &Value| {
        let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '\n', '\t']);
        command["name"].as_str().is_some_and(is_name) && command["description"].is_string()
    };
    match listed.iter().all(is_whole) {
        true => Ok(()),
        false => Err("a command without a name or a description".to_owned()),
    }
}

fn usage(update: &Value) -> Result<(), String> {
    if !update["used"].is_u64() || !update["size"].is_u64() {
        return Err("usage without `used` and `size`".to_owned());
    }
    let cost = &update["cost"];
    match cost.is_null() || (cost["amount"].is_number() && cost["currency"].is_string()) {
        true => Ok(()),
        false => Err("a cost without an amount or a currency".to_owned()),
    }
}
