//! What a Shell says of itself and what the user wants, as the body of a request.

use bridle_wire::openharness::event::SSE_PROFILE;
use bridle_wire::openharness::version::OURS;
use bridle_wire::openharness::{Json, JsonObject};

use super::{Key, OpenHarnessShell};
use crate::openharness::NAMESPACE;

/// Description of a shell, sent with every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellSelf {
    /// Kind of program.
    pub shell_kind: String,
    /// Version of the program.
    pub shell_version: Option<String>,
    /// Language and country, as BCP 47 writes them.
    pub locale: Option<String>,
    /// Time zone, as IANA names it.
    pub timezone: Option<String>,
    /// Versions of the protocol that it implements, highest first.
    pub versions: Vec<String>,
    /// Whether it asks for streams.
    pub stream: bool,
}

impl Default for ShellSelf {
    fn default() -> ShellSelf {
        ShellSelf {
            shell_kind: "command_shell".to_owned(),
            shell_version: None,
            locale: None,
            timezone: None,
            versions: vec![OURS.to_owned()],
            stream: false,
        }
    }
}

/// Wish of the user. Without a `session_id`, nothing is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserIntent {
    /// In words.
    pub user_intent: Option<String>,
    /// A conversation line that lasts.
    pub session_id: Option<String>,
    /// A thread within it.
    pub conversation_id: Option<String>,
    /// The state of the device.
    pub environment_state: Option<JsonObject>,
    /// References to files.
    pub attachments: Option<Vec<Json>>,
    /// Hints about the task.
    pub task_hint: Option<JsonObject>,
    /// Milliseconds after which the run is given up.
    pub timeout_ms: Option<u64>,
}

impl UserIntent {
    pub(super) fn key(&self) -> Key {
        (self.session_id.clone(), self.conversation_id.clone())
    }
}

impl OpenHarnessShell {
    pub(super) fn body(&mut self, intent: &UserIntent, unix_ms: i64) -> JsonObject {
        let text = |text: &Option<String>| text.as_deref().map(Json::from);
        let shell = present([
            ("shell_kind", Some(self.profile.shell_kind.as_str().into())),
            ("shell_version", text(&self.profile.shell_version)),
            ("locale", text(&self.profile.locale)),
            ("timezone", text(&self.profile.timezone)),
        ]);
        let own = present([
            ("directive_results", self.take_results(&intent.key())),
            ("timeout_ms", intent.timeout_ms.map(Json::from)),
        ]);
        let extensions = (!own.is_empty()).then(|| Json::object([(NAMESPACE, Json::Object(own))]));
        let context = present([
            ("session_id", text(&intent.session_id)),
            ("conversation_id", text(&intent.conversation_id)),
            ("user_intent", text(&intent.user_intent)),
            ("shell", Some(shell.into())),
            ("task_hint", intent.task_hint.clone().map(Json::from)),
            ("environment_state", intent.environment_state.as_ref().map(judged)),
            ("attachments", intent.attachments.clone().map(Json::Array)),
            ("continuation", self.take_continuation(&intent.key(), unix_ms)),
            ("extensions", extensions),
        ]);
        JsonObject::from_iter([
            ("protocol_version", Json::from(self.version.as_str())),
            ("request_id", (self.chance.new_id)().into()),
            ("capabilities", self.capabilities().into()),
            ("request", Json::object([("context", Json::Object(context))])),
        ])
    }

    fn capabilities(&self) -> JsonObject {
        let feedback = Json::object([("version", Json::from(1))]);
        let mut capabilities = JsonObject::new();
        capabilities.insert(format!("{NAMESPACE}.feedback"), feedback);
        if self.abilities.approval {
            capabilities.insert("openharness.ui.approval", true);
        }
        if self.abilities.parallel {
            capabilities.insert("openharness.actions.parallel", true);
        }
        if self.profile.stream {
            let profiles = Json::array([Json::from(SSE_PROFILE)]);
            capabilities.insert("openharness.streaming", Json::object([("profiles", profiles)]));
        }
        capabilities
    }

    /// The step to go on with, once, unless it is over.
    fn take_continuation(&mut self, key: &Key, unix_ms: i64) -> Option<Json> {
        let (continuation, ends) = self.continuations.remove(key)?;
        ends.is_none_or(|ends| unix_ms < ends).then(|| continuation.into())
    }

    fn take_results(&mut self, key: &Key) -> Option<Json> {
        let results = self.unreported.remove(key)?;
        Some(Json::array(results.into_iter().map(Json::from)))
    }
}

/// State that nobody has judged is not for everybody.
fn judged(state: &JsonObject) -> Json {
    let mut judged = JsonObject::from_iter([("privacy_tier", Json::from("restricted"))]);
    state.iter().for_each(|(key, value)| judged.insert(key, value.clone()));
    judged.into()
}

fn present<const N: usize>(fields: [(&str, Option<Json>); N]) -> JsonObject {
    fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
