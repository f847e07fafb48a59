//! An OpenHarness Shell: asks an Engine, shows what it says, carries out what it wants.
//!
//! `bridle ask --engine` is one, and programs in Rust can be. The rules are in two machines that do
//! nothing themselves: told what happens, they say what follows, so the same rules hold for every
//! user interface and `vectors/shell` can play any course of events. The clients of `clients/` have
//! the same two machines. Layout, in reading order:
//!
//! - [`shell`]: what to send, when to try again, what to show and do
//! - [`perform`]: the directives of one answer: in which order, after whose yes, what became of them
//! - [`stream`]: events of a stream, and what may be shown of them; [`sse`]: bytes to events
//! - [`answer`]: what is taken for an answer, and what is not
//! - [`action`]: what a machine wants done
//! - [`engine`]: the loop around the machines; [`http`]: how messages travel
//! - [`text`], [`time`]: what all of them stand on

pub mod action;
pub mod answer;
pub mod engine;
pub mod http;
pub mod perform;
pub mod shell;
pub mod sse;
pub mod stream;
pub mod text;
pub mod time;

pub use action::{ShellAction, UserQuestion};
pub use engine::{EngineClient, Handler, ShellInterface, TurnResult};
pub use perform::ShellAbilities;
pub use shell::{OpenHarnessShell, ShellSelf, UserIntent};
pub use time::PosixTime;

/// Namespace for fields that version 1 has no place for.
pub const NAMESPACE: &str = "dev.bridle";
