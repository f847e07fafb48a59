//! `bridle send`: forms to a daemon, an answer for each, in order.
//!
//! Without a session each frame gets one frame back. In a session there are events besides: a form
//! gets an id, and the answer is the response that repeats it.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use bridle_sexp::{Node, read_one};
use bridle_wire::oacp::ClientHello;

use crate::client::{DaemonClient, DaemonTarget, ErrorAnswer};
use crate::error::ShellError;
use crate::form_stream::{FormStream, fault_in};
use crate::pretty::{self, LayoutStyle};
use crate::screen::{OutputScreen, plain_json};

/// Destination of a message, and the form of its answers.
#[derive(Debug)]
pub struct SendOrder {
    /// Daemons to try, in order.
    pub targets: Vec<DaemonTarget>,
    /// Form of the answers.
    pub output: SendOutput,
    /// The session to send in; without it, each form is alone.
    pub session: Option<String>,
}

/// Form in which an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutput {
    /// As it came; neutralised on a terminal.
    Source(OutputScreen),
    /// Laid out for people.
    Pretty(LayoutStyle),
    /// As JSON, one a line.
    Json,
}

/// Content to send.
pub enum SendContent<'a> {
    /// One form; it is read before it is sent.
    Form(&'a str),
    /// One text, sent as it is, be it a form or not.
    Raw(&'a str),
    /// Forms of a stream.
    Stream(&'a mut dyn Read),
}

/// Reaction of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendVerdict {
    /// No answer was an error.
    Fine,
    /// At least one was.
    SomeError,
}

/// Sends and prints.
///
/// # Errors
///
/// What is to be sent is no form, or no answer came.
pub fn run(
    order: &SendOrder,
    content: SendContent<'_>,
    out: &mut dyn Write,
) -> Result<SendVerdict, ShellError> {
    if let SendContent::Form(text) = content {
        // Bad text is the caller's fault: said before anybody is bothered.
        read_one(text).map_err(|error| fault_in(text, &error))?;
    }
    let mut talk = SendConnection::begin(&order.targets, order.session.as_deref())?;
    match content {
        SendContent::Form(text) => exchange(order, &mut talk, text.trim(), out),
        SendContent::Raw(text) => exchange(order, &mut talk, text, out),
        SendContent::Stream(source) => {
            let mut forms = FormStream::new(source);
            let mut verdict = SendVerdict::Fine;
            while let Some(form) = forms.next_form()? {
                if exchange(order, &mut talk, &form, out)? == SendVerdict::SomeError {
                    verdict = SendVerdict::SomeError;
                }
            }
            Ok(verdict)
        }
    }
}

/// A connection, in a session or alone.
pub(crate) struct SendConnection {
    pub(crate) client: DaemonClient,
    /// Longest wait for an answer in a session; `None` without one.
    attached: Option<Duration>,
    /// Forms that got an id here.
    named: u64,
}

impl SendConnection {
    pub(crate) fn begin(
        targets: &[DaemonTarget],
        session: Option<&str>,
    ) -> Result<SendConnection, ShellError> {
        let Some(session) = session else {
            let client = DaemonClient::connect_any(targets)?;
            return Ok(SendConnection { client, attached: None, named: 0 });
        };
        let hello = ClientHello {
            session: Some(session.into()),
            shell: Some("cli".into()),
            ..ClientHello::default()
        };
        let (client, _) = DaemonClient::introduce(targets, &hello)?;
        let wait = targets.iter().map(|target| target.options.timeout).max();
        Ok(SendConnection { client, attached: wait, named: 0 })
    }

    /// Sends a form and waits for its answer; passes over everything else that happens.
    pub(crate) fn request(&mut self, form: &str) -> Result<String, ShellError> {
        let Some(wait) = self.attached else { return self.client.request(form) };
        let (form, id) = self.with_id(form);
        self.client.send(&form)?;
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let frame = match left.is_zero() {
                true => {
                    let addr = self.client.addr().clone();
                    return Err(ShellError::Timeout { addr, after: wait });
                }
                false => self.client.receive_within(left)?,
            };
            let tree = read_one(&frame);
            let tree = tree.map_err(|error| self.client.not_protocol(error.to_string()))?;
            if is_answer(tree.root(), id.as_deref()) {
                return Ok(frame);
            }
        }
    }

    /// Returns the form with an id, and that id as it is written; what cannot have one stays.
    fn with_id(&mut self, form: &str) -> (String, Option<String>) {
        let Ok(tree) = read_one(form) else { return (form.to_owned(), None) };
        let root = tree.root();
        if let Some(id) = root.get("id") {
            return (form.to_owned(), Some(id.source().to_owned()));
        }
        let takes_id = root.pairs().is_some()
            && root
                .get("type")
                .is_some_and(|it| it.is_keyword("event") || it.is_keyword("request"));
        match root.source().strip_suffix(')') {
            Some(open) if takes_id => {
                self.named += 1;
                let id = format!("\"send-{}-{}\"", std::process::id(), self.named);
                (format!("{open} :id {id})"), Some(id))
            }
            _ => (form.to_owned(), None),
        }
    }
}

/// Whether a message answers the form with this id; one without an id is answered by the first
/// response, which has no number of the session.
fn is_answer(message: Node<'_>, id: Option<&str>) -> bool {
    let is_kind = |kind: &str| message.get("type").is_some_and(|it| it.is_keyword(kind));
    match id {
        Some(id) => is_kind("response") && message.get("id").is_some_and(|it| it.source() == id),
        None => is_kind("response") || is_kind("health-response"),
    }
}

fn exchange(
    order: &SendOrder,
    talk: &mut SendConnection,
    form: &str,
    out: &mut dyn Write,
) -> Result<SendVerdict, ShellError> {
    let answer = talk.request(form)?;
    let tree = read_one(&answer);
    let tree = tree.map_err(|error| talk.client.not_protocol(error.to_string()))?;
    let root = tree.root();
    let mut text = String::new();
    match order.output {
        SendOutput::Source(screen) => text.push_str(&screen.data(root.source())),
        SendOutput::Pretty(style) => pretty::write(root, &style, &mut text),
        SendOutput::Json => text.push_str(&plain_json(&root.to_value())),
    }
    text.push('\n');
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(ShellError::Write)?;
    Ok(match ErrorAnswer::of(root) {
        Some(_) => SendVerdict::SomeError,
        None => SendVerdict::Fine,
    })
}
