//! Every effect on the outside: thinkers, which propose, and actuators, which carry out orders.
//!
//! The daemon makes one [`Host`] and asks it; a host knows the loop's words and never the wire.
//! [`Host::think`] and [`Host::act`] are futures, hundreds of them at once; what blocks runs on threads of
//! a [`BlockingPool`]. [`Host::consult`] is quick.
//!
//! In reading order:
//! - `host`: calls of the daemon
//! - `facts`: questions of the host to the daemon
//! - `thinker`: the trait [`Thinker`], and the choice between those below
//! - `builtin`: the thinker that answers a few words
//! - `stranger_input`: the same words from peers that nobody knows
//! - `script`: the thinker that answers from rules in a file
//! - `actuator`: the trait [`Actuator`], the registry, and the actuators of every host
//! - `consultant`: the trait [`Consultant`], and how those of a stage are asked
//! - `io`: handles of thoughts and acts under way
//! - `cancel`: the flag that ends them
//! - `blocking`: threads for what blocks
//! - `error`: reasons why there is no host

mod host;

mod facts;

mod thinker;

mod builtin;
mod script;
mod stranger_input;

mod actuator;

mod consultant;

mod blocking;
mod cancel;
mod error;
mod io;
pub mod provenance;

pub use actuator::{
    Actuator, ActuatorConflict, ActuatorGroup, CrashOutcome, HostCatalog, ProposalPlace,
    Readership, SYSTEM_ACTIONS,
};
pub use blocking::{BlockingCallError, BlockingPool};
pub use builtin::ProseSignal;
pub use cancel::CancelFlag;
pub use consultant::{CONSULT_TIMEOUT, ConsultReport, Consultant, ConsultantTable};
pub use error::HostError;
pub use facts::{DaemonFacts, SessionFact, SessionList, SessionVisibility, StatusFact};
pub use host::Host;
pub use io::{ActChannel, ActContext, ActIo, HostFuture, OfferedAction, ThoughtChannel, ThoughtIo};
pub use thinker::{Thinker, ThinkerChoice};
