//! Masks for secrets in bytes that are shown, kept or sent: each secret as it is, and as it looks in Lisp, JSON, URLs,
//! base64 and hex. What replaces it names the secret, so that a reader knows what stood there.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

/// Least bytes of a secret: a shorter one would be masked in the middle of words, or not at all.
pub(crate) const MIN_SECRET_BYTES: usize = 8;

const BASE64_DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Finder and mask of known secrets.
#[derive(Clone, Default)]
pub struct SecretRedactor {
    /// `None` without secrets: then texts pass untouched.
    matcher: Option<AhoCorasick>,
    patterns: Vec<Vec<u8>>,
    /// Mask of each pattern.
    masks: Vec<Arc<str>>,
    longest: usize,
}

impl fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretRedactor")
            .field("patterns", &self.masks.len())
            .finish_non_exhaustive()
    }
}

impl SecretRedactor {
    /// Makes a redactor of names and secrets. Of two that overlap the longer one is masked.
    #[must_use]
    pub fn new<'s>(secrets: impl IntoIterator<Item = (&'s str, &'s [u8])>) -> SecretRedactor {
        let (mut patterns, mut masks) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for (name, secret) in secrets {
            let mask: Arc<str> = format!("[secret {name}]").into();
            for pattern in spellings(secret) {
                if pattern.len() >= MIN_SECRET_BYTES && seen.insert(pattern.clone()) {
                    patterns.push(pattern);
                    masks.push(Arc::clone(&mask));
                }
            }
        }
        if patterns.is_empty() {
            return SecretRedactor::default();
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        let matcher = Some(built.expect("secrets have bounded number and length"));
        SecretRedactor { matcher, patterns, masks, longest }
    }

    /// Place from which the bytes may be the beginning of a secret; their length if nowhere.
    fn start_of_partial(&self, bytes: &[u8]) -> usize {
        let first = (bytes.len() + 1).saturating_sub(self.longest);
        let is_partial =
            |start: &usize| self.patterns.iter().any(|it| it.starts_with(&bytes[*start..]));
        (first..bytes.len()).find(is_partial).unwrap_or(bytes.len())
    }

    /// Whether there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matcher.is_none()
    }

    /// Masks every secret in the bytes; borrowed when there is none.
    #[must_use]
    pub fn redact<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(matcher) = &self.matcher else { return Cow::Borrowed(bytes) };
        let mut out = Vec::new();
        let mut end = 0;
        for found in matcher.find_iter(bytes) {
            out.extend_from_slice(&bytes[end..found.start()]);
            out.extend_from_slice(self.masks[found.pattern().as_usize()].as_bytes());
            end = found.end();
        }
        if end == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[end..]);
        Cow::Owned(out)
    }

    /// Masks every secret in a text; borrowed when there is none.
    #[must_use]
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

/// Redactor of a stream that arrives in pieces: holds back the end of a piece while a secret may begin there.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<SecretRedactor>,
    /// Bytes that came and were not given out yet: the beginning of a secret, perhaps.
    held: Vec<u8>,
}

impl StreamRedactor {
    /// Begins a stream.
    #[must_use]
    pub fn new(redactor: Arc<SecretRedactor>) -> StreamRedactor {
        StreamRedactor { redactor, held: Vec::new() }
    }

    /// Takes a piece; returns what can be shown by now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(matcher) = &self.redactor.matcher else { return piece.to_vec() };
        self.held.extend_from_slice(piece);
        let mut safe = self.redactor.start_of_partial(&self.held);
        // Text is cut between characters.
        while safe > 0 && self.held.get(safe).is_some_and(|byte| byte & 0xc0 == 0x80) {
            safe -= 1;
        }
        let (mut out, mut end) = (Vec::new(), 0);
        // A match that begins in the last bytes may become a longer one with the next piece.
        for found in matcher.find_iter(&self.held).take_while(|found| found.start() < safe) {
            out.extend_from_slice(&self.held[end..found.start()]);
            out.extend_from_slice(self.redactor.masks[found.pattern().as_usize()].as_bytes());
            end = found.end();
        }
        if safe > end {
            out.extend_from_slice(&self.held[end..safe]);
            end = safe;
        }
        self.held.drain(..end);
        out
    }

    /// Ends the stream; returns the rest.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.redactor.redact(&self.held).into_owned()
    }
}

/// The secret in every form in which programs print it.
fn spellings(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![
        secret.to_vec(),
        escaped(secret, b"\"\\"),
        escaped(secret, b"\"\\\n\r\t"),
        percent_encoded(secret),
    ];
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        all.push(secret.iter().flat_map(|byte| hex_pair(*byte, digits)).collect());
    }
    for offset in 0..3 {
        let text = base64_inside(secret, offset);
        all.push(text.iter().map(|byte| url_digit(*byte)).collect());
        all.push(text);
    }
    all
}

fn hex_pair(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

/// The secret inside a string of Lisp or JSON, which differ in what they escape.
fn escaped(secret: &[u8], special: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len());
    for &byte in secret {
        if special.contains(&byte) {
            out.push(b'\\');
        }
        out.push(match byte {
            b'\n' if special.contains(&byte) => b'n',
            b'\r' if special.contains(&byte) => b'r',
            b'\t' if special.contains(&byte) => b't',
            _ => byte,
        });
    }
    out
}

fn percent_encoded(secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len());
    for &byte in secret {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            out.push(b'%');
            out.extend(hex_pair(byte, b"0123456789ABCDEF"));
        }
    }
    out
}

/// Base64 of the secret behind `offset` other bytes, as in `user:secret`, without the characters that depend on
/// what stands beside it.
fn base64_inside(secret: &[u8], offset: usize) -> Vec<u8> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret);
    let is_whole = bytes.len().is_multiple_of(3);
    let mut out = Vec::with_capacity(bytes.len() / 3 * 4 + 4);
    for group in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
        let word = (a << 16) | (b << 8) | c;
        for shift in [18, 12, 6, 0] {
            let digit = usize::try_from((word >> shift) & 63).unwrap_or(0);
            out.push(BASE64_DIGITS[digit]);
        }
    }
    let end = if is_whole { out.len() } else { out.len() - 4 + (bytes.len() % 3) };
    let start = if offset == 0 { 0 } else { offset + 1 };
    out.truncate(end);
    out.drain(..start.min(end));
    out
}

fn url_digit(byte: u8) -> u8 {
    match byte {
        b'+' => b'-',
        b'/' => b'_',
        _ => byte,
    }
}

#[cfg(test)]
mod tests;
