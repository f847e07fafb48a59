//! Parts of a prompt, and the manifest that the record keeps of them: sources, sizes and labels, never the texts, which
//! the record or the memory has already.

use bridle_loop::Privacy;
use bridle_models::{CodecName, TokenEstimate, estimate_text};
use bridle_sexp::Value;

use crate::citation::Citation;
use crate::registry::ModelSeat;

/// Parts that a manifest lists; the rest is counted.
const MAX_LISTED_PARTS: usize = 96;

/// Bytes of a name in a manifest.
const MAX_DETAIL_BYTES: usize = 200;

/// Part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptPart {
    /// Kind of its source: `instructions`, `note`, `history`, ...
    pub(crate) source: &'static str,
    /// Name among those: a path, a link, a number.
    pub(crate) detail: Option<String>,
    /// Bytes of its text.
    pub(crate) bytes: usize,
    /// Label of its text.
    pub(crate) privacy: Privacy,
    /// Hash of what it was made from, where there is one.
    pub(crate) hash: Option<Box<str>>,
    /// Reason why it was left out, if it was.
    pub(crate) left_out: Option<&'static str>,
    tokens: u64,
}

impl PromptPart {
    /// A part that is in the prompt.
    pub(crate) fn of(codec: CodecName, source: &'static str, text: &str, privacy: Privacy) -> Self {
        let TokenEstimate { likely, .. } = estimate_text(codec, text);
        let (detail, hash, left_out) = (None, None, None);
        Self { source, detail, bytes: text.len(), privacy, hash, left_out, tokens: likely }
    }

    /// An image that is in the prompt.
    pub(crate) fn of_image(bytes: usize, tokens: u64, privacy: Privacy) -> Self {
        let (detail, hash, left_out) = (None, None, None);
        Self { source: "image", detail, bytes, privacy, hash, left_out, tokens }
    }

    /// A part that is not in the prompt.
    pub(crate) fn left(
        source: &'static str,
        bytes: usize,
        privacy: Privacy,
        why: &'static str,
    ) -> Self {
        let (detail, hash, left_out) = (None, None, Some(why));
        Self { source, detail, bytes, privacy, hash, left_out, tokens: 0 }
    }

    /// Says which one it is.
    #[must_use]
    pub(crate) fn named(self, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(detail.floor_char_boundary(MAX_DETAIL_BYTES));
        Self { detail: Some(detail), ..self }
    }

    /// Says which version it is of.
    #[must_use]
    pub(crate) fn hashed(self, hash: Option<Box<str>>) -> Self {
        Self { hash, ..self }
    }

    fn to_value(&self) -> Value {
        let mut pairs = vec![("source", Value::keyword(self.source))];
        pairs.extend(self.detail.as_deref().map(|detail| ("name", Value::str(detail))));
        pairs.push(("bytes", count(self.bytes as u64)));
        pairs.push(("tokens", count(self.tokens)));
        pairs.push(("privacy", Value::keyword(self.privacy.word())));
        pairs.extend(self.hash.as_deref().map(|hash| ("hash", Value::str(hash))));
        pairs.extend(self.left_out.map(|why| ("left-out", Value::str(why))));
        Value::plist(pairs)
    }
}

/// Circumstances of a request, for its manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManifestHead<'m> {
    pub(crate) seat: &'m ModelSeat,
    /// Reason why this model was asked.
    pub(crate) because: &'m str,
    /// Bytes of the body, and its tokens as estimated.
    pub(crate) bytes: usize,
    pub(crate) tokens: u64,
}

/// Manifest of a request: what it was made of, and what the answer cites.
pub(crate) fn manifest(
    head: &ManifestHead<'_>,
    parts: &[PromptPart],
    citations: &[Citation],
) -> Value {
    let ManifestHead { seat, because, bytes, tokens } = *head;
    let listed = parts.iter().take(MAX_LISTED_PARTS).map(PromptPart::to_value);
    let mut pairs = vec![
        ("provider", Value::str(seat.provider.name.as_str())),
        ("model", Value::str(seat.model.name.as_str())),
        ("codec", Value::keyword(seat.provider.codec.as_str())),
        ("reach", Value::keyword(seat.provider.privacy.as_str())),
        ("because", Value::str(because)),
        ("bytes", count(bytes as u64)),
        ("tokens", count(tokens)),
        ("parts", Value::list(listed)),
    ];
    let more = parts.len().saturating_sub(MAX_LISTED_PARTS);
    pairs.extend((more > 0).then(|| ("more-parts", count(more as u64))));
    if !citations.is_empty() {
        pairs.push(("citations", Value::list(citations.iter().map(cited))));
    }
    Value::plist(pairs)
}

fn cited(citation: &Citation) -> Value {
    let mut target = citation.target.clone();
    target.truncate(target.floor_char_boundary(MAX_DETAIL_BYTES));
    let mut pairs = vec![("target", Value::str(target))];
    pairs.extend(citation.hash.as_deref().map(|hash| ("hash", Value::str(hash))));
    pairs.push(("given", Value::bool(citation.is_known)));
    Value::plist(pairs)
}

fn count(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}
