//! The agent of `cargo xtask memory`: asks the daemon for edits of one file, and to take them back. What it
//! adds can be told from the user's text, and no two edits add the same. What goes into another file is not
//! among them: while such a change fails, a user as quick as this one may read and save what is taken back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use bridle_sexp::Value;

use super::super::line::{LineInput, ListenPlace, OpenLine};
use super::super::patience::BoundedWait;
use super::super::random::SplitMix;
use super::user;

/// Time for an answer: far above what is needed, so that only something that never ends reaches it.
const PEACE: Duration = Duration::from_secs(120);

/// Result of a request.
pub(super) enum AgentAnswer {
    Done,
    /// The edit was refused, for this reason.
    Not(String),
}

/// A line to the daemon, if it is there.
pub(super) fn open(place: &ListenPlace) -> Option<OpenLine> {
    OpenLine::open(place).ok()
}

pub(super) struct EditAgent {
    memex: PathBuf,
    files: usize,
    random: SplitMix,
    number: u64,
}

impl EditAgent {
    pub(super) fn new(memex: &Path, files: usize, random: SplitMix) -> Self {
        Self { memex: memex.to_owned(), files, random, number: 0 }
    }

    /// The next edit; `None` if the file that it is to be of is being written.
    pub(super) fn next(&mut self) -> Result<Option<Value>> {
        self.number += 1;
        let (number, file) = (self.number, self.random.index(self.files));
        let path = user::name(file);
        // It may be gone for a moment.
        let Ok(text) = fs::read_to_string(self.memex.join(&path)) else { return Ok(None) };
        let titles = text.lines().filter_map(|line| line.strip_prefix("* "));
        let title = |line: &str| {
            line.split("  ").next().unwrap_or(line).split(" :a").next().map(str::to_owned)
        };
        let titles: Vec<String> = titles.filter_map(title).collect();
        let (users, own): (Vec<_>, Vec<_>) =
            titles.into_iter().partition(|title| title.starts_with("user "));
        let user = (!users.is_empty()).then(|| users[self.random.index(users.len())].clone());
        let mine = (!own.is_empty()).then(|| own[self.random.index(own.len())].clone());
        let text = Value::str(format!("* agent {number}\ntext of the agent {number}\n"));
        let word = |text: &str| Value::keyword(text);
        let outline = |title: &str| ("outline", Value::list([Value::str(title)]));
        let path = ("path", Value::str(path));
        let roll = self.random.below(10);
        let pairs = match (roll, user, mine) {
            (0..3, Some(user), _) => {
                vec![("action", word("insert-subtree")), path, outline(&user), ("text", text)]
            }
            (3, Some(user), _) => {
                let tags = Value::list([Value::str(format!("a{number}"))]);
                vec![("action", word("set-tags")), path, outline(&user), ("tags", tags)]
            }
            (4 | 5, _, Some(mine)) => {
                let title = Value::str(format!("agent {number}"));
                vec![("action", word("set-title")), path, outline(&mine), ("title", title)]
            }
            _ => vec![("action", word("append-subtree")), path, ("text", text)],
        };
        Ok(Some(request(Value::plist(pairs))))
    }
}

/// Payload that undoes the changes of a record.
pub(super) fn undo(record: u64) -> Value {
    let record = Value::int(i64::try_from(record).unwrap_or(i64::MAX));
    request(Value::plist([("action", Value::keyword("undo")), ("record", record)]))
}

fn request(payload: Value) -> Value {
    Value::plist([
        ("type", Value::keyword("REQUEST")),
        ("target", Value::keyword("memory")),
        ("payload", payload),
    ])
}

/// Asks, and waits for the one answer; `None` when the connection ended.
pub(super) fn ask(line: &mut OpenLine, request: &Value) -> Result<Option<AgentAnswer>> {
    if line.send(request).is_err() {
        return Ok(None);
    }
    let mut patience = BoundedWait::new(PEACE);
    loop {
        let LineInput::Messages(messages) = line.hear().map_err(|what| anyhow!(what))? else {
            return Ok(None);
        };
        let is_answer = |it: &&Value| it.get("type").is_some_and(|it| it.is_keyword("RESPONSE"));
        if let Some(payload) = messages.iter().find(is_answer).and_then(|it| it.get("payload")) {
            let word = |key| payload.get(key).and_then(Value::as_keyword).unwrap_or_default();
            let is_done = word("outcome").eq_ignore_ascii_case("done");
            let why = || {
                let texts = ["message", "reason"];
                let text = texts.iter().find_map(|key| payload.get(key)?.as_str());
                text.map_or_else(|| payload.to_string(), str::to_owned)
            };
            return Ok(Some(if is_done { AgentAnswer::Done } else { AgentAnswer::Not(why()) }));
        }
        ensure!(!patience.is_over(), "no answer to {request}");
    }
}

/// Comes back when the daemon has answered a request that changes nothing: those before it are begun.
pub(super) fn idle(line: &mut OpenLine) -> Result<()> {
    let heard = ask(line, &undo(0))?;
    ensure!(heard.is_some(), "the daemon has gone");
    Ok(())
}

/// A reason in a few words, to be counted.
pub(super) fn in_short(why: &str) -> &str {
    const KNOWN: [&str; 8] = [
        "no heading",
        "more than one heading",
        "has changed",
        "is being edited",
        "open for writing",
        "nothing would change",
        "conflict",
        "no file",
    ];
    KNOWN.into_iter().find(|known| why.contains(known)).unwrap_or(why)
}
