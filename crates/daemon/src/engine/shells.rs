//! Shells that are attached: what connections hold.

pub(in crate::engine) mod attached_shell;
pub(in crate::engine) mod join;
