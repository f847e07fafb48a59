//! Methods of the honest agent.

use serde_json::{Value, json};

use super::agent::HonestAgent;

type Answer = Result<Option<Value>, (i64, &'static str)>;

const WRONG: (i64, &str) = (-32602, "wrong parameters");
const NO_SESSION: (i64, &str) = (-32002, "no such session");

impl HonestAgent {
    pub(crate) fn request(&mut self, method: &str, id: &Value, params: &Value) -> Answer {
        if !self.is_greeted && method != "initialize" {
            return Err((-32600, "not initialized"));
        }
        match method {
            "initialize" => self.initialize(params),
            "authenticate" if params["methodId"] == "kit" => Ok(Some(json!({}))),
            "authenticate" => Err((-32602, "no such method of authentication")),
            "logout" => Ok(Some(json!({}))),
            "session/new" => self.new_session(params),
            "session/load" => self.load(id, params),
            "session/resume" => self.attach(params).map(|_| Some(json!({}))),
            "session/list" => self.list(params),
            "session/close" => self.close(params),
            "session/delete" => {
                self.stored.remove(self.known(params)?.as_str());
                self.save();
                Ok(Some(json!({})))
            }
            "session/prompt" => self.prompt(id, params),
            "session/set_mode" => {
                self.opened(params)?;
                match params["modeId"].as_str() {
                    Some("ask" | "code") => Ok(Some(json!({}))),
                    _ => Err((-32602, "no such mode")),
                }
            }
            "session/set_config_option" => self.set_option(params),
            _ => Err((-32601, "no such method")),
        }
    }

    fn initialize(&mut self, params: &Value) -> Answer {
        if !params["protocolVersion"].is_u64() {
            return Err(WRONG);
        }
        self.is_greeted = true;
        Ok(Some(json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "sloppy", "version": "1"},
            "authMethods": [{"id": "kit", "name": "Kit"}],
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
                "auth": {"logout": {}},
            },
        })))
    }

    fn new_session(&mut self, params: &Value) -> Answer {
        let cwd = params["cwd"].as_str().ok_or(WRONG)?;
        if !cwd.starts_with('/') {
            return Err((-32602, "expected an absolute folder"));
        }
        let name = self.new_name();
        self.stored.insert(name.clone(), json!({"cwd": cwd, "history": []}));
        self.save();
        self.open.push(name.clone());
        let commands = json!([{"name": "help", "description": "Helps"}]);
        let kind = "available_commands_update";
        self.update(&name, json!({"sessionUpdate": kind, "availableCommands": commands}));
        let modes = json!([{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]);
        Ok(Some(json!({
            "sessionId": name,
            "modes": {"currentModeId": "ask", "availableModes": modes},
            "configOptions": options(),
        })))
    }

    fn load(&mut self, id: &Value, params: &Value) -> Answer {
        let name = self.attach(params)?;
        let history = self.stored[&name]["history"].as_array().cloned().unwrap_or_default();
        if self.replays_late() {
            self.answer(id, &json!({}));
        }
        for said in &history {
            let (kind, text) = (said[0].as_str().unwrap(), said[1].as_str().unwrap());
            self.chunk(&name, kind, text);
        }
        Ok(Some(json!({})).filter(|_| !self.replays_late()))
    }

    /// Name of a session that was made at some time.
    fn known(&self, params: &Value) -> Result<String, (i64, &'static str)> {
        let name = params["sessionId"].as_str().ok_or(WRONG)?;
        self.stored.contains_key(name).then(|| name.to_owned()).ok_or(NO_SESSION)
    }

    fn attach(&mut self, params: &Value) -> Result<String, (i64, &'static str)> {
        let name = self.known(params)?;
        self.open.push(name.clone());
        Ok(name)
    }

    /// Name of a session that is open.
    fn opened(&self, params: &Value) -> Result<String, (i64, &'static str)> {
        let name = params["sessionId"].as_str().ok_or(WRONG)?;
        self.open.iter().find(|it| *it == name).cloned().ok_or(NO_SESSION)
    }

    fn list(&mut self, params: &Value) -> Answer {
        if !params["cursor"].is_null() {
            return Err((-32602, "no such cursor"));
        }
        let folder = params["cwd"].as_str();
        let sessions =
            self.stored.iter().filter(|(_, it)| folder.is_none_or(|cwd| it["cwd"] == cwd));
        let info = |(name, it): (&String, &Value)| json!({"sessionId": name, "cwd": it["cwd"], "updatedAt": "2026-01-02T03:04:05Z"});
        let sessions: Vec<Value> = sessions.map(info).collect();
        Ok(Some(json!({"sessions": sessions})))
    }

    fn close(&mut self, params: &Value) -> Answer {
        let name = self.opened(params)?;
        self.cancel(|session, _| session == name);
        self.open.retain(|it| *it != name);
        Ok(Some(json!({})))
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Answer {
        let blocks = params["prompt"].as_array().ok_or(WRONG)?;
        let name = self.opened(params)?;
        let known = ["text", "image", "audio", "resource", "resource_link"];
        let is_known = |block: &Value| block["type"].as_str().is_some_and(|it| known.contains(&it));
        if !blocks.iter().all(is_known) {
            return Err((-32602, "unknown block"));
        }
        let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        Ok(self.turn(&name, id, &text))
    }

    fn set_option(&mut self, params: &Value) -> Answer {
        self.opened(params)?;
        match (params["configId"].as_str(), params["value"].as_str()) {
            (Some("model"), Some("small" | "large")) => {
                let mut told = options();
                told[0]["currentValue"] = params["value"].clone();
                Ok(Some(json!({"configOptions": told})))
            }
            (Some("model"), _) => Err((-32602, "no such value")),
            _ => Err((-32602, "no such option")),
        }
    }
}

fn options() -> Value {
    let values = json!([{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]);
    json!([{"id": "model", "name": "Model", "type": "select", "currentValue": "small", "options": values}])
}
