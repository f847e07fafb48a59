//! OpenHarness request as a signal of its session.
//!
//! `run` calls it. A request becomes a prompt like that of any shell, with the shell's knowledge of its
//! user's device beside it. Secret fields stay outside: neither the record nor a thinker gets them.

use bridle_loop::SignalKind;
use bridle_sexp::Value;
use bridle_wire::openharness::request::{
    AttachmentRef, EnvironmentState, PrivacyTier, RequestContext, TaskHint,
};
use bridle_wire::openharness::{Json, ReceivedRequest};

use super::attachments::AttachmentFacts;
use super::continuation::AllowedContinuation;
use super::discovery;
use crate::engine::ShellSignal;
use bridle_sexp::byte_text::hex;

/// Key of the id by which a step is called off: the step itself is known by its token.
pub(super) const NAMED: &str = "request-id";

/// Capacity for the pairs of most requests.
const PAIR_CAPACITY: usize = 4;

/// The prompt that a request makes. It names the request by its fingerprint, so that another body
/// under the same id is another message. `files` are the facts of its attachments, in order.
pub(super) fn message(
    received: &ReceivedRequest,
    step: Option<&AllowedContinuation>,
    files: &[Option<AttachmentFacts>],
) -> ShellSignal {
    let context = received.message.context();
    let intent = context.and_then(|context| context.user_intent.as_ref());
    let text = intent.map_or("", |intent| intent.as_str());
    let mut pairs = Vec::with_capacity(PAIR_CAPACITY);
    match step {
        Some(_) if text.trim().is_empty() => pairs.push(("sensor", Value::keyword("continue"))),
        _ => pairs.extend([("sensor", Value::keyword("user-prompt")), ("text", Value::str(text))]),
    }
    if let Some(context) = context {
        pairs.extend(beside(context, files));
    }
    if let Some(step) = step {
        pairs.extend(taken_up(step));
        let named = step.named.as_ref();
        pairs.extend(named.map(|id| (NAMED, Value::str(id.as_str()))));
    }
    if discovery::can_ask(received.message.capabilities.as_ref()) {
        pairs.push(("returns", Value::T));
    }
    pairs.push(("request", Value::str(hex(&received.fingerprint.0))));
    ShellSignal {
        kind: SignalKind::Event,
        id: None,
        target: None,
        shell: None,
        payload: Value::plist(pairs),
        dropped: Vec::new(),
        ast: None,
        files: Vec::new(),
    }
}

/// Returns the pairs of a continued run. The verdicts themselves are recorded beside it.
fn taken_up(step: &AllowedContinuation) -> Vec<(&'static str, Value)> {
    let number = |number: u64| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
    let mut pairs = vec![
        ("run", number(step.run)),
        ("approvals", Value::list(step.asked.iter().map(|asked| number(asked.effect)))),
    ];
    if !step.results.is_empty() {
        pairs.push(("results", Value::list(step.results.iter().cloned())));
    }
    pairs
}

/// Returns the pairs beside the prompt.
fn beside(
    context: &RequestContext,
    files: &[Option<AttachmentFacts>],
) -> Vec<(&'static str, Value)> {
    let mut pairs = Vec::new();
    if let Some(task) = &context.task_hint {
        pairs.push(("task", hint(task)));
    }
    if let Some(state) = &context.environment_state {
        pairs.push(("environment", environment(state)));
    }
    if !context.attachments.is_empty() {
        let facts = files.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let each = context.attachments.iter().zip(facts);
        pairs.push(("attachments", Value::list(each.map(|(one, facts)| reference(one, facts)))));
    }
    pairs
}

fn hint(task: &TaskHint) -> Value {
    let plugin = task.plugin_id.as_ref().map(|id| ("plugin", Value::str(id.as_str())));
    let key = task.business_key.as_ref().map(|key| ("business-key", Value::str(key.as_str())));
    let procedure = task.sop_id.as_ref().map(|id| ("sop", Value::str(id.as_str())));
    Value::plist(plugin.into_iter().chain(procedure).chain(key))
}

/// As much of a state as its tier lets through: of a public one all, of a restricted one the
/// fields that the protocol names, of a secret one that there is one.
fn environment(state: &EnvironmentState) -> Value {
    let tier = state.tier();
    let word = match tier {
        PrivacyTier::Public => "public",
        PrivacyTier::Restricted => "restricted",
        PrivacyTier::Secret => "secret",
    };
    let mut pairs = vec![("privacy", Value::keyword(word))];
    if tier == PrivacyTier::Secret {
        return Value::plist(pairs);
    }
    let named = [
        ("os", &state.os),
        ("active-window", &state.active_window),
        ("screen-hash", &state.screen_hash),
    ];
    let named = named.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?)));
    pairs.extend(named.map(|(key, text)| (key, Value::str(text.as_str()))));
    if tier == PrivacyTier::Public && !state.rest.is_empty() {
        pairs.push(("more", Value::str(Json::Object(state.rest.clone()).to_text())));
    }
    Value::plist(pairs)
}

/// A reference as it came; of a file that is kept here, what is known counts, not what is said.
fn reference(attachment: &AttachmentRef, facts: Option<&AttachmentFacts>) -> Value {
    let told = |text: Option<&str>| text.map(str::to_owned);
    let kind = facts.map(|facts| facts.kind.to_string());
    let texts = [
        ("ref", facts.map(|facts| facts.reference.clone())),
        ("uri", told(attachment.uri.as_ref().map(AsRef::as_ref))),
        ("asset", told(attachment.asset_id.as_ref().map(AsRef::as_ref))),
        ("mime-type", kind.or_else(|| told(attachment.mime_type.as_ref().map(AsRef::as_ref)))),
        ("filename", told(attachment.filename.as_ref().map(AsRef::as_ref))),
        ("sha256", facts.map(|facts| facts.sha256.clone())),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key, Value::str(text?))));
    let size = facts.map(|facts| facts.bytes).or(attachment.size_bytes);
    let size = size.and_then(|size| i64::try_from(size).ok());
    Value::plist(texts.chain(size.map(|size| ("bytes", Value::int(size)))))
}

#[cfg(test)]
mod tests;
