//! Parameters that an editor sends, and its answers to bridle's own requests. Unknown fields are ignored, as the
//! protocol asks.

use serde::Deserialize;
use serde_json::Value;

use super::content::ContentBlock;

/// Parameters of `initialize`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Newest version that the editor speaks. Only its type is looked at: bridle speaks one version.
    #[serde(rename = "protocolVersion")]
    pub _protocol_version: u16,
    /// Abilities of the editor.
    #[serde(default)]
    pub client_capabilities: Option<ClientCapabilities>,
}

/// Abilities of an editor that bridle makes use of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ClientCapabilities {
    /// Files.
    pub fs: Option<FileCapabilities>,
    /// Whether all of `terminal/*` is there.
    pub terminal: bool,
    /// Sessions.
    pub session: Option<ClientSessionCapabilities>,
    /// Authentication.
    pub auth: Option<AuthCapabilities>,
}

/// Methods for files that an editor offers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FileCapabilities {
    /// Whether `fs/read_text_file` is there: it has what is not saved yet.
    pub read_text_file: bool,
}

/// Kinds of updates that not every editor shows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ClientSessionCapabilities {
    /// Present when notices are shown.
    pub notices: Option<Value>,
}

/// Kinds of authentication that an editor offers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct AuthCapabilities {
    /// Whether it can run the agent in a terminal.
    pub terminal: bool,
}

/// Parameters of `authenticate`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateParams {
    /// Method from the answer to `initialize`.
    pub method_id: String,
}

/// Parameters of `session/new`, `session/load` and `session/resume`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Folder that the session is about, absolute.
    pub cwd: String,
    /// Session to go on with; absent for a new one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// MCP servers of the editor; only their names are looked at.
    #[serde(default)]
    pub mcp_servers: Vec<McpServerName>,
}

/// Name of an MCP server.
#[derive(Debug, Clone, Deserialize)]
pub struct McpServerName {
    /// Name that the editor's user gave it.
    #[serde(default)]
    pub name: String,
}

/// Parameters of `session/list`.
#[derive(Debug, Clone, Deserialize)]
pub struct ListParams {
    /// Only sessions of this folder.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Continuation from the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Parameters of `session/close`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CloseParams {
    /// The session.
    pub session_id: String,
}

/// Parameters of `session/prompt`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptParams {
    /// The session.
    pub session_id: String,
    /// Content of the prompt.
    pub prompt: Vec<ContentBlock>,
}

/// Parameters of `session/cancel`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    /// The session.
    pub session_id: String,
}

/// Parameters of `$/cancel_request`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelRequestParams {
    /// Request to give up.
    pub request_id: Value,
}

/// Parameters of `session/set_mode`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeParams {
    /// The session.
    pub session_id: String,
    /// The mode.
    pub mode_id: String,
}

/// Parameters of `session/set_config_option`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOptionParams {
    /// The session.
    pub session_id: String,
    /// The option.
    pub config_id: String,
    /// Its new value.
    pub value: Value,
}

/// Answer to `session/request_permission`.
#[derive(Debug, Clone, Deserialize)]
pub struct PermissionAnswer {
    /// End of the question.
    pub outcome: PermissionOutcome,
}

/// End of a question at the editor.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    /// Nobody decided: the turn was canceled.
    Cancelled,
    /// Option that a person chose.
    Selected {
        /// The option.
        option_id: String,
    },
}

/// Answer to `fs/read_text_file`.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadFileAnswer {
    /// Text of the file as the editor has it.
    pub content: String,
}
