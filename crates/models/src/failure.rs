//! Failures of a provider, each with a kind that says what to do next and a sentence for the user. Read from the
//! status, the headers and the body of an answer, or from an event in the middle of a stream; the shapes of all
//! vendors are read in one place, since servers answer in each other's.
//!
//! What a server says is cut, cleaned of control characters, and masked where it looks like a key.

mod classify;
mod retry_after;

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::key_text::mask_keys;

/// Longest message of a server that is kept.
const MAX_MESSAGE_CHARS: usize = 400;

/// Largest error document that is read; the rest says nothing new.
const MAX_ERROR_BODY_BYTES: usize = 1024 * 1024;

/// Head of an HTTP response: what the host received beside the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status code.
    pub status: u16,
    /// Header fields in order, names in any case.
    pub headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// Returns the first value of a header field.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// Whether the body is a stream of events. Some servers answer a wish for a stream with a document.
    #[must_use]
    pub fn is_event_stream(&self) -> bool {
        let media_type = self.header("content-type").unwrap_or_default();
        media_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .eq_ignore_ascii_case("text/event-stream")
    }
}

/// Failure of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderFailure {
    /// Its kind.
    pub kind: FailureKind,
    /// Status code of the response, if it came with one of its own.
    pub status: Option<u16>,
    /// Vendor's word for it; may be empty.
    pub code: String,
    /// Server's sentence, masked and cut; may be empty.
    pub message: String,
    /// Time after which the server wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Vendor's id of the request, for its support.
    pub request_id: Option<String>,
}

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The key is missing or wrong.
    Authentication,
    /// The key is good, and may not do this.
    Permission,
    /// The model or the address does not exist.
    NotFound,
    /// Too many requests or tokens for now.
    RateLimit,
    /// The account has no money or quota left; waiting does not help.
    QuotaExhausted,
    /// The provider has too much to do.
    Overloaded,
    /// The prompt does not fit into the model's context.
    ContextTooLong {
        /// Tokens of the prompt, if the server says.
        prompt_tokens: Option<u64>,
        /// Tokens that fit, if the server says.
        limit_tokens: Option<u64>,
    },
    /// The request has too many bytes.
    RequestTooLarge,
    /// The provider refuses to answer this.
    Refusal,
    /// A filter of the provider stopped prompt or answer.
    ContentFilter,
    /// The request is not as the provider wants it.
    BadRequest,
    /// The provider ran out of time.
    Timeout,
    /// The provider failed.
    ServerError,
    /// The answer ended in the middle.
    Truncated,
    /// The answer cannot be read.
    Malformed,
    /// The answer is larger than what is taken.
    TooLarge,
}

impl FailureKind {
    /// Whether the same request may work later.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        match self {
            Self::RateLimit
            | Self::Overloaded
            | Self::Timeout
            | Self::ServerError
            | Self::Truncated => true,
            Self::Authentication
            | Self::Permission
            | Self::NotFound
            | Self::QuotaExhausted
            | Self::ContextTooLong { .. }
            | Self::RequestTooLarge
            | Self::Refusal
            | Self::ContentFilter
            | Self::BadRequest
            | Self::Malformed
            | Self::TooLarge => false,
        }
    }

    /// Returns the sentence for the user, without the server's own words.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Authentication => "the provider does not accept the key",
            Self::Permission => "the key is not allowed to do this",
            Self::NotFound => "the provider does not know this model or address",
            Self::RateLimit => "the provider's rate limit is reached",
            Self::QuotaExhausted => "the account at the provider has no credit or quota left",
            Self::Overloaded => "the provider is overloaded",
            Self::ContextTooLong { .. } => "the prompt does not fit into the model's context",
            Self::RequestTooLarge => "the request is too large for the provider",
            Self::Refusal => "the provider refuses to answer this",
            Self::ContentFilter => "a content filter of the provider stopped the answer",
            Self::BadRequest => "the provider does not accept the request",
            Self::Timeout => "the provider did not answer in time",
            Self::ServerError => "the provider failed",
            Self::Truncated => "the answer ended in the middle",
            Self::Malformed => "the provider's answer cannot be read",
            Self::TooLarge => "the provider's answer is too large",
        }
    }
}

impl fmt::Display for ProviderFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.sentence())?;
        if let FailureKind::ContextTooLong {
            prompt_tokens: Some(prompt),
            limit_tokens: Some(limit),
        } = self.kind
        {
            write!(f, " ({prompt} tokens, {limit} fit)")?;
        }
        if let Some(status) = self.status {
            write!(f, ", status {status}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProviderFailure {}

impl ProviderFailure {
    /// Makes a failure that nobody sent.
    pub(crate) fn local(kind: FailureKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            status: None,
            code: String::new(),
            message: clean(message.as_ref()),
            retry_after: None,
            request_id: None,
        }
    }

    /// Reads the body of a response whose status is not 2xx.
    pub(crate) fn of_response(head: &ResponseHead, body: &[u8]) -> Self {
        let body = &body[..body.len().min(MAX_ERROR_BODY_BYTES)];
        let text = String::from_utf8_lossy(body);
        let document = serde_json::from_str(&text).unwrap_or(Value::Null);
        let mut failure = Self::of_document(Some(head.status), &document);
        if failure.message.is_empty() && document.is_null() && !text.trim_start().starts_with('<') {
            failure.message = clean(&text);
        }
        failure.retry_after = retry_after::of_head(head).or(failure.retry_after);
        let id = ["request-id", "x-request-id", "x-generation-id"];
        let id = id.iter().find_map(|name| head.header(name));
        failure.request_id = failure.request_id.or(id.map(clean));
        failure
    }

    /// Reads an error document: a body, or the data of an event.
    pub(crate) fn of_document(status: Option<u16>, document: &Value) -> Self {
        // Gemini's whole answers are lists.
        let document = document.get(0).unwrap_or(document);
        let inner = document.get("error").unwrap_or(document);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = ["message", "detail"].iter().find_map(|key| inner.get(*key).and_then(text));
        let message = message.or_else(|| text(inner)).unwrap_or_default();
        let words: Vec<String> = ["code", "type", "status"]
            .iter()
            .filter_map(|key| inner.get(*key).and_then(text))
            .chain(reasons(inner))
            .collect();
        let number =
            inner.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let status = status.filter(|status| *status >= 300).or(number);
        let code = words.first().map(|word| clean(word)).unwrap_or_default();
        Self {
            kind: classify::kind(status, &words, &message, inner),
            status,
            code,
            message: clean(&message),
            retry_after: retry_after::of_details(inner),
            request_id: document.get("request_id").and_then(Value::as_str).map(clean),
        }
    }
}

/// Reasons in the details of Google's errors.
fn reasons(inner: &Value) -> impl Iterator<Item = String> {
    let details = inner.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    details.iter().filter_map(|detail| detail.get("reason")?.as_str().map(str::to_owned))
}

/// One line of bounded length without keys.
fn clean(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let masked = mask_keys(line.trim());
    match masked.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}...", &masked[..end]),
        None => masked,
    }
}

#[cfg(test)]
mod tests;
