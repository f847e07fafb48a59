//! The honest agent: what it says goes through the fault.

use std::collections::BTreeMap;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::faults::Fault;

/// Pieces of a slow answer, and the time between two.
const PIECES: u32 = 20;
const PACE: Duration = Duration::from_millis(100);

/// Prompt that takes long.
pub(crate) struct SlowTurn {
    pub(crate) session: String,
    pub(crate) id: Value,
    next: Instant,
    left: u32,
}

/// Prompt that waits for a permission.
pub(crate) struct AskingTurn {
    pub(crate) session: String,
    pub(crate) id: Value,
    question: Value,
    call: String,
}

pub(crate) struct HonestAgent {
    fault: Fault,
    pub(crate) is_greeted: bool,
    /// Sessions of this and earlier processes: a folder, and what was said.
    pub(crate) stored: BTreeMap<String, Value>,
    pub(crate) open: Vec<String>,
    slow: Vec<SlowTurn>,
    asking: Vec<AskingTurn>,
    answered: Vec<String>,
    made: u32,
}

impl HonestAgent {
    pub(crate) fn new(fault: Fault) -> HonestAgent {
        let text = std::fs::read_to_string(file()).unwrap_or_default();
        HonestAgent {
            fault,
            is_greeted: false,
            stored: serde_json::from_str(&text).unwrap_or_default(),
            open: Vec::new(),
            slow: Vec::new(),
            asking: Vec::new(),
            answered: Vec::new(),
            made: 0,
        }
    }

    /// Takes a line of the editor.
    pub(crate) fn take(&mut self, line: &str) {
        if (self.fault.dies)(line) {
            std::process::exit(3);
        }
        let Some(line) = (self.fault.hears)(line.to_owned()) else { return };
        if line.trim().is_empty() {
            return;
        }
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            return self.refuse(&Value::Null, -32700, "no JSON");
        };
        let id = message.get("id").cloned();
        let params = message.get("params").cloned().unwrap_or_default();
        match (message.get("method"), id) {
            (Some(Value::String(method)), Some(id)) => match self.request(method, &id, &params) {
                Ok(Some(result)) => self.answer(&id, &result),
                Ok(None) => {}
                Err((code, what)) => self.refuse(&id, code, what),
            },
            (Some(Value::String(method)), None) => self.notification(method, &params),
            (None, Some(id))
                if message.get("result").is_some() || message.get("error").is_some() =>
            {
                self.decided(&id, &message);
            }
            (_, id) => self.refuse(&id.unwrap_or_default(), -32600, "no message"),
        }
    }

    fn notification(&mut self, method: &str, params: &Value) {
        match method {
            "session/cancel" => {
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                self.cancel(|it, _| it == session);
            }
            "$/cancel_request" => {
                let request = params["requestId"].clone();
                self.cancel(|_, id| *id == request);
            }
            _ => {}
        }
    }

    /// Ends the turns of which a session and an id are asked for.
    pub(crate) fn cancel(&mut self, is_it: impl Fn(&str, &Value) -> bool) {
        let all = self.fault.cancels_all;
        let wanted = |session: &str, id: &Value| all || is_it(session, id);
        let mut ended = Vec::new();
        self.slow.retain(|turn| {
            let stays = !wanted(&turn.session, &turn.id);
            if !stays {
                ended.push(turn.id.clone());
            }
            stays
        });
        let (gone, stays): (Vec<_>, Vec<_>) =
            self.asking.drain(..).partition(|turn| wanted(&turn.session, &turn.id));
        self.asking = stays;
        for turn in gone {
            self.call_update(&turn.session, &turn.call, "failed");
            ended.push(turn.id);
        }
        for id in ended {
            self.answer(&id, &json!({"stopReason": "cancelled"}));
        }
    }

    /// Streams what is due.
    pub(crate) fn go_on(&mut self) {
        let now = Instant::now();
        let mut turns = std::mem::take(&mut self.slow);
        for turn in turns.iter_mut().filter(|turn| turn.next <= now && turn.left > 0) {
            self.chunk(&turn.session, "agent_message_chunk", "more ");
            (turn.next, turn.left) = (now + PACE, turn.left - 1);
        }
        let (over, running) = turns.into_iter().partition(|turn: &SlowTurn| turn.left == 0);
        self.slow = running;
        for turn in over {
            let turn: SlowTurn = turn;
            self.answer(&turn.id, &json!({"stopReason": "end_turn"}));
        }
    }

    /// Answers a prompt, at once or later.
    pub(crate) fn turn(&mut self, session: &str, id: &Value, text: &str) -> Option<Value> {
        if text.contains("slow") {
            let (session, id) = (session.to_owned(), id.clone());
            self.slow.push(SlowTurn { session, id, next: Instant::now(), left: PIECES });
            return None;
        }
        if text.contains("tool") {
            self.ask(session, id);
            return None;
        }
        let said = format!("You said {text}");
        let entries = json!([{"content": "answer", "priority": "high", "status": "completed"}]);
        self.update(session, json!({"sessionUpdate": "plan", "entries": entries}));
        self.chunk(session, "agent_message_chunk", &said);
        self.update(session, json!({"sessionUpdate": "usage_update", "used": 7, "size": 100}));
        let stored = self.stored.get_mut(session).unwrap();
        let history = stored["history"].as_array_mut().unwrap();
        history.push(json!(["user_message_chunk", text]));
        history.push(json!(["agent_message_chunk", said]));
        self.save();
        Some(json!({"stopReason": "end_turn"}))
    }

    fn ask(&mut self, session: &str, id: &Value) {
        self.made += 1;
        let call = format!("call-{}", self.made);
        let question = json!(format!("question-{}", self.made));
        let place = json!([{"path": "/kit/notes.org", "line": 1}]);
        let told = json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "edit notes",
            "kind": "edit", "status": "pending", "locations": place});
        self.update(session, told);
        let options = json!([
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": session, "options": options,
            "toolCall": {"toolCallId": call, "title": "edit notes"}});
        let method = "session/request_permission";
        self.say(json!({"jsonrpc": "2.0", "id": question, "method": method, "params": params}));
        self.asking.push(AskingTurn {
            session: session.to_owned(),
            id: id.clone(),
            question,
            call,
        });
    }

    fn decided(&mut self, id: &Value, message: &Value) {
        let outcome = &message["result"]["outcome"];
        let is_yes = outcome["outcome"] == "selected" && outcome["optionId"] == "yes";
        let Some(at) = self.asking.iter().position(|turn| turn.question == *id) else {
            if self.fault.decides_twice
                && is_yes
                && let Some(session) = self.open.last().cloned()
            {
                let call = self.answered.last().cloned().unwrap_or_default();
                self.call_update(&session, &call, "completed");
            }
            return;
        };
        let turn = self.asking.remove(at);
        if is_yes {
            self.call_update(&turn.session, &turn.call, "in_progress");
            self.call_update(&turn.session, &turn.call, "completed");
        } else {
            self.call_update(&turn.session, &turn.call, "failed");
        }
        self.answered.push(turn.call);
        self.answer(&turn.id, &json!({"stopReason": "end_turn"}));
    }

    fn call_update(&mut self, session: &str, call: &str, status: &str) {
        let kind = "tool_call_update";
        self.update(session, json!({"sessionUpdate": kind, "toolCallId": call, "status": status}));
    }

    pub(crate) fn chunk(&mut self, session: &str, kind: &str, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(session, json!({"sessionUpdate": kind, "content": content}));
    }

    #[expect(clippy::needless_pass_by_value, reason = "every caller has just made it")]
    pub(crate) fn update(&mut self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.say(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    pub(crate) fn answer(&mut self, id: &Value, result: &Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn refuse(&mut self, id: &Value, code: i64, what: &str) {
        let error = json!({"code": code, "message": what});
        self.say(json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    fn say(&mut self, message: Value) {
        let mut out = stdout().lock();
        for line in (self.fault.says)(message) {
            // Whoever has closed the pipe hears nothing.
            let _ = writeln!(out, "{line}");
        }
        let _ = out.flush();
    }

    pub(crate) fn replays_late(&self) -> bool {
        self.fault.replays_late
    }

    pub(crate) fn save(&self) {
        std::fs::write(file(), serde_json::to_string(&self.stored).unwrap()).unwrap();
    }

    pub(crate) fn new_name(&mut self) -> String {
        self.made += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        format!("s{}-{now}-{}", std::process::id(), self.made)
    }
}

fn file() -> PathBuf {
    PathBuf::from(std::env::var("ACP_FOLDER").unwrap()).join("sloppy.json")
}
