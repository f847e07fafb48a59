//! The kit for agents of the Agent Client Protocol, version 1: `bridle conform acp -- CMD`.
//!
//! The kit is the editor: it starts the command for each case, speaks JSON-RPC on its standard input and output,
//! answers what the agent asks, and judges every line. Its cases are written from the protocol's pages, whose names
//! they give as sections; nothing of bridle's own agent is used. What an agent offers binds it, as a profile; what an
//! agent does when a prompt takes long or wants a permission is found out only with prompts that bring it about.
//!
//! - [`editor_link`]: a started agent, line by line
//! - [`wire_watch`]: what must hold for every message, found in all cases
//! - `update_shape`: shapes of updates
//! - `transport`, `greeting`, `sessions`, `stored`, `turns`, `cancels`, `permissions`, `settings`, `always`: the cases

mod always;
mod cancels;
pub mod editor_link;
mod greeting;
mod permissions;
mod sessions;
mod settings;
mod stored;
mod transport;
mod turns;
mod update_shape;
pub mod wire_watch;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};

use self::editor_link::EditorLink;
use self::wire_watch::WireWatch;
use super::KitKind;
use super::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};
use super::driven::ProgramOptions;
use super::notes::CaseNotes;
use super::run::KitPeer;

/// The kit.
pub const KIT: KitKind =
    KitKind { name: "acp", revision: "1", text: "Agent Client Protocol, version 1" };

/// Prompts that bring about what a kit cannot know how to bring about.
#[derive(Debug, Clone)]
pub struct AgentPrompts {
    /// Is answered with a text.
    pub plain: String,
    /// Takes some seconds.
    pub slow: Option<String>,
    /// Leads to a tool call that needs a permission, each time anew.
    pub tool: Option<String>,
}

/// An agent to check.
#[derive(Debug)]
pub struct AgentUnderTest {
    program: ProgramOptions,
    prompts: AgentPrompts,
    /// Folder of the sessions.
    folder: PathBuf,
    notes: Rc<RefCell<CaseNotes>>,
    watch: Rc<RefCell<WireWatch>>,
}

impl AgentUnderTest {
    /// An agent that this program is; its sessions are about a folder that must exist.
    pub fn new(program: ProgramOptions, prompts: AgentPrompts, folder: PathBuf) -> AgentUnderTest {
        AgentUnderTest { program, prompts, folder, notes: Rc::default(), watch: Rc::default() }
    }

    /// Starts the agent.
    ///
    /// # Errors
    /// The agent cannot be started.
    fn start(&self) -> Result<EditorLink, CheckFinding> {
        let values = [("ACP_FOLDER", self.cwd())];
        let (notes, watch) = (Rc::clone(&self.notes), Rc::clone(&self.watch));
        EditorLink::start(&self.program, &values, notes, watch)
    }

    /// Starts the agent and initializes the connection.
    fn greet(&self) -> Result<EditorLink, CheckFinding> {
        let mut link = self.start()?;
        link.initialize(&json!({}))?;
        Ok(link)
    }

    /// Starts the agent with a new session.
    fn open(&self) -> Result<EditorLink, CheckFinding> {
        let mut link = self.greet()?;
        self.new_session(&mut link)?;
        Ok(link)
    }

    /// Makes a session, which the link's prompts go to from now on.
    fn new_session(&self, link: &mut EditorLink) -> Result<String, CheckFinding> {
        let made = link.ok("session/new", &self.place())?;
        let name = made.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(CheckFinding::fault(format!("expected a `sessionId`, got {made}")));
        }
        link.session.clone_from(&name);
        Ok(name)
    }

    /// Parameters of a new session.
    fn place(&self) -> Value {
        json!({"cwd": self.cwd(), "mcpServers": []})
    }

    /// Parameters of a session that is there.
    fn place_of(&self, session: &str) -> Value {
        json!({"sessionId": session, "cwd": self.cwd(), "mcpServers": []})
    }

    fn cwd(&self) -> String {
        self.folder.display().to_string()
    }

    fn slow(&self) -> Result<&str, CheckFinding> {
        let missing = "no prompt that takes long was named: --prompt-slow TEXT";
        self.prompts.slow.as_deref().ok_or_else(|| CheckFinding::unoffered(missing))
    }

    fn tool(&self) -> Result<&str, CheckFinding> {
        let missing = "no prompt that needs a permission was named: --prompt-tool TEXT";
        self.prompts.tool.as_deref().ok_or_else(|| CheckFinding::unoffered(missing))
    }
}

impl KitPeer for AgentUnderTest {
    fn begin(&mut self) {
        self.notes.take();
    }

    fn end(&mut self) -> CaseNotes {
        self.notes.take()
    }
}

/// All cases, in the order in which they are worth reading.
pub fn cases() -> Vec<ConformanceCase<AgentUnderTest>> {
    let lists = [
        transport::cases(),
        greeting::cases(),
        sessions::cases(),
        stored::cases(),
        turns::cases(),
        cancels::cases(),
        permissions::cases(),
        settings::cases(),
        always::cases(),
    ];
    lists.into_iter().flatten().collect()
}

type AgentCase = ConformanceCase<AgentUnderTest>;
type AgentCheck = fn(&mut AgentUnderTest) -> Checked;

/// Requirement, section and reason of a case.
#[derive(Debug, Clone, Copy)]
struct CaseText(&'static str, &'static str, &'static str);

fn must(id: &'static str, text: CaseText, check: AgentCheck) -> AgentCase {
    ConformanceCase::new(id, RequirementLevel::Must, text.1, text.0, text.2, check)
}

fn should(id: &'static str, text: CaseText, check: AgentCheck) -> AgentCase {
    ConformanceCase::new(id, RequirementLevel::Should, text.1, text.0, text.2, check)
}

fn profile(name: &'static str, id: &'static str, text: CaseText, check: AgentCheck) -> AgentCase {
    ConformanceCase::new(id, RequirementLevel::Profile(name), text.1, text.0, text.2, check)
}

/// Passes if a condition holds; the finding says what was expected, and what came.
fn expect(holds: bool, expected: &str, came: impl std::fmt::Display) -> Checked {
    if holds {
        return Ok(());
    }
    Err(CheckFinding::fault(format!("expected {expected}, got {came}")))
}
