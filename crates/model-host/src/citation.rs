//! Citations: links of an answer, held against the links that its prompt had.
//!
//! A link to a note that the model was never given is marked where it stands, while the answer streams, so that what
//! is shown and what is recorded are the same.

use std::collections::BTreeMap;

use bridle_sexp::Value;

/// Longest link, in bytes; what is longer is text.
const MAX_LINK_BYTES: usize = 1 << 10;

/// Citations of one answer that the record names.
const MAX_CITATIONS: usize = 64;

/// Levels of a result in which objects are looked for.
const MAX_DEPTH: usize = 16;

/// Mark behind a link that was not among the sources.
pub(crate) const UNKNOWN_MARK: &str = " (not among my sources)";

/// The link to an object of the memory, from the facts about it; `None` for anything else.
pub(crate) fn link_of(object: &Value) -> Option<String> {
    let text = |key| object.get(key)?.as_str();
    let (path, title) = (text("path")?, text("title")?);
    match object.get("type")?.is_keyword("file") {
        true => Some(format!("[[{}]]", escaped(&format!("file:{path}")))),
        false => Some(format!("[[{}]]", escaped(&format!("file:{path}::*{title}")))),
    }
}

/// The target of a link, as Org escapes it.
fn escaped(target: &str) -> String {
    let mut out = String::with_capacity(target.len());
    for character in target.chars() {
        if matches!(character, '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(if character.is_control() { ' ' } else { character });
    }
    out
}

/// Links of a prompt, each with the hash of what it leads to, where that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct CitationBook(BTreeMap<String, Option<Box<str>>>);

/// Citation of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Citation {
    /// Target of the link, without its brackets.
    pub(crate) target: String,
    /// Hash of the object.
    pub(crate) hash: Option<Box<str>>,
    /// Whether the prompt had it.
    pub(crate) is_known: bool,
}

impl CitationBook {
    /// Takes the objects in a value that a prompt shows.
    pub(crate) fn add_value(&mut self, value: &Value) {
        self.add_objects(value, MAX_DEPTH);
    }

    fn add_objects(&mut self, value: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Some(link) = link_of(value) {
            let hash = value.get("hash").and_then(Value::as_str).map(Into::into);
            self.add(target_of(&link), hash);
        }
        for item in value.elements().unwrap_or_default() {
            if matches!(item, Value::List(_) | Value::Vector(_)) {
                self.add_objects(item, depth);
            }
        }
    }

    /// Takes the links in a text of the prompt.
    pub(crate) fn add_text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(start) = rest.find("[[") {
            rest = &rest[start..];
            match link_end(rest) {
                LinkEnd::At(end) => {
                    let target = target_of(&rest[..end]);
                    if is_note(&target) {
                        self.add(target, None);
                    }
                    rest = &rest[end..];
                }
                LinkEnd::Open | LinkEnd::None => rest = &rest[2..],
            }
        }
    }

    /// Takes a link.
    pub(crate) fn add_link(&mut self, link: &str, hash: Option<Box<str>>) {
        self.add(target_of(link), hash);
    }

    fn add(&mut self, target: String, hash: Option<Box<str>>) {
        let known = self.0.entry(target).or_default();
        if hash.is_some() {
            *known = hash;
        }
    }

    fn look_up(&self, target: &str) -> Citation {
        let is_within =
            |known: &String| known.strip_prefix(target).is_some_and(|rest| rest.starts_with("::"));
        let found = self.0.get(target);
        Citation {
            target: target.to_owned(),
            hash: found.cloned().flatten(),
            is_known: found.is_some() || self.0.keys().any(is_within),
        }
    }
}

/// Marker of the links of an answer while it streams.
pub(crate) struct CitationMarker<'b> {
    book: &'b CitationBook,
    /// Beginning of what may be a link.
    held: String,
    cited: Vec<Citation>,
}

impl<'b> CitationMarker<'b> {
    /// Begins an answer.
    pub(crate) fn new(book: &'b CitationBook) -> Self {
        Self { book, held: String::new(), cited: Vec::new() }
    }

    /// Takes a piece; returns what can be shown by now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut out = String::new();
        loop {
            let Some(start) = self.held.find("[[") else {
                let keep = usize::from(self.held.ends_with('['));
                let shown = self.held.len() - keep;
                out.extend(self.held.drain(..shown));
                return out;
            };
            out.extend(self.held.drain(..start));
            match link_end(&self.held) {
                LinkEnd::Open => return out,
                LinkEnd::None => out.extend(self.held.drain(..2)),
                LinkEnd::At(end) => {
                    let link: String = self.held.drain(..end).collect();
                    out.push_str(&link);
                    out.push_str(self.cite(&target_of(&link)));
                }
            }
        }
    }

    /// Ends the answer: what is held is no link.
    pub(crate) fn finish(mut self) -> (String, Vec<Citation>) {
        (std::mem::take(&mut self.held), self.cited)
    }

    /// Notes a citation, and returns the mark behind it.
    fn cite(&mut self, target: &str) -> &'static str {
        if !is_note(target) {
            return "";
        }
        let found = self.book.look_up(target);
        let mark = if found.is_known { "" } else { UNKNOWN_MARK };
        if self.cited.len() < MAX_CITATIONS && !self.cited.contains(&found) {
            self.cited.push(found);
        }
        mark
    }
}

/// Whether a link leads into the memory.
fn is_note(target: &str) -> bool {
    target.starts_with("file:") || target.starts_with("id:")
}

/// End of a link that begins a text.
enum LinkEnd {
    /// Behind this byte.
    At(usize),
    /// Not there yet.
    Open,
    /// Nowhere: this is no link.
    None,
}

fn link_end(text: &str) -> LinkEnd {
    let mut is_escaped = false;
    let bytes = text.as_bytes();
    for (place, byte) in bytes.iter().enumerate().skip(2) {
        if place > MAX_LINK_BYTES || *byte == b'\n' {
            return LinkEnd::None;
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b']' if bytes.get(place + 1) == Some(&b']') => return LinkEnd::At(place + 2),
            _ => {}
        }
    }
    LinkEnd::Open
}

/// Target of a whole link, its escapes taken off.
fn target_of(link: &str) -> String {
    let inner = link.strip_prefix("[[").and_then(|it| it.strip_suffix("]]")).unwrap_or(link);
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => out.extend(characters.next()),
            ']' => break,
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{CitationBook, CitationMarker, UNKNOWN_MARK, link_of};
    use bridle_sexp::{Value, read_one};

    fn value(text: &str) -> Value {
        read_one(text).unwrap().root().to_value()
    }

    fn book() -> CitationBook {
        let mut book = CitationBook::default();
        book.add_value(&value(
            "(:objects ((:path \"a.org\" :type :heading :title \"X [1]\" :hash \"f00\")))",
        ));
        book.add_text("see [[id:77][it]] and [[broken");
        book
    }

    /// Cut at every byte, the answer is the same.
    fn check(answer: &str, expect: &str, known: &[bool]) {
        let book = book();
        for cut in 0..=answer.len() {
            if !answer.is_char_boundary(cut) {
                continue;
            }
            let mut marker = CitationMarker::new(&book);
            let mut shown = marker.push(&answer[..cut]);
            shown.push_str(&marker.push(&answer[cut..]));
            let (rest, cited) = marker.finish();
            assert_eq!(shown + &rest, expect, "cut at {cut}");
            assert_eq!(cited.iter().map(|it| it.is_known).collect::<Vec<_>>(), known);
        }
    }

    #[test]
    fn links_of_the_prompt_are_kept_and_others_marked() {
        check("As [[file:a.org::*X \\[1\\]]] says", "As [[file:a.org::*X \\[1\\]]] says", &[true]);
        check("[[id:77][that]], [[file:a.org]]", "[[id:77][that]], [[file:a.org]]", &[true, true]);
        let marked = format!("in [[file:b.org::*Y]]{UNKNOWN_MARK}.");
        check("in [[file:b.org::*Y]].", &marked, &[false]);
        check(
            "a[0] [[https://x.org][é]] [[1, 2], [3]] [[",
            "a[0] [[https://x.org][é]] [[1, 2], [3]] [[",
            &[],
        );
    }

    #[test]
    fn hashes_of_cited_objects_are_known() {
        let book = book();
        let mut marker = CitationMarker::new(&book);
        marker.push("[[file:a.org::*X \\[1\\]]]");
        assert_eq!(marker.finish().1[0].hash.as_deref(), Some("f00"));
    }

    #[test]
    fn a_link_leads_to_a_file_or_to_a_heading_of_it() {
        let file = value("(:path \"a.org\" :type :file :title \"A\")");
        assert_eq!(link_of(&file).as_deref(), Some("[[file:a.org]]"));
        assert_eq!(link_of(&value("(:path \"/tmp/x\" :type :file)")), None);
    }
}
