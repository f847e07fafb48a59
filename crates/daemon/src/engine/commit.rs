//! The task of a session: work becomes one append, and what follows happens when that is durable.
//!
//! In reading order:
//! - `session_task`: works the inbox off, strictly in order
//! - `batch`: events, the effects that follow, inline results: one append
//! - `publish`: everybody hears of it, and its effects are carried out
//! - `redact`: a State that does not quote what is forgotten

pub(in crate::engine) mod batch;
pub(in crate::engine) mod publish;
pub(in crate::engine) mod redact;
pub(in crate::engine) mod session_task;
