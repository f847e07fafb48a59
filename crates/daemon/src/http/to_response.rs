//! Recorded answer of a run as a response message.
//!
//! `exchange` and `event_stream` call it. The response is a function of records alone, latency included, so that a repeat gets the same
//! answer. An error says its code and a sentence of ours: what the engine recorded about it may
//! quote the request, so only the user who started the daemon is told, on the Unix socket.

use std::borrow::Cow;

use bridle_loop::RefusalCode;
use bridle_sexp::{Node, Value};
use bridle_wire::openharness::directive::ResultWish;
use bridle_wire::openharness::shape::AnswerLatency;
use bridle_wire::openharness::{
    Directive, ErrorObject, OpenHarnessCode, ReceivedRequest, RequestEcho, ResponseMessage,
};

use super::approval::RecordedQuestion;
use super::continuation;
use super::directive::{self, RESULT_WISH, directive_id, render};
use super::run::FinishedRun;
use super::shell_description::ShellDescription;
use super::token_sealer::TokenSealer;
use super::{HttpService, discovery, session_key};
use crate::access::principal::Principal;

/// Text for a shell whose action was denied, by its user or by somebody else.
const DENIED: &str = "Not done: it was denied.";

/// Text for a shell that comes back when everything is over.
const NOTHING_LEFT: &str = "Nothing waits any more.";

/// Characters of the reason why something failed.
const MAX_REASON_CHARS: usize = 1_000;

/// Reader of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseReader<'r> {
    pub(super) echo: &'r RequestEcho,
    pub(super) about: &'r ShellDescription,
    /// Whether it is the user who started the daemon, who is told why something failed.
    pub(super) is_user: bool,
    /// Means to ask its user; `None` for a shell that cannot ask.
    pub(super) asks: Option<ApprovalOffer<'r>>,
}

/// Parts of a continuation token for a shell that can ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApprovalOffer<'r> {
    pub(super) seals: &'r TokenSealer,
    pub(super) who: &'r Principal,
    /// Hash of the tenant, session and conversation that the request names.
    pub(super) place: &'r str,
}

/// Request of an answer, with the shell and the principal that read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerContext<'r> {
    pub(super) received: &'r ReceivedRequest,
    pub(super) about: &'r ShellDescription,
    pub(super) who: &'r Principal,
}

/// Makes the answer to a request, with the capabilities of this engine.
pub(super) fn compose(
    http: &HttpService,
    ran: &FinishedRun,
    reader: AnswerContext<'_>,
) -> ResponseMessage {
    let AnswerContext { received, about, who } = reader;
    let asked = received.message.capabilities.as_ref();
    let place = discovery::can_ask(asked).then(|| session_key::named(&received.message));
    let asks = place.as_deref().map(|place| ApprovalOffer { seals: &http.seals, who, place });
    let is_user = matches!(who, Principal::Uid(_));
    let message = answer(ran, ResponseReader { echo: &received.echo, about, is_user, asks });
    let (supported, denials) = discovery::capabilities(who, asked);
    message.with_capabilities(supported, denials)
}

/// Makes the answer.
fn answer(ran: &FinishedRun, reader: ResponseReader<'_>) -> ResponseMessage {
    let tree = ran.said.body.as_deref().and_then(|it| bridle_loop::reader().read_one(it).ok());
    let said = tree.as_ref().and_then(|tree| tree.root().get("payload"));
    let mut message = match said.and_then(|said| told(ran, said, reader)) {
        Some(message) => message,
        None => whole(ran, said.map(|said| said.to_value()), reader),
    };
    let latency = u64::try_from(ran.said.at.saturating_sub(ran.began)).unwrap_or(0);
    message.response.engine_latency_ms = Some(AnswerLatency(latency));
    message
}

/// The answer that nearly all are, made without a copy of what was said: a text and nothing else.
fn told(ran: &FinishedRun, said: Node<'_>, reader: ResponseReader<'_>) -> Option<ResponseMessage> {
    if !said.get("status")?.is_keyword("success") || said.get("directives").is_some() {
        return None;
    }
    let shown = render(&said.get("text")?.as_str()?, reader.about);
    let shown = shown.with_id(directive_id(&ran.location.name(), 0), RESULT_WISH);
    Some(ResponseMessage::success(reader.echo, vec![shown]))
}

/// The answer that what was said makes; `None` when it was erased.
fn whole(ran: &FinishedRun, said: Option<Value>, reader: ResponseReader<'_>) -> ResponseMessage {
    let echo = reader.echo;
    match said {
        None => ResponseMessage::error(echo, ErrorObject::of(OpenHarnessCode::StreamExpired)),
        Some(payload) => match failure(&payload, reader.is_user) {
            Some(_) if ran.is_step && is_denied(&payload) => {
                let told = render(DENIED, reader.about)
                    .with_id(directive_id(&ran.location.name(), 0), RESULT_WISH);
                ResponseMessage::success(echo, vec![told])
            }
            Some(error) => ResponseMessage::error(echo, error),
            None => success(ran, &payload, reader),
        },
    }
}

/// The error that was said instead of an answer; with its reason for who may know it.
fn failure(payload: &Value, tells_reason: bool) -> Option<ErrorObject> {
    let says = |key, word| payload.get(key).is_some_and(|value: &Value| value.is_keyword(word));
    if !says("status", "error") {
        return None;
    }
    let code = match RefusalCode::of_payload(payload) {
        Some(RefusalCode::Refused) => OpenHarnessCode::Forbidden,
        Some(RefusalCode::Cancelled) => OpenHarnessCode::Canceled,
        Some(RefusalCode::Expired) => OpenHarnessCode::EngineTimeout,
        Some(RefusalCode::Overloaded) => OpenHarnessCode::EngineOverloaded,
        Some(
            RefusalCode::InvalidValue
            | RefusalCode::Unsupported
            | RefusalCode::UnknownTarget
            | RefusalCode::EngineFailed
            | RefusalCode::UnknownOutcome,
        )
        | None => OpenHarnessCode::UpstreamError,
    };
    let mut error = ErrorObject::of(code);
    error.retryable = Some(payload.get("retryable").is_some_and(|flag| !flag.is_nil()));
    let reason = payload.get("message").and_then(Value::as_str).filter(|it| !it.is_empty());
    Some(match reason.filter(|_| tells_reason) {
        Some(reason) => {
            error.with_message(reason.chars().take(MAX_REASON_CHARS).collect::<String>())
        }
        None => error,
    })
}

/// Makes the directives to show and to ask. Each has a name of its own; only answers to questions are
/// waited for.
fn success(ran: &FinishedRun, payload: &Value, reader: ResponseReader<'_>) -> ResponseMessage {
    let is_pending =
        payload.get("status").is_some_and(|status| status.is_keyword("pending-approval"));
    let text = payload.get("text").and_then(Value::as_str).map(Cow::from);
    let text = text.or_else(|| (ran.is_step && !is_pending).then(|| done(payload).into()));
    let mut directives: Vec<Directive> =
        text.iter().map(|text| render(text, reader.about)).collect();
    directives.extend(directive::all(payload, reader.asks.is_some(), reader.about));
    let mut asked = Vec::new();
    let shown = directives.len();
    let askable = reader.asks.map(|asks| (asks, RecordedQuestion::all(payload)));
    let askable = askable.filter(|(asks, all)| {
        is_pending && !all.is_empty() && all.iter().all(|question| question.is_for(asks.who))
    });
    let mut continuation = None;
    if let Some((asks, questions)) = askable {
        for question in &questions {
            asked.push(question.asked(directives.len()));
            directives.push(question.directive(reader.about));
        }
        continuation = continuation::issue(
            asks.seals,
            asks.who,
            asks.place,
            &ran.location,
            ran.said.at,
            &asked,
        );
    }
    if is_pending && continuation.is_none() {
        directives.truncate(shown);
        asked.clear();
        let waits = payload.get("message").and_then(Value::as_str);
        directives.extend(waits.map(|waits| render(waits, reader.about)));
    }
    let wish = |index: usize| match asked.iter().any(|asked| asked.index == index) {
        true => ResultWish::Required,
        false => RESULT_WISH,
    };
    let run = ran.location.name();
    let named = directives.into_iter().enumerate();
    let named = named.map(|(index, it)| it.with_id(directive_id(&run, index), wish(index)));
    let message = ResponseMessage::success(reader.echo, named.collect());
    match continuation {
        Some(continuation) => message.with_continuation(continuation),
        None => message,
    }
}

/// Tells whether what was asked for was not done because of a no: then the shell got what its user
/// wanted.
fn is_denied(payload: &Value) -> bool {
    let last = payload.get("acts").and_then(Value::elements).and_then(<[Value]>::last);
    last.and_then(|act| act.get("outcome")).is_some_and(|outcome| outcome.is_keyword("denied"))
}

/// Lists the actions of a continued run that said no text.
fn done(payload: &Value) -> String {
    let acts = payload.get("acts").and_then(Value::elements).unwrap_or_default();
    let word = |act: &Value, key| {
        let word = act.get(key).and_then(Value::as_keyword).unwrap_or_default();
        word.to_ascii_lowercase()
    };
    let line = |act: &Value| {
        let (action, target) = (word(act, "action"), word(act, "target"));
        format!("`{action}` of `{target}`: {}", word(act, "outcome"))
    };
    match acts.is_empty() {
        true => NOTHING_LEFT.to_owned(),
        false => acts.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests;
