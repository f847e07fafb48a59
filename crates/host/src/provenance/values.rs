//! Values of a payload that say where an act goes and what it touches.
//!
//! Read by keys, whatever the action: an action of a shell or of a tool that nobody here knows has the same keys.

use bridle_loop::{PREPARED, TracedKind};
use bridle_sexp::Value;

/// Keys of paths.
const PATHS: [&str; 6] = ["path", "cwd", "file", "folder", "directory", "filename"];

/// Keys of addresses of the web.
const ADDRESSES: [&str; 3] = ["url", "uri", "href"];

/// Keys of hosts.
const HOSTS: [&str; 3] = ["host", "hostname", "network"];

/// Keys of those that something is sent to.
const RECIPIENTS: [&str; 13] = [
    "recipient",
    "recipients",
    "cc",
    "bcc",
    "email",
    "mail",
    "phone",
    "number",
    "channel",
    "chat",
    "room",
    "user",
    "account",
];

/// Levels of arguments that are looked into.
const MAX_DEPTH: usize = 8;

/// Longest argument of a tool that is no prose, in bytes.
const MAX_ARGUMENT_BYTES: usize = 256;

/// Shortest word of a command that says something, in bytes.
const MIN_WORD_BYTES: usize = 4;

/// Values under construction.
#[derive(Default)]
struct Collector {
    found: Vec<(TracedKind, String)>,
}

/// The values, each once, and the folder of the project.
pub(super) fn values(payload: &Value) -> (Vec<(TracedKind, String)>, String) {
    let project = payload.get(PREPARED).and_then(|facts| facts.get("project"));
    let project = project.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut all = Collector::default();
    all.plist(payload, 0);
    (all.found, project)
}

impl Collector {
    fn add(&mut self, kind: TracedKind, text: &str) {
        let is_short_word = kind == TracedKind::Word && text.len() < MIN_WORD_BYTES;
        if text.trim().is_empty() || is_short_word {
            return;
        }
        let value = (kind, text.to_owned());
        if !self.found.contains(&value) {
            self.found.push(value);
        }
    }

    fn plist(&mut self, payload: &Value, depth: usize) {
        for (key, value) in payload.pairs().into_iter().flatten() {
            let Some(key) = key.as_keyword().map(str::to_ascii_lowercase) else { continue };
            let _ = self.pair(&key, value, depth);
        }
    }

    /// Takes what a key says; tells whether it is one that is known here.
    fn pair(&mut self, key: &str, value: &Value, depth: usize) -> bool {
        match key {
            PREPARED | "text" | "body" | "stdin" | "old" | "new" | "pattern" | "explanation" => {}
            "argv" => strings(value).for_each(|word| self.word(word)),
            "script" | "command" => {
                strings(value).for_each(|text| split(text).for_each(|word| self.word(word)));
            }
            "env" => strings(value).for_each(|pair| self.add(TracedKind::Word, pair)),
            "headers" => strings(value).for_each(|header| self.add(TracedKind::Word, header)),
            "arguments" if depth < MAX_DEPTH => self.arguments(value, depth + 1),
            _ if ADDRESSES.contains(&key) => strings(value).for_each(|text| self.address(text)),
            _ if HOSTS.contains(&key) => strings(value).for_each(|text| self.host(text)),
            _ if RECIPIENTS.contains(&key) => {
                strings(value).for_each(|text| self.add(TracedKind::Recipient, text));
            }
            "to" => strings(value).for_each(|text| self.receiver(text)),
            _ if PATHS.contains(&key) => strings(value).for_each(|text| self.place(text)),
            _ => return false,
        }
        true
    }

    /// Arguments of a tool: every short text may say where something goes.
    fn arguments(&mut self, value: &Value, depth: usize) {
        if depth >= MAX_DEPTH {
            return;
        }
        if value.pairs().is_some() && !value.is_nil() {
            for (key, value) in value.pairs().into_iter().flatten() {
                let name = key.as_keyword().map(str::to_ascii_lowercase);
                let name = name.or_else(|| key.as_str().map(str::to_ascii_lowercase));
                if !self.pair(name.as_deref().unwrap_or_default(), value, depth) {
                    self.arguments(value, depth + 1);
                }
            }
            return;
        }
        for text in strings(value).filter(|text| text.len() <= MAX_ARGUMENT_BYTES) {
            self.word(text);
        }
        for inner in value.elements().unwrap_or_default() {
            if inner.as_str().is_none() {
                self.arguments(inner, depth + 1);
            }
        }
    }

    /// A path; or an address, where a tool takes both.
    fn place(&mut self, text: &str) {
        let is_address = text.contains("://") && !text.starts_with("file://");
        if is_address { self.address(text) } else { self.add(TracedKind::Path, text) }
    }

    /// The other path of a move, or whoever something is sent to.
    fn receiver(&mut self, text: &str) {
        if text.contains('/') { self.place(text) } else { self.add(TracedKind::Recipient, text) }
    }

    fn address(&mut self, text: &str) {
        self.add(TracedKind::Address, text);
        if let Some((_, rest)) = text.split_once("://") {
            let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
            self.host(authority);
        }
    }

    /// A host, without a port, a user and what stands for others.
    fn host(&mut self, text: &str) {
        let name = text.rsplit('@').next().unwrap_or(text);
        let name = name.strip_prefix("*.").unwrap_or(name);
        let name = name.strip_suffix("+private").unwrap_or(name);
        let name = match name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inner, _)) => inner,
            None if name.matches(':').count() == 1 => name.split(':').next().unwrap_or(name),
            None => name,
        };
        self.add(TracedKind::Host, name);
    }

    /// Word of a command: an address, a path, or a word; of an option with a value, the value, too.
    fn word(&mut self, word: &str) {
        if let Some((option, value)) = word.split_once('=')
            && option.starts_with('-')
        {
            self.word(value);
        }
        let is_path =
            word.starts_with(['/', '~']) || word.starts_with("./") || word.starts_with("../");
        match word {
            _ if word.contains("://") => self.address(word),
            _ if is_path => self.add(TracedKind::Path, word),
            _ => self.add(TracedKind::Word, word),
        }
    }
}

/// The string, or the strings of a list.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let one = value.as_str().into_iter();
    let more = value.elements().unwrap_or_default().iter().filter_map(Value::as_str);
    one.chain(more)
}

/// Words of a script, without what separates and quotes them.
fn split(script: &str) -> impl Iterator<Item = &str> {
    let words = script.split(|it: char| it.is_whitespace() || ";&|()<>\"'`\\{}".contains(it));
    words.filter(|word| !word.is_empty())
}
