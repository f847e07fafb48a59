//! `bridle chat` in a real terminal multiplexer, with a real daemon: what a person would see, at several sizes,
//! over kills of the daemon, with hostile text.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

#[path = "../it/attacks.rs"]
mod attacks;
mod hostile;
mod kills;
mod screens;
mod tmux;
