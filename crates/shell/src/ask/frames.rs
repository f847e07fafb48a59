//! A shell of the framed protocol that is driven by lines, as `docs/conformance.md` describes: what
//! `bridle conform oacp-client` talks to when it looks at bridle's own client.
//!
//! What outlives a connection is in `FramedConversation`: up to where everything was heard, what was said
//! and has no answer, which questions were answered. So after any cut the next connection goes on where
//! the last one ended: nothing is missed, heard twice or said twice.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use bridle_sexp::Node;
use bridle_wire::oacp::ClientHello;
use bridle_wire::openharness::Json;

use super::lines::text;
use crate::client::{DaemonClient, DaemonTarget, ErrorAnswer};
use crate::error::{ErrorKind, ShellError};
use crate::openharness::text::{MAX_TEXT, safe};

/// Pauses between two tries to connect: they double from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Longest wait for frames before the input is looked at again.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Pause before something is said again that was refused for now.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Questions whose answers are kept, to give the same one when they are asked again.
const MAX_ANSWERED: usize = 1_024;

/// Codes of refusals after which the same may be said again.
const FOR_NOW: [&str; 4] = ["store-unavailable", "overloaded", "shutting-down", "frame-timeout"];

/// Session to attach to, and the way there.
#[derive(Debug)]
pub struct AttachOrder {
    /// Daemons to try, in order.
    pub targets: Vec<DaemonTarget>,
    /// The session.
    pub session: String,
    /// The last number seen in it.
    pub cursor: u64,
    /// Name of this client.
    pub client: String,
}

/// Prompt that was sent under an id and is not answered yet.
#[derive(Debug)]
struct PendingPrompt {
    id: String,
    form: String,
    /// Number of the prompt, once it is on disk.
    seq: Option<u64>,
    /// Not before this moment; `None` when it was said on this connection.
    due: Option<Instant>,
}

/// State that outlives a connection.
struct FramedConversation<'w> {
    order: AttachOrder,
    out: &'w mut dyn Write,
    cursor: u64,
    known: BTreeSet<u64>,
    sayings: Vec<PendingPrompt>,
    said: u64,
    /// The user's verdicts, by question.
    answered: BTreeMap<String, String>,
    /// The question that waits for the user: its id and hash.
    question: Option<(String, Option<String>)>,
}

/// Says what the lines say, and tells what is heard, until there are no more lines.
///
/// # Errors
/// The daemon refuses for good, or is none.
pub fn run(
    order: AttachOrder,
    input: &Receiver<String>,
    out: &mut dyn Write,
) -> Result<(), ShellError> {
    let mut talk = FramedConversation {
        cursor: order.cursor,
        order,
        out,
        known: BTreeSet::new(),
        sayings: Vec::new(),
        said: 0,
        answered: BTreeMap::new(),
        question: None,
    };
    let mut pause = FIRST_PAUSE;
    loop {
        match talk.connect() {
            Ok(client) => {
                pause = FIRST_PAUSE;
                if talk.attached(client, input) == ConnectionEnd::OfInput {
                    return Ok(());
                }
            }
            Err(error) if !passes(&error) => {
                talk.tell("ended", &error.to_string());
                return Err(error);
            }
            Err(_) => {}
        }
        if talk.pauses(pause, input) == ConnectionEnd::OfInput {
            return Ok(());
        }
        pause = LAST_PAUSE.min(pause * 2);
    }
}

/// Reason for leaving a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionEnd {
    OfConnection,
    OfInput,
}

/// Whether the same may work a little later.
fn passes(error: &ShellError) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Protocol)
}

impl FramedConversation<'_> {
    fn connect(&mut self) -> Result<DaemonClient, ShellError> {
        let hello = ClientHello {
            session: Some(self.order.session.as_str().into()),
            cursor: Some(self.cursor),
            client: Some(self.order.client.as_str().into()),
            shell: Some("cli".into()),
            receipts: true,
            ..ClientHello::default()
        };
        let (client, _) = DaemonClient::introduce(&self.order.targets, &hello)?;
        for saying in &mut self.sayings {
            saying.due = Some(Instant::now());
        }
        Ok(client)
    }

    fn attached(&mut self, mut client: DaemonClient, input: &Receiver<String>) -> ConnectionEnd {
        loop {
            loop {
                match input.try_recv() {
                    Ok(line) => self.told(&line, Some(&mut client)),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return ConnectionEnd::OfInput,
                }
            }
            if self.say_due(&mut client).is_err() {
                return ConnectionEnd::OfConnection;
            }
            match client.receive_within(POLL_INTERVAL) {
                Ok(frame) => {
                    if self.take(&frame, &mut client).is_none() {
                        return ConnectionEnd::OfConnection;
                    }
                }
                Err(ShellError::Timeout { .. }) => {}
                Err(_) => return ConnectionEnd::OfConnection,
            }
        }
    }

    /// Waits before the next connection; what the user says meanwhile is said there.
    fn pauses(&mut self, pause: Duration, input: &Receiver<String>) -> ConnectionEnd {
        let until = Instant::now() + pause;
        loop {
            match input.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => self.told(&line, None),
                Err(RecvTimeoutError::Timeout) => return ConnectionEnd::OfConnection,
                Err(RecvTimeoutError::Disconnected) => return ConnectionEnd::OfInput,
            }
        }
    }

    /// A line of the user.
    fn told(&mut self, line: &str, client: Option<&mut DaemonClient>) {
        if let Some(words) = line.strip_prefix("ask ").and_then(text) {
            self.said += 1;
            let id = format!("{}-{}", self.order.client, self.said);
            let mut form =
                format!("(:type :EVENT :id \"{id}\" :payload (:sensor :user-prompt :text ");
            quote(&words, &mut form);
            form.push_str("))");
            self.sayings.push(PendingPrompt { id, form, seq: None, due: Some(Instant::now()) });
            return;
        }
        let Some((id, hash)) = self.question.take() else { return };
        // Only the word itself is a yes; the hash makes sure that it is one to what was shown.
        let verdict = if line == "allow" { "allow" } else { "deny" };
        let mut form = String::from("(:type :RESPONSE :id ");
        quote(&id, &mut form);
        form.push_str(&format!(" :payload (:verdict :{verdict}"));
        if let Some(hash) = hash {
            form.push_str(" :hash ");
            quote(&hash, &mut form);
        }
        form.push_str("))");
        while self.answered.len() >= MAX_ANSWERED {
            self.answered.pop_first();
        }
        self.answered.insert(id, form.clone());
        if let Some(client) = client {
            // A connection that is gone is found when it is read; the question comes again then.
            let _ = client.send(&form);
        }
    }

    fn say_due(&mut self, client: &mut DaemonClient) -> Result<(), ShellError> {
        let now = Instant::now();
        for saying in &mut self.sayings {
            if saying.seq.is_none() && saying.due.is_some_and(|due| due <= now) {
                client.send(&saying.form)?;
                saying.due = None;
            }
        }
        Ok(())
    }

    /// Takes a message; `None` when it is none, and the connection is not worth keeping.
    fn take(&mut self, frame: &str, client: &mut DaemonClient) -> Option<()> {
        let tree = crate::attach::reader().read_one(frame).ok()?;
        let message = tree.root();
        let kind = message.get("type")?.keyword()?.to_ascii_lowercase();
        let payload = message.get("payload");
        let meta = message.get("meta");
        let number = |key: &str| meta.and_then(|meta| whole(meta.get(key)?));
        let id = message.get("id").and_then(|id| id.as_str()).map(std::borrow::Cow::into_owned);
        if let Some(seq) = number("seq") {
            if kind == "request" {
                self.requested(message, client);
            }
            let own = meta.and_then(|meta| meta.get("own")).is_some_and(|own| !own.is_nil());
            let own_id = meta.and_then(|meta| meta.get("id")?.as_str());
            if own && let Some(own_id) = own_id {
                self.admitted(&own_id, seq);
                return Some(());
            }
            if self.is_new(seq) {
                self.tell("event", &seq.to_string());
            }
        }
        let admitted =
            payload.and_then(|it| it.get("status")).is_some_and(|it| it.is_keyword("admitted"));
        if kind == "status" && admitted {
            let seq = payload.and_then(|payload| whole(payload.get("seq")?));
            if let Some((id, seq)) = id.zip(seq) {
                self.admitted(&id, seq);
            }
            return Some(());
        }
        self.answer(id.as_deref().filter(|_| kind == "response"), number("answers"), message);
        Some(())
    }

    /// Takes an answer to something said, by its id or by its number.
    fn answer(&mut self, id: Option<&str>, answers: Option<u64>, message: Node<'_>) {
        let is_it = |it: &PendingPrompt| {
            Some(it.id.as_str()) == id || (answers.is_some() && it.seq == answers)
        };
        let Some(at) = self.sayings.iter().position(is_it) else { return };
        if let Some(ErrorAnswer { code, .. }) = ErrorAnswer::of(message) {
            if FOR_NOW.contains(&code.as_str()) {
                self.sayings[at].due = Some(Instant::now() + RETRY_INTERVAL);
                return;
            }
            self.sayings.remove(at);
            return self.tell("refused", &code);
        }
        let said = message.get("payload").and_then(|it| it.get("text")?.as_str());
        let said = safe(&said.unwrap_or_default(), MAX_TEXT);
        if let Some(seq) = answers {
            // The answer tells the number of what it answers, should the receipt be lost.
            self.is_new(seq);
        }
        self.sayings.remove(at);
        self.tell("answer", &said);
    }

    fn admitted(&mut self, id: &str, seq: u64) {
        if let Some(saying) = self.sayings.iter_mut().find(|saying| saying.id == id) {
            saying.seq = Some(seq);
        }
        self.is_new(seq);
    }

    /// Asks the user, once; asked again, a question gets the same answer. Whatever else is asked of this
    /// shell it cannot do.
    fn requested(&mut self, message: Node<'_>, client: &mut DaemonClient) {
        let Some(id) = message.get("id").and_then(|id| id.as_str()) else { return };
        let payload = message.get("payload");
        let text = |key: &str| payload.and_then(|payload| payload.get(key)?.as_str());
        if !message.get("target").is_some_and(|target| target.is_keyword("approval")) {
            let mut form = String::from("(:type :RESPONSE :id ");
            quote(&id, &mut form);
            form.push_str(
                " :payload (:status :denied :message \"this shell carries nothing out\"))",
            );
            let _ = client.send(&form);
        } else if let Some(form) = self.answered.get(id.as_ref()) {
            let _ = client.send(form);
        } else if self.question.as_ref().is_none_or(|(open, _)| *open != id) {
            let wanted = payload.and_then(|it| it.get("wanted")).map_or("", |it| it.source());
            let asked = format!("{} {wanted}", text("question").unwrap_or_default());
            self.question = Some((id.into_owned(), text("hash").map(std::borrow::Cow::into_owned)));
            self.tell("question", &safe(&asked, MAX_TEXT));
        }
    }

    /// Whether a number was not heard before; it counts as heard from now on.
    fn is_new(&mut self, seq: u64) -> bool {
        if seq <= self.cursor || !self.known.insert(seq) {
            return false;
        }
        while self.known.remove(&(self.cursor + 1)) {
            self.cursor += 1;
        }
        true
    }

    fn tell(&mut self, word: &str, text: &str) {
        let text = Json::from(text).to_text();
        // Who does not listen any more has ended the conversation.
        let _ = writeln!(self.out, "{word} {text}").and_then(|()| self.out.flush());
    }
}

fn whole(node: Node<'_>) -> Option<u64> {
    node.as_i64().and_then(|number| u64::try_from(number).ok())
}

/// Writes a string of the data language.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
}
