//! Calls of tools: an actuator of the daemon that speaks for servers takes them.
//!
//! What a tool says about itself counts for nothing here: a call is dangerous until a policy of the user's
//! names its server and its tool. A tool of a skill runs where it can only ask, and what it asks for is judged.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::{present, text};
use crate::action_spec::ToolName;

/// Actuator of the tools of skills.
pub const SKILL: &str = "skill";

/// Name of the action.
pub const TOOL: &str = "tool";

/// The longest name of a server or a tool, in bytes.
const MAX_TOOL_NAME_BYTES: usize = 128;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Server and tool.
    pub name: ToolName,
    /// Arguments, as the tool's own description wants them.
    pub arguments: Value,
    /// Whether it can do nothing but ask: a tool of a skill, each of whose requests is judged.
    pub only_asks: bool,
}

impl ToolCall {
    /// Reads `:server`, `:tool` and `:arguments`.
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let named = |key| {
            let name = text(payload, TOOL, key)?;
            let is_name = (1..=MAX_TOOL_NAME_BYTES).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_graphic());
            let expected = "a name of 1 to 128 printable characters";
            is_name.then_some(name).ok_or(InvalidAction::Argument { action: TOOL, key, expected })
        };
        let name = ToolName { server: named("server")?, tool: named("tool")? };
        let arguments = match payload.get("arguments") {
            None | Some(Value::Nil) => Value::Nil,
            Some(_) => present(payload, TOOL, "arguments")?.clone(),
        };
        Ok(Self { name, arguments, only_asks: false })
    }
}
