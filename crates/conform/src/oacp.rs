//! The kit for daemons of the framed protocol: `bridle conform oacp ADDR`.
//!
//! Its cases are written from `docs/protocol.md`, whose sections they name, and use none of the
//! code that bridle's own daemon reads and writes frames with: [`link`] does that anew. What every
//! daemon must do is MUST; what a hello offers binds whoever offers it, as a profile.
//!
//! - [`link`]: a connection, byte by byte
//! - [`heard`]: a message of the daemon, and what is expected of it
//! - `frames`, `language`, `messages`, `hello`, `turns`, `parts`, `sessions`, `requests`, `secrets`,
//!   `auth`: the cases

mod auth;
mod frames;
pub mod heard;
mod hello;
mod language;
pub mod link;
mod messages;
mod parts;
mod requests;
mod secrets;
mod sessions;
mod turns;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use bridle_wire::seal::SigningKey;

use super::KitKind;
use super::case::{CheckFinding, ConformanceCase};
use super::notes::CaseNotes;
use super::run::KitPeer;
use link::DaemonLink;

/// The kit.
pub const KIT: KitKind = KitKind { name: "oacp", revision: "0.3.0", text: "docs/protocol.md" };

/// Daemon that demands signatures, and a key that it knows.
#[derive(Debug, Clone)]
pub struct SignedDaemon {
    /// The address.
    pub addr: DaemonAddress,
    /// The key.
    pub key: SigningKey,
}

/// A daemon to check.
#[derive(Debug)]
pub struct DaemonUnderTest {
    addr: DaemonAddress,
    signed: Option<SignedDaemon>,
    /// Longest wait for anything.
    timeout: Duration,
    notes: Rc<RefCell<CaseNotes>>,
    /// Makes names that no other run uses.
    nonce: String,
    made: u32,
}

impl DaemonUnderTest {
    /// A daemon at an address where no signatures are demanded, and perhaps one where they are.
    pub fn new(
        addr: DaemonAddress,
        signed: Option<SignedDaemon>,
        timeout: Duration,
        nonce: String,
    ) -> DaemonUnderTest {
        DaemonUnderTest { addr, signed, timeout, notes: Rc::default(), nonce, made: 0 }
    }

    /// Connects and takes the daemon's hello.
    ///
    /// # Errors
    /// Nobody is there, or the first frame is no hello.
    pub fn open(&self) -> Result<DaemonLink, CheckFinding> {
        DaemonLink::open(&self.addr, self.timeout, Rc::clone(&self.notes))
    }

    /// Address that demands signatures.
    ///
    /// # Errors
    /// No such address was named.
    fn signed(&self) -> Result<&SignedDaemon, CheckFinding> {
        self.signed.as_ref().ok_or_else(|| {
            CheckFinding::unoffered(
                "no signed address was named: --signed ADDR with --key-file FILE",
            )
        })
    }

    /// A name that nobody has used: of a session, of a client.
    pub fn name(&mut self) -> String {
        self.made += 1;
        format!("kit-{}-{}", self.nonce, self.made)
    }
}

impl KitPeer for DaemonUnderTest {
    fn begin(&mut self) {
        self.notes.take();
    }

    fn end(&mut self) -> CaseNotes {
        self.notes.take()
    }
}

/// All cases, in the order in which they are worth reading.
pub fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let lists = [
        frames::cases(),
        language::cases(),
        messages::cases(),
        hello::cases(),
        turns::cases(),
        secrets::cases(),
        parts::cases(),
        sessions::cases(),
        requests::cases(),
        auth::cases(),
    ];
    lists.into_iter().flatten().collect()
}
