//! Pictures that go along with a prompt: found in what is pasted, read from a file or from the clipboard of this machine.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bridle_sexp::byte_text::base64;

/// Bytes of a picture that are sent: with the others of a prompt it must fit into one message of 1 MiB.
pub const MAX_IMAGE_BYTES: usize = 512 << 10;

/// Bytes of all pictures of a prompt, as they are sent.
pub const MAX_PROMPT_IMAGES_BYTES: usize = 720 << 10;

/// Picture that goes along with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptImage {
    /// Name for people.
    pub name: String,
    /// Type.
    pub mime_type: &'static str,
    /// The bytes in base64.
    pub data: String,
}

impl PromptImage {
    /// Makes a picture of bytes, by what they begin with.
    ///
    /// # Errors
    /// A sentence: they are no picture that models take, or too many.
    pub fn of(name: &str, bytes: &[u8]) -> Result<PromptImage, String> {
        let mime_type = type_of(bytes)
            .ok_or_else(|| format!("{name} is no PNG, JPEG, GIF or WebP, so it is not attached"))?;
        if bytes.len() > MAX_IMAGE_BYTES {
            let limit = MAX_IMAGE_BYTES >> 10;
            return Err(format!("{name} is larger than {limit} KiB: make it smaller first"));
        }
        Ok(PromptImage { name: name.to_owned(), mime_type, data: base64(bytes) })
    }
}

/// Type of a picture by its first bytes.
fn type_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The path that a terminal pastes when a picture is dropped on it: one absolute path with the ending of a picture,
/// maybe quoted, escaped or an address.
pub fn dropped_path(pasted: &str) -> Option<PathBuf> {
    let text = pasted.trim();
    let quoted = ['\'', '"'].iter().find_map(|it| text.strip_prefix(*it)?.strip_suffix(*it));
    let bare = match quoted {
        Some(inner) => inner.to_owned(),
        None => unescaped(text)?,
    };
    let path = bare.strip_prefix("file://").unwrap_or(&bare);
    let path = Path::new(path);
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_image = ["png", "jpg", "jpeg", "gif", "webp"].contains(&&*ending);
    (is_image && path.is_absolute() && !bare.contains('\n')).then(|| path.to_path_buf())
}

/// A word of a shell without its backslashes; `None` for several words.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(letters.next()?),
            letter if letter.is_whitespace() => return None,
            letter => out.push(letter),
        }
    }
    Some(out)
}

/// Reads a picture from a file.
///
/// # Errors
/// A sentence: it cannot be read, or is no picture.
pub fn read_file(path: &Path) -> Result<PromptImage, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{name} cannot be read: {error}");
    let is_file = std::fs::metadata(path).map_err(failed)?.is_file();
    if !is_file {
        return Err(format!("{name} is no plain file"));
    }
    let bytes = read_limited(File::open(path).map_err(failed)?).map_err(failed)?;
    PromptImage::of(&name, &bytes)
}

fn read_limited(source: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_IMAGE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    source.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Programs that print the picture of the clipboard.
const CLIPBOARDS: [&[&str]; 3] = [
    &["wl-paste", "--no-newline", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    &["pngpaste", "-"],
];

/// Reads the picture of this machine's clipboard.
///
/// # Errors
/// A sentence: there is no picture, or no program that hands it over.
pub fn read_clipboard() -> Result<PromptImage, String> {
    for command in CLIPBOARDS {
        let started = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else { continue };
        let bytes = child.stdout.take().and_then(|out| read_limited(out).ok()).unwrap_or_default();
        // It may still write what is too much; nobody reads that.
        let _ = child.kill();
        let _ = child.wait();
        if !bytes.is_empty() {
            return PromptImage::of("clipboard.png", &bytes);
        }
    }
    Err("no picture on the clipboard (wl-paste, xclip and pngpaste were asked)".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{MAX_IMAGE_BYTES, PromptImage, dropped_path, read_file};

    #[test]
    fn paths_of_pictures_are_found_in_a_paste() {
        let path = |text: &str| dropped_path(text);
        assert_eq!(path("/a/b.png"), Some(PathBuf::from("/a/b.png")));
        assert_eq!(path("/a/my\\ b.PNG "), Some(PathBuf::from("/a/my b.PNG")));
        assert_eq!(path("'/a/my b.jpg'"), Some(PathBuf::from("/a/my b.jpg")));
        assert_eq!(path("file:///a/b.webp"), Some(PathBuf::from("/a/b.webp")));
        for other in ["/a/b.txt", "b.png", "see /a/b.png", "/a/b.png\n/c.png", "", "\\"] {
            assert_eq!(path(other), None, "{other:?}");
        }
    }

    #[test]
    fn what_is_no_picture_is_not_sent() {
        let dir = tempfile::tempdir().expect("a folder");
        let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 9]].concat();
        let path = dir.path().join("a.png");
        std::fs::write(&path, &png).expect("written");
        let image = read_file(&path).expect("a picture");
        assert_eq!((&*image.name, image.mime_type), ("a.png", "image/png"));
        assert!(image.data.starts_with("iVBORw0KGgo"), "{}", image.data);
        std::fs::write(&path, "text").expect("written");
        assert!(read_file(&path).expect_err("no picture").contains("no PNG"));
        assert!(read_file(dir.path()).expect_err("a folder").contains("no plain file"));
        let large = [&png[..], &vec![0; MAX_IMAGE_BYTES]].concat();
        assert!(PromptImage::of("x", &large).expect_err("too large").contains("512 KiB"));
    }
}
