//! Messages of the daemon as a conversation sees them, and the forms that it sends.

use bridle_sexp::limits::DEPTH_CEILING;
use bridle_sexp::{Dialect, Limits, Node, Reader, Value};
use bridle_shell::client::ErrorAnswer;
use bridle_wire::oacp::{MessageType, OacpMessage, RequestTarget};

use crate::image::PromptImage;

/// Headings that are asked for at a time.
const MAX_HEADINGS: i64 = 24;

/// Question of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuestion {
    /// Name of the approval, such as `work-7`.
    pub approval: String,
    /// Sentence that says who wants what.
    pub question: String,
    /// Risk in one word.
    pub risk: String,
    /// Hash of what is shown: a yes counts for nothing else.
    pub hash: Option<String>,
    /// The exact action, as data, without the facts that the daemon added.
    pub wanted: String,
    /// Change of files as a unified diff; empty without one.
    pub diff: String,
    /// End of the question, in milliseconds since 1970.
    pub deadline: Option<i64>,
}

/// Answer to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerBody {
    /// Text to read.
    Text(String),
    /// The daemon's error.
    Error {
        /// Code of the protocol.
        code: String,
        /// Sentence for people.
        message: String,
        /// Whether the same may be sent again.
        retryable: bool,
    },
    /// Anything else, as data.
    Data(String),
}

/// Facts about a message that has a number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventHead {
    /// Number in the session.
    pub seq: u64,
    /// Id of the message, if this client sent it.
    pub own: Option<String>,
    /// Number of the message that it answers.
    pub answers: Option<u64>,
    /// Id of the request that it answers.
    pub id: Option<String>,
    /// Kind of shell that said it.
    pub source: Option<String>,
}

/// Meaning of a numbered message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventBody {
    /// A prompt of a person.
    Prompt(String),
    /// An answer, or something said unasked.
    Answer(AnswerBody),
    /// A question of the guard to this shell.
    Question(ApprovalQuestion),
    /// Answer to a question, by anybody.
    Answered {
        /// The question.
        approval: String,
        /// `allow` or `deny`.
        answer: String,
        /// Principal that answered.
        by: String,
        /// Whether it counts.
        counted: bool,
    },
    /// A request ended.
    Outcome {
        /// The effect, such as `work-5`.
        effect: String,
        /// Word of the protocol.
        outcome: String,
        /// Reason, when there is one.
        reason: String,
    },
    /// A request that this shell cannot carry out, by its id.
    Request(String),
    /// Content that was destroyed.
    Erased,
    /// Message that needs no line.
    Quiet,
    /// Anything else, in a few words.
    Other(String),
}

/// A message of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonNews {
    /// A numbered event.
    Event(EventHead, EventBody),
    /// A message of this client is on disk.
    Receipt {
        /// Its id.
        id: String,
        /// Its number.
        seq: u64,
    },
    /// Change of what the engine does.
    Status {
        /// Word of the protocol: `thinking`, `acting`, `asking`, `idle`.
        doing: String,
    },
    /// A piece of an answer under way.
    Piece {
        /// Turn or thought that it belongs to.
        thought: String,
        /// `text`, `reasoning`, `output` or `progress`.
        channel: String,
        /// Place of the piece in its stream, in bytes, if the daemon tells.
        offset: Option<usize>,
        /// The piece.
        text: String,
    },
    /// Text of a thought that does not count.
    Void,
    /// Answer without a number: to a request that is not recorded.
    Reply {
        /// Id of the request.
        id: String,
        /// Payload of the answer.
        payload: Value,
    },
    /// Answer to the hello: state of the engine.
    Hello(String),
    /// Nothing to show.
    Silence,
}

/// Reader for events: a message as deep as the wire allows sits deeper in the event about it.
fn reader() -> Reader {
    Reader::new().limits(Limits { depth: DEPTH_CEILING, ..Limits::default() })
}

/// Reads a message; `None` if it is none.
pub fn read(frame: &str) -> Option<DaemonNews> {
    let tree = reader().read_one(frame).ok()?;
    let message = tree.root();
    let kind = message.get("type")?.keyword()?.to_ascii_lowercase();
    let payload = message.get("payload");
    let meta = message.get("meta");
    let number = |node: Option<Node<'_>>, key: &str| {
        node.and_then(|node| u64::try_from(node.get(key)?.as_i64()?).ok())
    };
    let id = text(Some(message), "id");
    let Some(seq) = number(meta, "seq").filter(|_| !is_hello(payload)) else {
        return Some(unnumbered(&kind, id, payload));
    };
    let is_own = meta.and_then(|meta| meta.get("own")).is_some_and(|own| !own.is_nil());
    let head = EventHead {
        seq,
        own: text(meta, "id").filter(|_| is_own),
        answers: number(meta, "answers"),
        id: id.clone().filter(|_| kind == "response"),
        source: word(meta, "source"),
    };
    let body = match (kind.as_str(), &id) {
        ("request", Some(id)) => requested(message, id),
        _ => body_of(message, payload, &head),
    };
    Some(DaemonNews::Event(head, body))
}

fn is_hello(payload: Option<Node<'_>>) -> bool {
    word(payload, "action").as_deref() == Some("handshake")
}

fn unnumbered(kind: &str, id: Option<String>, payload: Option<Node<'_>>) -> DaemonNews {
    let status = word(payload, "status");
    if is_hello(payload) {
        return DaemonNews::Hello(word(payload, "state").unwrap_or_default());
    }
    match (kind, status.as_deref(), word(payload, "action").as_deref()) {
        ("status", Some("admitted"), _) => {
            let seq = payload.and_then(|it| u64::try_from(it.get("seq")?.as_i64()?).ok());
            match (id, seq) {
                (Some(id), Some(seq)) => DaemonNews::Receipt { id, seq },
                _ => DaemonNews::Silence,
            }
        }
        ("status", Some(doing), _) => DaemonNews::Status { doing: doing.to_owned() },
        ("event", _, Some("delta")) => DaemonNews::Piece {
            thought: ["thought", "turn"]
                .iter()
                .find_map(|key| Some(payload?.get(key)?.source().to_owned()))
                .unwrap_or_default(),
            channel: word(payload, "channel").unwrap_or_else(|| "text".to_owned()),
            offset: payload.and_then(|it| usize::try_from(it.get("offset")?.as_i64()?).ok()),
            text: text(payload, "text").unwrap_or_default(),
        },
        ("event", _, Some("void" | "voided")) => DaemonNews::Void,
        ("response", _, _) => {
            let payload = payload.map_or(Value::Nil, |payload| payload.to_value());
            id.map_or(DaemonNews::Silence, |id| DaemonNews::Reply { id, payload })
        }
        _ => DaemonNews::Silence,
    }
}

fn requested(message: Node<'_>, id: &str) -> EventBody {
    let payload = message.get("payload");
    if !message.get("target").is_some_and(|target| target.is_keyword("approval")) {
        return EventBody::Request(id.to_owned());
    }
    let wanted = payload.and_then(|payload| payload.get("wanted"));
    let prepared = wanted.and_then(|wanted| wanted.get("prepared"));
    let meta = message.get("meta");
    EventBody::Question(ApprovalQuestion {
        approval: text(payload, "approval").unwrap_or_else(|| id.to_owned()),
        question: text(payload, "question").unwrap_or_default(),
        risk: word(payload, "risk").unwrap_or_default(),
        hash: text(payload, "hash"),
        wanted: wanted.map(without_facts).unwrap_or_default(),
        diff: text(prepared, "diff").or_else(|| text(wanted, "diff")).unwrap_or_default(),
        deadline: meta.and_then(|meta| meta.get("deadline")?.as_i64()),
    })
}

/// The action as data, without the facts that the daemon added.
fn without_facts(wanted: Node<'_>) -> String {
    let value = wanted.to_value();
    let Some(pairs) = value.pairs() else { return wanted.source().to_owned() };
    let pairs = pairs.filter(|(key, _)| !key.is_keyword("prepared"));
    let flat = pairs.flat_map(|(key, value)| [key.clone(), value.clone()]);
    printed(&Value::list(flat))
}

fn body_of(message: Node<'_>, payload: Option<Node<'_>>, head: &EventHead) -> EventBody {
    if let Some(error) = ErrorAnswer::of(message) {
        let retryable = payload.and_then(|it| it.get("retryable")).is_some_and(|it| !it.is_nil());
        let ErrorAnswer { code, message, .. } = error;
        return EventBody::Answer(AnswerBody::Error { code, message, retryable });
    }
    let sensor = word(payload, "sensor");
    let said = text(payload, "text").or_else(|| text(payload, "message"));
    match (sensor.as_deref(), word(payload, "action").as_deref()) {
        (Some("user-prompt" | "user-input" | "chat-message"), _) => {
            EventBody::Prompt(said.unwrap_or_default())
        }
        (Some("user-command"), _) => {
            let command = payload.and_then(|payload| payload.get("command"));
            EventBody::Prompt(command.map(|it| format!("/{}", name_of(it))).unwrap_or_default())
        }
        (_, Some("answered")) => EventBody::Answered {
            approval: text(payload, "approval").unwrap_or_default(),
            answer: word(payload, "answer").unwrap_or_default(),
            by: text(payload, "by").unwrap_or_default(),
            counted: payload.and_then(|it| it.get("counted")).is_none_or(|it| !it.is_nil()),
        },
        (_, Some("outcome")) => EventBody::Outcome {
            effect: text(payload, "effect").unwrap_or_default(),
            outcome: word(payload, "outcome").unwrap_or_default(),
            reason: text(payload, "reason").unwrap_or_default(),
        },
        (_, Some("erased")) => EventBody::Erased,
        (Some(sensor), _) => EventBody::Other(match said {
            Some(said) => format!("{sensor}: {said}"),
            None => sensor.to_owned(),
        }),
        (_, Some("asked")) => asked(payload),
        // The answer to a verdict of this shell: what became of it is an event of its own.
        (None, Some("approve")) => EventBody::Quiet,
        _ if said.is_some() => EventBody::Answer(AnswerBody::Text(said.unwrap_or_default())),
        _ if head.answers.is_some() => {
            let source = payload.map_or("", |payload| payload.source());
            EventBody::Answer(AnswerBody::Data(source.to_owned()))
        }
        (_, action) => EventBody::Other(action.unwrap_or("message").to_owned()),
    }
}

/// A question that this shell does not answer, or an act that somebody else carries out.
fn asked(payload: Option<Node<'_>>) -> EventBody {
    if let Some(question) = text(payload, "question") {
        return EventBody::Other(format!("asked: {question}"));
    }
    let request = payload.and_then(|payload| payload.get("request"));
    let (effect, target) = (text(payload, "effect"), word(payload, "target"));
    let words = [effect, word(request, "action"), target.map(|target| format!("of {target}"))];
    let words: Vec<String> = words.into_iter().flatten().collect();
    EventBody::Other(words.join(" "))
}

fn name_of(node: Node<'_>) -> String {
    let name = node.keyword().or_else(|| node.symbol()).or_else(|| node.as_str());
    name.map(std::borrow::Cow::into_owned).unwrap_or_default()
}

fn text(node: Option<Node<'_>>, key: &str) -> Option<String> {
    node?.get(key)?.as_str().map(std::borrow::Cow::into_owned)
}

fn word(node: Option<Node<'_>>, key: &str) -> Option<String> {
    Some(node?.get(key)?.keyword()?.to_ascii_lowercase())
}

fn printed(value: &Value) -> String {
    let mut out = String::new();
    bridle_sexp::print(value, Dialect::Lisp, &mut out);
    out
}

fn written(kind: MessageType, target: Option<&str>, id: &str, payload: Value) -> String {
    let mut message = OacpMessage::new(kind).with_payload(payload).with_id(id);
    message.target = target.map(RequestTarget::new);
    let mut text = String::new();
    message.write(&mut text);
    text
}

/// Prompt of a person, with what goes along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptParts<'p> {
    /// Text.
    pub text: &'p str,
    /// Paths that it names with `@`.
    pub files: Vec<String>,
    /// Folder where it was typed.
    pub folder: Option<&'p str>,
    /// Model that it is for; the daemon chooses without one.
    pub model: Option<&'p str>,
    /// Pictures.
    pub images: &'p [PromptImage],
}

/// The form of a prompt.
pub fn prompt_form(id: &str, prompt: &PromptParts<'_>) -> String {
    let mut pairs =
        vec![("sensor", Value::keyword("user-prompt")), ("text", Value::str(prompt.text))];
    let mut context = Vec::new();
    context.extend(prompt.folder.map(|folder| ("folder", Value::str(folder))));
    if !prompt.files.is_empty() {
        let files = prompt.files.iter().map(|path| Value::str(path.as_str()));
        context.push(("files", Value::list(files)));
    }
    if !context.is_empty() {
        pairs.push(("context", Value::plist(context)));
    }
    pairs.extend(prompt.model.map(|model| ("model", Value::str(model))));
    if !prompt.images.is_empty() {
        let image = |image: &PromptImage| {
            Value::plist([
                ("mime-type", Value::str(image.mime_type)),
                ("filename", Value::str(image.name.as_str())),
                ("data", Value::str(image.data.as_str())),
            ])
        };
        pairs.push(("attachments", Value::list(prompt.images.iter().map(image))));
    }
    written(MessageType::Event, None, id, Value::plist(pairs))
}

/// The form that gives the current turn up.
pub fn interrupt_form(id: &str) -> String {
    let payload = Value::plist([("sensor", Value::keyword("interrupt"))]);
    written(MessageType::Event, None, id, payload)
}

/// The form that answers a question.
pub fn verdict_form(question: &ApprovalQuestion, verdict: &str) -> String {
    let mut pairs = vec![("verdict", Value::keyword(verdict))];
    pairs.extend(question.hash.as_deref().map(|hash| ("hash", Value::str(hash))));
    written(MessageType::Response, None, &question.approval, Value::plist(pairs))
}

/// The form that declines a request: this shell carries nothing out.
pub fn decline_form(id: &str) -> String {
    let payload = Value::plist([
        ("status", Value::keyword("denied")),
        ("message", Value::str("this shell carries nothing out")),
    ]);
    written(MessageType::Response, None, id, payload)
}

/// The form that asks which commands and models there are.
pub fn offers_form(id: &str) -> String {
    asking("system", id, Value::plist([("action", Value::keyword("offers"))]))
}

/// The form that asks what a session used so far.
pub fn usage_form(id: &str, session: &str) -> String {
    let pairs = [("action", Value::keyword("usage")), ("session", Value::str(session))];
    asking("system", id, Value::plist(pairs))
}

/// The form that asks for headings with a word that begins so.
pub fn headings_form(id: &str, begin: &str) -> String {
    let pairs = [
        ("action", Value::keyword("query")),
        ("text", Value::str(format!("{begin}*"))),
        ("type", Value::keyword("heading")),
        ("limit", Value::int(MAX_HEADINGS)),
        ("snippets", Value::Nil),
    ];
    asking("context", id, Value::plist(pairs))
}

fn asking(target: &str, id: &str, payload: Value) -> String {
    written(MessageType::Request, Some(target), id, payload)
}

#[cfg(test)]
mod tests;
