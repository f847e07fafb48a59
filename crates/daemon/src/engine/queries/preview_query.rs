//! Previews of prompts, for an owner: what would be sent to which model, before anything is.
//!
//! The prompt is stepped through on a copy of its session, so what is shown is what the loop would ask; nothing of it is
//! recorded, and nobody hears of it.

use std::sync::Arc;

use bridle_host::{CancelFlag, ThoughtIo};
use bridle_loop::{
    Effect, Event, KeywordName, SessionId, SessionState, Signal, SignalKind, SignalSender,
    ThinkerPrompt, UnixMillis, step,
};
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::engine::error::EngineError;
use crate::engine::hub::Hub;
use crate::engine::queries::query::success;
use crate::engine::sessions::load;
use crate::engine::sessions::loaded_session::began;

/// Session of a prompt that names none.
const NO_SESSION: &str = "preview";

/// Consultations of one prompt that are answered.
const MAX_CONSULTATIONS: usize = 8;

/// Reason for a request without words.
const NO_TEXT: &str = "expected the text of a prompt";

/// Reason for a session of an impossible name.
const SESSION_NAME: &str = "expected 1 to 64 letters, digits, `.`, `_` and `-`";

/// Reason for a prompt that would not be thought about.
const NO_THOUGHT: &str =
    "no model would be asked: a word of the daemon, a skill or a turn before it comes first";

/// Request for a preview.
#[derive(Debug)]
pub(crate) struct PreviewQuery {
    session: Option<SessionId>,
    /// Payload of the prompt.
    payload: Value,
    shell: Option<KeywordName>,
    locale: Option<Box<str>>,
    time_zone: Option<Box<str>>,
    /// Whether the body of the request is told.
    has_body: bool,
}

impl PreviewQuery {
    /// Reads a request; `None` when it is about something else.
    pub(super) fn of(action: &Value, payload: &Value) -> Option<Result<Self, EngineError>> {
        action.is_keyword("prompt-preview").then(|| Self::read(payload))
    }

    fn read(payload: &Value) -> Result<Self, EngineError> {
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let words = text("text").filter(|words| !words.trim().is_empty());
        let words = words.ok_or_else(|| EngineError::invalid("text", NO_TEXT))?;
        let refused = |_| EngineError::invalid("session", SESSION_NAME);
        let session = text("session").map(SessionId::parse).transpose().map_err(refused)?;
        let mut pairs =
            vec![("sensor", Value::keyword("user-prompt")), ("text", Value::str(words))];
        for key in ["model", "tier", "privacy", "attachments"] {
            pairs.extend(payload.get(key).map(|value| (key, value.clone())));
        }
        Ok(Self {
            session,
            payload: Value::plist(pairs),
            shell: payload.get("shell").and_then(KeywordName::of),
            locale: text("locale").map(Into::into),
            time_zone: text("time-zone").map(Into::into),
            has_body: payload.get("body").is_some_and(|body| !body.is_nil()),
        })
    }
}

/// Answers an owner.
///
/// # Errors
/// No model would be asked, or none can be.
pub(super) async fn answer(
    hub: &Arc<Hub>,
    who: &Principal,
    asked: PreviewQuery,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    let has_body = asked.has_body;
    let models = hub
        .home
        .abilities
        .models
        .get()
        .ok_or_else(|| EngineError::invalid("action", NO_THOUGHT))?;
    let prompt = prompt_of(hub, who, asked, own).await?;
    let prompt = prompt.ok_or_else(|| EngineError::invalid("text", NO_THOUGHT))?;
    let offered = hub.home.offered_to(&prompt).await;
    let io = ThoughtIo::new(CancelFlag::new());
    let io = io.on(hub.running.blocking().clone()).offering(offered);
    let preview = models.previewer.preview(&prompt, &io).await;
    let preview = preview.map_err(|reason| EngineError::invalid("model", reason))?;
    let seat = &preview.seat;
    let told = [
        ("model", Some(Value::str(seat.name()))),
        ("reach", Some(Value::keyword(seat.provider.privacy.as_str()))),
        ("address", Some(Value::str(seat.provider.address.to_string()))),
        ("tokens", Some(number(preview.tokens))),
        ("answer-tokens", Some(number(preview.answer_tokens))),
        ("prompt-microdollars", preview.prompt_microdollars.map(number)),
        ("most-microdollars", preview.most_microdollars.map(number)),
        ("manifest", Some(preview.manifest)),
        ("body", has_body.then(|| Value::str(String::from_utf8_lossy(&preview.body)))),
    ];
    // What is not known is not there.
    let known = told.into_iter().filter_map(|(key, value)| Some((key, value?)));
    Ok(success("prompt-preview", known))
}

/// The thought that a prompt would lead to; `None` if it would lead to none now.
async fn prompt_of(
    hub: &Arc<Hub>,
    who: &Principal,
    asked: PreviewQuery,
    own: Option<SessionId>,
) -> Result<Option<ThinkerPrompt>, EngineError> {
    let fallback = || SessionId::parse(NO_SESSION).ok();
    let id = asked.session.or(own).or_else(fallback);
    let id = id.ok_or_else(|| EngineError::invalid("session", SESSION_NAME))?;
    let mut core = load::load(&hub.home, &id).await?.core;
    if !core.born {
        let at = UnixMillis(hub.home.now());
        step(&mut core.state, at, Event::Began(began(&who.text(), &hub.limits)));
    }
    bring_up_to_date(hub, &mut core.state);
    let from = SignalSender {
        shell: asked.shell,
        locale: asked.locale,
        time_zone: asked.time_zone,
        ..who.asker()
    };
    let signal = Signal {
        kind: SignalKind::Event,
        from,
        id: None,
        target: None,
        payload: asked.payload,
        dropped: Vec::new(),
        patient: true,
    };
    Ok(thought_of(hub, &mut core.state, signal))
}

/// Tells a copy of a session what it would be told before its next message.
fn bring_up_to_date(hub: &Hub, state: &mut SessionState) {
    let at = UnixMillis(hub.home.now());
    let present = hub.home.guard.present();
    if !state.is_judged_by(&present.installed) {
        step(state, at, Event::PolicyInstalled(present.installed.clone()));
    }
    let catalog = hub.home.host_ref().catalog();
    // What no session has named yet, the record does not have.
    for (actuator, spec) in catalog.actuators.iter().zip(&catalog.specs) {
        if let Some(digest) = actuator.specs {
            hub.home.abilities.actions.keep(digest, spec);
        }
    }
    let actuators = catalog.actuators.clone();
    if state.actuators() != actuators {
        step(state, at, Event::Registered(actuators));
    }
    // Who is consulted may look things up and say things: a preview does neither.
    step(state, at, Event::ConsultantsChanged(Vec::new()));
}

/// The thought that a signal leads to.
fn thought_of(hub: &Hub, state: &mut SessionState, signal: Signal) -> Option<ThinkerPrompt> {
    let at = UnixMillis(hub.home.now());
    let mut effects = step(state, at, Event::Signal(Arc::new(signal)));
    for _ in 0..MAX_CONSULTATIONS {
        let mut consulted = None;
        for effect in effects {
            match effect {
                Effect::Think { prompt, .. } => return Some(prompt),
                Effect::Consult { id, context, .. } => consulted = Some((id, context)),
                _ => {}
            }
        }
        let (effect, context) = consulted?;
        let advice = hub.home.host_ref().consult(&context);
        effects = step(state, at, Event::Consulted { effect, advice });
    }
    None
}

fn number(count: u64) -> Value {
    Value::int(i64::try_from(count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use bridle_sexp::{Value, read_one};

    use super::PreviewQuery;

    fn of(text: &str) -> Option<String> {
        let payload: Value = read_one(text).unwrap().root().to_value();
        let asked = PreviewQuery::of(payload.get("action")?, &payload)?;
        Some(asked.map_or_else(|error| error.code.as_str().to_owned(), |it| it.payload.to_string()))
    }

    #[test]
    fn requests_for_previews_are_read() {
        let prompt = "(:action :prompt-preview :text \"hi\" :tier :reflex :body t)";
        let expect = "(:sensor :user-prompt :text \"hi\" :tier :reflex)";
        assert_eq!(of(prompt).as_deref(), Some(expect));
        let bad = ["(:action :prompt-preview :text \" \")", "(:action :prompt-preview)"];
        for text in bad {
            assert_eq!(of(text).as_deref(), Some("invalid-value"), "{text}");
        }
        let name = "(:action :prompt-preview :text \"x\" :session \"a b\")";
        assert_eq!(of(name).as_deref(), Some("invalid-value"));
        assert_eq!(of("(:action :sessions)"), None);
    }
}
