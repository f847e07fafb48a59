//! Conformance kits: does a peer keep to its protocol?
//!
//! A kit is a list of cases, each for one requirement, and a way to talk to the peer that notes
//! what was sent and what came back. Kits know the protocol's text and nothing of any peer's
//! insides: bridle's own daemon is a peer like any other. Of bridle's own client they use the address
//! and the socket, nothing that reads or writes a message.
//!
//! - [`case`]: what a case is, and what it can find
//! - [`notes`]: what was sent and what came back
//! - [`mod@run`]: the cases, one after another
//! - [`expect`]: failures that are known, each with its reason
//! - [`report`]: the result for people, for programs and for build servers
//! - [`oacp`]: the kit for daemons of the framed protocol
//! - [`engine`]: the kit for engines of the OpenHarness Protocol
//! - [`acp`]: the kit for agents of the Agent Client Protocol
//! - [`driven`]: a program under test; [`shell`]: the kit for Shells of OpenHarness;
//!   [`client`]: the kit for clients of the framed protocol

pub mod acp;
pub mod case;
pub mod client;
pub mod driven;
pub mod engine;
pub mod expect;
pub mod notes;
pub mod oacp;
pub mod report;
pub mod run;
pub mod shell;

pub use case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};
pub use expect::ExpectedFailures;
pub use notes::CaseNotes;
pub use report::ConformanceReport;
pub use run::{KitPeer, RunOptions, run};

/// Subject of a list of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KitKind {
    /// Name on the command line.
    pub name: &'static str,
    /// The revision of the protocol that its cases are for. A list of cases is frozen with its
    /// revision: a new requirement is a new revision.
    pub revision: &'static str,
    /// Document whose sections the cases name.
    pub text: &'static str,
}
