//! A Shell that is driven by lines, as `docs/conformance.md` describes: what `bridle conform shell`
//! talks to, and the shortest example of how to put a client into its hands.
//!
//! It can do two harmless things, `com.example.lamp` and `com.example.door`: say that they begin,
//! take a while, say that they end.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bridle_wire::openharness::json::JsonDocument;
use bridle_wire::openharness::{Json, JsonObject, MessageLimits};

use super::engine;
use crate::openharness::http::EngineTransport;
use crate::openharness::perform::DirectiveEnd;
use crate::openharness::{
    Handler, ShellAbilities, ShellAction, ShellInterface, UserIntent, UserQuestion,
};

/// Types that a driven shell carries out.
pub const ACTS: [&str; 2] = ["com.example.lamp", "com.example.door"];

/// Longest that an act may take, whatever its payload says.
const LONGEST_ACT: Duration = Duration::from_secs(10);

/// Output for lines; acts write from threads of their own.
type Out = Arc<Mutex<Box<dyn Write + Send>>>;

/// Asks what the lines say until there are no more.
pub fn run(
    transport: Box<dyn EngineTransport>,
    session: Option<&str>,
    input: Receiver<String>,
    out: Box<dyn Write + Send>,
) {
    let out: Out = Arc::new(Mutex::new(out));
    let input = Arc::new(Mutex::new(input));
    let abilities = ShellAbilities {
        acts: ACTS.map(str::to_owned).to_vec(),
        approval: true,
        parallel: true,
        ..ShellAbilities::default()
    };
    let ui = Box::new(LineInput { out: Arc::clone(&out), input: Arc::clone(&input) });
    let mut engine = engine(transport, abilities, true, ui, handlers(&out));
    loop {
        let line = input.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(line) = line else { return };
        let Some(text) = line.strip_prefix("ask ").and_then(text) else { continue };
        let intent = UserIntent {
            user_intent: Some(text),
            session_id: session.map(str::to_owned),
            ..UserIntent::default()
        };
        if let Ok(turn) = engine.ask(intent, None)
            && let Some(error) = turn.error
        {
            say(&out, "failed", Some(&error.code));
        }
        say(&out, "done", None);
    }
}

fn handlers(out: &Out) -> BTreeMap<String, Handler> {
    let act = |out: Out| -> Handler {
        Arc::new(move |payload: &JsonObject| {
            let name = payload.get("name").and_then(Json::as_str).unwrap_or_default();
            let ms = match payload.get("ms") {
                Some(Json::Number(ms)) => ms.as_u64().unwrap_or(0),
                _ => 0,
            };
            say(&out, "begin", Some(name));
            std::thread::sleep(Duration::from_millis(ms).min(LONGEST_ACT));
            say(&out, "end", Some(name));
            if payload.get("fail") == Some(&Json::Bool(true)) {
                return DirectiveEnd::Failed(None);
            }
            DirectiveEnd::Completed(Some(Json::object([("name", Json::from(name))])))
        })
    };
    ACTS.iter().map(|name| ((*name).to_owned(), act(Arc::clone(out)))).collect()
}

struct LineInput {
    out: Out,
    input: Arc<Mutex<Receiver<String>>>,
}

impl ShellInterface for LineInput {
    fn show(&mut self, action: &ShellAction) {
        match action {
            ShellAction::Render { text, .. } => say(&self.out, "show", Some(text)),
            ShellAction::Notice { code, text, .. } => {
                say(&self.out, "notice", Some(text.as_deref().unwrap_or(code)));
            }
            ShellAction::Failed(error) => say(&self.out, "notice", Some(&error.message)),
            _ => {}
        }
    }

    fn ask(&mut self, question: &UserQuestion, wait: Option<Duration>) -> Option<String> {
        let about = Json::Object(question.payload.clone()).to_text();
        let text = question.message.clone().unwrap_or(about);
        let text = crate::openharness::text::safe(&text, crate::openharness::text::MAX_NOTICE);
        say(&self.out, "question", Some(&text));
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let line = match wait {
            Some(wait) => input.recv_timeout(wait).ok()?,
            None => input.recv().ok()?,
        };
        match line.as_str() {
            "allow" => Some("allow".to_owned()),
            line => line.strip_prefix("choose ").and_then(self::text),
        }
    }
}

/// Writes a line: a word, and perhaps a text in JSON.
fn say(out: &Out, word: &str, text: Option<&str>) {
    let text = text.map(|text| format!(" {}", Json::from(text).to_text())).unwrap_or_default();
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    // Who does not listen any more has ended the conversation.
    let _ = writeln!(out, "{word}{text}").and_then(|()| out.flush());
}

/// A text in JSON.
pub(super) fn text(json: &str) -> Option<String> {
    let document = JsonDocument::read(json.as_bytes(), &MessageLimits::default()).ok()?;
    document.root().as_str().map(std::borrow::Cow::into_owned)
}
