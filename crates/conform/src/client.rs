//! The kit for clients of the framed protocol: `bridle conform oacp-client -- CMD`.
//!
//! The kit is the daemon: it listens on this machine, starts the command for each case, tells it by
//! lines what to say (`docs/conformance.md`), speaks as a daemon would or must not, and judges what the
//! client sends and tells. Sections are those of `docs/protocol.md`.
//!
//! - [`link`]: a connection of the client, byte by byte
//! - `frames`, `events`, `asking`, `approvals`, `auth`: the cases

mod approvals;
mod asking;
mod auth;
mod events;
mod frames;
pub mod link;

use std::cell::RefCell;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::KitKind;
use super::case::{CheckFinding, Checked, ConformanceCase};
use super::driven::{DrivenProgram, ProgramOptions};
use super::notes::CaseNotes;
use super::run::KitPeer;
use link::ClientLink;

/// The kit.
pub const KIT: KitKind =
    KitKind { name: "oacp-client", revision: "0.3.0", text: "docs/protocol.md" };

/// The session that the client is told to attach to.
pub const SESSION: &str = "kit";

/// A client to check.
#[derive(Debug)]
pub struct ClientUnderTest {
    program: ProgramOptions,
    notes: Rc<RefCell<CaseNotes>>,
}

impl ClientUnderTest {
    /// A client that this program is.
    pub fn new(program: ProgramOptions) -> ClientUnderTest {
        ClientUnderTest { program, notes: Rc::default() }
    }

    /// Starts the client, which is to attach behind this number.
    ///
    /// # Errors
    /// The client cannot be started.
    pub fn scene(&mut self, cursor: u64) -> Result<ClientScene, CheckFinding> {
        self.scene_with(cursor, &[])
    }

    /// Starts a client with further variables.
    ///
    /// # Errors
    /// The client cannot be started.
    fn scene_with(
        &mut self,
        cursor: u64,
        more: &[(&str, String)],
    ) -> Result<ClientScene, CheckFinding> {
        let cannot = |error| CheckFinding::fault(format!("the kit cannot listen: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let mut values = vec![
            ("OACP_ADDR", address.to_string()),
            ("OACP_SESSION", SESSION.to_owned()),
            ("OACP_CURSOR", cursor.to_string()),
        ];
        let none = [("OACP_KEY_FILE", String::new()), ("OACP_KEY_ID", "default".to_owned())];
        values.extend_from_slice(if more.is_empty() { &none } else { more });
        let shell = DrivenProgram::start(&self.program, &values, Rc::clone(&self.notes))?;
        let (notes, timeout) = (Rc::clone(&self.notes), self.program.timeout);
        Ok(ClientScene { listener, shell, notes, timeout })
    }
}

impl KitPeer for ClientUnderTest {
    fn begin(&mut self) {
        self.notes.take();
    }

    fn end(&mut self) -> CaseNotes {
        self.notes.take()
    }
}

/// A client before a scripted daemon.
#[derive(Debug)]
pub struct ClientScene {
    listener: TcpListener,
    /// The client.
    pub shell: DrivenProgram,
    notes: Rc<RefCell<CaseNotes>>,
    timeout: Duration,
}

impl ClientScene {
    /// The next connection of the client.
    ///
    /// # Errors
    /// None comes in time.
    pub fn accept(&mut self) -> Result<ClientLink, CheckFinding> {
        let until = Instant::now() + self.timeout;
        while Instant::now() < until {
            if let Ok((stream, _)) = self.listener.accept() {
                self.notes.borrow_mut().noted("the client connected");
                let link = ClientLink::new(stream, self.timeout, Rc::clone(&self.notes));
                return link
                    .map_err(|error| CheckFinding::fault(format!("no connection: {error}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(CheckFinding::fault("expected the client to connect, it did not"))
    }

    /// The next connection, greeted and attached: the session ends at `head`.
    ///
    /// # Errors
    /// The client does not attach.
    pub fn attach(&mut self, head: u64) -> Result<ClientLink, CheckFinding> {
        let mut link = self.accept()?;
        link.say(HELLO)?;
        link.hello = link.hear("the client's hello")?;
        link.say(&attached(head))?;
        Ok(link)
    }

    /// Waits until the client tells of the event of this number.
    ///
    /// # Errors
    /// The client does not report the event.
    pub fn event(&mut self, seq: u64) -> Checked {
        let wanted = seq.to_string();
        while !self.shell.heard.iter().any(|line| line.is("event", &wanted)) {
            self.shell.hear(&format!("`event \"{seq}\"`"))?;
        }
        Ok(())
    }

    /// The numbers of the events that the client told of are these, in this order.
    pub fn told(&self, numbers: &[u64]) -> Checked {
        let told = self.shell.heard.iter().filter(|line| line.word == "event");
        let told: Vec<&str> = told.filter_map(|line| line.text.as_deref()).collect();
        let wanted: Vec<String> = numbers.iter().map(u64::to_string).collect();
        expect(told == wanted, || format!("expected the events {numbers:?}, got {told:?}"))
    }

    /// Has the client say something.
    pub fn ask(&mut self, text: &str) -> Checked {
        self.shell.say(&format!("ask {}", bridle_wire::openharness::Json::from(text).to_text()))
    }

    /// Waits for a line with this word and text.
    ///
    /// # Errors
    /// The text does not come, or another one does.
    pub fn hears(&mut self, word: &str, text: &str) -> Checked {
        let line = self.shell.until(word)?;
        expect(line.text.as_deref() == Some(text), || {
            format!("expected `{word}` with `{text}`, got {}", line.raw)
        })
    }
}

/// The daemon's hello.
const HELLO: &str = "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities (:parts :attach :stream) :server \"kit/0.3.0\" :limits (:max-frame 16777215 :max-message 67108864 :max-depth 512)))";

/// The answer to a hello.
fn attached(head: u64) -> String {
    format!(
        "(:type :RESPONSE :id nil :meta (:session \"{SESSION}\" :seq {head}) :payload (:status :success \
         :action :handshake :length :bytes :dialect :lisp :max-frame 16777215 :session \"{SESSION}\" \
         :seq {head} :role :controller :state :idle))"
    )
}

/// An event that somebody else said.
fn event(seq: u64, text: &str) -> String {
    format!(
        "(:type :EVENT :meta (:session \"{SESSION}\" :seq {seq} :at 1794744600000) :payload \
         (:action :message :text \"{text}\"))"
    )
}

/// A fault unless it is so.
fn expect(is_so: bool, what: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(CheckFinding::fault(what())) }
}

/// All cases, in the order in which they are worth reading.
pub fn cases() -> Vec<ConformanceCase<ClientUnderTest>> {
    let lists =
        [frames::cases(), events::cases(), asking::cases(), approvals::cases(), auth::cases()];
    lists.into_iter().flatten().collect()
}
