//! `bridle send`: forms to a daemon, an answer for each, in order.

use std::io::{Read, Write};

use bridle_sexp::{json, read_one};

use crate::client::{Client, ErrorAnswer, Target};
use crate::error::Error;
use crate::input::{Forms, fault_in};
use crate::pretty::{self, Style};

/// Where to, and how the answers are shown.
#[derive(Debug)]
pub struct Order {
    /// Daemons to try, in order.
    pub targets: Vec<Target>,
    /// How answers are printed.
    pub output: Output,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// As it came.
    Source,
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
    let mut client = Client::connect_any(&order.targets)?;
    match content {
        Content::Form(text) => exchange(order, &mut client, text.trim(), out),
        Content::Raw(text) => exchange(order, &mut client, text, out),
        Content::Stream(source) => {
            let mut forms = Forms::new(source);
            let mut verdict = Verdict::Fine;
            while let Some(form) = forms.next_form()? {
                if exchange(order, &mut client, &form, out)? == Verdict::SomeError {
                    verdict = Verdict::SomeError;
                }
            }
            Ok(verdict)
        }
    }
}

fn exchange(
    order: &Order,
    client: &mut Client,
    form: &str,
    out: &mut dyn Write,
) -> Result<Verdict, Error> {
    let answer = client.request(form)?;
    let tree = read_one(&answer).map_err(|error| Error::NotProtocol {
        addr: client.addr().clone(),
        why: error.to_string(),
    })?;
    let root = tree.root();
    let mut text = String::new();
    match order.output {
        Output::Source => text.push_str(root.source()),
        Output::Pretty(style) => pretty::write(root, &style, &mut text),
        Output::Json => json::to_json(&root.to_value(), &mut text),
    }
    text.push('\n');
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Write)?;
    Ok(match ErrorAnswer::of(root) {
        Some(_) => Verdict::SomeError,
        None => Verdict::Fine,
    })
}
