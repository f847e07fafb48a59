//! The skill language: a jailed core of Common Lisp, true to SBCL.
//!
//! Text is compiled form by form to register instructions and run by a machine with a stack of its
//! own. There is no IO, no clock, no thread: what a program may do to the world is what its host
//! hands in. An [`Instance`] is isolated and `Send`; fuel, heap, depth and output are limited, and
//! running into a limit is an answer to the host. A [`Snapshot`] of a loaded instance is copied in
//! microseconds. `docs/lisp.md` lists the subset and what it refuses.
//!
//! In reading order:
//! - `value`, `heap`, `collect`, `symbols`, `types`: what values are and where they live
//! - `read`, `compile`, `code`: text to instructions
//! - `machine`, `run`, `trap`: instructions, and ways out
//! - `native`, `number`, `format`, `print`: functions written in Rust
//! - `prelude/`: macros and functions written in Lisp
//! - [`instance`]: the host's side

// Indices and lengths are bounded by the heap limit, far below 32 bits of objects; registers,
// instructions and slots by checks in the compiler. Numbers of programs never pass through `as`.
#![allow(clippy::cast_possible_truncation)]

mod code;
mod collect;
mod compile;
mod equality;
mod exchange;
mod format;
mod heap;
mod image;
pub mod instance;
mod machine;
mod native;
mod number;
mod print;
mod read;
mod report;
mod run;
mod symbols;
mod table;
mod text;
mod trap;
mod types;
mod value;

/// Text of the part of the prelude that defines skills, for other Lisps.
pub const SKILL_DEFINITIONS: &str = include_str!("prelude/skill.lisp");

pub use instance::{CallProgress, FunctionHandle, Instance, InstanceLimits, Snapshot};
pub use report::{LispError, LispErrorKind, SourceLocation};
pub use trap::LimitKind;
