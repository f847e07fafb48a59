//! What links say: type and path, as Org works them out.

use super::super::{Fact, Facts};
use crate::object::link_type;
use crate::text::skip_blanks;
use crate::tree::{Node, Tree};

/// Type and path of a link, and how it is written.
pub(super) fn facts<'t>(tree: &Tree<'t>, node: &Node, text: &'t [u8]) -> Facts<'t> {
    if text.starts_with(b"[[") {
        let end = node.contents().map_or(text.len().saturating_sub(2), |contents| {
            contents.start.saturating_sub(node.span().start + 2)
        });
        let target = unescape(&unbreak(text.get(2..end).unwrap_or_default(), b" "));
        let (kind, path) = kind_of(expand(tree, target));
        return finish("bracket", kind, path);
    }
    if let Some(inner) = text.strip_prefix(b"<").and_then(|inner| inner.strip_suffix(b">")) {
        let (kind, path) = split(inner);
        return finish("angle", kind.to_vec(), unbreak(path, b""));
    }
    if node.contents().is_some() {
        return finish("plain", b"radio".to_vec(), text.to_vec());
    }
    let (kind, path) = split(text);
    finish("plain", kind.to_vec(), path.to_vec())
}

fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let colon = memchr::memchr(b':', text).unwrap_or(0);
    (&text[..colon], text.get(colon + 1..).unwrap_or_default())
}

fn finish<'t>(format: &'static str, mut kind: Vec<u8>, mut path: Vec<u8>) -> Facts<'t> {
    let mut application = Fact::Nil;
    let mut search = Fact::Nil;
    let is_file = kind.eq_ignore_ascii_case(b"file")
        || kind.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"file+"));
    if is_file {
        if kind.len() > 5 {
            application = Fact::owned(kind[5..].to_vec());
        }
        kind = b"file".to_vec();
        if let Some(colons) = memchr::memmem::find(&path, b"::") {
            search = Fact::owned(path[colons + 2..].to_vec());
            path.truncate(colons);
        }
        let slashes = path.iter().take_while(|byte| **byte == b'/').count();
        let drive = matches!(path.get(slashes..), Some([_, b':', b'/', ..]));
        if slashes > 1 && drive {
            path.drain(..slashes);
        } else if slashes > 2 {
            path.drain(..slashes - 1);
        }
    }
    vec![
        ("type", Fact::owned(kind)),
        ("path", Fact::owned(path)),
        ("format", Fact::Word(format)),
        ("application", application),
        ("search-option", search),
    ]
}

fn kind_of(link: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let is_file = [&b"/"[..], b"~", b"./", b"../"].iter().any(|start| link.starts_with(start));
    if is_file {
        return (b"file".to_vec(), link);
    }
    if let Some(known) = link_type(&link) {
        let (kind, path) = link.split_at(known.len());
        return (kind.to_vec(), path[1..].to_vec());
    }
    match link.as_slice() {
        [b'(', inner @ .., b')'] => (b"coderef".to_vec(), inner.to_vec()),
        [b'#', rest @ ..] => (b"custom-id".to_vec(), rest.to_vec()),
        _ => (b"fuzzy".to_vec(), link),
    }
}

/// The link with its abbreviation written out.
fn expand(tree: &Tree<'_>, link: Vec<u8>) -> Vec<u8> {
    let colon = memchr::memchr(b':', &link);
    let key = &link[..colon.unwrap_or(link.len())];
    let known = tree.settings.abbreviations.iter().find(|(name, _)| *name == key);
    let Some((_, replacement)) = known else { return link };
    let tag = colon.map_or(&b""[..], |colon| {
        let rest = &link[colon + 1..];
        rest.strip_prefix(b":").unwrap_or(rest)
    });
    if let Some(at) = memchr::memmem::find(replacement, b"%h") {
        return [&replacement[..at], &hexified(tag), &replacement[at + 2..]].concat();
    }
    match memchr::memmem::find(replacement, b"%s") {
        Some(at) => [&replacement[..at], tag, &replacement[at + 2..]].concat(),
        None => [replacement, tag].concat(),
    }
}

/// With all that a URL reserves written as `%` and two digits.
fn hexified(tag: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(tag.len());
    for byte in tag {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            text.push(*byte);
        } else {
            text.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    text
}

/// Takes one of two backslashes before brackets, and at the end.
fn unescape(link: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(link.len());
    let mut at = 0;
    while at < link.len() {
        let slashes = link[at..].iter().take_while(|byte| **byte == b'\\').count();
        if slashes == 0 {
            plain.push(link[at]);
            at += 1;
            continue;
        }
        let halved = matches!(link.get(at + slashes), None | Some(b'[' | b']'));
        plain.extend(std::iter::repeat_n(b'\\', if halved { slashes / 2 } else { slashes }));
        at += slashes;
    }
    plain
}

/// Line ends, with the blanks around them, as `between`.
fn unbreak(text: &[u8], between: &[u8]) -> Vec<u8> {
    let mut lines = text.split(|byte| *byte == b'\n').peekable();
    let mut joined: Vec<u8> = Vec::with_capacity(text.len());
    let mut first = true;
    while let Some(line) = lines.next() {
        let mut line = if first { line } else { skip_blanks(line) };
        if lines.peek().is_some() {
            line = crate::text::drop_blanks(line.strip_suffix(b"\r").unwrap_or(line));
        }
        if !first {
            joined.extend_from_slice(between);
        }
        joined.extend_from_slice(line);
        first = false;
    }
    joined
}
