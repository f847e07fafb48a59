//! From a vendor's status, words and sentence to a [`FailureKind`]. Words come first, since proxies and local servers
//! use statuses freely; sentences are looked at only where vendors have no word.

use serde_json::Value;

use super::FailureKind;

/// Words of vendors, in lower case, and what they mean.
const WORDS: &[(&str, FailureKind)] = &[
    ("context_length_exceeded", CONTEXT),
    ("exceed_context_size_error", CONTEXT),
    ("context_exceeded", CONTEXT),
    ("model_context_window_exceeded", CONTEXT),
    ("insufficient_quota", FailureKind::QuotaExhausted),
    ("billing_error", FailureKind::QuotaExhausted),
    ("billing_hard_limit_reached", FailureKind::QuotaExhausted),
    ("content_filter", FailureKind::ContentFilter),
    ("content_policy_violation", FailureKind::ContentFilter),
    ("image_content_policy_violation", FailureKind::ContentFilter),
    ("responsibleaipolicyviolation", FailureKind::ContentFilter),
    ("bio_policy", FailureKind::Refusal),
    ("misalignment_policy_violation", FailureKind::Refusal),
    ("refusal", FailureKind::Refusal),
    ("api_key_invalid", FailureKind::Authentication),
    ("invalid_api_key", FailureKind::Authentication),
    ("authentication_error", FailureKind::Authentication),
    ("unauthenticated", FailureKind::Authentication),
    ("permission_error", FailureKind::Permission),
    ("permission_denied", FailureKind::Permission),
    ("model_not_found", FailureKind::NotFound),
    ("not_found_error", FailureKind::NotFound),
    ("not_found", FailureKind::NotFound),
    ("overloaded_error", FailureKind::Overloaded),
    ("unavailable_error", FailureKind::Overloaded),
    ("unavailable", FailureKind::Overloaded),
    ("slow_down", FailureKind::Overloaded),
    ("rate_limit_error", FailureKind::RateLimit),
    ("rate_limit_exceeded", FailureKind::RateLimit),
    ("resource_exhausted", FailureKind::RateLimit),
    ("request_too_large", FailureKind::RequestTooLarge),
    ("timeout_error", FailureKind::Timeout),
    ("deadline_exceeded", FailureKind::Timeout),
];

const CONTEXT: FailureKind =
    FailureKind::ContextTooLong { prompt_tokens: None, limit_tokens: None };

/// Pieces of sentences that vendors use for a prompt that is too long.
const CONTEXT_SENTENCES: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "context size has been exceeded",
    "available context size",
    "exceeds the context window",
    "exceed context limit",
    "context window exceeds",
    "exceeds the maximum number of tokens",
    "maximum prompt length",
    "reduce the length of the messages",
];

pub(super) fn kind(
    status: Option<u16>,
    words: &[String],
    message: &str,
    error: &Value,
) -> FailureKind {
    let message = message.to_lowercase();
    let word = words.iter().find_map(|word| {
        WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, kind)| *kind)
    });
    if word == Some(CONTEXT) || CONTEXT_SENTENCES.iter().any(|piece| message.contains(piece)) {
        return context_too_long(error);
    }
    // A blocked prompt of a router comes as a lack of permission.
    if status == Some(403) && error.pointer("/metadata/reasons").is_some() {
        return FailureKind::ContentFilter;
    }
    if message.contains("credit balance is too low") {
        return FailureKind::QuotaExhausted;
    }
    if message.contains("api key not valid") || message.contains("api key expired") {
        return FailureKind::Authentication;
    }
    word.unwrap_or_else(|| by_status(status))
}

/// The counts that llama.cpp gives.
fn context_too_long(error: &Value) -> FailureKind {
    FailureKind::ContextTooLong {
        prompt_tokens: error.get("n_prompt_tokens").and_then(Value::as_u64),
        limit_tokens: error.get("n_ctx").and_then(Value::as_u64),
    }
}

fn by_status(status: Option<u16>) -> FailureKind {
    match status {
        Some(401 | 407) => FailureKind::Authentication,
        Some(402) => FailureKind::QuotaExhausted,
        Some(403) => FailureKind::Permission,
        Some(404 | 405 | 410) => FailureKind::NotFound,
        Some(408 | 504) => FailureKind::Timeout,
        Some(413) => FailureKind::RequestTooLarge,
        Some(425 | 429) => FailureKind::RateLimit,
        Some(503 | 529) => FailureKind::Overloaded,
        Some(300..=499) => FailureKind::BadRequest,
        _ => FailureKind::ServerError,
    }
}
