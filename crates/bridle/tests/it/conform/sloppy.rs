//! Faults of sloppy engines, each with the cases that are meant to find it.
//!
//! - `reads`: what is wrong with what an engine takes
//! - `writes`: what is wrong with what it answers
//! - `offers`: what is wrong with the profiles that it offers

mod offers;
mod reads;
mod writes;

use std::sync::Arc;

use serde_json::{Value, json};

use super::middle::{Ask, Fault, Habit, Say, Up};

/// A planted fault.
pub(crate) struct Plant {
    pub(crate) name: &'static str,
    pub(crate) cases: &'static [&'static str],
    pub(crate) fault: Arc<dyn Fault>,
}

/// All of them. The tokens are those of the kit.
pub(crate) fn plants(tokens: &[String; 2]) -> Vec<Plant> {
    let mut all = reads::plants();
    all.extend(writes::plants());
    all.extend(offers::plants(tokens));
    all
}

fn plant(cases: &'static [&'static str], name: &'static str, fault: impl Fault + 'static) -> Plant {
    Plant { name, cases, fault: Arc::new(fault) }
}

type Upward = Box<dyn Fn(Ask) -> Up + Send + Sync>;
type Downward = Box<dyn Fn(&Ask, Say) -> Say + Send + Sync>;
type Piped = Box<dyn Fn(Vec<u8>) -> Vec<u8> + Send + Sync>;

/// A fault that is made of functions.
struct Made {
    up: Upward,
    down: Downward,
    piped: Piped,
    habit: Habit,
}

impl Fault for Made {
    fn up(&self, ask: Ask) -> Up {
        (self.up)(ask)
    }

    fn down(&self, ask: &Ask, say: Say) -> Say {
        (self.down)(ask, say)
    }

    fn piped(&self, bytes: Vec<u8>) -> Vec<u8> {
        (self.piped)(bytes)
    }

    fn habit(&self) -> Habit {
        self.habit
    }
}

fn habit(habit: Habit) -> Made {
    Made {
        up: Box::new(Up::Pass),
        down: Box::new(|_, say| say),
        piped: Box::new(|bytes| bytes),
        habit,
    }
}

/// Reads requests in its own way.
fn up(up: impl Fn(Ask) -> Up + Send + Sync + 'static) -> Made {
    Made { up: Box::new(up), ..habit(Habit::None) }
}

/// Answers in its own way.
fn down(down: impl Fn(&Ask, Say) -> Say + Send + Sync + 'static) -> Made {
    Made { down: Box::new(down), ..habit(Habit::None) }
}

/// Writes frames of a WebSocket in its own way.
fn piped(piped: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static) -> Made {
    Made { piped: Box::new(piped), ..habit(Habit::None) }
}

/// Replaces a text of requests.
fn reads(old: &'static str, new: &'static str) -> Made {
    up(move |mut ask| {
        ask.body = ask.text().replace(old, new).into_bytes();
        Up::Pass(ask)
    })
}

/// Does without a header of requests.
fn ignores(header: &'static str) -> Made {
    up(move |mut ask| {
        ask.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(header));
        Up::Pass(ask)
    })
}

/// Replaces a text of answers.
fn says(old: &'static str, new: &'static str) -> Made {
    down(move |_, mut say| {
        say.body = say.text().replace(old, new).into_bytes();
        say
    })
}

/// Leaves a header of answers out.
fn omits(header: &'static str) -> Made {
    down(move |_, mut say| {
        say.headers.retain(|(name, _)| name != header);
        say
    })
}

/// Changes messages that it answers with.
fn edits(change: impl Fn(&Ask, &mut Value) + Send + Sync + 'static) -> Made {
    down(move |ask, mut say| {
        if let Ok(mut value) = serde_json::from_slice::<Value>(&say.body)
            && value["response"].is_object()
        {
            change(ask, &mut value);
            say.body = value.to_string().into_bytes();
        }
        say
    })
}

/// Changes successes.
fn edits_success(change: impl Fn(&Ask, &mut Value) + Send + Sync + 'static) -> Made {
    edits(move |ask, value| {
        if value["response"]["status"] == "success" {
            change(ask, value);
        }
    })
}

/// Changes errors.
fn edits_error(change: impl Fn(&Ask, &mut Value) + Send + Sync + 'static) -> Made {
    edits(move |ask, value| {
        if value["response"]["status"] == "error" {
            change(ask, value);
        }
    })
}

/// Changes its first directive.
fn edits_directive(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Made {
    edits_success(move |_, value| {
        if let Some(directive) = value.pointer_mut("/response/action_directives/0") {
            change(directive);
        }
    })
}

/// Changes the document in which it says what it offers.
fn edits_document(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Made {
    down(move |ask, mut say| {
        if let Ok(mut value) = serde_json::from_slice::<Value>(&say.body)
            && ask.line.starts_with("GET /v1/openharness ")
        {
            change(&mut value);
            say.body = value.to_string().into_bytes();
        }
        say
    })
}

/// The string behind a key, as a careless reader finds it.
fn after(text: &str, key: &str) -> Option<String> {
    let start = text.find(&format!("\"{key}\":\""))? + key.len() + 4;
    text[start..].split('"').next().map(str::to_owned)
}

/// A request that every engine serves, with the ids of another.
fn good(text: &str) -> String {
    let mut value =
        json!({"protocol_version": "1.0.0", "request": {"context": {"user_intent": "help"}}});
    for key in ["request_id", "correlation_id"] {
        if let Some(id) = after(text, key) {
            value[key] = id.into();
        }
    }
    value.to_string()
}

/// Carries out whatever it can make of a message that holds this.
fn takes(part: &'static str) -> Made {
    up(move |mut ask| {
        let text = ask.text();
        if ask.line.starts_with("POST ") && text.contains(part) {
            ask.body = good(&text).into_bytes();
            ask.set("Content-Type", "application/json");
        }
        Up::Pass(ask)
    })
}

/// An answer with the ids of a request.
fn envelope(ask: &Ask, response: Value) -> Say {
    let mut value = json!({"protocol_version": "1.0.0"});
    value["response"] = response;
    for key in ["request_id", "correlation_id"] {
        if let Some(id) = after(&ask.text(), key) {
            value[key] = id.into();
        }
    }
    Say::json(200, &value.to_string())
}

fn success() -> Value {
    json!({"status": "success", "action_directives": [
        {"action_type": "render_message", "payload": {"text": "Yes."}}]})
}

fn error(code: &str) -> Value {
    json!({"status": "error", "error": {"code": code, "message": "no", "retryable": false}})
}

/// Refuses requests for which something holds.
fn refuses(holds: impl Fn(&Ask) -> bool + Send + Sync + 'static) -> Made {
    up(move |ask| {
        if ask.line.starts_with("POST ") && holds(&ask) {
            return Up::Answer(envelope(&ask, error("invalid_request")));
        }
        Up::Pass(ask)
    })
}

/// Refuses requests that hold a text.
fn refuses_text(part: &'static str) -> Made {
    refuses(move |ask| ask.text().contains(part))
}

/// Hangs up on requests for which something holds.
fn hangs_up(holds: impl Fn(&Ask) -> bool + Send + Sync + 'static) -> Made {
    up(move |ask| if holds(&ask) { Up::Close } else { Up::Pass(ask) })
}

/// Makes a success of an error.
fn forgives(code: &'static str) -> Made {
    down(move |ask, say| {
        let is_it = say.text().contains(&format!("\"{code}\""));
        if is_it && ask.line.starts_with("POST ") { envelope(ask, success()) } else { say }
    })
}
