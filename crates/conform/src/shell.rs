//! The kit for Shells of OpenHarness: `bridle conform shell -- CMD`.
//!
//! The kit is the Engine: it listens on this machine, starts the command for each case, tells it by
//! lines what to ask (`docs/conformance.md`), answers what is scripted, and judges what the Shell
//! sends and says. Sections are those of the OpenHarness Protocol, 1.0.0-draft; what it leaves open is
//! chosen as in `vectors/shell`.
//!
//! - [`stage`]: the scripted Engine
//! - [`scene`]: one Shell on it
//! - `requests`, `answers`, `types`, `order`, `approvals`, `failures`, `retries`, `results`,
//!   `streams`: the cases

mod answers;
mod approvals;
mod failures;
mod order;
mod requests;
mod results;
mod retries;
pub mod scene;
pub mod stage;
mod streams;
mod types;

use std::cell::RefCell;
use std::rc::Rc;

use super::KitKind;
use super::case::{CheckFinding, ConformanceCase};
use super::driven::ProgramOptions;
use super::notes::CaseNotes;
use super::run::KitPeer;
use scene::ShellScene;
use stage::StageReply;

/// The kit.
pub const KIT: KitKind =
    KitKind { name: "shell", revision: "1.0.0-draft", text: "OpenHarness Protocol 1.0.0-draft" };

/// A Shell to check.
#[derive(Debug)]
pub struct ShellUnderTest {
    program: ProgramOptions,
    notes: Rc<RefCell<CaseNotes>>,
    /// Makes words that nothing else has.
    nonce: String,
    made: u32,
}

impl ShellUnderTest {
    /// A Shell that this program is.
    pub fn new(program: ProgramOptions, nonce: String) -> ShellUnderTest {
        ShellUnderTest { program, notes: Rc::default(), nonce, made: 0 }
    }

    /// Starts the Shell before an Engine with these answers; further requests get an empty success.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn scene(&mut self, replies: Vec<StageReply>) -> Result<ShellScene, CheckFinding> {
        self.made += 1;
        let token = format!("canary-{}-{}", self.nonce, self.made);
        ShellScene::start(&self.program, replies, &token, Rc::clone(&self.notes))
    }
}

impl KitPeer for ShellUnderTest {
    fn begin(&mut self) {
        self.notes.take();
    }

    fn end(&mut self) -> CaseNotes {
        self.notes.take()
    }
}

/// All cases, in the order in which they are worth reading.
pub fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let lists = [
        requests::cases(),
        answers::cases(),
        types::cases(),
        order::cases(),
        approvals::cases(),
        failures::cases(),
        retries::cases(),
        results::cases(),
        streams::cases(),
    ];
    lists.into_iter().flatten().collect()
}
