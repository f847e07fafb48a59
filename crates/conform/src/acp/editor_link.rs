//! A started agent, line by line: requests with their answers, updates in their order, and what the agent asks.
//!
//! Every wait is bounded by the time of the program, and every line is judged by the watch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire_watch::WireWatch;
use crate::case::{CheckFinding, Checked};
use crate::driven::{DrivenProgram, ProgramOptions};
use crate::notes::CaseNotes;

/// A wait in which nothing is expected to come.
pub(super) const QUIET: Duration = Duration::from_millis(300);

/// Messages of the agent that are kept of a case; one that says more has a fault.
const MAX_KEPT: usize = 100_000;

/// Answer of the kit to questions of the agent.
#[derive(Debug, Clone)]
pub(super) enum PermissionRule {
    /// The first option of this kind.
    Kind(&'static str),
    /// The turn was cancelled.
    Cancelled,
    /// Result that is sent as it is.
    Result(Value),
    /// An error.
    Error,
    /// None.
    Silence,
}

/// Request of the agent.
#[derive(Debug, Clone)]
pub(super) struct AgentRequest {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
}

/// A running agent.
#[derive(Debug)]
pub struct EditorLink {
    program: DrivenProgram,
    timeout: Duration,
    watch: Rc<RefCell<WireWatch>>,
    last_id: i64,
    /// Answers that nobody took, by the text of their ids.
    answers: BTreeMap<String, Value>,
    /// Result of `initialize`.
    pub(super) greeting: Value,
    /// Session that prompts go to.
    pub(super) session: String,
    /// Updates in their order: session, and content.
    pub(super) updates: Vec<(String, Value)>,
    /// Requests of the agent in their order.
    pub(super) requests: Vec<AgentRequest>,
    pub(super) rule: PermissionRule,
}

impl EditorLink {
    pub(super) fn start(
        program: &ProgramOptions,
        values: &[(&str, String)],
        notes: Rc<RefCell<CaseNotes>>,
        watch: Rc<RefCell<WireWatch>>,
    ) -> Result<EditorLink, CheckFinding> {
        watch.borrow_mut().begin();
        Ok(EditorLink {
            program: DrivenProgram::start(program, values, notes)?,
            timeout: program.timeout,
            watch,
            last_id: 0,
            answers: BTreeMap::new(),
            greeting: Value::Null,
            session: String::new(),
            updates: Vec::new(),
            requests: Vec::new(),
            rule: PermissionRule::Cancelled,
        })
    }

    /// Initializes the connection with version 1.
    pub(super) fn initialize(&mut self, capabilities: &Value) -> Result<Value, CheckFinding> {
        self.watch.borrow_mut().offers(capabilities);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        self.greeting = self.ok("initialize", &params)?;
        Ok(self.greeting.clone())
    }

    /// Sends a line as it is.
    pub(super) fn raw(&mut self, line: &str) -> Checked {
        self.program.say(line)
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Value) -> Checked {
        self.watch.borrow_mut().sent(message);
        self.raw(&message.to_string())
    }

    /// Sends a notification.
    pub(super) fn notify(&mut self, method: &str, params: &Value) -> Checked {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Sends a request; returns its id.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, CheckFinding> {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.ask_as(&id, method, params)?;
        Ok(id)
    }

    /// Sends a request with an id.
    pub(super) fn ask_as(&mut self, id: &Value, method: &str, params: &Value) -> Checked {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Waits for the answer to a request: the whole message.
    pub(super) fn answer(&mut self, id: &Value) -> Result<Value, CheckFinding> {
        let key = id.to_string();
        let until = Instant::now() + self.timeout;
        loop {
            if let Some(answer) = self.answers.remove(&key) {
                return Ok(answer);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.hear(left)? {
                let seconds = self.timeout.as_secs_f32();
                let what =
                    format!("expected an answer with the id {key}, none came in {seconds} s");
                return Err(CheckFinding::fault(what));
            }
        }
    }

    /// Whether an answer to a request is there.
    pub(super) fn has_answer(&self, id: &Value) -> bool {
        self.answers.contains_key(&id.to_string())
    }

    /// Sends a request and returns the answer's message.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value, CheckFinding> {
        let id = self.ask(method, params)?;
        self.answer(&id)
    }

    /// Sends a request and returns its result.
    pub(super) fn ok(&mut self, method: &str, params: &Value) -> Result<Value, CheckFinding> {
        let answer = self.call(method, params)?;
        result_of(method, &answer)
    }

    /// Sends a request that must be refused; returns the error's code.
    pub(super) fn refused(&mut self, method: &str, params: &Value) -> Result<i64, CheckFinding> {
        let answer = self.call(method, params)?;
        let code = answer.get("error").and_then(|error| error.get("code")).and_then(Value::as_i64);
        code.ok_or_else(|| CheckFinding::fault(format!("expected an error, got {answer}")))
    }

    /// Sends a prompt; returns the id of the request.
    pub(super) fn begin_prompt(&mut self, blocks: &Value) -> Result<Value, CheckFinding> {
        let params = json!({"sessionId": self.session, "prompt": blocks});
        self.ask("session/prompt", &params)
    }

    /// Sends a prompt of one text; returns the stop reason.
    pub(super) fn prompt(&mut self, text: &str) -> Result<String, CheckFinding> {
        self.prompt_blocks(&json!([{"type": "text", "text": text}]))
    }

    /// Sends a prompt; returns the stop reason.
    pub(super) fn prompt_blocks(&mut self, blocks: &Value) -> Result<String, CheckFinding> {
        let id = self.begin_prompt(blocks)?;
        let answer = self.answer(&id)?;
        stop_reason(&answer)
    }

    /// Hears whatever comes until a condition holds.
    pub(super) fn until(
        &mut self,
        expected: &str,
        mut found: impl FnMut(&EditorLink) -> bool,
    ) -> Checked {
        let until = Instant::now() + self.timeout;
        while !found(self) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.hear(left)? {
                return Err(CheckFinding::fault(format!("expected {expected}, waited in vain")));
            }
        }
        Ok(())
    }

    /// Hears whatever comes for a while.
    pub(super) fn settle(&mut self) -> Checked {
        let until = Instant::now() + QUIET;
        while self.hear(until.saturating_duration_since(Instant::now()))? {}
        Ok(())
    }

    /// Passes if the agent still answers: a method that is not there is refused.
    pub(super) fn is_alive(&mut self) -> Checked {
        self.refused("_kit.example/none", &json!({})).map(drop)
    }

    /// Ends the agent's input; passes if it ends by itself.
    pub(super) fn ends(&mut self) -> Checked {
        self.program.close();
        let until = Instant::now() + self.timeout;
        while Instant::now() < until {
            if self.hear(QUIET).is_err() {
                return Ok(());
            }
        }
        Err(CheckFinding::fault("expected an end after that of its input, it runs on"))
    }

    /// Whether a capability of the agent is on; `path` goes through objects by dots.
    pub(super) fn offers(&self, path: &str) -> bool {
        let root = self.greeting.get("agentCapabilities").unwrap_or(&Value::Null);
        let found = path.split('.').try_fold(root, |value, key| value.get(key));
        !matches!(found, None | Some(Value::Null | Value::Bool(false)))
    }

    /// Ends the case if the agent does not offer a capability.
    pub(super) fn needs(&self, path: &str) -> Checked {
        if self.offers(path) {
            return Ok(());
        }
        Err(CheckFinding::unoffered(format!("`initialize` does not offer `{path}`")))
    }

    /// Updates of a kind since one of them.
    pub(super) fn kinds(&self, kind: &str, from: usize) -> Vec<&Value> {
        let is_it = |update: &&Value| update["sessionUpdate"] == kind;
        self.updates.iter().skip(from).map(|(_, update)| update).filter(is_it).collect()
    }

    /// Text of the chunks of a kind since an update.
    pub(super) fn text(&self, kind: &str, from: usize) -> String {
        let text = |update: &Value| update["content"]["text"].as_str().map(str::to_owned);
        self.kinds(kind, from).into_iter().filter_map(text).collect()
    }

    /// Last state of each tool call since an update, in the order of their beginning.
    pub(super) fn calls(&self, from: usize) -> Vec<(String, Value)> {
        let mut calls: Vec<(String, Value)> = Vec::new();
        for (_, update) in self.updates.iter().skip(from) {
            if !matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update")) {
                continue;
            }
            let id = update["toolCallId"].as_str().unwrap_or_default();
            let known = calls.iter_mut().find(|(known, _)| known == id);
            match (known, update.as_object()) {
                (Some((_, Value::Object(call))), Some(fields)) => {
                    let new = fields.iter().filter(|(_, value)| !value.is_null());
                    call.extend(new.map(|(key, value)| (key.clone(), value.clone())));
                }
                _ => calls.push((id.to_owned(), update.clone())),
            }
        }
        calls
    }

    /// Questions for a permission.
    pub(super) fn questions(&self) -> Vec<AgentRequest> {
        let is_it = |request: &&AgentRequest| request.method == "session/request_permission";
        self.requests.iter().filter(is_it).cloned().collect()
    }

    /// Hears one line, within a time; returns whether one came.
    fn hear(&mut self, wait: Duration) -> Result<bool, CheckFinding> {
        let Some(line) = self.program.hear_within(wait)? else { return Ok(false) };
        let heard = self.watch.borrow_mut().heard(&line);
        let Some(message) = heard else { return Ok(true) };
        if self.updates.len() + self.requests.len() > MAX_KEPT {
            return Err(CheckFinding::fault(format!("more than {MAX_KEPT} messages in a case")));
        }
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                let request = AgentRequest { id: id.clone(), method, params };
                self.reply(&request)?;
                self.requests.push(request);
            }
            (Some(method), None) if method == "session/update" => {
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                self.updates.push((session, params["update"].clone()));
            }
            (Some(_), None) | (None, None) => {}
            (None, Some(id)) => {
                self.answers.insert(id.to_string(), message);
            }
        }
        Ok(true)
    }

    fn reply(&mut self, request: &AgentRequest) -> Checked {
        let error = |code: i64, message: &str| Err(json!({"code": code, "message": message}));
        let reply = match request.method.as_str() {
            "session/request_permission" => match &self.rule {
                PermissionRule::Silence => return Ok(()),
                PermissionRule::Error => error(-32603, "the editor has no window"),
                PermissionRule::Result(result) => Ok(result.clone()),
                PermissionRule::Cancelled => Ok(json!({"outcome": {"outcome": "cancelled"}})),
                PermissionRule::Kind(kind) => {
                    let options = request.params["options"].as_array();
                    let is_it = |option: &&Value| option["kind"] == *kind;
                    let chosen = options.and_then(|it| it.iter().find(is_it));
                    let id = chosen.map_or(Value::Null, |option| option["optionId"].clone());
                    Ok(json!({"outcome": {"outcome": "selected", "optionId": id}}))
                }
            },
            // Nothing that the kit names as a buffer is there.
            "fs/read_text_file" => error(-32002, "no such file"),
            _ => error(-32601, "no such method"),
        };
        self.send(&match reply {
            Ok(result) => json!({"jsonrpc": "2.0", "id": request.id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": request.id, "error": error}),
        })
    }
}

/// The result in an answer.
pub(super) fn result_of(method: &str, answer: &Value) -> Result<Value, CheckFinding> {
    answer.get("result").cloned().ok_or_else(|| {
        CheckFinding::fault(format!("expected a result of `{method}`, got {answer}"))
    })
}

/// The stop reason in an answer to a prompt.
pub(super) fn stop_reason(answer: &Value) -> Result<String, CheckFinding> {
    let reason = result_of("session/prompt", answer)?["stopReason"].as_str().map(str::to_owned);
    reason.ok_or_else(|| CheckFinding::fault(format!("expected a `stopReason`, got {answer}")))
}
