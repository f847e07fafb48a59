//! Updates of a session and what questions are made of.

use serde::Serialize;
use serde_json::Value;

use super::content::ContentBlock;

/// Update of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionUpdate {
    /// Text of the user; only in a replay, and from other shells.
    UserMessageChunk {
        /// The text.
        content: ContentBlock,
        /// Message that it belongs to.
        message_id: String,
    },
    /// Text of the answer.
    AgentMessageChunk {
        /// The text.
        content: ContentBlock,
        /// Message that it belongs to.
        message_id: String,
    },
    /// Text of the model's reasoning.
    AgentThoughtChunk {
        /// The text.
        content: ContentBlock,
        /// Message that it belongs to.
        message_id: String,
    },
    /// Effect that is new.
    ToolCall(ToolCallFields),
    /// Effect that changed.
    ToolCallUpdate(ToolCallFields),
    /// Plan of the model.
    Plan {
        /// All entries; they take the place of the ones before.
        entries: Vec<PlanEntry>,
    },
    /// Commands that a prompt may begin with.
    AvailableCommandsUpdate {
        /// All of them.
        available_commands: Vec<AvailableCommand>,
    },
    /// Mode that holds now.
    CurrentModeUpdate {
        /// The mode.
        current_mode_id: &'static str,
    },
    /// Options and their values.
    ConfigOptionUpdate {
        /// All of them.
        config_options: Value,
    },
    /// Tokens and money.
    UsageUpdate {
        /// Tokens in the context.
        used: u64,
        /// Tokens that it takes.
        size: u64,
        /// Price so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<UsageCost>,
    },
    /// Message for the person that is no part of the conversation.
    Notice {
        /// Severity: `info`, `warning` or `error`.
        severity: &'static str,
        /// The sentence.
        title: String,
    },
}

/// Money.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageCost {
    /// Amount in the currency.
    pub amount: f64,
    /// ISO 4217 code.
    pub currency: &'static str,
}

/// Command that a prompt may begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AvailableCommand {
    /// Name without its slash.
    pub name: String,
    /// Sentence for people.
    pub description: String,
}

/// Entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    /// The text.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: &'static str,
    /// `pending`, `in_progress` or `completed`.
    pub status: &'static str,
}

/// Effect as an editor shows it; what is absent stays as it was. A new one has a title.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallFields {
    /// Name of the effect.
    pub tool_call_id: String,
    /// Line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Kind of the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Progress of the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolCallStatus>,
    /// Text and diffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolCallContent>>,
    /// Files that it touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<ToolCallLocation>>,
    /// Arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// Result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
}

/// Kind of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads.
    Read,
    /// Changes text.
    Edit,
    /// Takes something away.
    Delete,
    /// Moves something.
    Move,
    /// Looks for something.
    Search,
    /// Runs a program or code.
    Execute,
    /// Uses the network.
    Fetch,
    /// Anything else.
    Other,
}

/// Progress of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Waits for a yes.
    Pending,
    /// Is carried out.
    InProgress,
    /// Is done.
    Completed,
    /// Was not done, or nobody knows.
    Failed,
}

/// Content of an effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolCallContent {
    /// Text.
    Content {
        /// The block.
        content: ContentBlock,
    },
    /// Change of a file, one hunk.
    Diff {
        /// The file, absolute.
        path: String,
        /// Lines before; absent for a new file.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// Lines after.
        new_text: String,
    },
}

impl ToolCallContent {
    /// Makes content of a text.
    pub fn text(text: impl Into<String>) -> ToolCallContent {
        ToolCallContent::Content { content: ContentBlock::text(text) }
    }
}

/// File that an effect touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCallLocation {
    /// The file, absolute.
    pub path: String,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Answer that the user may choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// The daemon's word for it.
    pub option_id: String,
    /// Label for people.
    pub name: String,
    /// Meaning.
    pub kind: PermissionOptionKind,
}

/// Meaning of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and the daemon does not ask again for what it names.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, and the daemon does not ask again.
    RejectAlways,
}
