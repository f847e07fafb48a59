//! The conformance kits: bridle passes them, and sloppy peers do not.
//!
//! - `acp`: the kit for agents of ACP with `bridle acp` as the agent
//! - `engine`: the kit for engines against the real daemon
//! - `oacp`: the daemon's kit against the real daemon, and against one behind a spoiler
//! - `oacp_client`: the kit for clients of the framed protocol with `bridle ask --lines` as the client
//! - `shell`: the kit for Shells of OpenHarness with `bridle ask` as the Shell
//! - `spoiler`: passes frames on and plants one fault
//! - `middle`, `sloppy`: the same for engines over HTTP
//! - `plants`: the faults, each with the case that is meant to find it

mod acp;
mod engine;
mod middle;
mod oacp;
mod oacp_client;
mod plants;
mod shell;
mod sloppy;
mod spoiler;
