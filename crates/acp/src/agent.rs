//! The agent: one loop owns all state; the editor's lines and the daemons' frames come in on one channel. Called by
//! `bridle acp`, and it ends with the editor's input, never before.
//!
//! - `editor_session`: state of one session
//! - `initialize`: what both sides can do
//! - `open_session`: `session/new`, `session/load`, `session/resume`
//! - `prompt`: `session/prompt` and `session/cancel`
//! - `prompt_content`: blocks of content as one text
//! - `unsaved_buffers`: what the editor has and the disk has not
//! - `permission`: questions of the guard
//! - `hear`: events of the daemon
//! - `session_choices`: the model of further prompts, the answer to questions
//! - `editor_terminal`: commands that the editor runs
//! - `session_list`: `session/list`, `session/close`

mod editor_session;
mod editor_terminal;
mod hear;
mod initialize;
mod open_session;
mod permission;
mod prompt;
mod prompt_content;
mod session_choices;
mod session_list;
mod unsaved_buffers;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use bridle_shell::client::DaemonTarget;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::editor_session::{EditorSession, LinkId};
use self::editor_terminal::TerminalStep;
use self::initialize::EditorAbilities;
use crate::bounded_lines::{InputLine, MAX_LINE_BYTES, read_line};
use crate::daemon_offers::DaemonOffers;
use crate::json_rpc::{self, RequestId, RpcError, RpcErrorCode, RpcMessage};
use crate::protocol::SessionUpdate;
use crate::session_directory::SessionDirectory;
use crate::session_link::{DaemonLauncher, LinkEvent};

/// Messages that wait for the loop; whoever brings more waits.
const MAX_WAITING_INPUTS: usize = 1_024;

/// Requests of this side that have no answer; the oldest is forgotten beyond that.
const MAX_OPEN_REQUESTS: usize = 1_024;

/// Daemon to talk to, and the way to start one.
pub struct AgentOptions {
    /// Addresses to try, in order.
    pub targets: Vec<DaemonTarget>,
    /// Starts a daemon and waits until it is ready; without it none is started. The error is a sentence.
    pub launch: Option<Box<dyn Fn() -> Result<(), String> + Send + Sync>>,
    /// Whether the agent may use the editor's terminals, where the policies allow it.
    pub takes_terminal: bool,
    /// Lines for the editor's log of this program.
    pub log: Box<dyn Write + Send>,
}

/// Reason for the end of the agent, other than the end of its input.
#[derive(Debug, thiserror::Error)]
pub enum AcpError {
    /// The editor's messages cannot be read.
    #[error("cannot read the editor's messages")]
    Read(#[source] io::Error),
    /// The editor takes no more messages.
    #[error("cannot write to the editor")]
    Write(#[source] io::Error),
    /// The system has no thread or no random bytes left.
    #[error("cannot start")]
    Start(#[source] io::Error),
}

/// Serves an editor until its input ends.
///
/// # Errors
///
/// Input or output fail. That the daemon cannot be reached is told to the editor and ends nothing.
pub fn run(
    options: AgentOptions,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), AcpError> {
    let (sender, inputs) = sync_channel(MAX_WAITING_INPUTS);
    let lines = sender.clone();
    let reader = thread::Builder::new().name("editor-lines".to_owned());
    reader.spawn(move || read_lines(input, &lines)).map_err(AcpError::Start)?;
    let mut agent = Agent::new(options, sender, Box::new(output)).map_err(AcpError::Start)?;
    agent.serve(&inputs)
}

fn read_lines(mut input: impl BufRead, inputs: &SyncSender<AgentInput>) {
    loop {
        let next = match read_line(&mut input, MAX_LINE_BYTES) {
            Ok(Some(line)) => AgentInput::Line(line),
            Ok(None) => AgentInput::End(Ok(())),
            Err(error) => AgentInput::End(Err(error)),
        };
        let is_end = matches!(next, AgentInput::End(_));
        if inputs.send(next).is_err() || is_end {
            return;
        }
    }
}

/// Input of the agent's loop.
enum AgentInput {
    /// A line of the editor.
    Line(InputLine),
    /// The end of its lines.
    End(io::Result<()>),
    /// News of a session's connection.
    Link(LinkId, LinkEvent),
    /// Result of work on another thread.
    Done(RequestId, Result<Value, RpcError>),
    /// The daemon's offers, for the answer to `initialize`.
    Greeted(RequestId, DaemonOffers),
}

/// Request of this side that waits for the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EditorRequest {
    /// A question of the guard.
    Permission { link: LinkId, approval: String },
    /// The text of a buffer.
    ReadFile { link: LinkId, path: String },
    /// A step of a command that the engine asked for.
    Terminal { link: LinkId, id: String, step: TerminalStep },
}

/// State of the agent.
struct Agent {
    targets: Vec<DaemonTarget>,
    launcher: Arc<DaemonLauncher>,
    directory: Arc<SessionDirectory>,
    log: Box<dyn Write + Send>,
    output: Box<dyn Write + Send>,
    inputs: SyncSender<AgentInput>,
    /// Whether the user's flag offers the editor's terminals.
    takes_terminal: bool,
    /// Abilities of the editor; `None` before `initialize`.
    editor: Option<EditorAbilities>,
    /// Commands and models of the daemon.
    offers: DaemonOffers,
    sessions: BTreeMap<LinkId, EditorSession>,
    requests: BTreeMap<i64, EditorRequest>,
    /// Name of this program for the daemon, and begin of its ids.
    client: String,
    /// Last number that was given out: links, requests and messages share it.
    last_number: u64,
    /// First failure of the output.
    broken: Option<io::Error>,
}

impl Agent {
    fn new(
        options: AgentOptions,
        inputs: SyncSender<AgentInput>,
        output: Box<dyn Write + Send>,
    ) -> io::Result<Agent> {
        Ok(Agent {
            targets: options.targets,
            launcher: Arc::new(DaemonLauncher::new(options.launch)),
            directory: Arc::default(),
            log: options.log,
            output,
            inputs,
            takes_terminal: options.takes_terminal,
            editor: None,
            offers: DaemonOffers::default(),
            sessions: BTreeMap::new(),
            requests: BTreeMap::new(),
            client: format!("acp-{}", random_name()?),
            last_number: 0,
            broken: None,
        })
    }

    fn serve(&mut self, inputs: &Receiver<AgentInput>) -> Result<(), AcpError> {
        loop {
            let next = match self.next_deadline() {
                None => inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => inputs.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match next {
                Ok(AgentInput::Line(line)) => self.take_line(line),
                Ok(AgentInput::End(Ok(()))) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(AgentInput::End(Err(error))) => return Err(AcpError::Read(error)),
                Ok(AgentInput::Link(link, event)) => self.take_link_event(link, event),
                Ok(AgentInput::Done(id, outcome)) => self.respond(&id, outcome),
                Ok(AgentInput::Greeted(id, offers)) => self.introduce(&id, offers),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.check_deadlines();
            match self.broken.take() {
                None => {}
                Some(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Some(error) => return Err(AcpError::Write(error)),
            }
        }
    }

    fn take_line(&mut self, line: InputLine) {
        let line = match line {
            InputLine::Line(line) => line,
            InputLine::TooLong => {
                let what = format!("expected at most {MAX_LINE_BYTES} bytes on a line");
                let error = RpcError::new(RpcErrorCode::InvalidRequest, what);
                return self.respond(&RequestId::NULL, Err(error));
            }
        };
        match json_rpc::read(&line) {
            Ok(None) => {}
            Ok(Some(RpcMessage::Request { id, method, params })) => {
                self.take_request(id, &method, params);
            }
            Ok(Some(RpcMessage::Notification { method, params })) => {
                self.take_notification(&method, params);
            }
            Ok(Some(RpcMessage::Response { id, outcome })) => self.take_answer(&id, outcome),
            Err(fault) => self.respond(&fault.id, Err(*fault.error)),
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the request ends here")]
    fn take_request(&mut self, id: RequestId, method: &str, params: Value) {
        let is_known = method == "initialize" || self.editor.is_some();
        let outcome = match method {
            _ if !is_known => Err(RpcError::new(
                RpcErrorCode::InvalidRequest,
                "expected `initialize` before anything else",
            )),
            "initialize" => self.initialize(&id, params),
            "authenticate" => self.authenticate(params),
            "session/new" => self.new_session(&id, params),
            "session/load" => self.load_session(&id, params),
            "session/resume" => self.resume_session(&id, params),
            "session/list" => self.list_sessions(&id, params),
            "session/close" => self.close_session(params).map(Some),
            "session/prompt" => self.prompt(&id, params),
            "session/set_mode" => self.set_mode(params),
            "session/set_config_option" => self.set_config_option(params),
            _ => Err(RpcError::new(RpcErrorCode::MethodNotFound, "no such method")),
        };
        match outcome {
            Ok(Some(result)) => self.respond(&id, Ok(result)),
            // It is answered later.
            Ok(None) => {}
            Err(error) => self.respond(&id, Err(error)),
        }
    }

    fn take_notification(&mut self, method: &str, params: Value) {
        // A notification has no answer, so what is wrong with one is passed over.
        match method {
            "session/cancel" => self.cancel(params),
            "$/cancel_request" => self.cancel_request(params),
            _ => {}
        }
    }

    fn take_answer(&mut self, id: &RequestId, outcome: Result<Value, String>) {
        let Some(request) = id.as_i64().and_then(|id| self.requests.remove(&id)) else { return };
        match request {
            EditorRequest::Permission { link, approval } => {
                self.permission_answered(link, &approval, outcome);
            }
            EditorRequest::ReadFile { link, path } => self.buffer_read(link, &path, outcome),
            EditorRequest::Terminal { link, id, step } => {
                self.terminal_answered(link, &id, step, outcome);
            }
        }
    }

    /// Sends a request to the editor; returns its id.
    fn ask_editor(&mut self, method: &str, params: &impl Serialize, request: EditorRequest) -> i64 {
        let id = i64::try_from(self.number()).unwrap_or(i64::MAX);
        while self.requests.len() >= MAX_OPEN_REQUESTS {
            self.requests.pop_first();
        }
        self.requests.insert(id, request);
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Takes a request back that the editor has not answered.
    fn withdraw(&mut self, id: i64) {
        if self.requests.remove(&id).is_some() {
            let params = json!({"requestId": id});
            self.write(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "an outcome is told once")]
    fn respond(&mut self, id: &RequestId, outcome: Result<Value, RpcError>) {
        self.write(&json_rpc::response(id, &outcome));
    }

    /// Tells the editor what changed in a session that it knows.
    fn update(&mut self, session: &str, update: &SessionUpdate) {
        let params = json!({"sessionId": session, "update": update});
        self.write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    fn write(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        let written = self.output.write_all(line.as_bytes()).and_then(|()| self.output.flush());
        if let Err(error) = written {
            self.broken.get_or_insert(error);
        }
    }

    fn say_to_log(&mut self, line: &str) {
        // The log is for people who look into it; nobody may.
        let line = bridle_shell::screen::neutral_line(line);
        let _ = writeln!(self.log, "bridle acp: {line}");
    }

    /// A number that was not given out before.
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// An id for a message to the daemon.
    fn message_id(&mut self) -> String {
        let number = self.number();
        format!("{}-{number}", self.client)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.sessions.values().filter_map(EditorSession::deadline).min()
    }

    fn check_deadlines(&mut self) {
        let now = Instant::now();
        let is_due = |session: &EditorSession| session.deadline().is_some_and(|at| at <= now);
        let due: Vec<LinkId> =
            self.sessions.iter().filter(|(_, it)| is_due(it)).map(|(link, _)| *link).collect();
        for link in due {
            self.check_opening(link, now);
            self.check_prompt(link, now);
            self.check_held(link, now);
        }
    }

    /// The link of a session that the editor has open.
    fn link_of(&self, session: &str) -> Option<LinkId> {
        let is_it =
            |it: &EditorSession| it.opening.is_none() && it.name.as_deref() == Some(session);
        self.sessions.iter().find(|(_, it)| is_it(it)).map(|(link, _)| *link)
    }

    fn open_link(&self, session: &str) -> Result<LinkId, RpcError> {
        self.link_of(session).ok_or_else(|| {
            let what = "no such session is open; open it with `session/load` or `session/resume`";
            RpcError::new(RpcErrorCode::ResourceNotFound, what)
        })
    }
}

/// Reads the parameters of a method.
fn params<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    // The reader's words name fields and types, and may quote a value: enough for an editor's author.
    serde_json::from_value(params).map_err(|error| {
        let what: String = error.to_string().chars().take(200).collect();
        RpcError::params(format!("wrong parameters: {what}"))
    })
}

/// Writes a result; a type of this crate always can be.
fn result(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0_u8; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}
