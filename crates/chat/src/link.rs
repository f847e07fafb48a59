//! The connection: made, lost and made again on threads of its own. What is sent while there is none
//! is dropped; the conversation says it again when it is attached.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bridle_sexp::{Node, read_one};
use bridle_shell::client::{ClientOptions, ClientStream, DaemonReader, DaemonTarget, DaemonWriter};
use bridle_shell::error::ErrorKind;
use bridle_shell::{DaemonAddress, DaemonClient, ShellError};
use bridle_wire::oacp::ClientHello;

use crate::event::ChatEvent;

/// Events before the end of a session that are asked for when it is opened.
const OPENING_EVENTS: u64 = 200;

/// Silence after which the daemon is asked whether it is there.
const LINK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Pauses between two tries to connect: they double from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Updates a second that are asked for while text streams.
const RENDER_RATE: u64 = 30;

/// Way to the daemon.
#[derive(Debug, Clone)]
pub enum LinkRoute {
    /// Addresses to try in order.
    Targets(Vec<DaemonTarget>),
    /// A program whose standard streams lead there, such as `ssh HOST bridle relay`; the second is
    /// used when the connection is made again, without questions to a person.
    Program {
        /// Command and arguments.
        first: Vec<String>,
        /// Command and arguments of later tries.
        again: Vec<String>,
    },
}

impl LinkRoute {
    /// Connects without a hello.
    ///
    /// # Errors
    /// Nobody is there, or what answers is no daemon.
    pub fn plain(&self) -> Result<DaemonClient, ShellError> {
        match self {
            LinkRoute::Targets(targets) => DaemonClient::connect_any(targets),
            LinkRoute::Program { again, .. } => {
                let (stream, addr) = piped(again)?;
                Ok(DaemonClient::over(stream, &addr, &ClientOptions::default(), None)?.0)
            }
        }
    }

    /// Connects with a hello, beside the conversation; returns the answer to it.
    ///
    /// # Errors
    /// Nobody is there, or the hello is refused.
    pub fn introduced(&self, hello: &ClientHello) -> Result<(DaemonClient, String), ShellError> {
        self.introduce(false, hello)
    }

    fn introduce(
        &self,
        is_first: bool,
        hello: &ClientHello,
    ) -> Result<(DaemonClient, String), ShellError> {
        match self {
            LinkRoute::Targets(targets) => DaemonClient::introduce(targets, hello),
            LinkRoute::Program { first, again } => {
                let (stream, addr) = piped(if is_first { first } else { again })?;
                let options = ClientOptions::default();
                let (client, answer) = DaemonClient::over(stream, &addr, &options, Some(hello))?;
                Ok((client, answer.unwrap_or_default()))
            }
        }
    }
}

/// Starts a program and returns a stream to its standard input and output.
fn piped(command: &[String]) -> Result<(ClientStream, DaemonAddress), ShellError> {
    let addr = DaemonAddress::Unix(command.join(" ").into());
    let refused = |error| ShellError::Connect { tried: vec![(addr.clone(), error)] };
    let (ours, theirs) = UnixStream::pair().map_err(refused)?;
    let output = theirs.try_clone().map_err(refused)?;
    let (program, arguments) = command.split_first().ok_or_else(|| {
        refused(std::io::Error::new(std::io::ErrorKind::InvalidInput, "no program is named"))
    })?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::from(OwnedFd::from(output)))
        .stderr(Stdio::null())
        .spawn()
        .map_err(refused)?;
    std::thread::spawn(move || wait_for(child));
    Ok((ClientStream::from(ours), addr))
}

/// Waits for a program, so that it leaves no zombie; it ends with its standard input.
fn wait_for(mut child: Child) {
    let _ = child.wait();
}

/// Order for the connection.
#[derive(Debug)]
pub enum LinkCommand {
    /// Send a form.
    Send(String),
    /// Attach to another session.
    Switch(String),
    /// Ask whether the daemon is there.
    Check(u64),
    /// The reader of a connection has ended, for this reason.
    Ended(u64, String),
    /// End.
    Stop,
}

/// News of the connection, with the number of the connection that it is from.
#[derive(Debug)]
pub struct LinkNews {
    /// Counts connections.
    pub connection: u64,
    /// Event that the link reports.
    pub event: ChatEvent,
}

/// Facts of a link.
#[derive(Debug)]
pub struct LinkOrder {
    /// Way to the daemon.
    pub route: LinkRoute,
    /// First session.
    pub session: String,
    /// Name of this client.
    pub client: String,
    /// Number up to which everything was heard: kept by whoever hears.
    pub cursor: Arc<AtomicU64>,
}

/// A connection that is attached.
struct LiveLink {
    connection: u64,
    sender: DaemonWriter,
}

/// State across connections.
struct LinkTask<F> {
    order: LinkOrder,
    commands: Sender<LinkCommand>,
    tell: F,
    connection: u64,
    /// Whether the session was attached before, so that the cursor is known.
    known: bool,
}

/// Keeps a connection until it is told to stop.
pub fn run<F>(order: LinkOrder, commands: &Receiver<LinkCommand>, own: Sender<LinkCommand>, tell: F)
where
    F: Fn(LinkNews) + Clone + Send + 'static,
{
    let mut task = LinkTask { order, commands: own, tell, connection: 0, known: false };
    let mut pause = FIRST_PAUSE;
    loop {
        let next = match task.attach() {
            Ok(live) => {
                pause = FIRST_PAUSE;
                task.serve(live, commands)
            }
            Err(error) => {
                let passes = matches!(
                    error.kind(),
                    ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Protocol
                );
                let reason = error.to_string();
                task.say(if passes { ChatEvent::Lost(reason) } else { ChatEvent::Refused(reason) });
                let wait = if passes { pause } else { Duration::from_secs(3_600) };
                pause = LAST_PAUSE.min(pause * 2);
                task.rest(wait, commands)
            }
        };
        if next == LinkNext::Stop {
            return;
        }
    }
}

/// Step after a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkNext {
    Again,
    Stop,
}

impl<F> LinkTask<F>
where
    F: Fn(LinkNews) + Clone + Send + 'static,
{
    fn say(&self, event: ChatEvent) {
        (self.tell)(LinkNews { connection: self.connection, event });
    }

    fn attach(&mut self) -> Result<LiveLink, ShellError> {
        let cursor = self.known.then(|| self.order.cursor.load(Ordering::Acquire));
        let hello = self.hello(cursor);
        let (mut client, answer) = self.order.route.introduce(self.connection == 0, &hello)?;
        let mut place = SessionPlace::of(&answer);
        let mut from = cursor.unwrap_or(place.head);
        if cursor.is_none() && place.head > 0 {
            from = place.head.saturating_sub(OPENING_EVENTS);
            let mut text = String::new();
            self.hello(Some(from)).to_message().write(&mut text);
            client.send(&text)?;
            place = hello_answer(&mut client)?;
        }
        let (receiver, sender) = client.split()?;
        self.connection += 1;
        self.known = true;
        self.say(ChatEvent::Attached {
            session: place.session,
            head: place.head,
            cursor: from,
            state: place.state,
        });
        let (connection, tell) = (self.connection, self.tell.clone());
        let commands = self.commands.clone();
        std::thread::spawn(move || read_on(receiver, connection, &tell, &commands));
        Ok(LiveLink { connection: self.connection, sender })
    }

    fn hello(&self, cursor: Option<u64>) -> ClientHello {
        ClientHello {
            session: Some(self.order.session.as_str().into()),
            cursor,
            client: Some(self.order.client.as_str().into()),
            shell: Some("chat".into()),
            receipts: true,
            render_rate: Some(RENDER_RATE),
            version: Some(bridle_wire::oacp::VERSION.into()),
            length: Some(bridle_wire::frame::LengthUnit::Bytes),
            ..ClientHello::default()
        }
    }

    fn serve(&mut self, mut live: LiveLink, commands: &Receiver<LinkCommand>) -> LinkNext {
        loop {
            let Ok(command) = commands.recv() else { return LinkNext::Stop };
            match command {
                // A connection that broke is found by its reader.
                LinkCommand::Send(form) => drop(live.sender.send(&form)),
                LinkCommand::Check(connection) if connection == live.connection => {
                    drop(live.sender.send("(:type :health-check)"));
                }
                LinkCommand::Ended(connection, reason) if connection == live.connection => {
                    self.say(ChatEvent::Lost(reason));
                    return LinkNext::Again;
                }
                LinkCommand::Check(_) | LinkCommand::Ended(..) => {}
                LinkCommand::Switch(session) => {
                    live.sender.close();
                    self.switch(session);
                    return LinkNext::Again;
                }
                LinkCommand::Stop => {
                    live.sender.close();
                    return LinkNext::Stop;
                }
            }
        }
    }

    fn switch(&mut self, session: String) {
        self.order.session = session;
        self.known = false;
    }

    /// Waits before the next try.
    fn rest(&mut self, wait: Duration, commands: &Receiver<LinkCommand>) -> LinkNext {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match commands.recv_timeout(left) {
                Ok(LinkCommand::Switch(session)) => {
                    self.switch(session);
                    return LinkNext::Again;
                }
                Ok(LinkCommand::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    return LinkNext::Stop;
                }
                Err(RecvTimeoutError::Timeout) => return LinkNext::Again,
                Ok(_) => {}
            }
        }
    }
}

/// Session that the daemon attached to.
#[derive(Debug)]
struct SessionPlace {
    session: String,
    head: u64,
    state: String,
}

impl SessionPlace {
    fn of(answer: &str) -> SessionPlace {
        let tree = read_one(answer);
        let message = tree.as_ref().ok().map(bridle_sexp::Tree::root);
        let meta = message.and_then(|message| message.get("meta"));
        let payload = message.and_then(|message| message.get("payload"));
        let state = payload.and_then(|payload| payload.get("state")?.keyword());
        let session = meta.and_then(|meta| meta.get("session")?.as_str());
        let head = meta.and_then(|meta| u64::try_from(meta.get("seq")?.as_i64()?).ok());
        SessionPlace {
            session: session.unwrap_or_default().into_owned(),
            head: head.unwrap_or(0),
            state: state.unwrap_or_default().into_owned(),
        }
    }
}

/// Number of the last event of the session that an answer to a hello names.
pub fn head_of(answer: &str) -> u64 {
    SessionPlace::of(answer).head
}

/// Waits for the answer to a second hello. Events before it come again behind the cursor.
fn hello_answer(client: &mut DaemonClient) -> Result<SessionPlace, ShellError> {
    loop {
        let frame = client.receive()?;
        let is_answer = read_one(&frame).is_ok_and(|tree| is_handshake(tree.root()));
        if is_answer {
            return Ok(SessionPlace::of(&frame));
        }
    }
}

fn is_handshake(message: Node<'_>) -> bool {
    let action = message.get("payload").and_then(|payload| payload.get("action"));
    action.is_some_and(|action| action.is_keyword("handshake"))
}

/// Hands out what comes until the connection ends.
fn read_on<F: Fn(LinkNews)>(
    mut receiver: DaemonReader,
    connection: u64,
    tell: &F,
    commands: &Sender<LinkCommand>,
) {
    let mut is_asked = false;
    let reason = loop {
        match receiver.receive_within(LINK_CHECK_INTERVAL) {
            Ok(frame) => {
                is_asked = false;
                tell(LinkNews { connection, event: ChatEvent::Frame(frame) });
            }
            Err(ShellError::Timeout { .. }) if !is_asked => {
                is_asked = true;
                // When nobody listens any more, the next read ends this.
                let _ = commands.send(LinkCommand::Check(connection));
            }
            Err(error) => break error.to_string(),
        }
    };
    let _ = commands.send(LinkCommand::Ended(connection, reason));
}
