//! Provenance of proposed acts: which of the texts at hand contain the values of an act whole.
//!
//! Called by the daemon when a draft arrives, with the texts that its thinker could have read. What comes of it
//! is recorded with the proposal, so nobody needs the texts later. Pure: no IO, no clock.
//!
//! - `values`: recipients, hosts, paths and words of commands out of a payload
//! - `own_words`: what a person wrote, without what they quoted

mod own_words;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use bridle_loop::{
    MAX_TRACED_BYTES, MAX_TRACED_VALUES, Proposal, Provenance, TextSource, TracedKind, TracedValue,
};
use unicode_normalization::{UnicodeNormalization, is_nfc};

pub use self::own_words::own_words;
use self::values::values;

/// Shortest value that is looked for, in bytes: shorter ones are in every text.
const MIN_TRACED_BYTES: usize = 4;

/// Bytes of the texts of one source that are searched; what is beyond is in no source.
pub const MAX_SOURCE_BYTES: usize = 2 << 20;

/// Shortest folder that stands for what is below it, in parts: `/srv/app`.
const MIN_FOLDER_PARTS: usize = 2;

/// Texts by their sources.
#[derive(Debug, Default)]
pub struct TextSources {
    texts: Vec<(TextSource, SearchedText)>,
    /// Hosts of which any address is granted, with their ports.
    hosts: Vec<(Box<str>, u16)>,
    bytes: [usize; TextSource::ALL.len()],
}

/// A text in the forms in which it is searched.
#[derive(Debug)]
struct SearchedText {
    exact: Box<str>,
    /// Without percent signs of addresses, where that is another text.
    decoded: Option<Box<str>>,
    /// Both in lower case.
    folded: Box<str>,
}

impl TextSources {
    /// Adds a text. Beyond [`MAX_SOURCE_BYTES`] of its source it is left out.
    pub fn add(&mut self, source: TextSource, text: &str) {
        let bytes = &mut self.bytes[source as usize];
        if text.len() < MIN_TRACED_BYTES || bytes.saturating_add(text.len()) > MAX_SOURCE_BYTES {
            return;
        }
        *bytes += text.len();
        self.texts.push((source, SearchedText::of(text)));
    }

    /// Adds a host of which a grant permits every address.
    pub fn add_granted_host(&mut self, host: &str, port: u16) {
        self.hosts.push((host.into(), port));
    }

    /// Adds every text of a value.
    pub fn add_value(&mut self, source: TextSource, value: &bridle_sexp::Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                bridle_sexp::Value::Str(text) => self.add(source, text),
                bridle_sexp::Value::Propertized { text, .. } => self.add(source, text),
                bridle_sexp::Value::List(items) | bridle_sexp::Value::Vector(items) => {
                    open.extend(items.iter().rev());
                }
                bridle_sexp::Value::Dotted(items, tail) => {
                    open.push(tail);
                    open.extend(items.iter().rev());
                }
                _ => {}
            }
        }
    }

    /// The sources of the values of a payload; `None` for one that has no values.
    pub fn trace(&self, payload: &bridle_sexp::Value) -> Option<Provenance> {
        let (mut found, project) = values(payload);
        let is_cut = found.len() > MAX_TRACED_VALUES;
        found.truncate(MAX_TRACED_VALUES);
        let values = found.into_iter().map(|(kind, text)| self.traced(kind, &text, &project));
        let values: Vec<TracedValue> = values.collect();
        (!values.is_empty()).then_some(Provenance { values, is_cut })
    }

    fn traced(&self, kind: TracedKind, text: &str, project: &str) -> TracedValue {
        let text = normal(kind, text);
        if text.len() < MIN_TRACED_BYTES || text.len() > MAX_TRACED_BYTES {
            let text = text[..text.floor_char_boundary(MAX_TRACED_BYTES)].into();
            return TracedValue { kind, text, sources: Vec::new() };
        }
        let mut sources: Vec<TextSource> = TextSource::ALL
            .into_iter()
            .filter(|source| {
                let mut texts = self.texts.iter().filter(|(of, _)| of == source);
                texts.any(|(_, searched)| is_in(searched, kind, &text, *source, project))
            })
            .collect();
        // The owner chose the project, and with it all that is in it.
        let is_chosen = kind == TracedKind::Path && is_below(&text, project);
        if is_chosen && !sources.contains(&TextSource::Configuration) {
            sources.push(TextSource::Configuration);
            sources.sort_unstable();
        }
        let is_granted = kind == TracedKind::Address
            && place_of(&text).is_some_and(|(host, port)| {
                self.hosts.iter().any(|(known, of)| **known == *host && *of == port)
            });
        if is_granted && !sources.contains(&TextSource::Grant) {
            sources.push(TextSource::Grant);
            sources.sort_unstable();
        }
        TracedValue { kind, text: text.into(), sources }
    }
}

/// Host and port of an address; `None` for one that could be read in two ways.
fn place_of(address: &str) -> Option<(&str, u16)> {
    let (rest, default) = match (address.strip_prefix("https://"), address.strip_prefix("http://"))
    {
        (Some(rest), _) => (rest, 443),
        (None, rest) => (rest?, 80),
    };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let is_plain = authority.bytes().all(|it| it.is_ascii_alphanumeric() || b".-:".contains(&it));
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let port = if port.is_empty() { Some(default) } else { port.parse().ok() };
    port.filter(|_| is_plain && !host.is_empty()).map(|port| (host, port))
}

/// Whether any proposal has values to trace.
pub fn has_values(proposals: &[Proposal]) -> bool {
    proposals.iter().any(|proposal| !values(&proposal.payload).0.is_empty())
}

/// Notes the provenance of each proposal.
pub fn trace_all(proposals: &mut [Proposal], sources: &TextSources) {
    for proposal in proposals {
        proposal.provenance = sources.trace(&proposal.payload).map(Arc::new);
    }
}

impl SearchedText {
    fn of(text: &str) -> Self {
        let exact = composed(text);
        let decoded = match percent_decoded(&exact) {
            Cow::Borrowed(_) => None,
            Cow::Owned(decoded) => Some(composed(&decoded).into_owned().into_boxed_str()),
        };
        let both = [Some(&*exact), decoded.as_deref()];
        let folded = both.into_iter().flatten().map(str::to_lowercase);
        let folded = folded.collect::<Vec<_>>().join("\n").into();
        Self { exact: exact.into_owned().into(), decoded, folded }
    }

    fn has(&self, value: &str, is_boundary: impl Fn(&str, usize) -> bool + Copy) -> bool {
        let texts = [Some(&*self.exact), self.decoded.as_deref()];
        texts.into_iter().flatten().any(|text| has_whole(text, value, is_boundary))
    }
}

/// Whether a text has a value whole. Hosts and recipients are the same in any case; paths and words are not.
fn is_in(
    searched: &SearchedText,
    kind: TracedKind,
    value: &str,
    source: TextSource,
    project: &str,
) -> bool {
    match kind {
        TracedKind::Host => {
            let is_said = has_whole(&searched.folded, value, is_host_end);
            // Whoever configures a domain means the hosts in it.
            is_said || (is_ruling(source) && has_domain(searched, value))
        }
        TracedKind::Recipient => has_whole(&searched.folded, value, is_word_end),
        TracedKind::Address => searched.has(value, is_address_end),
        TracedKind::Word => searched.has(value, is_word_end),
        TracedKind::Path => {
            let inner = value.strip_prefix(project).and_then(|rest| rest.strip_prefix('/'));
            let inner = inner.filter(|rest| !project.is_empty() && rest.len() >= MIN_TRACED_BYTES);
            let is_said = searched.has(value, is_path_end)
                || inner.is_some_and(|inner| searched.has(inner, is_inner_path_end));
            is_said || (is_ruling(source) && has_folder(searched, value))
        }
    }
}

/// Whether a source speaks of scopes: a folder there stands for what is below it.
fn is_ruling(source: TextSource) -> bool {
    matches!(source, TextSource::Configuration | TextSource::Grant)
}

fn has_domain(searched: &SearchedText, host: &str) -> bool {
    let mut rest = host;
    while let Some((_, domain)) = rest.split_once('.') {
        if domain.contains('.') && has_whole(&searched.folded, domain, is_host_end) {
            return true;
        }
        rest = domain;
    }
    false
}

fn has_folder(searched: &SearchedText, path: &str) -> bool {
    let mut rest = path;
    while let Some((folder, _)) = rest.rsplit_once('/') {
        let is_enough = folder.matches('/').count() >= MIN_FOLDER_PARTS;
        if is_enough && searched.has(folder, is_path_end) {
            return true;
        }
        rest = folder;
    }
    false
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder).filter(|_| !folder.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a value stands in a text with an end on both sides.
fn has_whole(text: &str, value: &str, is_end: impl Fn(&str, usize) -> bool + Copy) -> bool {
    let mut places = text.match_indices(value).map(|(at, _)| at);
    places.any(|at| {
        let before = text[..at].chars().next_back();
        let is_begin = before.is_none_or(|character| {
            // What stands before decides as what stands behind does, seen alone.
            let mut single = [0; 4];
            is_end(character.encode_utf8(&mut single), SIDE_BEFORE)
        });
        is_begin && is_end(&text[at + value.len()..], SIDE_BEHIND)
    })
}

/// Sides of a value.
const SIDE_BEFORE: usize = 0;
const SIDE_BEHIND: usize = 1;

/// Whether a sentence ends here: a mark with nothing of a word behind it.
fn ends_sentence(rest: &str) -> bool {
    let behind = rest.trim_start_matches(['.', ',', ':', ';', '!', '?']);
    behind.len() < rest.len()
        && behind.chars().next().is_none_or(|it| !it.is_alphanumeric() && !"/@_-".contains(it))
}

fn is_host_end(rest: &str, side: usize) -> bool {
    let Some(next) = rest.chars().next() else { return true };
    if next.is_alphanumeric() || "-_@".contains(next) {
        return false;
    }
    next != '.' || (side == SIDE_BEHIND && ends_sentence(rest))
}

fn is_word_end(rest: &str, side: usize) -> bool {
    let Some(next) = rest.chars().next() else { return true };
    if next.is_alphanumeric() || "-_@/.+%".contains(next) {
        return side == SIDE_BEHIND && ends_sentence(rest);
    }
    true
}

fn is_address_end(rest: &str, side: usize) -> bool {
    let Some(next) = rest.chars().next() else { return true };
    if side == SIDE_BEHIND && ends_sentence(rest) {
        return true;
    }
    next.is_whitespace() || "\"'`<>()[]{}|,;".contains(next)
}

fn is_path_end(rest: &str, side: usize) -> bool {
    let Some(next) = rest.chars().next() else { return true };
    if side == SIDE_BEHIND && next == '/' {
        // A slash at the end is no other path.
        return rest[1..].chars().next().is_none_or(is_gap);
    }
    if side == SIDE_BEHIND && ends_sentence(rest) {
        return true;
    }
    is_gap(next)
}

/// As `is_path_end`; `./` and a folder that was named before may stand in front of a path in the project.
fn is_inner_path_end(rest: &str, side: usize) -> bool {
    is_path_end(rest, side)
}

fn is_gap(character: char) -> bool {
    character.is_whitespace() || "\"'`<>()[]{}|,;:=".contains(character)
}

/// The form in which a value is looked for.
fn normal(kind: TracedKind, text: &str) -> String {
    let text = composed(text.trim());
    match kind {
        TracedKind::Host => text.trim_end_matches('.').to_lowercase(),
        TracedKind::Recipient => text.to_lowercase(),
        TracedKind::Address => text.into_owned(),
        TracedKind::Word => text.into_owned(),
        TracedKind::Path => {
            let decoded = percent_decoded(&text).into_owned();
            let path = decoded.strip_prefix("file://").unwrap_or(&decoded);
            let path = path.trim_start_matches("./");
            let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
            let joined = parts.collect::<Vec<_>>().join("/");
            if path.starts_with('/') { format!("/{joined}") } else { joined }
        }
    }
}

/// The text with characters and their marks as one.
fn composed(text: &str) -> Cow<'_, str> {
    if is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// The text with the escapes of addresses read, as far as they are UTF-8.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let code = code.filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(read) => {
                out.push(read);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    match String::from_utf8(out) {
        Ok(decoded) if decoded != text => Cow::Owned(decoded),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests;
