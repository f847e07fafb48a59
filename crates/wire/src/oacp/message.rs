//! The envelope of every message: type, id, target, meta, payload, and the keys nobody knows.
//!
//! `from_tree` is the one door for text from a peer: it checks the whole message against the
//! table of its type before anything is owned, and names path and place of the first fault.
//! Key order is free, protocol keywords match ignoring case, the first of duplicate keys counts.

use bridle_sexp::{Dialect, Error, Keyword, Node, Reader, Tree, Value};

use super::invalid::{Invalid, Path};
use super::shape::{Field, Need, Shape, check_fields, check_shape, missing};
use super::shape::{invalid_value, text_of};
use super::view::{View, check_plist};
use super::{Code, action, part, sensor};

/// Longest id that is taken, in bytes: ids are kept for a day to recognize repeats, and a uuid
/// with a prefix is under 64.
pub const MAX_ID_BYTES: usize = 256;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
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

impl Type {
    /// All types, in the order of the table in `docs/protocol.md`.
    pub const ALL: [Type; 7] = [
        Type::Event,
        Type::Request,
        Type::Response,
        Type::Log,
        Type::Status,
        Type::HealthCheck,
        Type::HealthResponse,
    ];

    /// Returns the name as it is written, without the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            Type::Event => "EVENT",
            Type::Request => "REQUEST",
            Type::Response => "RESPONSE",
            Type::Log => "LOG",
            Type::Status => "STATUS",
            Type::HealthCheck => "health-check",
            Type::HealthResponse => "health-response",
        }
    }

    fn from_view<V: View>(value: V) -> Option<Self> {
        Type::ALL.into_iter().find(|kind| value.is_keyword(kind.as_str()))
    }
}

/// The id that ties an answer to its question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A counter, as Lisp and Emacs clients use.
    Int(i64),
    /// A text, such as a uuid.
    Str(Box<str>),
}

impl Id {
    /// Returns the id as data.
    pub fn to_value(&self) -> Value {
        match self {
            Id::Int(number) => Value::int(*number),
            Id::Str(text) => Value::str(text.as_ref()),
        }
    }

    fn from_view<V: View>(value: V, path: &Path) -> Result<Option<Self>, Invalid> {
        if value.is_nil() {
            return Ok(None);
        }
        check_shape(value, Shape::Label, path)?;
        if let Some(number) = value.as_i64() {
            return Ok(Some(Id::Int(number)));
        }
        let owned = value.to_value();
        let text = text_of(&owned).unwrap_or_default();
        if text.is_empty() || text.len() > MAX_ID_BYTES {
            let expected = format!("expected an id of 1 to {MAX_ID_BYTES} bytes");
            return Err(invalid_value(value, path, &expected));
        }
        Ok(Some(Id::Str(text.into())))
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Id::Int(number)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::Str(text.into())
    }
}

/// Where a request is meant to be carried out, such as `:emacs`; in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target(Box<str>);

impl Target {
    /// Makes a target; case does not matter.
    pub fn new(name: &str) -> Self {
        Target(name.to_ascii_lowercase().into())
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

/// Who speaks, and in which conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The kind of shell that speaks, such as `emacs`; in lower case.
    pub source: Option<Box<str>>,
    /// The session.
    pub session: Option<Box<str>>,
    /// Everything else that was sent.
    pub extra: Vec<Extra>,
}

impl Meta {
    /// Tells whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.source.is_none() && self.session.is_none() && self.extra.is_empty()
    }

    fn from_view<V: View>(meta: V) -> Result<Self, Invalid> {
        let path = Path::of(&["meta"]);
        check_plist(meta, &path)?;
        check_fields(
            meta,
            &[Field("source", Need::May, Shape::Keyword), Field("session", Need::May, Shape::Text)],
            &path,
        )?;
        let source = meta.get_some("source").and_then(View::name);
        let session = meta.get_some("session").map(View::to_value);
        Ok(Meta {
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
pub struct Message {
    /// What it is.
    pub kind: Type,
    /// Its id; a `:RESPONSE` without one answers something that could not be read.
    pub id: Option<Id>,
    /// Where it is to be carried out.
    pub target: Option<Target>,
    /// Who speaks.
    pub meta: Meta,
    /// What it says: a plist, spelled as it came. nil is the empty plist.
    pub payload: Option<Value>,
    /// Keys that the protocol does not know, in the order they came.
    pub extra: Vec<Extra>,
}

impl Message {
    /// Makes a message of this type with nothing else in it.
    pub fn new(kind: Type) -> Self {
        Message {
            kind,
            id: None,
            target: None,
            meta: Meta::default(),
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
    pub fn with_id(mut self, id: impl Into<Id>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Reads the type alone; allocates nothing. `None` when a full read would refuse the type.
    pub fn peek_type(tree: &Tree<'_>) -> Option<Type> {
        tree.root().get("type").and_then(Type::from_view)
    }

    /// Reads the id alone, for the answer to a message that is refused.
    pub fn peek_id(tree: &Tree<'_>) -> Option<Id> {
        let id = tree.root().get("id")?;
        Id::from_view(id, &Path::ROOT).ok().flatten()
    }

    /// Reads a message from a tree over a peer's text.
    ///
    /// # Errors
    /// Names the first rule of the type that is broken, with path and place.
    pub fn from_tree(tree: &Tree<'_>) -> Result<Self, Invalid> {
        from_view(tree.root())
    }

    /// Reads a message as [`Message::from_tree`] does, but leaves some keys of its payload out.
    ///
    /// # Errors
    /// As [`Message::from_tree`]; what is left out is checked too.
    pub fn from_tree_without(tree: &Tree<'_>, keys: &[&str]) -> Result<Self, Invalid> {
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

    /// Checks a message as [`Message::from_tree`] does, but leaves its payload and unknown keys
    /// in the tree: the owned copy of a 16 MB message takes 270 MB, and an answer that needs
    /// only type and id does without.
    ///
    /// # Errors
    /// As [`Message::from_tree`].
    pub fn envelope(tree: &Tree<'_>) -> Result<Self, Invalid> {
        envelope(tree.root())
    }

    /// Reads a message from owned data.
    ///
    /// # Errors
    /// Like [`Message::from_tree`], without a place.
    pub fn from_value(value: &Value) -> Result<Self, Invalid> {
        from_view(value)
    }

    /// Returns the message as data: type, id, target, meta, payload, then the rest.
    pub fn to_value(&self) -> Value {
        let mut out = vec![Value::keyword("type"), Value::keyword(self.kind.as_str())];
        match &self.id {
            Some(id) => out.extend([Value::keyword("id"), id.to_value()]),
            None if self.kind == Type::Response => out.extend([Value::keyword("id"), Value::Nil]),
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
pub enum Unreadable {
    /// The text is not exactly one form.
    #[error(transparent)]
    Syntax(#[from] Error),
    /// The form is no message; the id is told if it could be read.
    #[error("{invalid}")]
    Invalid {
        /// The rule that is broken.
        invalid: Invalid,
        /// The id of the message, for the answer.
        id: Option<Id>,
    },
}

/// Reads the text of one frame.
///
/// # Errors
/// When the text is not exactly one form, or the form is no message.
pub fn read(text: &str, reader: &Reader) -> Result<Message, Unreadable> {
    let tree = reader.read_one(text)?;
    Message::from_tree(&tree)
        .map_err(|invalid| Unreadable::Invalid { invalid, id: Message::peek_id(&tree) })
}

const ENVELOPE: [&str; 5] = ["type", "id", "target", "meta", "payload"];

fn from_view<V: View>(root: V) -> Result<Message, Invalid> {
    let mut message = envelope(root)?;
    message.payload = root.get("payload").map(View::to_value);
    message.extra = extra_of(root, &ENVELOPE);
    Ok(message)
}

/// The whole message checked, its payload and unknown keys left where they are.
fn envelope<V: View>(root: V) -> Result<Message, Invalid> {
    check_plist(root, &Path::ROOT)?;
    let kind = read_type(root)?;
    let id = match root.get("id") {
        Some(id) => Id::from_view(id, &Path::of(&["id"]))?,
        None => None,
    };
    let target = match root.get_some("target") {
        Some(target) => {
            check_shape(target, Shape::Keyword, &Path::of(&["target"]))?;
            target.name().map(|name| Target::new(&name))
        }
        None => None,
    };
    let meta = match root.get_some("meta") {
        Some(meta) => Meta::from_view(meta)?,
        None => Meta::default(),
    };
    let payload = root.get("payload");
    if let Some(payload) = payload {
        check_plist(payload, &Path::of(&["payload"]))?;
    }
    let message = Message { kind, id, target, meta, payload: None, extra: Vec::new() };
    check_table(root, &message, payload)?;
    Ok(message)
}

fn read_type<V: View>(root: V) -> Result<Type, Invalid> {
    let path = Path::of(&["type"]);
    let Some(value) = root.get_some("type") else {
        return Err(missing(root.get("type").unwrap_or(root), &path));
    };
    check_shape(value, Shape::Keyword, &path)?;
    Type::from_view(value).ok_or_else(|| {
        let names = Type::ALL.map(|kind| format!(":{}", kind.as_str())).join(" ");
        Invalid::new(Code::UnknownType, path, format!("expected one of {names}")).at(value.place())
    })
}

/// The table of `docs/protocol.md`: what each type needs beyond its type.
fn check_table<V: View>(root: V, message: &Message, payload: Option<V>) -> Result<(), Invalid> {
    let absent = |key| Err(missing(root, &Path::of(&[key])));
    if let (Type::Event, None, Some(part)) = (message.kind, payload, root.get_some("part")) {
        return part::check(root, part);
    }
    match (message.kind, payload) {
        (Type::Event, Some(payload)) => {
            let has_action = payload.get_some("action").is_some();
            if payload.get_some("sensor").is_some() || !has_action {
                sensor::check(payload)?;
            }
            if has_action {
                action::check(message.target.as_ref(), payload)?;
            }
            Ok(())
        }
        (Type::Request, Some(_)) if message.id.is_none() && message.target.is_none() => {
            absent("id")
        }
        (Type::Request, Some(payload)) => {
            action::check(message.target.as_ref(), payload).map(|_| ())
        }
        // An id of nil is an answer to something unreadable; no id at all is a mistake.
        (Type::Response, _) if root.get("id").is_none() => absent("id"),
        (Type::Event | Type::Request | Type::Response | Type::Log, None) => absent("payload"),
        (Type::Response | Type::Log | Type::Status, _)
        | (Type::HealthCheck | Type::HealthResponse, _) => Ok(()),
    }
}

/// The pairs whose keys are not among the known ones.
fn extra_of<V: View>(plist: V, known: &[&str]) -> Vec<Extra> {
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
