//! Every effect on the outside: thinkers, which propose, and actuators, which carry out orders.
//!
//! The daemon makes one [`Host`] and asks it; a host knows the loop's words and never the wire.
//! Threads may block here, so nothing here runs on the daemon's own tasks, except
//! [`Host::consult`], which is quick.
//!
//! In reading order:
//! - `host`: what the daemon asks
//! - `facts`: what the host asks the daemon
//! - `thinker`: which thinker there is
//! - `builtin`: answers a few words
//! - `stranger`: the same for peers that nobody knows
//! - `script`: answers from rules in a file
//! - `actuator`: carries out orders
//! - `cancel`: the word to stop
//! - [`policy_load`]: policies, loaded on a stack of their own
//! - `error`: why there is no host

mod host;

mod facts;

mod thinker;

mod builtin;
mod script;
mod stranger_input;

mod actuator;

mod cancel;
mod error;
pub mod policy_load;

pub use actuator::{ActContext, Actuator, CrashOutcome, Readership};
pub use cancel::CancelFlag;
pub use error::HostError;
pub use facts::{DaemonFacts, SessionFact, SessionList, SessionVisibility, StatusFact};
pub use host::Host;
pub use thinker::{TextDelta, ThinkerChoice};
