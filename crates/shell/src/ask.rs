//! `bridle ask`: a Shell of OpenHarness on a terminal, for any Engine.
//!
//! - `terminal`: words for people, or an object a line for programs; questions with `[y/N]`
//! - [`lines`]: the same Shell driven by lines, as `bridle conform shell` does
//! - [`frames`]: a shell of the framed protocol, driven by lines as well
//!
//! What the Engine may want is in [`crate::openharness`]; this file puts a Shell together and says
//! how it went.

pub mod frames;
pub mod lines;
mod terminal;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bridle_sexp::byte_text::hex;

use crate::openharness::http::{
    EngineTransport, EngineUrl, HttpOptions, HttpTransport, TransportError,
};
use crate::openharness::shell::RandomSource;
use crate::openharness::{
    EngineClient, Handler, OpenHarnessShell, ShellAbilities, ShellInterface, ShellSelf, TurnResult,
    UserIntent,
};

pub use terminal::{AskOutput, TerminalConsole};

/// Question for an engine, and its destination.
#[derive(Debug)]
pub struct AskRequest {
    /// The Engine.
    pub place: EngineUrl,
    /// Connection options.
    pub options: HttpOptions,
    /// Wish of the user.
    pub intent: UserIntent,
    /// Longest wait for all of it.
    pub timeout: Option<Duration>,
    /// Whether an answer is shown while it comes.
    pub stream: bool,
    /// Form of the output.
    pub output: AskOutput,
}

/// Output of an answer, and source of the user's decisions; without one nobody is asked.
pub struct AskConsole {
    /// For the answer.
    pub out: Box<dyn Write>,
    /// For everything else.
    pub err: Box<dyn Write>,
    /// Lines that a person types.
    pub person: Option<Receiver<String>>,
    /// Tells how a question ended that was answered elsewhere, by its id; nothing while it is open.
    pub elsewhere: Option<AnsweredElsewhere>,
}

/// Tells how a question ended that somebody else answered.
pub type AnsweredElsewhere = Box<dyn FnMut(&str) -> Option<String>>;

impl std::fmt::Debug for AskConsole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

/// Asks once, and carries out what comes back.
///
/// # Errors
/// The Engine cannot be talked to at all: its token or its authorities cannot be used.
pub fn run(order: AskRequest, desk: AskConsole) -> Result<TurnResult, TransportError> {
    let can_ask = desk.person.is_some();
    let transport = Box::new(HttpTransport::new(order.place, order.options)?);
    let abilities = ShellAbilities { approval: can_ask, ..ShellAbilities::default() };
    let ui = Box::new(TerminalConsole::new(desk, order.output));
    let mut engine = engine(transport, abilities, order.stream, ui, BTreeMap::new());
    let until = order.timeout.map(|timeout| Instant::now() + timeout);
    // One request at a time, and this is the first.
    Ok(engine.ask(order.intent, until).unwrap_or_default())
}

/// Puts a Shell together.
pub fn engine(
    transport: Box<dyn EngineTransport>,
    abilities: ShellAbilities,
    stream: bool,
    ui: Box<dyn ShellInterface>,
    handlers: BTreeMap<String, Handler>,
) -> EngineClient {
    let profile = ShellSelf {
        shell_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        stream,
        ..ShellSelf::default()
    };
    EngineClient::new(transport, OpenHarnessShell::new(abilities, profile, chance()), ui, handlers)
}

/// Randomness of the system.
fn chance() -> RandomSource {
    RandomSource {
        new_id: Box::new(new_id),
        jitter: Box::new(|| f64::from(random()[0]) / f64::from(u8::MAX)),
    }
}

/// A name that nothing else has.
pub fn new_id() -> String {
    hex(&random())
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        // Ids must differ, and nothing more: the time does, where the system has no randomness.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        bytes = since.as_nanos().to_le_bytes();
    }
    bytes
}

/// Lines of a stream, read on a thread of their own, so that waiting for one can end. A line of more
/// than `MAX_LINE` bytes ends the stream.
pub fn lines_of(source: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut source = io::BufReader::new(source);
        loop {
            let mut line = Vec::new();
            let mut limited = io::Read::take(&mut source, MAX_LINE);
            let read = io::BufRead::read_until(&mut limited, b'\n', &mut line);
            let is_whole = line.ends_with(b"\n");
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if !matches!(read, Ok(1..)) || sender.send(text).is_err() || !is_whole {
                return;
            }
        }
    });
    receiver
}

/// Bytes of a line on standard input.
const MAX_LINE: u64 = 1 << 20;
