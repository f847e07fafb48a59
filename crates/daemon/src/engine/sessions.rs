//! One session in memory, and the directory of all that are.
//!
//! In reading order:
//! - `live_session`: the slot of a session, under one lock; `session_directory`, `session_timers`, `resting_sessions`: all of them
//! - `inbound_message`, `inbox_item`: what goes into a session
//! - `loaded_session`, `load`: the State of the loop with what the daemon must know beside it, and how it is read
//! - `live_stream`: texts in the making
//! - `shell_feed`: what an attached shell is owed

pub(in crate::engine) mod inbound_message;
pub(in crate::engine) mod inbox_item;
pub(in crate::engine) mod live_session;
pub(in crate::engine) mod live_stream;
pub(in crate::engine) mod load;
pub(in crate::engine) mod loaded_session;
pub(in crate::engine) mod resting_sessions;
pub(in crate::engine) mod session_directory;
pub(in crate::engine) mod session_timers;
pub(in crate::engine) mod shell_feed;
