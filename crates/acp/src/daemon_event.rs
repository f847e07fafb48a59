//! What the daemon says, taken apart: one message of the framed protocol as one [`DaemonEvent`]. Every list of
//! keys is closed here; what is not known is `Unknown` and shown nowhere.

use bridle_sexp::{Limits, Reader, Value, limits::DEPTH_CEILING};

use crate::daemon_offers::DaemonOffers;

/// Message of the daemon.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DaemonEvent {
    /// Number in the session; absent for what is in no record.
    pub(crate) seq: Option<u64>,
    /// Id of the message: of an answer, that of the question.
    pub(crate) id: Option<String>,
    /// Number of the message that this answers.
    pub(crate) answers: Option<u64>,
    /// Whether this client sent it; only in a tail.
    pub(crate) is_own: bool,
    /// Content of the message.
    pub(crate) kind: EventKind,
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventKind {
    /// Message of this client that is on disk.
    Admitted,
    /// Piece of an answer under way.
    Delta(TextDelta),
    /// State of the engine.
    Status {
        /// `thinking`, `acting`, `asking` or `idle`.
        word: String,
    },
    /// Prompt of a user.
    Prompt {
        /// Its text.
        text: String,
    },
    /// Answer with a text, or something said unasked.
    Message {
        /// The text.
        text: String,
        /// Reason for the end of the turn, if it is told.
        stop: Option<String>,
    },
    /// Answer that is an error.
    Error(DaemonError),
    /// Commands and models that the daemon offers.
    Offers(DaemonOffers),
    /// Tokens and money of the session.
    Usage(Value),
    /// Any other answer.
    Answer,
    /// Question of the guard that this client may answer.
    Question(GuardQuestion),
    /// Question that this client sees and may not answer.
    QuestionShown(GuardQuestion),
    /// Answer to a question of the guard.
    Answered {
        /// The question.
        approval: String,
        /// `allow` or `deny`.
        answer: String,
        /// Whether it counted.
        counts: bool,
    },
    /// Effect that an actuator carries out.
    Asked {
        /// Name of the effect.
        effect: String,
        /// The actuator.
        target: String,
        /// Action and arguments.
        request: Value,
    },
    /// End of an effect.
    Outcome {
        /// Name of the effect.
        effect: String,
        /// `done`, `denied`, `expired`, ..
        word: String,
        /// Result, if it was done.
        result: Option<Value>,
        /// Reason, if it was not.
        reason: Option<String>,
    },
    /// Request of the engine to this shell.
    ShellRequest {
        /// Action and arguments.
        request: Value,
    },
    /// Plan of the model.
    Plan(Value),
    /// Anything else.
    Unknown,
}

/// Piece of an answer under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextDelta {
    /// Turn and, where the daemon tells it, thought.
    pub(crate) stream: String,
    /// Channel; `text` unless said.
    pub(crate) channel: String,
    pub(crate) text: String,
}

/// Error in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DaemonError {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) is_retryable: bool,
}

/// Question of the guard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GuardQuestion {
    /// Name of the question, which is that of the effect.
    pub(crate) approval: String,
    /// Sentence for people.
    pub(crate) question: String,
    /// Digest of what is wanted.
    pub(crate) hash: Option<String>,
    /// The actuator.
    pub(crate) target: String,
    /// Action and arguments.
    pub(crate) wanted: Value,
    /// Answers that the daemon takes.
    pub(crate) options: Vec<String>,
    /// Scopes of a grant that it makes beside a yes.
    pub(crate) scopes: Vec<GrantOffer>,
}

/// Scope of a grant for a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantOffer {
    /// Word of the scope.
    pub(crate) scope: String,
    /// Sentence about what it allows.
    pub(crate) allows: String,
}

impl DaemonEvent {
    /// Reads a frame; `None` for text that is no message.
    pub(crate) fn read(frame: &str) -> Option<DaemonEvent> {
        let limits = Limits { depth: DEPTH_CEILING, ..Limits::default() };
        let tree = Reader::new().limits(limits).read_one(frame).ok()?;
        let root = tree.root();
        let kind = root.get("type")?.keyword()?.to_ascii_lowercase();
        let meta = root.get("meta").map_or(Value::Nil, |meta| meta.to_value());
        let payload = root.get("payload").map_or(Value::Nil, |it| it.to_value());
        let own = meta.get("own").is_some_and(|own| !own.is_nil());
        let id = root.get("id").and_then(|id| id.as_str()).map(std::borrow::Cow::into_owned);
        let id = id.or_else(|| text(&meta, "id"));
        let is_question = root.get("target").is_some_and(|it| it.is_keyword("approval"));
        let kind = match kind.as_str() {
            "status" => status(&payload),
            "request" if is_question => question(&payload).map(EventKind::Question),
            "request" => Some(EventKind::ShellRequest { request: payload }),
            "response" => Some(answer(&payload)),
            "event" => Some(happened(&payload)),
            _ => None,
        };
        let number =
            |key| meta.get(key).and_then(Value::as_i64).and_then(|it| u64::try_from(it).ok());
        Some(DaemonEvent {
            seq: number("seq"),
            id,
            answers: number("answers"),
            is_own: own,
            kind: kind.unwrap_or(EventKind::Unknown),
        })
    }
}

/// Text of a key.
pub(crate) fn text(payload: &Value, key: &str) -> Option<String> {
    payload.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Name of a key: keyword or text, in lower case.
pub(crate) fn word(payload: &Value, key: &str) -> Option<String> {
    let value = payload.get(key)?;
    let name = value.as_keyword().or_else(|| value.as_str())?;
    Some(name.to_ascii_lowercase())
}

fn status(payload: &Value) -> Option<EventKind> {
    let status = word(payload, "status")?;
    Some(match status.as_str() {
        "admitted" => EventKind::Admitted,
        _ => EventKind::Status { word: status },
    })
}

fn answer(payload: &Value) -> EventKind {
    let is_message = word(payload, "action").as_deref() == Some("message");
    match word(payload, "status").as_deref() {
        Some("error") => EventKind::Error(DaemonError {
            code: word(payload, "code").unwrap_or_else(|| "internal".to_owned()),
            message: text(payload, "message").unwrap_or_default(),
            is_retryable: payload.get("retryable").is_some_and(|it| !it.is_nil()),
        }),
        _ if is_message => EventKind::Message {
            text: text(payload, "text").unwrap_or_default(),
            stop: word(payload, "stop"),
        },
        _ => match word(payload, "action").as_deref() {
            Some("offers") => EventKind::Offers(DaemonOffers::read(payload)),
            Some("usage") => EventKind::Usage(payload.clone()),
            _ => EventKind::Answer,
        },
    }
}

fn happened(payload: &Value) -> EventKind {
    if let Some(sensor) = word(payload, "sensor") {
        return match sensor.as_str() {
            "user-prompt" | "user-input" | "chat-message" => {
                EventKind::Prompt { text: text(payload, "text").unwrap_or_default() }
            }
            _ => EventKind::Unknown,
        };
    }
    let action = word(payload, "action").unwrap_or_default();
    let known = match action.as_str() {
        "delta" => delta(payload),
        "asked" if payload.get("approval").is_some() => {
            question(payload).map(EventKind::QuestionShown)
        }
        "asked" => asked(payload),
        "outcome" => outcome(payload),
        "answered" => answered(payload),
        "plan" => payload.get("entries").cloned().map(EventKind::Plan),
        _ => None,
    };
    known.unwrap_or_else(|| answer(payload))
}

fn delta(payload: &Value) -> Option<EventKind> {
    let number = |key: &str| payload.get(key).and_then(Value::as_i64);
    let turn = number("turn").unwrap_or_default();
    let thought = number("thought").map(|it| format!(".{it}")).or_else(|| text(payload, "thought"));
    Some(EventKind::Delta(TextDelta {
        stream: format!("{turn}{}", thought.unwrap_or_default()),
        channel: word(payload, "channel").unwrap_or_else(|| "text".to_owned()),
        text: text(payload, "text")?,
    }))
}

fn question(payload: &Value) -> Option<GuardQuestion> {
    let options = payload.get("options").and_then(Value::elements).unwrap_or_default();
    let options = options.iter().filter_map(Value::as_keyword).map(str::to_ascii_lowercase);
    let scopes = payload.get("scopes").and_then(Value::elements).unwrap_or_default();
    let offer = |it: &Value| {
        Some(GrantOffer {
            scope: word(it, "scope")?,
            allows: text(it, "allows").unwrap_or_default(),
        })
    };
    Some(GuardQuestion {
        approval: text(payload, "approval")?,
        question: text(payload, "question").unwrap_or_default(),
        hash: text(payload, "hash"),
        target: word(payload, "target").unwrap_or_default(),
        wanted: payload.get("wanted").cloned().unwrap_or(Value::Nil),
        options: options.collect(),
        scopes: scopes.iter().filter_map(offer).collect(),
    })
}

fn asked(payload: &Value) -> Option<EventKind> {
    Some(EventKind::Asked {
        effect: text(payload, "effect")?,
        target: word(payload, "target").unwrap_or_default(),
        request: payload.get("request").cloned().unwrap_or(Value::Nil),
    })
}

fn outcome(payload: &Value) -> Option<EventKind> {
    Some(EventKind::Outcome {
        effect: text(payload, "effect")?,
        word: word(payload, "outcome").unwrap_or_default(),
        result: payload.get("result").filter(|it| !it.is_nil()).cloned(),
        reason: text(payload, "reason"),
    })
}

fn answered(payload: &Value) -> Option<EventKind> {
    Some(EventKind::Answered {
        approval: text(payload, "approval")?,
        answer: word(payload, "answer").unwrap_or_default(),
        counts: payload.get("counted").is_none_or(|it| !it.is_nil()),
    })
}
