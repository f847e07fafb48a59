//! Results that bridle answers with.

use serde::Serialize;

/// Reason for the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The turn is complete.
    EndTurn,
    /// The answer reached the longest that the model writes.
    MaxTokens,
    /// The turn reached its number of rounds.
    MaxTurnRequests,
    /// The model refuses.
    Refusal,
    /// The user gave it up.
    Cancelled,
}

/// Session in an answer to `session/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Name of the session.
    pub session_id: String,
    /// Folder that it is about; `/` for one that no editor began.
    pub cwd: String,
    /// First words of its first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Time of its last event, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}
