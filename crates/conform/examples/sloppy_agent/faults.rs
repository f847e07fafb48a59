//! Faults of sloppy agents, each with the case that is meant to find it.
//!
//! long: each list of faults is one table.

use std::sync::Mutex;

use serde_json::{Value, json};

type Says = Box<dyn Fn(Value) -> Vec<String>>;
type Hears = Box<dyn Fn(String) -> Option<String>>;
type Dies = Box<dyn Fn(&str) -> bool>;

/// A planted fault; the default one is none.
pub(crate) struct Fault {
    pub(crate) case: &'static str,
    pub(crate) name: &'static str,
    /// What the agent says.
    pub(crate) says: Says,
    /// What the editor says.
    pub(crate) hears: Hears,
    /// Whether a line ends the agent.
    pub(crate) dies: Dies,
    /// Does not end with its input.
    pub(crate) lingers: bool,
    /// Takes a cancel for all sessions.
    pub(crate) cancels_all: bool,
    /// Takes a second answer to a question.
    pub(crate) decides_twice: bool,
    /// Answers `session/load` before the conversation.
    pub(crate) replays_late: bool,
}

impl Default for Fault {
    fn default() -> Fault {
        Fault {
            case: "",
            name: "",
            says: Box::new(|message| vec![message.to_string()]),
            hears: Box::new(Some),
            dies: Box::new(|_| false),
            lingers: false,
            cancels_all: false,
            decides_twice: false,
            replays_late: false,
        }
    }
}

pub(crate) fn faults() -> Vec<Fault> {
    let lists = [
        transport(),
        greeting(),
        sessions(),
        stored(),
        turns(),
        cancels(),
        asking(),
        settings(),
        always(),
    ];
    lists.into_iter().flatten().collect()
}

fn fault(case: &'static str, name: &'static str) -> Fault {
    Fault { case, name, ..Fault::default() }
}

impl Fault {
    /// Says something else.
    fn says(self, old: &'static str, new: &'static str) -> Fault {
        let says = move |message: Value| vec![message.to_string().replace(old, new)];
        Fault { says: Box::new(says), ..self }
    }

    /// Says a message in another way.
    fn turns(self, change: impl Fn(Value) -> Vec<Value> + 'static) -> Fault {
        let says = move |message| change(message).iter().map(Value::to_string).collect();
        Fault { says: Box::new(says), ..self }
    }

    /// Changes messages.
    fn alters(self, change: impl Fn(&mut Value) + 'static) -> Fault {
        self.turns(move |mut message| {
            change(&mut message);
            vec![message]
        })
    }

    /// Does not say messages with this in them.
    fn drops(self, part: &'static str) -> Fault {
        self.turns(
            move |message| {
                if message.to_string().contains(part) { Vec::new() } else { vec![message] }
            },
        )
    }

    /// Says yes where this error is due.
    fn accepts(self, what: &'static str) -> Fault {
        self.alters(move |message| {
            if message["error"]["message"] == what {
                *message = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
            }
        })
    }

    /// Reads something else.
    fn hears(self, old: &'static str, new: &'static str) -> Fault {
        Fault { hears: Box::new(move |line| Some(line.replace(old, new))), ..self }
    }

    /// Dies of a line with all of this in it.
    fn dies(self, parts: &'static [&'static str]) -> Fault {
        Fault { dies: Box::new(move |line| parts.iter().all(|part| line.contains(part))), ..self }
    }

    /// Takes an answer to a question for another one.
    fn reads_answer(self, is_it: fn(&Value) -> bool) -> Fault {
        let hears = move |line: String| {
            let mut message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message.get("method").is_none() && is_it(&message) {
                let outcome = json!({"outcome": "selected", "optionId": "yes"});
                message =
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}});
                return Some(message.to_string());
            }
            Some(line)
        };
        Fault { hears: Box::new(hears), ..self }
    }
}

/// An update that nobody expects.
fn update(session: &Value, update: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}})
}

fn is_stop(message: &Value, reason: &str) -> bool {
    message["result"]["stopReason"] == reason
}

fn kind(message: &Value) -> &str {
    message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default()
}

fn text() -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "late"}})
}

fn transport() -> Vec<Fault> {
    vec![
        fault("J-01", "an unknown method has a code of its own").says("-32601", "-32000"),
        fault("J-02", "an unknown extension is answered as if it were there")
            .accepts("no such method"),
        fault("J-03", "dies of an unknown notification").dies(&[r#""params":{"a":1}"#]),
        fault("J-04", "ids are written in capitals").alters(|message| {
            if let Some(id) = message["id"].as_str().map(str::to_uppercase) {
                message["id"] = json!(id);
            }
        }),
        fault("J-05", "ids are rounded").says("9007199254740991", "9007199254740992"),
        fault("J-06", "dies of a line that is no JSON").dies(&[r#"{"jsonrpc": "2.0", "id""#]),
        fault("J-07", "says nothing about a line that is no JSON").drops(r#""id":null"#),
        fault("J-08", "a message without a method has another code").says("-32600", "-32000"),
        fault("J-09", "dies of an answer that belongs to nothing").dies(&["987654"]),
        fault("J-10", "guesses parameters").accepts("wrong parameters"),
        fault("J-11", "wrong parameters have another code").says("-32602", "-32603"),
        fault("J-12", "dies of an unknown field").dies(&["kitUnknown"]),
        fault("J-13", "forgets a request").dies(&[r#""id":3,"#]),
        Fault { dies: Box::new(str::is_empty), ..fault("J-14", "dies of an empty line") },
        Fault { lingers: true, ..fault("J-15", "does not end") },
        Fault {
            dies: Box::new(|line| line.len() > 1 << 20),
            ..fault("J-16", "dies of a long line")
        },
    ]
}

fn greeting() -> Vec<Fault> {
    vec![
        fault("I-01", "speaks another version")
            .says(r#""protocolVersion":1"#, r#""protocolVersion":2"#),
        fault("I-02", "says yes to any version")
            .says(r#""protocolVersion":1"#, r#""protocolVersion":65000"#),
        Fault {
            dies: Box::new(|line| {
                line.contains("initialize") && !line.contains("clientCapabilities")
            }),
            ..fault("I-03", "wants capabilities")
        },
        fault("I-04", "dies of an unknown capability").dies(&["kitUnknown"]),
        fault("I-05", "a capability is a text")
            .says(r#""loadSession":true"#, r#""loadSession":"yes""#),
        fault("I-06", "has no name").says("agentInfo", "agentinfo"),
        fault("I-07", "a method of authentication has no name")
            .says(r#""name":"Kit""#, r#""nam":"Kit""#),
        fault("I-08", "offers a terminal that is not there").says(
            r#""authMethods":["#,
            r#""authMethods":[{"id":"t","name":"T","type":"terminal"},"#,
        ),
        fault("I-09", "lets everybody in").accepts("no such method of authentication"),
        fault("I-10", "begins without initialize").accepts("not initialized"),
        fault("I-11", "takes any version").accepts("wrong parameters"),
        fault("I-12", "does not log out").hears(r#""method":"logout""#, r#""method":"kit/none""#),
    ]
}

fn sessions() -> Vec<Fault> {
    let count = Mutex::new(0);
    vec![
        fault("S-01", "a new session has no id").alters(|message| {
            if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
                result.remove("sessionId");
            }
        }),
        fault("S-02", "all sessions have one id").alters(|message| {
            if message["result"]["sessionId"].is_string() {
                message["result"]["sessionId"] = json!("same");
            }
        }),
        fault("S-03", "ids begin at one with each process").alters(move |message| {
            if message["result"]["sessionId"].is_string() {
                let mut count = count.lock().unwrap();
                *count += 1;
                message["result"]["sessionId"] = json!(format!("s{count}"));
            }
        }),
        fault("S-04", "takes a relative folder").accepts("expected an absolute folder"),
        fault("S-05", "takes no folder").accepts("wrong parameters"),
        fault("S-06", "dies of an MCP server").dies(&["/bin/true"]),
        fault("S-07", "answers out of nothing").accepts("no such session"),
        fault("S-08", "loads what it does not offer").alters(|message| {
            if message["error"]["message"] == "no such session" {
                *message = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
            }
            if message["result"]["agentCapabilities"].is_object() {
                message["result"]["agentCapabilities"]["loadSession"] = json!(false);
            }
        }),
        fault("S-09", "the current mode is none")
            .says(r#""currentModeId":"ask""#, r#""currentModeId":"none""#),
        fault("S-10", "the current value is none")
            .says(r#""currentValue":"small""#, r#""currentValue":"none""#),
    ]
}

fn stored() -> Vec<Fault> {
    let is_loaded = Mutex::new(false);
    vec![
        fault("L-01", "the prompts are not loaded").drops("user_message_chunk"),
        Fault { replays_late: true, ..fault("L-02", "answers before the conversation") },
        fault("L-03", "the conversation is another session's").alters(|message| {
            if kind(message) == "user_message_chunk" {
                message["params"]["sessionId"] = json!("other");
            }
        }),
        fault("L-04", "a loaded session does not go on").alters(move |message| {
            let mut is_loaded = is_loaded.lock().unwrap();
            *is_loaded |= kind(message) == "user_message_chunk";
            if *is_loaded && is_stop(message, "end_turn") {
                message["result"]["stopReason"] = json!("refusal");
            }
        }),
        fault("L-05", "loads what is not there").accepts("no such session"),
        fault("L-06", "the answer comes before the prompt").alters(|message| {
            let other = match kind(message) {
                "user_message_chunk" => "agent_message_chunk",
                "agent_message_chunk" => "user_message_chunk",
                _ => return,
            };
            message["params"]["update"]["sessionUpdate"] = json!(other);
        }),
        fault("L-07", "resumes with the conversation").hears("session/resume", "session/load"),
        fault("L-08", "resumes what is not there").accepts("no such session"),
        fault("L-10", "folders are relative").says(r#""cwd":"/"#, r#""cwd":""#),
        fault("L-11", "lists all folders").hears(r#""cwd":"/kit/none""#, r#""cwdd":"x""#),
        fault("L-12", "times are words").says("2026-01-02T", "yesterday "),
        fault("L-13", "takes any cursor").accepts("no such cursor"),
        fault("L-14", "deletes nothing").hears("session/delete", "logout"),
        fault("L-20", "a closed session goes on").accepts("no such session"),
        fault("L-21", "dies of closing nothing").dies(&["session/close", "kit-none"]),
        fault("L-22", "closes nothing").hears("session/close", "logout"),
        fault("L-23", "closes everything").dies(&["session/close"]),
    ]
}

fn turns() -> Vec<Fault> {
    let (count, session) = (Mutex::new(0), Mutex::new(Value::Null));
    vec![
        fault("P-01", "a stop reason of its own").says("end_turn", "done"),
        fault("P-02", "refuses").says("end_turn", "refusal"),
        fault("P-03", "says nothing").drops("agent_message_chunk"),
        fault("P-04", "speaks in another session").alters(|message| {
            if kind(message) == "agent_message_chunk" {
                message["params"]["sessionId"] = json!("other");
            }
        }),
        fault("P-05", "speaks after the end").turns(|message| {
            match is_stop(&message, "end_turn") {
                true => vec![message, update(&json!("any"), &text())],
                false => vec![message],
            }
        }),
        fault("P-06", "refuses the third prompt").alters(move |message| {
            if is_stop(message, "end_turn") {
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count == 3 {
                    message["result"]["stopReason"] = json!("refusal");
                }
            }
        }),
        fault("P-07", "dies of a link").dies(&["resource_link"]),
        fault("P-08", "dies of a letter").dies(&["\\u0000"]),
        fault("P-09", "dies of nothing").dies(&[r#""prompt":[]"#]),
        fault("P-10", "leaves out what it does not know").accepts("unknown block"),
        fault("P-11", "dies of a picture").dies(&[r#""type":"image""#]),
        fault("P-12", "dies of a sound").dies(&[r#""type":"audio""#]),
        fault("P-13", "dies of an embedded text").dies(&[r#""type":"resource""#]),
        fault("P-14", "looks at no picture").says(r#""image":true"#, r#""image":false"#),
        fault("P-15", "all words are the first session's").alters(move |message| {
            if message["params"]["update"].is_object() {
                let mut session = session.lock().unwrap();
                if session.is_null() {
                    *session = message["params"]["sessionId"].clone();
                }
                message["params"]["sessionId"] = session.clone();
            }
        }),
    ]
}

fn cancels() -> Vec<Fault> {
    let is_cancelled = Mutex::new(false);
    vec![
        fault("C-01", "a cancelled turn is over").says("cancelled", "end_turn"),
        fault("C-02", "speaks after a cancel").turns(|message| {
            match is_stop(&message, "cancelled") {
                true => vec![message, update(&json!("any"), &text())],
                false => vec![message],
            }
        }),
        fault("C-03", "a cancelled session is of no more use").alters(move |message| {
            let mut is_cancelled = is_cancelled.lock().unwrap();
            *is_cancelled |= is_stop(message, "cancelled");
            if *is_cancelled && is_stop(message, "end_turn") {
                message["result"]["stopReason"] = json!("refusal");
            }
        }),
        Fault { cancels_all: true, ..fault("C-04", "cancels everything") },
        fault("C-05", "dies of a cancel").dies(&["session/cancel"]),
        fault("C-06", "dies of a cancel of nothing").dies(&["session/cancel", "kit-none"]),
        fault("C-07", "does not hear a cancel by id").hears("$/cancel_request", "$/none"),
        fault("C-08", "dies of a cancel of no request").dies(&["$/cancel_request", "kit-none"]),
        fault("C-09", "a turn that is cancelled at a question is over")
            .says("cancelled", "end_turn"),
    ]
}

fn is_question(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}

fn asking() -> Vec<Fault> {
    vec![
        fault("T-01", "a question about nothing").alters(|message| {
            if is_question(message) {
                message["params"]["toolCall"] = json!({"title": "edit"});
            }
        }),
        fault("T-02", "a question without words").turns(|mut message| {
            if is_question(&message) {
                let id = message["params"]["toolCall"]["toolCallId"].clone();
                message["params"]["toolCall"] = json!({"toolCallId": id});
            }
            if kind(&message) == "tool_call" { Vec::new() } else { vec![message] }
        }),
        fault("T-03", "there is no way to say no").alters(|message| {
            if is_question(message) {
                let yes = message["params"]["options"][0].clone();
                message["params"]["options"] = json!([yes]);
            }
        }),
        fault("T-04", "a tool call never ends").drops(r#""status":"completed""#),
        fault("T-05", "asks when it is done").turns(|message| match is_question(&message) {
            true => {
                let id = &message["params"]["toolCall"]["toolCallId"];
                let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"});
                vec![update(&message["params"]["sessionId"], &done), message]
            }
            false => vec![message],
        }),
        fault("T-10", "a yes does nothing").says(r#""status":"completed""#, r#""status":"failed""#),
        fault("T-11", "a no is a yes").hears(r#""optionId":"no""#, r#""optionId":"yes""#),
        fault("T-12", "any option is a yes").hears(r#""optionId":"kit-none""#, r#""optionId":"yes""#),
        fault("T-13", "an error is a yes").reads_answer(|message| message.get("error").is_some()),
        fault("T-14", "anything is a yes").reads_answer(|message| message["result"]["allow"] == true),
        fault("T-15", "a closed window is a yes")
            .reads_answer(|message| message["result"]["outcome"]["outcome"] == "cancelled"),
        Fault { decides_twice: true, ..fault("T-16", "takes a second answer") },
    ]
}

fn settings() -> Vec<Fault> {
    vec![
        fault("M-01", "a mode cannot be chosen").hears(r#""modeId":"code""#, r#""modeId":"none""#),
        fault("M-02", "takes any mode").accepts("no such mode"),
        fault("M-03", "does not say what holds").alters(|message| {
            if message["result"].get("sessionId").is_none()
                && let Some(result) = message.get_mut("result").and_then(Value::as_object_mut)
            {
                result.remove("configOptions");
            }
        }),
        fault("M-04", "takes any option").accepts("no such option"),
        fault("M-05", "takes any value").accepts("no such value"),
    ]
}

/// Says more before the end of a turn.
fn before_end(case: &'static str, name: &'static str, more: fn() -> Vec<Value>) -> Fault {
    fault(case, name).turns(move |message| {
        let mut all = if is_stop(&message, "end_turn") { more() } else { Vec::new() };
        all.push(message);
        all
    })
}

fn always() -> Vec<Fault> {
    let call =
        |id: i64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
    let twice = move || vec![call(5, "_kit.a"), call(5, "_kit.b")];
    vec![
        Fault {
            says: Box::new(|message| vec!["thinking ..".to_owned(), message.to_string()]),
            ..fault("Z-01", "writes its log among its messages")
        },
        fault("Z-02", "answers twice").turns(|message| match is_stop(&message, "end_turn") {
            true => vec![message.clone(), message],
            false => vec![message],
        }),
        fault("Z-03", "an error has no message").alters(|message| {
            if message.get("error").is_some() {
                message["error"] = json!({"code": -32601});
            }
        }),
        before_end("Z-04", "asks an editor without files for one", || {
            let params = json!({"sessionId": "any", "path": "/kit/a"});
            vec![
                json!({"jsonrpc": "2.0", "id": 9, "method": "fs/read_text_file", "params": params}),
            ]
        }),
        fault("Z-05", "uses an id twice").turns(move |message| {
            let mut all = if is_stop(&message, "end_turn") { twice() } else { Vec::new() };
            all.push(message);
            all
        }),
        before_end("Z-06", "an update of its own", || {
            vec![update(&json!("any"), &json!({"sessionUpdate": "thinking"}))]
        }),
        fault("Z-07", "a text without a text").alters(|message| {
            if kind(message) == "agent_message_chunk" {
                message["params"]["update"]["content"] = json!({"type": "text"});
            }
        }),
        fault("Z-08", "a tool call of its own kind").says(r#""kind":"edit""#, r#""kind":"hack""#),
        fault("Z-09", "changes what was not told").turns(|message| {
            if kind(&message) == "tool_call" { Vec::new() } else { vec![message] }
        }),
        fault("Z-10", "goes on with what is done").turns(|message| {
            if message["params"]["update"]["status"] != "completed" {
                return vec![message];
            }
            let mut again = message.clone();
            again["params"]["update"]["status"] = json!("in_progress");
            vec![message, again]
        }),
        fault("Z-11", "a priority of its own")
            .says(r#""priority":"high""#, r#""priority":"urgent""#),
        fault("Z-12", "a command of two words").says(r#""name":"help""#, r#""name":"/ help""#),
        fault("Z-13", "usage without its numbers").says(r#""used":"#, r#""use":"#),
        fault("Z-14", "a relative path").says(r#""path":"/kit"#, r#""path":"kit"#),
        fault("Z-15", "an option of its own kind")
            .says(r#""kind":"allow_once""#, r#""kind":"allow""#),
    ]
}
