//! The conformance kits: bridle passes them, and sloppy peers do not.
//!
//! - `engine`: the kit for engines against the real daemon
//! - `oacp`: the daemon's kit against the real daemon, and against one behind a spoiler
//! - `spoiler`: passes frames on and plants one fault
//! - `plants`: the faults, each with the case that is meant to find it

mod engine;
mod oacp;
mod plants;
mod spoiler;
