//! The real binary, as scripts and people meet it: exact outputs and exit codes.

// Helpers outside `#[test]` functions fail a test as well as any assertion.
#![allow(clippy::unwrap_used)]

mod attacks;
mod cli_approve;
mod cli_ask;
mod cli_care;
mod cli_config;
mod cli_effects;
mod cli_effects_more;
mod cli_examples;
mod cli_forget;
mod cli_frame;
mod cli_grant;
mod cli_json;
mod cli_lisp;
mod cli_log;
mod cli_memory;
mod cli_model;
mod cli_notes;
mod cli_older_record;
mod cli_org;
mod cli_pages;
mod cli_policy;
mod cli_remote_record;
mod cli_replay;
mod cli_schedules;
mod cli_secret;
mod cli_send;
mod cli_sessions;
mod cli_sexp;
mod cli_shipped;
mod cli_skill;
mod cli_tap;
mod cli_terminal;
mod cli_token;
mod cli_up;
mod cli_upkeep;
mod cli_why;
mod conform;
mod demo;
mod everyday;
mod first_minutes;
mod guarded;
mod harness;
mod http_kill;
mod written;
