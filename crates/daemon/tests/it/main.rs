//! The daemon over real sockets: raw bytes in, raw bytes out, port 0, no fixed times.
//!
//! One binary, one module per subject. `support` starts daemons and speaks frames; it knows
//! the framing rule in its simplest form and nothing of the crate that implements it.

#![expect(clippy::disallowed_methods, reason = "a test's tasks end with its runtime")]
#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

mod approvals;
mod attach;
mod errors;
mod fragments;
mod health;
mod hello;
mod hmac;
mod hostile;
mod http;
mod http_approvals;
mod http_calloff;
mod http_context;
mod http_device;
mod http_files;
mod http_hostile;
mod http_mapping;
mod http_pages;
mod http_pair;
mod http_rate;
mod http_repeats;
mod http_socket;
mod http_streams;
mod http_tls;
mod http_tokens;
mod http_ws;
mod http_ws_hostile;
mod http_ws_steps;
mod limits;
mod lock;
mod overlay;
mod parts;
mod pipelining;
mod principals;
mod prompts;
mod requests;
mod shell;
mod shutdown;
mod stdio;
mod stdio_lines;
mod strangers;
mod units;
mod unix;
