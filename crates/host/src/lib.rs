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
mod stranger;

mod actuator;

mod cancel;
mod error;
pub mod policy_load;

pub use actuator::{Act, Readership, Surroundings, Told};
pub use cancel::Cancel;
pub use error::Error;
pub use facts::{Facts, SessionFact, SessionList, StatusFact, Whose};
pub use host::Host;
pub use thinker::{Delta, ThinkerChoice};
