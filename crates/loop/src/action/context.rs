//! Reads of `:context`: what a thinker looks up in the memory, in the daemon's own log, and in results of before.
//!
//! Safe: nothing changes, and everybody is shown what they may see anyway. How much that is follows from who
//! reads the session, which the daemon finds out before the read is judged (`:prepared (:access :owner)`); whoever
//! says that themselves is not listened to. The arguments are read by whoever answers.

use bridle_sexp::Value;

use super::PREPARED;

/// Name of the actuator: in its place alone these names mean reads.
pub const CONTEXT: &str = "context";

/// Names of the reads.
pub const CONTEXT_ACTIONS: &[&str] = &[
    "query",
    "outline",
    "focus",
    "agenda",
    "get-object",
    "get-ast",
    "resolve-path",
    "memex-status",
    "list-all-skills",
    "get-skill-source",
    "get-system-logs",
    "get-result",
    "complete",
];

/// A read of `:context`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextRead {
    /// Name of the action.
    pub name: &'static str,
    /// Whether all who see the answer may see what is the owner's alone.
    pub is_for_owner: bool,
}

impl ContextRead {
    /// Reads a payload; `None` if no read has this name.
    pub(super) fn of(name: &str, payload: &Value) -> Option<Self> {
        let name = CONTEXT_ACTIONS.iter().copied().find(|known| *known == name)?;
        let access = payload.get(PREPARED).and_then(|prepared| prepared.get("access"));
        Some(Self { name, is_for_owner: access.is_some_and(|access| access.is_keyword("owner")) })
    }
}
