//! A person at a terminal: messages on standard output, everything else on standard error.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bridle_sexp::Value;
use bridle_wire::openharness::Json;

use super::{AnsweredElsewhere, AskConsole};
use crate::openharness::action::QuestionChoice;
use crate::openharness::text::{MAX_NOTICE, safe};
use crate::openharness::{ShellAction, ShellInterface, UserQuestion};
use crate::screen::{OutputScreen, escape_hidden, neutral_block};

/// Interval between two looks for an answer given elsewhere.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Form in which an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskOutput {
    /// Messages, as they come.
    Text,
    /// Every action as a JSON object, one a line.
    Json,
    /// Every action as a property list, one behind the other, by the mapping of `bridle sexp --from-json`.
    Plist,
}

/// Shows and asks.
pub struct TerminalConsole {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    person: Option<Receiver<String>>,
    elsewhere: Option<AnsweredElsewhere>,
    output: AskOutput,
    /// Text on the last line, of a message that is still coming.
    shown: String,
}

impl std::fmt::Debug for TerminalConsole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

impl TerminalConsole {
    pub(super) fn new(desk: AskConsole, output: AskOutput) -> TerminalConsole {
        let AskConsole { out, err, person, elsewhere } = desk;
        TerminalConsole { out, err, person, elsewhere, output, shown: String::new() }
    }

    /// Writes a message as far as it is known: only what is new of it.
    fn grow(&mut self, text: &str) {
        let new = match text.strip_prefix(self.shown.as_str()) {
            Some(new) => new,
            None => {
                // It was another one, or has changed: that one stays as it is.
                self.end_line();
                text
            }
        };
        // A reader that went away is no reason to leave an Engine without its results.
        let _ = self.out.write_all(neutral_block(new).as_bytes()).and_then(|()| self.out.flush());
        text.clone_into(&mut self.shown);
    }

    fn end_line(&mut self) {
        if !self.shown.is_empty() {
            let _ = self.out.write_all(b"\n").and_then(|()| self.out.flush());
            self.shown.clear();
        }
    }

    /// Writes a line for the person.
    fn tell(&mut self, line: &str) {
        self.end_line();
        let _ = writeln!(self.err, "{}", neutral_block(line));
    }

    /// Writes an action for a program.
    fn data(&mut self, action: &ShellAction) {
        let text = action.to_json().to_text();
        let line = match (self.output, bridle_sexp::json::from_json(&text)) {
            (AskOutput::Plist, Ok(value)) => {
                let form = format!("{}\n", with_keyword_keys(value));
                OutputScreen::of_stdout().data(&form).into_owned()
            }
            _ => escape_hidden(&text) + "\n",
        };
        let _ = self.out.write_all(line.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// The value with keywords for the names of its objects, so that `getf` finds them. A name that is no plain word stays a
/// string. As deep as the reader of JSON allows.
fn with_keyword_keys(value: Value) -> Value {
    match value {
        Value::List(elements) => {
            Value::list(elements.into_iter().enumerate().map(|(place, element)| match element {
                Value::Str(name) if place % 2 == 0 && is_plain_word(&name) => Value::keyword(&name),
                other => with_keyword_keys(other),
            }))
        }
        Value::Vector(elements) => Value::vector(elements.into_iter().map(with_keyword_keys)),
        atom => atom,
    }
}

fn is_plain_word(name: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(fits)
}

impl ShellInterface for TerminalConsole {
    fn show(&mut self, action: &ShellAction) {
        if self.output != AskOutput::Text {
            return self.data(action);
        }
        match action {
            ShellAction::Display { text, .. } => self.grow(text),
            ShellAction::Render { text, .. } => {
                self.grow(text);
                self.end_line();
            }
            ShellAction::Progress(label) => self.tell(&format!(".. {label}")),
            ShellAction::Notice { code, text, .. } => {
                let text = text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
                self.tell(&format!("note: {code}{text}"));
            }
            ShellAction::Withdraw(_) => self.tell("approval expired"),
            ShellAction::Wait(ms) => self.tell(&format!("retrying in {ms} ms")),
            _ => {}
        }
    }

    fn show_reason(&mut self, reason: &str) {
        if self.output == AskOutput::Text {
            self.tell(&format!("note: {reason}"));
        }
    }

    fn ask(&mut self, question: &UserQuestion, wait: Option<Duration>) -> Option<String> {
        if self.output != AskOutput::Text {
            self.data(&ShellAction::Ask(question.clone()));
        }
        self.tell(&worded(question));
        let _ = write!(self.err, "{} ", prompt(question)).and_then(|()| self.err.flush());
        let line = self.typed(question, wait)?;
        answer(question, line.trim())
    }
}

impl TerminalConsole {
    /// The line that the person types, unless the time is over or somebody else has answered.
    fn typed(&mut self, question: &UserQuestion, wait: Option<Duration>) -> Option<String> {
        let until = wait.map(|wait| Instant::now() + wait);
        let id = question.payload.get("approval_id").and_then(Json::as_str).map(str::to_owned);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let nap = left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN));
            match self.person.as_ref()?.recv_timeout(nap) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left <= nap) => {
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let ended = self.elsewhere.as_mut().zip(id.as_deref()).and_then(|(ask, id)| ask(id));
            if let Some(how) = ended {
                let _ = writeln!(self.err, "\n{}", safe(&how, MAX_NOTICE));
                return None;
            }
        }
    }
}

/// Describes the action that a yes would allow.
fn worded(question: &UserQuestion) -> String {
    let mut text = match &question.message {
        Some(message) => message.clone(),
        None => {
            let payload = Json::Object(question.payload.clone()).to_pretty();
            let head = format!("{} ({})", question.action_type, question.tier.as_str());
            safe(&format!("{head} needs approval:\n{payload}"), MAX_NOTICE)
        }
    };
    text = text.trim_end().to_owned();
    for (index, choice) in question.options.iter().flatten().enumerate() {
        text.push_str(&safe(&format!("\n  {}: {}", index + 1, choice.label), MAX_NOTICE));
    }
    text
}

fn prompt(question: &UserQuestion) -> &'static str {
    if question.options.is_some() { "approve? [y/N, or a number]" } else { "approve? [y/N]" }
}

/// Interprets a line; anything that is no clear yes is a no.
fn answer(question: &UserQuestion, line: &str) -> Option<String> {
    let is_yes = matches!(line, "y" | "Y" | "yes");
    let Some(options) = &question.options else {
        return is_yes.then(|| "allow".to_owned());
    };
    let numbered = line.parse::<usize>().ok().and_then(|it| options.get(it.checked_sub(1)?));
    let of_kind = |kind: &str| options.iter().find(|choice| choice.kind == kind);
    let chosen: Option<&QuestionChoice> = match numbered {
        Some(choice) => Some(choice),
        None if is_yes => of_kind("allow_once"),
        None => of_kind("reject_once"),
    };
    chosen.map(|choice| choice.id.clone())
}

#[cfg(test)]
mod tests;
