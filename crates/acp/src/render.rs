//! Events of the daemon as updates of ACP. Nothing in here waits or writes.
//!
//! - [`answer_text`]: streamed pieces and the recorded text, without doubling
//! - [`tool_call`]: effects and questions
//! - [`unified_diff`]: the daemon's diffs, taken apart into hunks
//! - [`extras`]: plans, usage, commands

pub(crate) mod answer_text;
pub(crate) mod extras;
pub(crate) mod tool_call;
pub(crate) mod unified_diff;
