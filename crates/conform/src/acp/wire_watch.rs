//! What must hold for every message of an agent, whatever a case is about. Faults are kept until the cases of the
//! last list ask for them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::update_shape;

/// Subject of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireRule {
    /// Lines are messages of JSON-RPC.
    Messages,
    /// Answers have one request each.
    Answers,
    /// Errors have a code and a message.
    Errors,
    /// The editor's methods are called as it offers them.
    Offered,
    /// Ids of the agent's requests are used once.
    Ids,
    /// Updates are of a known kind, and have a session.
    Updates,
    /// Content blocks.
    Content,
    /// Tool calls.
    ToolCalls,
    /// Tool calls are told before they are changed.
    Introduced,
    /// Progress of tool calls.
    Progress,
    /// Plans.
    Plans,
    /// Commands.
    Commands,
    /// Tokens and money.
    Usage,
    /// Paths are absolute.
    Paths,
    /// Questions.
    Questions,
}

/// Methods of an editor.
const EDITOR_METHODS: [(&str, &str); 8] = [
    ("session/request_permission", ""),
    ("fs/read_text_file", "/fs/readTextFile"),
    ("fs/write_text_file", "/fs/writeTextFile"),
    ("terminal/create", "/terminal"),
    ("terminal/output", "/terminal"),
    ("terminal/release", "/terminal"),
    ("terminal/wait_for_exit", "/terminal"),
    ("terminal/kill", "/terminal"),
];

/// Notifications to an editor.
const NOTIFICATIONS: [&str; 2] = ["session/update", "$/cancel_request"];

/// Judge of all messages.
#[derive(Debug, Default)]
pub struct WireWatch {
    faults: BTreeMap<WireRule, String>,
    /// Requests of the kit without an answer.
    asked: BTreeSet<String>,
    /// Ids that the agent has used.
    used: BTreeSet<String>,
    /// Progress of each tool call, by session and id.
    calls: BTreeMap<(String, String), String>,
    capabilities: Value,
}

impl WireWatch {
    /// Forgets the connection before; faults stay.
    pub(super) fn begin(&mut self) {
        let faults = std::mem::take(&mut self.faults);
        *self = WireWatch { faults, ..WireWatch::default() };
    }

    /// Notes what the editor offers.
    pub(super) fn offers(&mut self, capabilities: &Value) {
        self.capabilities = capabilities.clone();
    }

    /// First fault that was found against a rule.
    pub(super) fn fault(&self, rule: WireRule) -> Option<&str> {
        self.faults.get(&rule).map(String::as_str)
    }

    /// Notes a fault.
    pub(super) fn found(&mut self, rule: WireRule, what: impl Into<String>) {
        self.faults.entry(rule).or_insert_with(|| what.into());
    }

    /// Notes a message of the kit.
    pub(super) fn sent(&mut self, message: &Value) {
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            self.asked.insert(id.to_string());
        }
    }

    /// Judges a line of the agent; `None` for one that is no message.
    pub(super) fn heard(&mut self, line: &str) -> Option<Value> {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            self.found(WireRule::Messages, format!("a line that is no JSON: {line}"));
            return None;
        };
        if !message.is_object() || message.get("jsonrpc") != Some(&Value::from("2.0")) {
            self.found(WireRule::Messages, format!("no message of JSON-RPC 2.0: {line}"));
            return None;
        }
        let has = |key: &str| message.get(key).is_some();
        let is_id = |id: &Value| id.is_i64() || id.is_u64() || id.is_string() || id.is_null();
        if message.get("id").is_some_and(|id| !is_id(id)) {
            self.found(WireRule::Messages, format!("an id that is none: {line}"));
        }
        match message.get("method") {
            Some(Value::String(method)) => {
                let params = message.get("params").unwrap_or(&Value::Null);
                if has("id") {
                    self.requested(method, params, &message, line);
                } else {
                    self.notified(method, params, line);
                }
            }
            Some(_) => self.found(WireRule::Messages, format!("a method that is no text: {line}")),
            None => self.answered(&message, line),
        }
        Some(message)
    }

    fn answered(&mut self, message: &Value, line: &str) {
        if message.get("result").is_some() == message.get("error").is_some() {
            self.found(WireRule::Messages, format!("not one of result and error: {line}"));
        }
        let id = message.get("id").unwrap_or(&Value::Null);
        // What could not be read is answered without an id.
        if !self.asked.remove(&id.to_string()) && !id.is_null() {
            self.found(WireRule::Answers, format!("an answer that nobody waits for: {line}"));
        }
        if let Some(error) = message.get("error") {
            let is_whole = error["code"].is_i64() && error["message"].is_string();
            if !is_whole {
                self.found(WireRule::Errors, format!("an error without code or message: {line}"));
            }
        }
    }

    fn requested(&mut self, method: &str, params: &Value, message: &Value, line: &str) {
        if !self.used.insert(message["id"].to_string()) {
            self.found(WireRule::Ids, format!("an id that was used before: {line}"));
        }
        let known = EDITOR_METHODS.iter().find(|(name, _)| *name == method);
        match known {
            Some((_, "")) => {}
            Some((_, path)) if self.capabilities.pointer(path) == Some(&Value::Bool(true)) => {}
            Some(_) => {
                self.found(WireRule::Offered, format!("the editor does not offer this: {line}"));
            }
            None if method.starts_with('_') => {}
            None => {
                self.found(WireRule::Offered, format!("no method of the protocol: {line}"));
            }
        }
        if let Some(path) = params.get("path").and_then(Value::as_str)
            && !is_absolute(path)
        {
            self.found(WireRule::Paths, format!("a path that is not absolute: {line}"));
        }
        if method == "session/request_permission"
            && let Err(what) = update_shape::question(params)
        {
            self.found(WireRule::Questions, format!("{what}: {line}"));
        }
    }

    fn notified(&mut self, method: &str, params: &Value, line: &str) {
        if method == "session/update" {
            return self.updated(params, line);
        }
        let is_known = NOTIFICATIONS.contains(&method) || method.starts_with('_');
        if !is_known && !method.starts_with("$/") {
            self.found(WireRule::Offered, format!("no notification of the protocol: {line}"));
        }
    }

    fn updated(&mut self, params: &Value, line: &str) {
        let update = &params["update"];
        for (rule, what) in update_shape::faults(params) {
            self.found(rule, format!("{what}: {line}"));
        }
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let (Some(session), Some(id)) =
            (params["sessionId"].as_str(), update["toolCallId"].as_str())
        else {
            return;
        };
        let key = (session.to_owned(), id.to_owned());
        let before = self.calls.get(&key).cloned();
        match (kind, &before) {
            ("tool_call_update", None) => {
                let what = format!("a change of a tool call that was not told: {line}");
                self.found(WireRule::Introduced, what);
            }
            ("tool_call", Some(_)) => {
                self.found(WireRule::Introduced, format!("a tool call that is told twice: {line}"));
            }
            ("tool_call" | "tool_call_update", _) => {}
            _ => return,
        }
        let before = before.unwrap_or_else(|| "pending".to_owned());
        let now = update["status"].as_str().unwrap_or(&before).to_owned();
        if is_over(&before) && now != before {
            self.found(WireRule::Progress, format!("`{now}` after `{before}`: {line}"));
        }
        self.calls.insert(key, now);
    }
}

/// Whether a tool call with this status has ended.
pub(super) fn is_over(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

/// Whether a path is absolute on any system.
pub(super) fn is_absolute(path: &str) -> bool {
    let is_drive = path.get(1..3).is_some_and(|it| it == ":\\" || it == ":/");
    path.starts_with('/') || path.starts_with("\\\\") || is_drive
}
