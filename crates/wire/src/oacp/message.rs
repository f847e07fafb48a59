//! The envelope of every message: type, id, target, meta, payload, and the keys nobody knows.
//!
//! `from_tree` is the one door for text from a peer: it checks the whole message against the
//! table of its type before anything is owned, and names path and place of the first fault.
//! Key order is free, protocol keywords match ignoring case, the first of duplicate keys counts.

use bridle_sexp::{Dialect, Error, Keyword, Node, Reader, Tree, Value};

use super::invalid::{InvalidMessage, MessagePath};
use super::shape::{FieldNeed, FieldRow, FieldShape, check_fields, check_shape, missing};
use super::shape::{invalid_value, text_of};
use super::view::{MessageView, check_plist};
use super::{OacpCode, action, part, sensor};

/// Longest id that is taken, in bytes: ids are kept for a day to recognize repeats, and a uuid
/// with a prefix is under 64.
pub const MAX_ID_BYTES: usize = 256;

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageType {
    /// `:EVENT`: something happened.
    Event,
    /// `:REQUEST`: somebody wants something done.
    Request,
    /// `:RESPONSE`: the answer to a message.
    Response,
    /// `:LOG`: a line for people.
    Log,
    /// `:STATUS`: how things stand.
    Status,
    /// `:health-check`: is the daemon well?
    HealthCheck,
    /// `:health-response`: the answer to that.
    HealthResponse,
}

impl MessageType {
    /// All types, in the order of the table in `docs/protocol.md`.
    pub const ALL: [MessageType; 7] = [
        MessageType::Event,
        MessageType::Request,
        MessageType::Response,
        MessageType::Log,
        MessageType::Status,
        MessageType::HealthCheck,
        MessageType::HealthResponse,
    ];

    /// Returns the name as it is written, without the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            MessageType::Event => "EVENT",
            MessageType::Request => "REQUEST",
            MessageType::Response => "RESPONSE",
            MessageType::Log => "LOG",
            MessageType::Status => "STATUS",
            MessageType::HealthCheck => "health-check",
            MessageType::HealthResponse => "health-response",
        }
    }

    fn from_view<V: MessageView>(value: V) -> Option<Self> {
        MessageType::ALL.into_iter().find(|kind| value.is_keyword(kind.as_str()))
    }
}

/// The id that ties an answer to its question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MessageId {
    /// A counter, as Lisp and Emacs clients use.
    Int(i64),
    /// A text, such as a uuid.
    Str(Box<str>),
}

impl MessageId {
    /// Returns the id as data.
    pub fn to_value(&self) -> Value {
        match self {
            MessageId::Int(number) => Value::int(*number),
            MessageId::Str(text) => Value::str(text.as_ref()),
        }
    }

    fn from_view<V: MessageView>(
        value: V,
        path: &MessagePath,
    ) -> Result<Option<Self>, InvalidMessage> {
        if value.is_nil() {
            return Ok(None);
        }
        check_shape(value, FieldShape::Label, path)?;
        if let Some(number) = value.as_i64() {
            return Ok(Some(MessageId::Int(number)));
        }
        let owned = value.to_value();
        let text = text_of(&owned).unwrap_or_default();
        if text.is_empty() || text.len() > MAX_ID_BYTES {
            let expected = format!("expected an id of 1 to {MAX_ID_BYTES} bytes");
            return Err(invalid_value(value, path, &expected));
        }
        Ok(Some(MessageId::Str(text.into())))
    }
}

impl From<i64> for MessageId {
    fn from(number: i64) -> Self {
        MessageId::Int(number)
    }
}

impl From<&str> for MessageId {
    fn from(text: &str) -> Self {
        MessageId::Str(text.into())
    }
}

/// Destination of a request, such as `:emacs`; in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestTarget(Box<str>);

impl RequestTarget {
    /// Makes a target; case does not matter.
    pub fn new(name: &str) -> Self {
        RequestTarget(name.to_ascii_lowercase().into())
    }

    /// Returns the name in lower case, without the colon.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether this is the target of that name, ignoring case.
    pub fn is(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

/// A key that the protocol does not know, with its value; spelled as it came.
pub type Extra = (Keyword, Value);

/// Speaker and conversation of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageMeta {
    /// The kind of shell that speaks, such as `emacs`; in lower case.
    pub source: Option<Box<str>>,
    /// The session.
    pub session: Option<Box<str>>,
    /// Everything else that was sent.
    pub extra: Vec<Extra>,
}

impl MessageMeta {
    /// Tells whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.source.is_none() && self.session.is_none() && self.extra.is_empty()
    }

    fn from_view<V: MessageView>(meta: V) -> Result<Self, InvalidMessage> {
        let path = MessagePath::of(&["meta"]);
        check_plist(meta, &path)?;
        check_fields(
            meta,
            &[
                FieldRow("source", FieldNeed::May, FieldShape::Keyword),
                FieldRow("session", FieldNeed::May, FieldShape::Text),
            ],
            &path,
        )?;
        let source = meta.get_some("source").and_then(MessageView::name);
        let session = meta.get_some("session").map(MessageView::to_value);
        Ok(MessageMeta {
            source: source.map(|name| name.to_ascii_lowercase().into()),
            session: session.as_ref().and_then(text_of).map(Into::into),
            extra: extra_of(meta, &["source", "session"]),
        })
    }

    fn to_value(&self) -> Value {
        let mut out = Vec::new();
        if let Some(source) = &self.source {
            out.extend([Value::keyword("source"), Value::keyword(source)]);
        }
        if let Some(session) = &self.session {
            out.extend([Value::keyword("session"), Value::str(session.as_ref())]);
        }
        for (key, value) in &self.extra {
            out.extend([Value::Keyword(key.clone()), value.clone()]);
        }
        Value::list(out)
    }
}

/// A message, checked against the table of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OacpMessage {
    /// Type of the message.
    pub kind: MessageType,
    /// Id of the message; a `:RESPONSE` without one answers something that could not be read.
    pub id: Option<MessageId>,
    /// Destination of a request.
    pub target: Option<RequestTarget>,
    /// Speaker and conversation.
    pub meta: MessageMeta,
    /// Content: a plist, spelled as it came. nil is the empty plist.
    pub payload: Option<Value>,
    /// Keys that the protocol does not know, in the order they came.
    pub extra: Vec<Extra>,
}

impl OacpMessage {
    /// Makes a message of this type with nothing else in it.
    pub fn new(kind: MessageType) -> Self {
        OacpMessage {
            kind,
            id: None,
            target: None,
            meta: MessageMeta::default(),
            payload: None,
            extra: Vec::new(),
        }
    }

    /// Returns this message with a payload.
    #[must_use]
    pub fn with_payload(mut self, payload: Value) -> Self {
        self.payload = Some(payload);
        self
    }

    /// Returns this message with an id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Reads the type alone; allocates nothing. `None` when a full read would refuse the type.
    pub fn peek_type(tree: &Tree<'_>) -> Option<MessageType> {
        tree.root().get("type").and_then(MessageType::from_view)
    }

    /// Reads the id alone, for the answer to a message that is refused.
    pub fn peek_id(tree: &Tree<'_>) -> Option<MessageId> {
        let id = tree.root().get("id")?;
        MessageId::from_view(id, &MessagePath::ROOT).ok().flatten()
    }

    /// Reads a message from a tree over a peer's text.
    ///
    /// # Errors
    /// Names the first rule of the type that is broken, with path and place.
    pub fn from_tree(tree: &Tree<'_>) -> Result<Self, InvalidMessage> {
        from_view(tree.root())
    }

    /// Reads a message as [`OacpMessage::from_tree`] does, but leaves some keys of its payload out.
    ///
    /// # Errors
    /// As [`OacpMessage::from_tree`]; what is left out is checked too.
    pub fn from_tree_without(tree: &Tree<'_>, keys: &[&str]) -> Result<Self, InvalidMessage> {
        let root = tree.root();
        let mut message = envelope(root)?;
        let is_kept = |key: &Node<'_>| !keys.iter().any(|name| key.is_keyword(name));
        message.payload = root.get("payload").map(|payload| {
            let mut items = payload.children();
            let mut kept = Vec::new();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                if is_kept(&key) {
                    kept.extend([key.to_value(), value.to_value()]);
                }
            }
            Value::list(kept)
        });
        message.extra = extra_of(root, &ENVELOPE);
        Ok(message)
    }

    /// Checks a message as [`OacpMessage::from_tree`] does, but leaves its payload and unknown keys
    /// in the tree: the owned copy of a 16 MB message takes 270 MB, and an answer that needs
    /// only type and id does without.
    ///
    /// # Errors
    /// As [`OacpMessage::from_tree`].
    pub fn envelope(tree: &Tree<'_>) -> Result<Self, InvalidMessage> {
        envelope(tree.root())
    }

    /// Reads a message from owned data.
    ///
    /// # Errors
    /// Like [`OacpMessage::from_tree`], without a place.
    pub fn from_value(value: &Value) -> Result<Self, InvalidMessage> {
        from_view(value)
    }

    /// Returns the message as data: type, id, target, meta, payload, then the rest.
    pub fn to_value(&self) -> Value {
        let mut out = vec![Value::keyword("type"), Value::keyword(self.kind.as_str())];
        match &self.id {
            Some(id) => out.extend([Value::keyword("id"), id.to_value()]),
            None if self.kind == MessageType::Response => {
                out.extend([Value::keyword("id"), Value::Nil]);
            }
            None => {}
        }
        if let Some(target) = &self.target {
            out.extend([Value::keyword("target"), Value::keyword(target.as_str())]);
        }
        if !self.meta.is_empty() {
            out.extend([Value::keyword("meta"), self.meta.to_value()]);
        }
        if let Some(payload) = &self.payload {
            out.extend([Value::keyword("payload"), payload.clone()]);
        }
        for (key, value) in &self.extra {
            out.extend([Value::Keyword(key.clone()), value.clone()]);
        }
        Value::list(out)
    }

    /// Appends the message as text of the Lisp dialect.
    pub fn write(&self, out: &mut String) {
        self.write_in(Dialect::Lisp, out);
    }

    /// Appends the message as text of the given dialect.
    pub fn write_in(&self, dialect: Dialect, out: &mut String) {
        bridle_sexp::print(&self.to_value(), dialect, out);
    }
}

/// The text of a frame is no message: not one form, or a form that breaks a rule.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UnreadableText {
    /// The text is not exactly one form.
    #[error(transparent)]
    Syntax(#[from] Error),
    /// The form is no message; the id is told if it could be read.
    #[error("{invalid}")]
    Invalid {
        /// The rule that is broken.
        invalid: InvalidMessage,
        /// The id of the message, for the answer.
        id: Option<MessageId>,
    },
}

/// Reads the text of one frame.
///
/// # Errors
/// When the text is not exactly one form, or the form is no message.
pub fn read(text: &str, reader: &Reader) -> Result<OacpMessage, UnreadableText> {
    let tree = reader.read_one(text)?;
    OacpMessage::from_tree(&tree)
        .map_err(|invalid| UnreadableText::Invalid { invalid, id: OacpMessage::peek_id(&tree) })
}

const ENVELOPE: [&str; 5] = ["type", "id", "target", "meta", "payload"];

fn from_view<V: MessageView>(root: V) -> Result<OacpMessage, InvalidMessage> {
    let mut message = envelope(root)?;
    message.payload = root.get("payload").map(MessageView::to_value);
    message.extra = extra_of(root, &ENVELOPE);
    Ok(message)
}

/// The whole message checked, its payload and unknown keys left where they are.
fn envelope<V: MessageView>(root: V) -> Result<OacpMessage, InvalidMessage> {
    check_plist(root, &MessagePath::ROOT)?;
    let kind = read_type(root)?;
    let id = match root.get("id") {
        Some(id) => MessageId::from_view(id, &MessagePath::of(&["id"]))?,
        None => None,
    };
    let target = match root.get_some("target") {
        Some(target) => {
            check_shape(target, FieldShape::Keyword, &MessagePath::of(&["target"]))?;
            target.name().map(|name| RequestTarget::new(&name))
        }
        None => None,
    };
    let meta = match root.get_some("meta") {
        Some(meta) => MessageMeta::from_view(meta)?,
        None => MessageMeta::default(),
    };
    let payload = root.get("payload");
    if let Some(payload) = payload {
        check_plist(payload, &MessagePath::of(&["payload"]))?;
    }
    let message = OacpMessage { kind, id, target, meta, payload: None, extra: Vec::new() };
    check_table(root, &message, payload)?;
    Ok(message)
}

fn read_type<V: MessageView>(root: V) -> Result<MessageType, InvalidMessage> {
    let path = MessagePath::of(&["type"]);
    let Some(value) = root.get_some("type") else {
        return Err(missing(root.get("type").unwrap_or(root), &path));
    };
    check_shape(value, FieldShape::Keyword, &path)?;
    MessageType::from_view(value).ok_or_else(|| {
        let names = MessageType::ALL.map(|kind| format!(":{}", kind.as_str())).join(" ");
        InvalidMessage::new(OacpCode::UnknownType, path, format!("expected one of {names}"))
            .at(value.place())
    })
}

/// The table of `docs/protocol.md`: what each type needs beyond its type.
fn check_table<V: MessageView>(
    root: V,
    message: &OacpMessage,
    payload: Option<V>,
) -> Result<(), InvalidMessage> {
    let absent = |key| Err(missing(root, &MessagePath::of(&[key])));
    if let (MessageType::Event, None, Some(part)) = (message.kind, payload, root.get_some("part")) {
        return part::check(root, part);
    }
    match (message.kind, payload) {
        (MessageType::Event, Some(payload)) => {
            let has_action = payload.get_some("action").is_some();
            if payload.get_some("sensor").is_some() || !has_action {
                sensor::check(payload)?;
            }
            if has_action {
                action::check(message.target.as_ref(), payload)?;
            }
            Ok(())
        }
        (MessageType::Request, Some(_)) if message.id.is_none() && message.target.is_none() => {
            absent("id")
        }
        (MessageType::Request, Some(payload)) => {
            action::check(message.target.as_ref(), payload).map(|_| ())
        }
        // An id of nil is an answer to something unreadable; no id at all is a mistake.
        (MessageType::Response, _) if root.get("id").is_none() => absent("id"),
        (
            MessageType::Event | MessageType::Request | MessageType::Response | MessageType::Log,
            None,
        ) => absent("payload"),
        (MessageType::Response | MessageType::Log | MessageType::Status, _)
        | (MessageType::HealthCheck | MessageType::HealthResponse, _) => Ok(()),
    }
}

/// The pairs whose keys are not among the known ones.
fn extra_of<V: MessageView>(plist: V, known: &[&str]) -> Vec<Extra> {
    let mut extra = Vec::new();
    let mut items = plist.items();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        if !known.iter().any(|name| key.is_keyword(name))
            && let Value::Keyword(key) = key.to_value()
        {
            extra.push((key, value.to_value()));
        }
    }
    extra
}

#[cfg(test)]
mod tests;
