//! What was recorded of a request becomes its answer.
//!
//! Called by `post`. A function of records alone, latency included, so that a repeat gets the same
//! answer. An error says its code and a sentence of ours: what the engine recorded about it may
//! quote the request.

use bridle_sexp::Value;
use bridle_wire::openharness::directive::ResultWish;
use bridle_wire::openharness::ids::DirectiveId;
use bridle_wire::openharness::payload::Format;
use bridle_wire::openharness::shape::Latency;
use bridle_wire::openharness::{Code, Directive, Echo, ErrorObject, ResponseMessage};

use super::run::Ran;
use super::signal::About;

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
    let texts = text.into_iter().chain(waits);
    let named = |(index, text): (usize, &str)| {
        let id = format!("{}-{}.{index}", ran.session, ran.seq);
        let id = DirectiveId::new(id).expect("a session and two numbers are short");
        render(text, about).with_id(id, ResultWish::None)
    };
    texts.enumerate().map(named).collect()
}

/// Shows a text: as it is where Markdown is welcome, and without what a terminal would obey where
/// it goes to one.
fn render(text: &str, about: &About) -> Directive {
    if !about.is_terminal() {
        return Directive::render_message(text, Format::Markdown);
    }
    let is_plain = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let plain: String = text.chars().filter(is_plain).collect();
    Directive::render_message(&plain, Format::Plain)
}

#[cfg(test)]
mod tests;
