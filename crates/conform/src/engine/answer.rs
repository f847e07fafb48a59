//! A message of the engine, and what is expected of it.
//!
//! Cases ask for places and compare; every expectation that fails says what was expected and what
//! came instead.

use serde_json::Value;

use super::http::HttpReply;
use crate::case::{CheckFinding, Checked};
use crate::notes::shown;

/// Characters of an answer that a finding repeats.
const BRIEF: usize = 220;

/// An answer that is an envelope.
#[derive(Debug, Clone)]
pub struct EnvelopeAnswer {
    /// As it came.
    pub reply: HttpReply,
    /// Body of the answer.
    pub value: Value,
}

impl EnvelopeAnswer {
    /// Reads an answer.
    ///
    /// # Errors
    /// Its body is no JSON object with a `response` that has a `status`.
    pub fn read(reply: HttpReply) -> Result<EnvelopeAnswer, CheckFinding> {
        let status = reply.status;
        let Ok(text) = std::str::from_utf8(&reply.body) else {
            return Err(CheckFinding::fault("the body of the answer is not UTF-8"));
        };
        let value: Value = serde_json::from_str(text).map_err(|_| {
            CheckFinding::fault(format!(
                "expected a JSON message as the body (status {status}), got {}",
                brief(text)
            ))
        })?;
        if !value["response"]["status"].is_string() {
            return Err(CheckFinding::fault(format!(
                "expected an object with `response` and its `status` (HTTP status {status}), got {}",
                brief(text)
            )));
        }
        Ok(EnvelopeAnswer { reply, value })
    }

    /// A place in the body, by a pointer such as `/response/status`; null when there is nothing.
    pub fn at(&self, pointer: &str) -> &Value {
        self.value.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Tells whether it is a success.
    pub fn is_success(&self) -> bool {
        self.at("/response/status") == "success"
    }

    /// The code of an error.
    pub fn code(&self) -> Option<&str> {
        if self.is_success() { None } else { self.at("/response/error/code").as_str() }
    }

    /// Directives of the answer.
    pub fn directives(&self) -> &[Value] {
        self.at("/response/action_directives").as_array().map_or(&[], Vec::as_slice)
    }

    /// The first directive of a type.
    pub fn directive(&self, kind: &str) -> Option<&Value> {
        self.directives().iter().find(|it| it["action_type"] == kind)
    }

    /// Checks that it is a success.
    ///
    /// # Errors
    /// The request was refused.
    pub fn is_served(&self) -> Checked {
        self.has(self.is_success(), "`response.status` to be `success`")
    }

    /// Checks that it is an error, and that nothing is to be done.
    ///
    /// # Errors
    /// The request was served.
    pub fn is_refused(&self) -> Checked {
        self.has(self.at("/response/status") == "error", "`response.status` to be `error`")?;
        self.has(self.directives().is_empty(), "no directives beside an error")
    }

    /// Checks that it is an error of one of these codes.
    ///
    /// # Errors
    /// The request was served, or refused with another code.
    pub fn is_refused_as(&self, codes: &[&str]) -> Checked {
        self.is_refused()?;
        let fits = self.code().is_some_and(|code| codes.contains(&code));
        self.has(fits, &format!("`response.error.code` to be `{}`", codes.join("` or `")))
    }

    /// Checks that an id came back as it went.
    ///
    /// # Errors
    /// The answer does not repeat the id.
    pub fn echoes(&self, key: &str, id: &str) -> Checked {
        self.has(self.value[key] == id, &format!("`{key}` of the request in the answer, unchanged"))
    }

    /// Checks that there is no such key, not even as null.
    ///
    /// # Errors
    /// There is.
    pub fn lacks(&self, key: &str) -> Checked {
        self.has(self.value.get(key).is_none(), &format!("no `{key}`, since the request has none"))
    }

    /// Checks a condition on it.
    ///
    /// # Errors
    /// The condition is false.
    pub fn has(&self, holds: bool, expected: &str) -> Checked {
        if holds {
            return Ok(());
        }
        Err(CheckFinding::fault(format!("expected {expected}, got {}", self.brief())))
    }

    /// The body, cut short.
    pub fn brief(&self) -> String {
        brief(&String::from_utf8_lossy(&self.reply.body))
    }

    /// Part of an answer that must be equal for equal questions.
    pub fn comparable(&self) -> Value {
        let mut value = self.value.clone();
        if let Some(response) = value["response"].as_object_mut() {
            response.remove("engine_latency_ms");
        }
        value
    }
}

/// A text, cut short.
pub fn brief(text: &str) -> String {
    let line = shown(text);
    match line.char_indices().nth(BRIEF) {
        Some((at, _)) => format!("`{}..`", &line[..at]),
        None => format!("`{line}`"),
    }
}
