//! `bridle send`: forms to a daemon, an answer for each, in order.
//!
//! Without a session each frame gets one frame back. In a session there are events besides: a form
//! gets an id, and the answer is the response that repeats it.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use bridle_sexp::{Node, read_one};
use bridle_wire::oacp::ClientHello;

use crate::client::{Client, ErrorAnswer, Target};
use crate::error::Error;
use crate::input::{Forms, fault_in};
use crate::pretty::{self, Style};
use crate::screen::{Screen, plain_json};

/// Where to, and how the answers are shown.
#[derive(Debug)]
pub struct Order {
    /// Daemons to try, in order.
    pub targets: Vec<Target>,
    /// How answers are printed.
    pub output: Output,
    /// The session to send in; without it, each form is alone.
    pub session: Option<String>,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// As it came; neutralised on a terminal.
    Source(Screen),
    /// Laid out for people.
    Pretty(Style),
    /// As JSON, one a line.
    Json,
}

/// What is sent.
pub enum Content<'a> {
    /// One form; it is read before it is sent.
    Form(&'a str),
    /// One text, sent as it is, be it a form or not.
    Raw(&'a str),
    /// Forms of a stream.
    Stream(&'a mut dyn Read),
}

/// What the daemon thought of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
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
pub fn run(order: &Order, content: Content<'_>, out: &mut dyn Write) -> Result<Verdict, Error> {
    if let Content::Form(text) = content {
        // Bad text is the caller's fault: said before anybody is bothered.
        read_one(text).map_err(|error| fault_in(text, &error))?;
    }
    let mut talk = Talk::begin(&order.targets, order.session.as_deref())?;
    match content {
        Content::Form(text) => exchange(order, &mut talk, text.trim(), out),
        Content::Raw(text) => exchange(order, &mut talk, text, out),
        Content::Stream(source) => {
            let mut forms = Forms::new(source);
            let mut verdict = Verdict::Fine;
            while let Some(form) = forms.next_form()? {
                if exchange(order, &mut talk, &form, out)? == Verdict::SomeError {
                    verdict = Verdict::SomeError;
                }
            }
            Ok(verdict)
        }
    }
}

/// A connection, in a session or alone.
pub(crate) struct Talk {
    pub(crate) client: Client,
    /// Longest wait for an answer in a session; `None` without one.
    attached: Option<Duration>,
    /// Forms that got an id here.
    named: u64,
}

impl Talk {
    pub(crate) fn begin(targets: &[Target], session: Option<&str>) -> Result<Talk, Error> {
        let Some(session) = session else {
            let client = Client::connect_any(targets)?;
            return Ok(Talk { client, attached: None, named: 0 });
        };
        let hello = ClientHello {
            session: Some(session.into()),
            shell: Some("cli".into()),
            ..ClientHello::default()
        };
        let (client, _) = Client::introduce(targets, &hello)?;
        let wait = targets.iter().map(|target| target.options.timeout).max();
        Ok(Talk { client, attached: wait, named: 0 })
    }

    /// Sends a form and waits for its answer; passes over everything else that happens.
    pub(crate) fn request(&mut self, form: &str) -> Result<String, Error> {
        let Some(wait) = self.attached else { return self.client.request(form) };
        let (form, id) = self.with_id(form);
        self.client.send(&form)?;
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let frame = match left.is_zero() {
                true => {
                    let addr = self.client.addr().clone();
                    return Err(Error::Timeout { addr, after: wait });
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
    order: &Order,
    talk: &mut Talk,
    form: &str,
    out: &mut dyn Write,
) -> Result<Verdict, Error> {
    let answer = talk.request(form)?;
    let tree = read_one(&answer);
    let tree = tree.map_err(|error| talk.client.not_protocol(error.to_string()))?;
    let root = tree.root();
    let mut text = String::new();
    match order.output {
        Output::Source(screen) => text.push_str(&screen.data(root.source())),
        Output::Pretty(style) => pretty::write(root, &style, &mut text),
        Output::Json => text.push_str(&plain_json(&root.to_value())),
    }
    text.push('\n');
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Write)?;
    Ok(match ErrorAnswer::of(root) {
        Some(_) => Verdict::SomeError,
        None => Verdict::Fine,
    })
}
