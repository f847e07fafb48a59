//! One session's connection on a thread of its own: made, read until it breaks, and made again behind the last
//! event that was handled, as often as it takes. Frames go to the agent's loop, which writes by itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bridle_sexp::{Value, read_one};
use bridle_shell::ShellError;
use bridle_shell::client::{DaemonClient, DaemonReader, DaemonTarget, DaemonWriter};
use bridle_shell::error::ErrorKind;
use bridle_wire::oacp::{ClientHello, HelloActuator, ShellRole};

use crate::terminal_actuator::{TERMINAL_ACTUATOR, actions};

/// Name of bridle's ACP shell, for requests of the engine.
const SHELL_NAME: &str = "acp";

/// Updates a second that are asked for: an editor draws no faster.
const RENDER_RATE: u64 = 50;

/// Pauses between two tries to connect: they double from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// Time for whoever stopped a daemon to start it again, before it is started from here.
const RESTART_GRACE: Duration = Duration::from_secs(2);

/// Least time between two starts of a daemon.
const LAUNCH_INTERVAL: Duration = Duration::from_secs(5);

/// Silence after which the daemon is asked whether it is still there, and the wait for its answer.
const LINK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Starts a daemon and waits until it is ready; the error is a sentence for people.
pub(crate) type LaunchDaemon = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Starts the daemon at most once at a time, and not too often.
pub(crate) struct DaemonLauncher {
    launch: Option<LaunchDaemon>,
    last: Mutex<Option<Instant>>,
}

impl DaemonLauncher {
    /// Takes a way to start the daemon; without one none is started.
    pub(crate) fn new(launch: Option<LaunchDaemon>) -> DaemonLauncher {
        DaemonLauncher { launch, last: Mutex::new(None) }
    }

    /// Starts the daemon, unless that was just done.
    pub(crate) fn launch(&self) -> Result<(), String> {
        let Some(launch) = &self.launch else { return Ok(()) };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|at| at.elapsed() < LAUNCH_INTERVAL) {
            return Ok(());
        }
        let launched = launch();
        *last = Some(Instant::now());
        launched
    }
}

/// Session to attach to, and the way there.
pub(crate) struct LinkOrder {
    pub(crate) targets: Vec<DaemonTarget>,
    pub(crate) launcher: Arc<DaemonLauncher>,
    /// The session; `None` asks for a new one.
    pub(crate) session: Option<String>,
    /// The last number seen; `None` begins with what comes next.
    pub(crate) cursor: Option<u64>,
    /// Name of this client across connections.
    pub(crate) client: String,
    /// Whether the editor's terminals are offered.
    pub(crate) has_terminal: bool,
}

/// State that the agent's loop shares with the link's thread.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    /// Number of the last event that was handled.
    pub(crate) seen: AtomicU64,
    /// Whether somebody waits for the daemon, so that it may be started.
    pub(crate) is_wanted: AtomicBool,
    /// Whether the link is to end.
    pub(crate) is_closed: AtomicBool,
}

/// News of a link.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// There is a connection, at first or again.
    Attached {
        writer: Box<DaemonWriter>,
        session: String,
        /// Number of the session's last event.
        head: u64,
    },
    /// A message of the daemon.
    Frame(String),
    /// Nothing was heard for long.
    Idle,
    /// The connection is lost, or could not be made; it is tried again.
    Lost(String),
    /// The daemon refuses for good.
    Refused {
        /// Sentence for people.
        why: String,
        /// Whether there is no such session.
        is_missing: bool,
    },
}

/// Starts the thread of a link. `tell` returns false when nobody listens any more.
///
/// # Errors
///
/// The system has no thread left.
pub(crate) fn start(
    order: LinkOrder,
    state: Arc<LinkState>,
    tell: impl Fn(LinkEvent) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let thread = LinkThread { order, state, tell, lost: None, pause: FIRST_PAUSE };
    thread::Builder::new().name("session-link".to_owned()).spawn(move || thread.run()).map(drop)
}

struct LinkThread<T> {
    order: LinkOrder,
    state: Arc<LinkState>,
    tell: T,
    /// Moment at which the last connection was lost; `None` before the first.
    lost: Option<Instant>,
    pause: Duration,
}

impl<T: Fn(LinkEvent) -> bool> LinkThread<T> {
    fn run(mut self) {
        let mut must_exist = self.order.session.is_some();
        let mut is_told = false;
        while !self.state.is_closed.load(Ordering::SeqCst) {
            match self.attach(must_exist) {
                Ok((reader, writer, session, head)) => {
                    must_exist = false;
                    is_told = false;
                    self.order.session = Some(session.clone());
                    if self.order.cursor.is_none() {
                        self.state.seen.store(head, Ordering::SeqCst);
                    }
                    self.order.cursor = Some(self.state.seen.load(Ordering::SeqCst));
                    self.pause = FIRST_PAUSE;
                    if !(self.tell)(LinkEvent::Attached { writer: Box::new(writer), session, head })
                    {
                        return;
                    }
                    let why = self.read(reader);
                    self.lost = Some(Instant::now());
                    if !(self.tell)(LinkEvent::Lost(why.to_string())) {
                        return;
                    }
                }
                Err(error) if passes(&error) => {
                    let mut why = error.to_string();
                    if self.may_launch(&error)
                        && let Err(failed) = self.order.launcher.launch()
                    {
                        why = failed;
                    }
                    // Once is enough: the same will be so for a while.
                    if !is_told && self.lost.is_none() && !(self.tell)(LinkEvent::Lost(why)) {
                        return;
                    }
                    is_told = true;
                    thread::sleep(self.pause);
                    self.pause = LAST_PAUSE.min(self.pause * 2);
                }
                Err(error) => {
                    let is_missing = error.kind() == ErrorKind::Missing;
                    (self.tell)(LinkEvent::Refused { why: error.to_string(), is_missing });
                    return;
                }
            }
        }
    }

    /// Whether nobody listens there, and nobody else is expected to change that.
    fn may_launch(&self, error: &ShellError) -> bool {
        let is_away = matches!(error, ShellError::Connect { .. });
        is_away
            && match self.lost {
                None => true,
                Some(at) => {
                    self.state.is_wanted.load(Ordering::SeqCst) && at.elapsed() >= RESTART_GRACE
                }
            }
    }

    fn attach(
        &self,
        must_exist: bool,
    ) -> Result<(DaemonReader, DaemonWriter, String, u64), ShellError> {
        let targets = &self.order.targets;
        if must_exist {
            // A controller makes the session that it names; an observer is told that there is none.
            let probe = ClientHello { role: Some(ShellRole::Observer), ..self.hello(None) };
            DaemonClient::introduce(targets, &probe)?;
        }
        let cursor = match self.lost {
            None => self.order.cursor,
            Some(_) => Some(self.state.seen.load(Ordering::SeqCst)),
        };
        let (client, answer) = DaemonClient::introduce(targets, &self.hello(cursor))?;
        let Some((session, head)) = attached_to(&answer) else {
            let why = "its answer to the hello names no session".to_owned();
            return Err(ShellError::NotProtocol { addr: client.addr().clone(), why });
        };
        let (reader, writer) = client.split()?;
        Ok((reader, writer, session, head))
    }

    fn hello(&self, cursor: Option<u64>) -> ClientHello {
        ClientHello {
            session: self.order.session.as_deref().map(Into::into),
            cursor,
            client: Some(self.order.client.as_str().into()),
            shell: Some(SHELL_NAME.into()),
            receipts: true,
            render_rate: Some(RENDER_RATE),
            actuators: if self.order.has_terminal { vec![terminal()] } else { Vec::new() },
            ..ClientHello::default()
        }
    }

    /// Reads until the connection ends; returns why it did.
    fn read(&self, mut reader: DaemonReader) -> ShellError {
        let mut is_asked = false;
        loop {
            match reader.receive_within(LINK_CHECK_INTERVAL) {
                Ok(frame) => {
                    is_asked = false;
                    if !(self.tell)(LinkEvent::Frame(frame)) {
                        self.state.is_closed.store(true, Ordering::SeqCst);
                    }
                }
                Err(ShellError::Timeout { .. }) if !is_asked => {
                    is_asked = true;
                    (self.tell)(LinkEvent::Idle);
                }
                Err(error) => return error,
            }
            if self.state.is_closed.load(Ordering::SeqCst) {
                return ShellError::Read(std::io::ErrorKind::Interrupted.into());
            }
        }
    }
}

/// The editor's terminals, as the daemon is told of them.
fn terminal() -> HelloActuator {
    HelloActuator { name: TERMINAL_ACTUATOR.into(), actions: Some(actions()) }
}

/// Session and number of its last event in the answer to a hello.
pub(crate) fn attached_to(answer: &str) -> Option<(String, u64)> {
    let tree = read_one(answer).ok()?;
    let meta = tree.root().get("meta")?.to_value();
    let session = meta.get("session").and_then(Value::as_str)?.to_owned();
    let head = meta.get("seq").and_then(Value::as_i64)?;
    Some((session, u64::try_from(head).ok()?))
}

/// Whether the same may work a little later.
fn passes(error: &ShellError) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Io)
}
