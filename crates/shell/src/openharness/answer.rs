//! Reads an answer of an Engine: of its shape, or not taken at all.
//!
//! What a Shell must not misread fails closed: an unknown word counts as the one that does least
//! harm, and anything but `false` or absence asks the user. See `docs/protocol.md`, section 15.1.
//! Not the reader of `bridle_wire`: an answer is kept as it came, since parts of it go back so.

use bridle_wire::openharness::limits::{MAX_ENVELOPE_ID, MAX_ID};
use bridle_wire::openharness::{Json, JsonObject, ProtocolVersion};

use super::NAMESPACE;
use super::text::{MAX_NOTICE, safe};

/// Characters of the sentence of an error.
const MAX_MESSAGE: usize = MAX_ID * MAX_ID;

/// The Engine's answer is none; nothing of it is carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidAnswer {
    /// `invalid_response`, or `protocol_version_unsupported`.
    pub code: &'static str,
    /// Reason, for people.
    pub reason: String,
}

fn invalid(reason: impl Into<String>) -> InvalidAnswer {
    InvalidAnswer { code: "invalid_response", reason: reason.into() }
}

/// Risk tiers, rising.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AnswerRisk {
    /// No harm.
    #[default]
    Safe,
    /// The user should see it.
    Caution,
    /// The user must agree.
    Dangerous,
}

impl AnswerRisk {
    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerRisk::Safe => "safe",
            AnswerRisk::Caution => "caution",
            AnswerRisk::Dangerous => "dangerous",
        }
    }

    /// Reads a word; an unknown one counts as `dangerous`.
    pub fn of(word: &str) -> AnswerRisk {
        match word {
            "safe" => AnswerRisk::Safe,
            "caution" => AnswerRisk::Caution,
            _ => AnswerRisk::Dangerous,
        }
    }
}

/// Whether the Engine waits for the result of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRequest {
    /// The engine waits for the result.
    Required,
    /// The engine takes a result.
    Optional,
    /// The engine ignores the result.
    None,
}

/// One thing that the Engine wants done, with every choice already on the safe side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeDirective {
    /// The directive as it came.
    pub raw: JsonObject,
    /// Type of the action.
    pub action_type: String,
    /// Arguments of the type.
    pub payload: JsonObject,
    /// Whether it may run beside its neighbors.
    pub parallel: bool,
    /// Harm that the directive can do.
    pub tier: AnswerRisk,
    /// Whether the user must agree, whatever the tier.
    pub needs_approval: bool,
    /// Milliseconds from receipt after which it may no longer begin.
    pub deadline_ms: Option<i64>,
    /// Name of the directive, for its result.
    pub id: Option<String>,
    /// Whether the result is waited for.
    pub wish: ResultRequest,
    /// Directives that must have been completed first.
    pub depends_on: Vec<String>,
}

/// Reason why the engine refused; `retryable` only if the engine says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError {
    /// A code that programs compare.
    pub code: String,
    /// A sentence that is safe to show.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(&self.code),
            message => write!(f, "{}: {message}", self.code),
        }
    }
}

impl EngineError {
    /// An error that no retry helps against.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> EngineError {
        EngineError { code: code.into(), message: message.into(), retryable: false }
    }

    /// The error of an answer that says nothing more.
    pub(super) fn unnamed() -> EngineError {
        EngineError::new("engine_error", "")
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineAnswer {
    /// Whether the request was carried out.
    pub ok: bool,
    /// Directives, in order.
    pub directives: Vec<SafeDirective>,
    /// Reason why the request was not carried out.
    pub error: Option<EngineError>,
    /// The step to go on from, as it came.
    pub continuation: Option<JsonObject>,
    /// Versions that the Engine serves.
    pub versions: Vec<ProtocolVersion>,
}

impl EngineAnswer {
    /// Reads the message that answers `request_id`.
    ///
    /// # Errors
    /// The text is no answer, or one to another request.
    pub fn read(
        message: Option<&Json>,
        request_id: Option<&str>,
    ) -> Result<EngineAnswer, InvalidAnswer> {
        let message = message.and_then(Json::as_object);
        let message = message.ok_or_else(|| invalid("expected an object"))?;
        let served =
            message.get("protocol_version").and_then(Json::as_str).and_then(ProtocolVersion::parse);
        let served =
            served.ok_or_else(|| invalid("expected a `protocol_version` such as `1.0.0`"))?;
        if served.major != 1 {
            let reason = "an answer of another major version".to_owned();
            return Err(InvalidAnswer { code: "protocol_version_unsupported", reason });
        }
        let answered = text(message, "request_id", 1..=MAX_ENVELOPE_ID)?;
        if request_id.zip(answered).is_some_and(|(asked, answered)| asked != answered) {
            return Err(invalid("an answer to another request"));
        }
        let body = object(message, "response")?.ok_or_else(|| invalid("expected `response`"))?;
        let status = text(body, "status", 1..=MAX_ID)?;
        let status = status.ok_or_else(|| invalid("expected a `status`"))?;
        let versions = versions(message)?;
        check_the_rest(message, body)?;
        let own = own(body)?;
        let directives = list(body, "action_directives")?;
        let continuation = match object(body, "continuation")? {
            Some(found) => Some(found),
            None => own.map(|own| object(own, "continuation")).transpose()?.flatten(),
        };
        Ok(EngineAnswer {
            ok: status == "success",
            directives: directives.iter().map(SafeDirective::read).collect::<Result<_, _>>()?,
            error: object(body, "error")?.map(error).transpose()?,
            continuation: continuation.cloned(),
            versions,
        })
    }
}

impl SafeDirective {
    /// Reads one directive.
    ///
    /// # Errors
    /// The value is no directive.
    pub fn read(item: &Json) -> Result<SafeDirective, InvalidAnswer> {
        let Some(item) = item.as_object() else {
            return Err(invalid("expected an object for a directive"));
        };
        let action_type = text(item, "action_type", 1..=MAX_ID)?;
        let action_type = action_type.ok_or_else(|| invalid("expected an `action_type`"))?;
        let none = JsonObject::new();
        let own = own(item)?.unwrap_or(&none);
        let depends_on = list(own, "depends_on")?.iter().map(|id| id.as_str().map(str::to_owned));
        let depends_on: Option<Vec<String>> = depends_on.collect();
        // A hint that changes no order, but it has a shape.
        text(item, "priority", 1..=MAX_ID)?;
        Ok(SafeDirective {
            action_type: action_type.to_owned(),
            payload: object(item, "payload")?.cloned().unwrap_or_default(),
            parallel: text(item, "execution", 1..=MAX_ID)? == Some("parallel"),
            tier: text(item, "risk_tier", 1..=MAX_ID)?.map_or(AnswerRisk::Safe, AnswerRisk::of),
            needs_approval: !matches!(
                item.get("requires_user_approval"),
                None | Some(Json::Bool(false))
            ),
            deadline_ms: integer(item, "deadline_ms")?,
            id: text(own, "directive_id", 1..=MAX_ID)?.map(str::to_owned),
            wish: match text(own, "result", 1..=MAX_ID)? {
                Some("required") => ResultRequest::Required,
                Some("none") => ResultRequest::None,
                _ => ResultRequest::Optional,
            },
            depends_on: depends_on.ok_or_else(|| invalid("expected ids in `depends_on`"))?,
            raw: item.clone(),
        })
    }
}

/// Returns an integer in any spelling of JSON; beyond 64 bits it counts as the largest, below zero as
/// -1.
///
/// # Errors
/// The key is there and holds no integer.
pub fn integer(holder: &JsonObject, key: &str) -> Result<Option<i64>, InvalidAnswer> {
    let number = match present(holder, key) {
        None => return Ok(None),
        Some(Json::Number(number)) => number,
        Some(_) => return Err(not_integer(key)),
    };
    if let Some(value) = number.as_u64() {
        return Ok(Some(i64::try_from(value).unwrap_or(i64::MAX)));
    }
    // Negative, or with a fraction: of the former only that matters.
    let is_whole = |value: f64| value < 0.0 && (value.is_infinite() || value.fract() == 0.0);
    match number.as_str().parse::<f64>() {
        Ok(value) if is_whole(value) => Ok(Some(-1)),
        _ => Err(not_integer(key)),
    }
}

fn not_integer(key: &str) -> InvalidAnswer {
    invalid(format!("expected an integer for `{key}`"))
}

fn versions(message: &JsonObject) -> Result<Vec<ProtocolVersion>, InvalidAnswer> {
    let listed = list(message, "supported_protocol_versions")?;
    let versions =
        listed.iter().map(|text| text.as_str().and_then(ProtocolVersion::parse)).collect();
    let versions: Option<Vec<ProtocolVersion>> = versions;
    versions.ok_or_else(|| invalid("expected versions in `supported_protocol_versions`"))
}

/// Checks the shape of fields that a shell does not use.
fn check_the_rest(message: &JsonObject, body: &JsonObject) -> Result<(), InvalidAnswer> {
    let is_latency = |value: &Json| matches!(value, Json::Number(it) if it.floor().is_some());
    if present(body, "engine_latency_ms").is_some_and(|latency| !is_latency(latency)) {
        return Err(invalid("expected a number for `engine_latency_ms`"));
    }
    for denial in list(message, "capability_denials")? {
        let denial = denial.as_object();
        let capability = denial.map(|denial| text(denial, "capability", 1..=MAX_ID)).transpose()?;
        if capability.flatten().is_none() {
            return Err(invalid("expected a `capability` in each denial"));
        }
    }
    object(message, "supported_capabilities").map(|_| ())
}

/// Extension object of this profile, if there is one.
fn own(holder: &JsonObject) -> Result<Option<&JsonObject>, InvalidAnswer> {
    match object(holder, "extensions")? {
        Some(extensions) => object(extensions, NAMESPACE),
        None => Ok(None),
    }
}

fn error(error: &JsonObject) -> Result<EngineError, InvalidAnswer> {
    let code = text(error, "code", 1..=MAX_ID)?;
    let code = code.ok_or_else(|| invalid("expected an error with a `code`"))?;
    let retryable = match present(error, "retryable") {
        None => false,
        Some(Json::Bool(truth)) => *truth,
        Some(_) => return Err(invalid("expected true or false for `retryable`")),
    };
    let message = text(error, "message", 0..=MAX_MESSAGE)?.unwrap_or_default();
    Ok(EngineError { code: safe(code, MAX_NOTICE), message: safe(message, MAX_NOTICE), retryable })
}

/// The value of a key; null counts as none.
fn present<'o>(holder: &'o JsonObject, key: &str) -> Option<&'o Json> {
    holder.get(key).filter(|value| **value != Json::Null)
}

fn text<'o>(
    holder: &'o JsonObject,
    key: &str,
    length: std::ops::RangeInclusive<usize>,
) -> Result<Option<&'o str>, InvalidAnswer> {
    let Some(value) = present(holder, key) else { return Ok(None) };
    let text = value.as_str().filter(|text| length.contains(&text.chars().count()));
    text.map(Some).ok_or_else(|| invalid(format!("expected a text for `{key}`")))
}

fn object<'o>(holder: &'o JsonObject, key: &str) -> Result<Option<&'o JsonObject>, InvalidAnswer> {
    let Some(value) = present(holder, key) else { return Ok(None) };
    value.as_object().map(Some).ok_or_else(|| invalid(format!("expected an object for `{key}`")))
}

fn list<'o>(holder: &'o JsonObject, key: &str) -> Result<&'o [Json], InvalidAnswer> {
    let Some(value) = present(holder, key) else { return Ok(&[]) };
    value.as_array().ok_or_else(|| invalid(format!("expected a list for `{key}`")))
}
