//! Files inside messages: version 1 forbids "large binary blobs" and leaves open what they are. Here a
//! string is one when it is a `data:` address, or is written in base64, base64url or hex digits from
//! end to end, and decodes to more bytes than the limit. Called on attachments and on the environment
//! of a request, and by whoever makes directives.

use super::json::JsonNode;

/// Lines of base64 in mail have 76 characters; shorter lines of letters are words.
const LEAST_LINE: usize = 60;

/// Tells whether a value holds a string that is a blob of more than `most` bytes.
pub(super) fn holds_blob(node: JsonNode<'_>, most: usize) -> bool {
    // A source that is shorter than the limit cannot decode to more.
    node.source().len() > most
        && node.descendants().any(|node| {
            let long = node.source().len() > most;
            long && node.as_str().is_some_and(|text| is_blob(&text, most))
        })
}

/// Tells whether a text is a blob of more than `most` bytes.
pub fn is_blob(text: &str, most: usize) -> bool {
    decoded_bytes(text.trim()).is_some_and(|bytes| bytes > most)
}

/// Number of bytes that a blob decodes to; `None` for any other text.
fn decoded_bytes(text: &str) -> Option<usize> {
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        let (head, data) = text.split_once(',')?;
        if head.to_ascii_lowercase().ends_with(";base64") {
            return Some(data.len() / 4 * 3);
        }
        let escapes = data.bytes().filter(|byte| *byte == b'%').count();
        return Some(data.len().saturating_sub(2 * escapes));
    }
    let mut lines = text.lines();
    let first = lines.next()?;
    if !is_base64(first) {
        return None;
    }
    let (mut length, mut last) = (first.len(), first.len());
    for line in lines {
        // Lines of one length, of which only the last may be shorter.
        if first.len() < LEAST_LINE || last != first.len() || !is_base64(line) {
            return None;
        }
        (length, last) = (length + line.len(), line.len());
    }
    if last > first.len() {
        return None;
    }
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace());
    Some(if is_hex { length / 2 } else { length / 4 * 3 })
}

fn is_base64(line: &str) -> bool {
    let data = line.trim_end_matches('=');
    line.len() - data.len() <= 2
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
}

#[cfg(test)]
mod tests;
