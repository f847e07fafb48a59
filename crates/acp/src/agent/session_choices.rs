//! `session/set_mode` and `session/set_config_option`: the model of further prompts, and what becomes of the guard's
//! questions. A choice narrows or names; none allows what the policies do not.

use serde_json::{Value, json};

use super::editor_session::{EditorSession, LinkId};
use super::{Agent, params};
use crate::daemon_offers::DaemonOffers;
use crate::json_rpc::RpcError;
use crate::protocol::{ConfigOptionParams, ModeParams, SessionUpdate};

/// Option for the model.
const MODEL_OPTION: &str = "model";

/// Option for the mode: the same choice as `session/set_mode`, for editors that show options alone.
const MODE_OPTION: &str = "mode";

/// Value of the model option for the daemon's own choice.
const AUTO_MODEL: &str = "auto";

/// Answer to the guard's questions in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum QuestionMode {
    /// A person is asked.
    #[default]
    Ask,
    /// Each is answered with no: only what the policies allow unasked is done.
    Refuse,
}

impl QuestionMode {
    const ALL: [QuestionMode; 2] = [QuestionMode::Ask, QuestionMode::Refuse];

    fn id(self) -> &'static str {
        match self {
            QuestionMode::Ask => "ask",
            QuestionMode::Refuse => "refuse",
        }
    }

    fn name(self) -> &'static str {
        match self {
            QuestionMode::Ask => "Ask",
            QuestionMode::Refuse => "Look only",
        }
    }

    fn about(self) -> &'static str {
        match self {
            QuestionMode::Ask => "What the policies want a yes for is asked here",
            QuestionMode::Refuse => {
                "What the policies want a yes for is refused: nothing is changed that needs one"
            }
        }
    }

    fn of(id: &str) -> Option<QuestionMode> {
        QuestionMode::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

/// Choices of a person for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SessionChoices {
    /// Model of further prompts; `None` leaves it to the daemon.
    pub(super) model: Option<String>,
    /// Answer to questions.
    pub(super) mode: QuestionMode,
}

/// Modes of a session, as an editor is told them.
pub(super) fn modes(choices: &SessionChoices) -> Value {
    let mode =
        |it: QuestionMode| json!({"id": it.id(), "name": it.name(), "description": it.about()});
    json!({"currentModeId": choices.mode.id(), "availableModes": QuestionMode::ALL.map(mode)})
}

/// Options of a session, as an editor is told them.
pub(super) fn config_options(choices: &SessionChoices, offers: &DaemonOffers) -> Value {
    let mode =
        |it: QuestionMode| json!({"value": it.id(), "name": it.name(), "description": it.about()});
    let mut options = vec![json!({
        "type": "select",
        "id": MODE_OPTION,
        "name": "Questions",
        "description": "What becomes of what the policies want a yes for",
        "category": "mode",
        "currentValue": choices.mode.id(),
        "options": QuestionMode::ALL.map(mode),
    })];
    if !offers.models.is_empty() {
        let auto = json!({"value": AUTO_MODEL, "name": "The daemon's choice", "description": "By models.org"});
        let models = offers.models.iter().map(|it| {
            let about = if it.is_local { "Stays on your machines" } else { "A remote service" };
            json!({"value": it.name, "name": it.name, "description": about})
        });
        options.push(json!({
            "type": "select",
            "id": MODEL_OPTION,
            "name": "Model",
            "description": "The model of further prompts",
            "category": "model",
            "currentValue": choices.model.as_deref().unwrap_or(AUTO_MODEL),
            "options": std::iter::once(auto).chain(models).collect::<Vec<_>>(),
        }));
    }
    Value::Array(options)
}

impl Agent {
    pub(super) fn set_mode(&mut self, given: Value) -> Result<Option<Value>, RpcError> {
        let given: ModeParams = params(given)?;
        let link = self.open_link(&given.session_id)?;
        let mode = QuestionMode::of(&given.mode_id);
        let mode = mode.ok_or_else(|| RpcError::params("no such mode: `ask` or `refuse`"))?;
        self.choose(link, |choices| choices.mode = mode);
        self.tell_options(link);
        Ok(Some(json!({})))
    }

    pub(super) fn set_config_option(&mut self, given: Value) -> Result<Option<Value>, RpcError> {
        let given: ConfigOptionParams = params(given)?;
        let link = self.open_link(&given.session_id)?;
        let value = given.value.as_str().ok_or_else(|| RpcError::params("expected a text"))?;
        match given.config_id.as_str() {
            MODE_OPTION => {
                let mode = QuestionMode::of(value);
                let mode = mode.ok_or_else(|| RpcError::params("expected `ask` or `refuse`"))?;
                self.choose(link, |choices| choices.mode = mode);
                let update = SessionUpdate::CurrentModeUpdate { current_mode_id: mode.id() };
                self.update(&given.session_id, &update);
            }
            MODEL_OPTION if value == AUTO_MODEL => {
                self.choose(link, |choices| choices.model = None);
            }
            MODEL_OPTION if self.offers.has_model(value) => {
                let name = value.to_owned();
                self.choose(link, |choices| choices.model = Some(name));
            }
            MODEL_OPTION => return Err(RpcError::params("no such model is offered")),
            _ => return Err(RpcError::params("no such option")),
        }
        let options = self.options_of(link);
        Ok(Some(json!({"configOptions": options})))
    }

    fn choose(&mut self, link: LinkId, change: impl FnOnce(&mut SessionChoices)) {
        if let Some(session) = self.sessions.get_mut(&link) {
            change(&mut session.choices);
        }
    }

    fn options_of(&self, link: LinkId) -> Value {
        let choices = self.sessions.get(&link).map(|it| it.choices.clone()).unwrap_or_default();
        config_options(&choices, &self.offers)
    }

    fn tell_options(&mut self, link: LinkId) {
        let config_options = self.options_of(link);
        if let Some(name) = self.sessions.get(&link).and_then(|it| it.name.clone()) {
            self.update(&name, &SessionUpdate::ConfigOptionUpdate { config_options });
        }
    }

    /// Takes the daemon's offers, and tells the sessions that are open what changed.
    pub(super) fn take_offers(&mut self, offers: DaemonOffers) {
        if offers == self.offers {
            return;
        }
        let is_other = |it: &DaemonOffers| it.models != offers.models;
        let has_models_changed = is_other(&self.offers);
        self.offers = offers;
        let is_open = |it: &EditorSession| it.opening.is_none() && it.name.is_some();
        let links: Vec<LinkId> =
            self.sessions.iter().filter(|(_, it)| is_open(it)).map(|(link, _)| *link).collect();
        for link in links {
            self.tell_commands(link);
            if has_models_changed {
                let offers = &self.offers;
                if let Some(session) = self.sessions.get_mut(&link) {
                    session.choices.model =
                        session.choices.model.take().filter(|it| offers.has_model(it));
                }
                self.tell_options(link);
            }
        }
    }
}
