//! `initialize` and `authenticate`: what both sides can do, and who is there.

use serde_json::{Value, json};

use super::{Agent, AgentInput, params, result};
use crate::client_forms;
use crate::daemon_offers::DaemonOffers;
use crate::json_rpc::{RequestId, RpcError};
use crate::protocol::{AuthenticateParams, InitializeParams, PROTOCOL_VERSION};

use bridle_sexp::read_one;
use bridle_shell::client::DaemonClient;

/// Method of authentication that needs nothing: the daemon knows who connects.
const LOCAL_METHOD: &str = "local";

/// Id of the request for the daemon's offers.
const OFFERS_ID: &str = "offers";

/// Method of authentication in a terminal.
const TERMINAL_METHOD: &str = "setup";

/// Abilities that an editor names in `initialize`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EditorAbilities {
    /// Hands over texts that are not saved.
    pub(super) reads_files: bool,
    /// Shows notices.
    pub(super) shows_notices: bool,
    /// Runs programs in terminals.
    pub(super) runs_programs: bool,
    /// Runs the agent in a terminal for authentication.
    pub(super) has_terminal: bool,
}

impl Agent {
    pub(super) fn initialize(
        &mut self,
        id: &RequestId,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        let given: InitializeParams = params(given)?;
        let can = given.client_capabilities.unwrap_or_default();
        self.editor = Some(EditorAbilities {
            reads_files: can.fs.unwrap_or_default().read_text_file,
            shows_notices: can.session.unwrap_or_default().notices.is_some_and(|it| !it.is_null()),
            runs_programs: can.terminal,
            has_terminal: can.auth.unwrap_or_default().terminal,
        });
        // What the daemon takes is its own to say. One that does not run is started meanwhile.
        let (targets, launcher) = (self.targets.clone(), self.launcher.clone());
        let (inputs, id) = (self.inputs.clone(), id.clone());
        let greet = move || {
            let mut client = DaemonClient::connect_any(&targets);
            if client.is_err() && launcher.launch().is_ok() {
                client = DaemonClient::connect_any(&targets);
            }
            let offers = client.ok().and_then(|mut client| offers(&mut client));
            // Nobody listens when the editor has left.
            let _ = inputs.send(AgentInput::Greeted(id, offers.unwrap_or_default()));
        };
        std::thread::Builder::new()
            .name("daemon-hello".to_owned())
            .spawn(greet)
            .map_err(|error| RpcError::internal(format!("cannot start a thread: {error}")))?;
        Ok(None)
    }

    /// Answers `initialize`, now that the daemon has said what it can do, or could not be reached.
    pub(super) fn introduce(&mut self, id: &RequestId, offers: DaemonOffers) {
        self.offers = offers;
        let mut methods = vec![json!({
            "id": LOCAL_METHOD,
            "name": "This computer's bridle",
            "description": "No account: the daemon knows you by your user on this computer.",
        })];
        if self.editor.is_some_and(|it| it.has_terminal) {
            methods.push(json!({
                "type": "terminal",
                "id": TERMINAL_METHOD,
                "name": "Set up in a terminal",
                "description": "Starts the daemon and says what is left to choose.",
                "args": ["--setup"],
            }));
        }
        let answer = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {
                    "image": self.offers.take_images(), "audio": false, "embeddedContext": true,
                },
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "authMethods": methods,
            "agentInfo": {
                "name": "bridle", "title": "bridle", "version": env!("CARGO_PKG_VERSION"),
            },
        });
        self.respond(id, Ok(answer));
    }

    // Called like the other verbs.
    #[allow(clippy::unnecessary_wraps, clippy::needless_pass_by_value)]
    pub(super) fn authenticate(&mut self, given: Value) -> Result<Option<Value>, RpcError> {
        let given: AuthenticateParams = params(given)?;
        match given.method_id.as_str() {
            LOCAL_METHOD => Ok(Some(result(&json!({})))),
            TERMINAL_METHOD => {
                Err(RpcError::params("this method runs in a terminal: bridle acp --setup"))
            }
            _ => Err(RpcError::params("no such method of authentication")),
        }
    }
}

/// Asks a daemon for its offers; `None` from one that has none.
fn offers(client: &mut DaemonClient) -> Option<DaemonOffers> {
    let answer = client.request(&client_forms::offers(OFFERS_ID)).ok()?;
    let payload = read_one(&answer).ok()?.root().get("payload")?.to_value();
    Some(DaemonOffers::read(&payload))
}
