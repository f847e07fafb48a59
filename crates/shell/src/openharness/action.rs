//! What the machines of a Shell want done. Made by `shell`, `perform` and `stream`; carried out by
//! `engine`; `vectors/shell` has the same words.

use bridle_wire::openharness::feedback::DirectiveOutcome;
use bridle_wire::openharness::{Json, JsonObject};

use super::answer::{AnswerRisk, EngineError};

/// One thing to do. Directives are named by their place in the answer, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellAction {
    /// Send this message.
    Send(OutgoingMessage),
    /// Do nothing for so many milliseconds, unless the user gives up.
    Wait(u64),
    /// The request came to nothing.
    Failed(EngineError),
    /// A word for a log, not for the user.
    Log(&'static str),
    /// Show a message as far as it is known; the whole of it follows.
    Display {
        /// Index of the directive.
        directive: u64,
        /// As much as is known.
        text: String,
    },
    /// Show what the Engine is doing.
    Progress(String),
    /// Show this text. Even as Markdown it loads and runs nothing.
    Render {
        /// Index of the directive.
        directive: usize,
        /// The text.
        text: String,
        /// Format of the text.
        format: MessageFormat,
    },
    /// Tell the user something about a directive.
    Notice {
        /// Index of the directive.
        directive: usize,
        /// Subject of the notice.
        code: &'static str,
        /// Text of the engine in its place.
        text: Option<String>,
    },
    /// Ask the user.
    Ask(UserQuestion),
    /// Take a question back: it is too late for an answer.
    Withdraw(usize),
    /// Carry this out, then say how it ended.
    Execute {
        /// Index of the directive.
        directive: usize,
        /// Type of the directive.
        action_type: String,
        /// Exactly what is wanted.
        payload: JsonObject,
    },
    /// Everything has ended.
    Done {
        /// The outcome of each directive.
        outcomes: Vec<DirectiveOutcome>,
        /// Results that the engine waits for.
        results: Vec<JsonObject>,
    },
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The message.
    pub body: JsonObject,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// The event after which a stream is taken up again.
    pub last_event_id: Option<i64>,
}

/// Format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFormat {
    /// As it is.
    Plain,
    /// With Markdown in it.
    Markdown,
}

/// Question for the user. A yes is for exactly this payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// Index of the directive.
    pub directive: usize,
    /// Type of the directive.
    pub action_type: String,
    /// Harm that the directive can do.
    pub tier: AnswerRisk,
    /// Exactly what is wanted.
    pub payload: JsonObject,
    /// Question of the engine, in words.
    pub message: Option<String>,
    /// Choices; `None`: allow or not.
    pub options: Option<Vec<QuestionChoice>>,
}

/// An answer that the user may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionChoice {
    /// Names it.
    pub id: String,
    /// Label that the user reads.
    pub label: String,
    /// Meaning: `allow_once`, `allow_always`, `reject_once`, `reject_always`.
    pub kind: &'static str,
}

impl ShellAction {
    /// Returns the action as programs read it: an object with one key, its name.
    pub fn to_json(&self) -> Json {
        let (name, fields) = match self {
            ShellAction::Send(it) => ("send", sent(it)),
            ShellAction::Wait(ms) => ("wait", vec![("ms", (*ms).into())]),
            ShellAction::Failed(error) => ("failed", failed(error)),
            ShellAction::Log(code) => ("log", vec![("code", (*code).into())]),
            ShellAction::Display { directive, text } => (
                "display",
                vec![("directive", (*directive).into()), ("text", text.as_str().into())],
            ),
            ShellAction::Progress(label) => ("progress", vec![("label", label.as_str().into())]),
            ShellAction::Render { directive, text, format } => {
                ("render", rendered(*directive, text, *format))
            }
            ShellAction::Notice { directive, code, text } => {
                let mut fields = vec![("directive", place(*directive)), ("code", (*code).into())];
                fields.extend(text.as_ref().map(|text| ("text", text.as_str().into())));
                ("notice", fields)
            }
            ShellAction::Ask(question) => ("ask", question.fields()),
            ShellAction::Withdraw(directive) => {
                ("withdraw", vec![("directive", place(*directive))])
            }
            ShellAction::Execute { directive, action_type, payload } => {
                let action_type = ("action_type", action_type.as_str().into());
                let fields = [("directive", place(*directive)), action_type];
                (
                    "execute",
                    fields.into_iter().chain([("payload", payload.clone().into())]).collect(),
                )
            }
            ShellAction::Done { outcomes, results } => {
                let outcomes = outcomes.iter().map(|outcome| outcome.as_str().into());
                let results = results.iter().map(|result| result.clone().into());
                (
                    "done",
                    vec![("outcomes", Json::array(outcomes)), ("results", Json::array(results))],
                )
            }
        };
        Json::object([(name, Json::object(fields))])
    }
}

type Fields = Vec<(&'static str, Json)>;

fn sent(outgoing: &OutgoingMessage) -> Fields {
    let mut fields =
        vec![("body", outgoing.body.clone().into()), ("stream", outgoing.stream.into())];
    let id = outgoing.last_event_id.and_then(|id| u64::try_from(id).ok());
    fields.extend(id.map(|id| ("last_event_id", id.into())));
    fields
}

fn failed(error: &EngineError) -> Fields {
    let EngineError { code, message, retryable } = error;
    vec![
        ("code", code.as_str().into()),
        ("message", message.as_str().into()),
        ("retryable", (*retryable).into()),
    ]
}

fn rendered(directive: usize, text: &str, format: MessageFormat) -> Fields {
    let format = match format {
        MessageFormat::Plain => "plain",
        MessageFormat::Markdown => "markdown",
    };
    vec![("directive", place(directive)), ("text", text.into()), ("format", format.into())]
}

impl UserQuestion {
    fn fields(&self) -> Fields {
        let mut fields = vec![
            ("directive", place(self.directive)),
            ("action_type", self.action_type.as_str().into()),
            ("risk_tier", self.tier.as_str().into()),
            ("payload", self.payload.clone().into()),
        ];
        fields.extend(self.message.as_ref().map(|message| ("message", message.as_str().into())));
        let option = |it: &QuestionChoice| {
            let label = ("label", Json::from(it.label.as_str()));
            Json::object([("option_id", it.id.as_str().into()), label, ("kind", it.kind.into())])
        };
        let options = self.options.as_ref().map(|all| Json::array(all.iter().map(option)));
        fields.extend(options.map(|options| ("options", options)));
        fields
    }
}

fn place(directive: usize) -> Json {
    u64::try_from(directive).unwrap_or(u64::MAX).into()
}
