//! Streams of profile `dev.bridle.sse.1`: what may be shown while an answer comes.
//!
//! Everything before `final` is for display. A stream that breaks can be taken up again after the
//! last event that came whole, if the Engine has offered it. Called by `shell`; bytes are for `sse`.

use std::collections::BTreeMap;

use bridle_wire::openharness::{Json, JsonObject};

use super::action::ShellAction;
use super::answer::{InvalidAnswer, SafeDirective, integer};
use super::perform::{MAX_DIRECTIVES, ShellAbilities, is_plain_message, rendered};
use super::text::{MAX_NOTICE, MAX_TEXT, first_text};

/// Characters of pieces that are put together for display; what is beyond waits for `final`.
const MAX_FOLDED: usize = 1 << 20;

/// Levels of a payload that a piece may lie under.
const MAX_LEVELS: usize = 16;

/// The stream is not what it should be: as good as cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenStream;

impl From<InvalidAnswer> for BrokenStream {
    fn from(_: InvalidAnswer) -> BrokenStream {
        BrokenStream
    }
}

/// Meaning of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamMeaning {
    /// To be shown.
    Shown(Vec<ShellAction>),
    /// The answer.
    Final(Json),
}

/// Content of a stream so far, across its connections.
#[derive(Debug, Clone)]
pub struct EngineStream {
    abilities: ShellAbilities,
    /// Number of the last event.
    pub last_seq: Option<i64>,
    /// Whether it can be taken up again.
    pub resumable: bool,
    /// Messages that were shown whole, by directive id.
    pub shown: BTreeMap<String, JsonObject>,
    folded: BTreeMap<String, FoldedStream>,
    room: usize,
}

#[derive(Debug, Clone)]
struct FoldedStream {
    index: u64,
    directive: JsonObject,
}

impl EngineStream {
    /// A stream that has said nothing; `shown` was shown before it began.
    pub fn new(abilities: ShellAbilities, shown: BTreeMap<String, JsonObject>) -> EngineStream {
        EngineStream {
            abilities,
            last_seq: None,
            resumable: false,
            shown,
            folded: BTreeMap::new(),
            room: MAX_FOLDED,
        }
    }

    /// Takes an event.
    ///
    /// # Errors
    /// One is missing, or this one is not of its shape.
    pub fn take(&mut self, name: &str, data: Option<&Json>) -> Result<StreamMeaning, BrokenStream> {
        let nothing = Ok(StreamMeaning::Shown(Vec::new()));
        let Some(data) = data.and_then(Json::as_object) else { return nothing };
        let Some(seq) = integer(data, "seq")? else { return nothing };
        let expected = self.last_seq.map_or(0, |last| last.saturating_add(1));
        if seq < expected {
            return nothing;
        }
        if seq > expected || (self.last_seq.is_none() && name != "open") {
            return Err(BrokenStream);
        }
        self.last_seq = Some(seq);
        let shown = match name {
            "open" => {
                self.resumable = data.get("resume").and_then(Json::as_object).is_some();
                None
            }
            "progress" => first_text(data, &["label"], MAX_NOTICE).map(ShellAction::Progress),
            "directive.start" => {
                self.start(data)?;
                None
            }
            "directive.delta" => self.delta(data)?,
            "directive.done" => self.done(data)?,
            "final" => {
                let message = data.get("message").filter(|message| message.as_object().is_some());
                return Ok(StreamMeaning::Final(message.ok_or(BrokenStream)?.clone()));
            }
            _ => None,
        };
        Ok(StreamMeaning::Shown(shown.into_iter().collect()))
    }

    fn start(&mut self, data: &JsonObject) -> Result<(), BrokenStream> {
        let index = integer(data, "index")?.and_then(|index| u64::try_from(index).ok());
        let id = data.get("directive_id").and_then(Json::as_str);
        let directive = data.get("directive").and_then(Json::as_object);
        let (Some(index), Some(id), Some(directive)) = (index, id, directive) else {
            return Ok(());
        };
        if self.folded.len() < MAX_DIRECTIVES {
            let mut directive = directive.clone();
            directive.insert("payload", JsonObject::new());
            self.folded.insert(id.to_owned(), FoldedStream { index, directive });
        }
        Ok(())
    }

    fn delta(&mut self, data: &JsonObject) -> Result<Option<ShellAction>, BrokenStream> {
        let id = data.get("directive_id").and_then(Json::as_str);
        let folded = id.and_then(|id| self.folded.get_mut(id));
        let path = data.get("path").and_then(Json::as_str);
        let Some((folded, path)) = folded.zip(path) else { return Ok(None) };
        let append = data.get("append").and_then(Json::as_str);
        let size = append.map_or(1, |append| append.chars().count());
        match self.room.checked_sub(size) {
            Some(room) => self.room = room,
            None => {
                self.room = 0;
                return Ok(None);
            }
        }
        if fold(&mut folded.directive, path, data).is_none() {
            return Ok(None);
        }
        let directive = SafeDirective::read(&folded.directive.clone().into())?;
        if !is_plain_message(&directive, &self.abilities) {
            return Ok(None);
        }
        let text = first_text(&directive.payload, &["text", "message"], MAX_TEXT);
        Ok(text.map(|text| ShellAction::Display { directive: folded.index, text }))
    }

    fn done(&mut self, data: &JsonObject) -> Result<Option<ShellAction>, BrokenStream> {
        let id = data.get("directive_id").and_then(Json::as_str);
        let folded = id.and_then(|id| self.folded.remove(id));
        let directive = SafeDirective::read(data.get("directive").unwrap_or(&Json::Null))?;
        let (Some(folded), Some(id)) = (folded, directive.id.clone()) else { return Ok(None) };
        let is_same = data.get("directive_id").and_then(Json::as_str) == Some(id.as_str());
        if !is_same || !is_plain_message(&directive, &self.abilities) {
            return Ok(None);
        }
        let index = usize::try_from(folded.index).unwrap_or(usize::MAX);
        let shown = rendered(index, &directive.payload);
        if shown.is_some() {
            self.shown.insert(id, directive.raw);
        }
        Ok(shown)
    }
}

/// Puts a piece where its path says, below `/payload`; `None` when it fits nowhere.
fn fold(directive: &mut JsonObject, path: &str, data: &JsonObject) -> Option<()> {
    let keys: Vec<String> =
        path.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let [first, inner @ .., last] = keys.as_slice() else { return None };
    let is_below = match inner.first() {
        Some(key) => key == "payload",
        None => last == "payload",
    };
    if !first.is_empty() || !is_below || keys.len() > MAX_LEVELS {
        return None;
    }
    let mut holder = directive;
    for key in inner {
        if holder.get(key).is_none() {
            holder.insert(key.as_str(), JsonObject::new());
        }
        holder = match holder.get_mut(key) {
            Some(Json::Object(inside)) => inside,
            _ => return None,
        };
    }
    if let Some(value) = data.get("value") {
        holder.insert(last.as_str(), value.clone());
        return Some(());
    }
    let append = data.get("append")?.as_str()?;
    match holder.get_mut(last) {
        Some(Json::String(before)) => before.push_str(append),
        Some(_) => return None,
        None => holder.insert(last.as_str(), append),
    }
    Some(())
}
