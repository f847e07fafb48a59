//! Blocks of content as one text for the daemon: text as it is, links as Org links, embedded texts behind it in
//! fences. What cannot be handed over is refused, never left out in silence.

use crate::client_forms::PromptImage;
use crate::json_rpc::RpcError;
use crate::protocol::{ContentBlock, EmbeddedContents};

/// Largest prompt, in bytes: the daemon takes a message of 1 MiB, and its other keys need room.
const MAX_PROMPT_BYTES: usize = (1 << 20) - 4_096;

/// Largest pictures of a prompt together, in bytes of base64: the daemon takes 16 MiB of files, and a line of the editor
/// is no longer.
const MAX_PICTURE_BYTES: usize = 15 << 20;

/// Files of a prompt that the editor is asked for; further ones are taken from the disk.
const MAX_MENTIONED: usize = 16;

/// Prompt, ready for the daemon.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ComposedPrompt {
    pub(super) text: String,
    pub(super) images: Vec<PromptImage>,
    /// Files that it names: the path, and the editor's text where that came along.
    pub(super) files: Vec<(String, Option<String>)>,
}

/// Makes a prompt of blocks.
pub(super) fn compose(
    blocks: Vec<ContentBlock>,
    takes_images: bool,
) -> Result<ComposedPrompt, RpcError> {
    if blocks.is_empty() {
        return Err(RpcError::params("expected at least one block in `prompt`"));
    }
    let mut prompt = ComposedPrompt::default();
    let mut behind = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text { text } => prompt.text.push_str(&text),
            ContentBlock::ResourceLink { name, uri } => {
                prompt.text.push_str(&link(&uri, &name));
                prompt.mention(&uri, None);
            }
            ContentBlock::Resource { resource: EmbeddedContents::Text { text, uri } } => {
                prompt.text.push_str(&link(&uri, ""));
                behind.push_str(&fenced(&uri, &text));
                prompt.mention(&uri, Some(text));
            }
            ContentBlock::Resource { resource: EmbeddedContents::Blob { .. } } => {
                return Err(RpcError::params("embedded bytes are not taken; send text or a link"));
            }
            ContentBlock::Image { data, mime_type, uri } if takes_images => {
                prompt.images.push(PromptImage { mime_type, data, uri });
            }
            ContentBlock::Image { .. } => {
                return Err(RpcError::params("pictures are not taken by this daemon"));
            }
            ContentBlock::Audio { .. } => return Err(RpcError::params("sound is not taken")),
        }
    }
    prompt.text.push_str(&behind);
    let images: usize = prompt.images.iter().map(|it| it.data.len()).sum();
    if images > MAX_PICTURE_BYTES {
        let what = format!("expected at most {MAX_PICTURE_BYTES} bytes of pictures in a prompt");
        return Err(RpcError::params(what));
    }
    if prompt.text.len() > MAX_PROMPT_BYTES {
        let what = format!("expected at most {MAX_PROMPT_BYTES} bytes in a prompt; send a link");
        return Err(RpcError::params(what));
    }
    Ok(prompt)
}

impl ComposedPrompt {
    fn mention(&mut self, uri: &str, text: Option<String>) {
        let Some(path) = file_path(uri) else { return };
        let is_new = self.files.iter().all(|(known, _)| *known != path);
        if is_new && self.files.len() < MAX_MENTIONED {
            self.files.push((path, text));
        }
    }
}

/// An Org link; a name that would end it early is left out.
fn link(uri: &str, name: &str) -> String {
    let breaks = |text: &str| text.contains(['[', ']', '\n', '\r']);
    match (breaks(uri), name.is_empty() || breaks(name)) {
        (true, _) => uri.to_owned(),
        (false, true) => format!("[[{uri}]]"),
        (false, false) => format!("[[{uri}][{name}]]"),
    }
}

/// A text between fences that are longer than any in it.
fn fenced(uri: &str, text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for letter in text.chars() {
        run = if letter == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(3.max(longest + 1));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("\n\nContents of {uri}:\n{fence}\n{text}{end}{fence}\n")
}

/// The path of a `file://` URI of this machine, without a fragment or query.
fn file_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = path.split(['#', '?']).next().filter(|path| path.starts_with('/'))?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let (high, low) = (digit(left.next()?)?, digit(left.next()?)?);
        bytes.push(high * 16 + low);
    }
    let path = String::from_utf8(bytes).ok()?;
    (!path.contains('\0')).then_some(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compose, file_path};
    use crate::protocol::ContentBlock;

    fn check(blocks: serde_json::Value, text: Result<&str, &str>) {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        let composed = compose(blocks, false).map(|it| it.text).map_err(|it| it.message);
        assert_eq!(composed.as_deref().map_err(String::as_str), text);
    }

    #[test]
    fn blocks_are_one_text() {
        check(
            json!([{"type": "text", "text": "look at "},
                {"type": "resource_link", "name": "a b.rs", "uri": "file:///p/a%20b.rs"},
                {"type": "text", "text": "!"}]),
            Ok("look at [[file:///p/a%20b.rs][a b.rs]]!"),
        );
        check(
            json!([{"type": "resource", "resource": {"uri": "file:///x", "text": "a```b"}}]),
            Ok("[[file:///x]]\n\nContents of file:///x:\n````\na```b\n````\n"),
        );
        check(json!([]), Err("expected at least one block in `prompt`"));
        check(
            json!([{"type": "image", "data": "", "mimeType": "image/png"}]),
            Err("pictures are not taken by this daemon"),
        );
        check(
            json!([{"type": "resource", "resource": {"uri": "file:///x", "blob": "AA=="}}]),
            Err("embedded bytes are not taken; send text or a link"),
        );
    }

    #[test]
    fn paths_of_this_machine_are_read() {
        for (uri, path) in [
            ("file:///p/a%20b#L3", Some("/p/a b")),
            ("file://localhost/p", Some("/p")),
            ("file://other/p", None),
            ("file:///p%0", None),
            ("file:///p%00", None),
            ("file:///%ff", None),
            ("https://example.org/p", None),
        ] {
            assert_eq!(file_path(uri).as_deref(), path, "{uri}");
        }
    }
}
