//! What was recorded of a request becomes its answer.
//!
//! Called by `post`. A function of records alone, latency included, so that a repeat gets the same
//! answer. An error says its code and a sentence of ours: what the engine recorded about it may
//! quote the request.

use std::borrow::Cow;

use bridle_sexp::Value;
use bridle_wire::openharness::directive::ResultWish;
use bridle_wire::openharness::ids::DirectiveId;
use bridle_wire::openharness::payload::Format;
use bridle_wire::openharness::shape::Latency;
use bridle_wire::openharness::{Code, Directive, Echo, ErrorObject, ResponseMessage};

use super::run::Ran;
use super::signal::About;

/// Whether the results of directives are waited for.
pub(super) const WISH: ResultWish = ResultWish::None;

/// Makes the answer.
pub(super) fn answer(ran: &Ran, echo: &Echo, about: &About) -> ResponseMessage {
    let mut message = match payload(ran) {
        None => ResponseMessage::error(echo, ErrorObject::of(Code::StreamExpired)),
        Some(payload) => match failure(&payload) {
            Some(error) => ResponseMessage::error(echo, error),
            None => ResponseMessage::success(echo, directives(ran, &payload, about)),
        },
    };
    let latency = u64::try_from(ran.said.at.saturating_sub(ran.began)).unwrap_or(0);
    message.response.engine_latency_ms = Some(Latency(latency));
    message
}

/// What was said; `None` when it was erased.
fn payload(ran: &Ran) -> Option<Value> {
    let tree = bridle_loop::reader().read_one(ran.said.body.as_deref()?).ok()?;
    Some(tree.root().get("payload")?.to_value())
}

/// The error that was said instead of an answer.
fn failure(payload: &Value) -> Option<ErrorObject> {
    let says = |key, word| payload.get(key).is_some_and(|value: &Value| value.is_keyword(word));
    if !says("status", "error") {
        return None;
    }
    let code = match payload.get("code").and_then(Value::as_keyword) {
        Some(code) if code.eq_ignore_ascii_case("refused") => Code::Forbidden,
        Some(code) if code.eq_ignore_ascii_case("cancelled") => Code::Canceled,
        Some(code) if code.eq_ignore_ascii_case("expired") => Code::EngineTimeout,
        Some(code) if code.eq_ignore_ascii_case("overloaded") => Code::EngineOverloaded,
        _ => Code::UpstreamError,
    };
    let mut error = ErrorObject::of(code);
    error.retryable = Some(payload.get("retryable").is_some_and(|flag| !flag.is_nil()));
    Some(error)
}

/// What the shell is to show. Each directive has a name of its own; nobody waits for its result.
fn directives(ran: &Ran, payload: &Value, about: &About) -> Vec<Directive> {
    let is_pending =
        payload.get("status").is_some_and(|status| status.is_keyword("pending-approval"));
    let text = payload.get("text").and_then(Value::as_str);
    let waits = payload.get("message").and_then(Value::as_str).filter(|_| is_pending);
    let run = ran.name();
    let texts = text.into_iter().chain(waits);
    let named =
        |(index, text): (usize, &str)| render(text, about).with_id(directive_id(&run, index), WISH);
    texts.enumerate().map(named).collect()
}

/// The name of a directive within its run.
pub(super) fn directive_id(run: &str, index: usize) -> DirectiveId {
    DirectiveId::new(format!("{run}.{index}")).expect("a session and two numbers are short")
}

/// A directive that shows a text.
pub(super) fn render(text: &str, about: &About) -> Directive {
    let format = if about.is_terminal() { Format::Plain } else { Format::Markdown };
    Directive::render_message(&shown(text, about), format)
}

/// A text as a shell gets it: as it is, or without what a terminal would obey where it goes to one.
pub(super) fn shown<'t>(text: &'t str, about: &About) -> Cow<'t, str> {
    if !about.is_terminal() {
        return text.into();
    }
    let is_plain = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().filter(is_plain).collect::<String>().into()
}

#[cfg(test)]
mod tests;
