//! The messages of ACP version 1 that bridle reads and writes, as types. Field names and words are those of the
//! published schema; `cargo xtask acp` checks what is written against it.

pub mod content;
pub mod requests;
pub mod results;
pub mod updates;

pub use content::{ContentBlock, EmbeddedContents};
pub use requests::{
    AuthenticateParams, CancelParams, CancelRequestParams, CloseParams, ConfigOptionParams,
    InitializeParams, ListParams, ModeParams, PermissionAnswer, PermissionOutcome, PromptParams,
    ReadFileAnswer, SessionParams,
};
pub use results::{SessionInfo, StopReason};
pub use updates::{
    PermissionOption, PermissionOptionKind, PlanEntry, SessionUpdate, ToolCallContent,
    ToolCallFields, ToolCallLocation, ToolCallStatus, ToolKind,
};

/// The version of the protocol, an integer.
pub const PROTOCOL_VERSION: u16 = 1;
