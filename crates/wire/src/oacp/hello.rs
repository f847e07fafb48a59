//! Hello: what the two sides tell each other before they talk.
//!
//! The daemon speaks first, on accept, with [`DaemonHello`]. A client may answer with a
//! [`ClientHello`] or may just begin. Both are `:EVENT` messages with `:action :handshake`; the
//! three fields that older documents know come first, since old clients read no further.

use bridle_sexp::{Dialect, Kind, Value};

use super::invalid::{InvalidMessage, MessagePath};
use super::message::{MessageType, OacpMessage};
use super::shape::{
    FieldNeed, FieldRow, FieldShape, check_fields, check_shape, text_of, unpadded_len,
};
use super::shape::{invalid_value, wrong_type};
use super::view::{MessageView, check_plist};
use crate::frame::{LengthUnit, MAX_FRAME};

/// The version of the protocol that this crate speaks.
pub const VERSION: &str = "0.3.0";

/// Longest text in a hello, in bytes: it is kept as long as its connection, and ten thousand
/// connections must stay small.
pub const MAX_HELLO_TEXT: usize = 256;

/// Most capabilities or actuators in a hello; the protocol has under ten of its own.
pub const MAX_HELLO_NAMES: usize = 64;

/// Bytes of the actions that a hello describes, all together: kept as long as its connection.
pub const MAX_HELLO_ACTIONS: usize = 32 << 10;

/// The least `:max-frame` that is taken, in bytes: every error frame fits in it.
pub const MIN_MAX_FRAME: usize = 1024;

/// Greeting that the daemon sends on accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonHello {
    /// The protocol's version, [`VERSION`].
    pub version: Box<str>,
    /// Capabilities that are on now, in lower case; never one that is off.
    pub capabilities: Vec<Box<str>>,
    /// The program, such as `bridle/0.1.0`.
    pub server: Option<Box<str>>,
    /// Limits of this side.
    pub limits: HelloLimits,
    /// Demand for signatures, when frames must be signed.
    pub auth: Option<HelloAuth>,
}

/// Limits of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelloLimits {
    /// Bytes in one frame.
    pub max_frame: Option<usize>,
    /// Bytes in one message sent in parts; absent when parts are off.
    pub max_message: Option<usize>,
    /// Lists inside lists.
    pub max_depth: Option<usize>,
}

/// Signing terms: `(:hmac 1 2 :nonce S)` from the daemon, `(:hmac 2 :key ID :nonce S :answer
/// S)` from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelloAuth {
    /// Versions of the signature that this side speaks.
    pub versions: Vec<u8>,
    /// The id of the key that signs; a client's choice.
    pub key: Option<Box<str>>,
    /// Fresh random text of this side.
    pub nonce: Option<Box<str>>,
    /// The other side's nonce, given back.
    pub answer: Option<Box<str>>,
}

/// Greeting of a client; every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The version that the client speaks.
    pub version: Option<Box<str>>,
    /// Capabilities of the client, in lower case.
    pub capabilities: Vec<Box<str>>,
    /// Unit of its lengths.
    pub length: Option<LengthUnit>,
    /// The dialect of its texts; Lisp unless said.
    pub dialect: Option<Dialect>,
    /// A uuid that stays the same when the client starts again; repeats are recognized by it.
    pub client: Option<Box<str>>,
    /// The session to attach to.
    pub session: Option<Box<str>>,
    /// The last number it has seen in that session.
    pub cursor: Option<u64>,
    /// Role that it wants in the session; controller by default.
    pub role: Option<ShellRole>,
    /// Kind of shell, such as `emacs`; in lower case.
    pub shell: Option<Box<str>>,
    /// Locale of its user.
    pub locale: Option<Box<str>>,
    /// Time zone of its user.
    pub time_zone: Option<Box<str>>,
    /// The most bytes it takes in one frame.
    pub max_frame: Option<usize>,
    /// Renderings a second that it asks for at most.
    pub render_rate: Option<u64>,
    /// Whether it wants a receipt for what it sends.
    pub receipts: bool,
    /// Actuators that it offers.
    pub actuators: Vec<HelloActuator>,
    /// Signing terms of the client.
    pub auth: Option<HelloAuth>,
}

/// Actuator in a client's hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelloActuator {
    /// Its name, in lower case.
    pub name: Box<str>,
    /// Description of its actions, as the client wrote it; read by whoever knows actions.
    pub actions: Option<Value>,
}

impl From<&str> for HelloActuator {
    fn from(name: &str) -> Self {
        HelloActuator { name: name.into(), actions: None }
    }
}

impl HelloActuator {
    fn to_value(&self) -> Value {
        let name = Value::keyword(&self.name);
        match &self.actions {
            None => name,
            Some(actions) => Value::plist([("name", name), ("actions", actions.clone())]),
        }
    }
}

/// Rights of a shell in the session that it is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ShellRole {
    /// Speaks and listens.
    #[default]
    Controller,
    /// Listens.
    Observer,
}

impl ShellRole {
    /// All roles.
    pub const ALL: [ShellRole; 2] = [ShellRole::Controller, ShellRole::Observer];

    /// Returns the name on the wire, without the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            ShellRole::Controller => "controller",
            ShellRole::Observer => "observer",
        }
    }
}

const CLIENT_FIELDS: [FieldRow; 13] = [
    FieldRow("version", FieldNeed::May, FieldShape::Text),
    FieldRow("capabilities", FieldNeed::May, FieldShape::List),
    FieldRow("length", FieldNeed::May, FieldShape::Keyword),
    FieldRow("dialect", FieldNeed::May, FieldShape::Keyword),
    FieldRow("client", FieldNeed::May, FieldShape::Text),
    FieldRow("session", FieldNeed::May, FieldShape::Text),
    FieldRow("cursor", FieldNeed::May, FieldShape::Natural),
    FieldRow("role", FieldNeed::May, FieldShape::Keyword),
    FieldRow("shell", FieldNeed::May, FieldShape::Name),
    FieldRow("locale", FieldNeed::May, FieldShape::Text),
    FieldRow("time-zone", FieldNeed::May, FieldShape::Text),
    FieldRow("render-rate", FieldNeed::May, FieldShape::Natural),
    FieldRow("actuators", FieldNeed::May, FieldShape::List),
];

impl ClientHello {
    /// Reads a client's hello; `None` when the message is something else.
    ///
    /// # Errors
    /// When a field has another type or is out of range.
    pub fn from_message(message: &OacpMessage) -> Result<Option<Self>, InvalidMessage> {
        let Some(payload) = handshake(message) else { return Ok(None) };
        read_client(payload, &MessagePath::of(&["payload"])).map(Some)
    }

    /// Returns the message that says this.
    pub fn to_message(&self) -> OacpMessage {
        let mut out = PlistWriter::handshake();
        out.text("version", self.version.as_deref());
        if !self.capabilities.is_empty() {
            out.keywords("capabilities", &self.capabilities);
        }
        out.keyword("length", self.length.map(LengthUnit::as_str));
        out.keyword("dialect", self.dialect.map(dialect_name));
        out.text("client", self.client.as_deref());
        out.text("session", self.session.as_deref());
        out.number("cursor", self.cursor);
        out.keyword("role", self.role.map(ShellRole::as_str));
        out.keyword("shell", self.shell.as_deref());
        out.text("locale", self.locale.as_deref());
        out.text("time-zone", self.time_zone.as_deref());
        out.size("max-frame", self.max_frame);
        out.number("render-rate", self.render_rate);
        if self.receipts {
            out.pair("receipts", Value::T);
        }
        if !self.actuators.is_empty() {
            out.pair("actuators", Value::list(self.actuators.iter().map(HelloActuator::to_value)));
        }
        if let Some(auth) = &self.auth {
            out.pair("auth", auth.to_value());
        }
        out.into_message()
    }
}

impl DaemonHello {
    /// Makes the hello of this version with nothing switched on.
    pub fn new(server: &str) -> Self {
        DaemonHello {
            version: VERSION.into(),
            capabilities: Vec::new(),
            server: Some(server.into()),
            limits: HelloLimits::default(),
            auth: None,
        }
    }

    /// Reads a daemon's hello, old ones included; `None` when the message is something else.
    ///
    /// # Errors
    /// When a field has another type or is out of range.
    pub fn from_message(message: &OacpMessage) -> Result<Option<Self>, InvalidMessage> {
        let Some(payload) = handshake(message) else { return Ok(None) };
        let path = MessagePath::of(&["payload"]);
        let fields = [
            FieldRow("version", FieldNeed::Must, FieldShape::Text),
            FieldRow("capabilities", FieldNeed::May, FieldShape::List),
            FieldRow("server", FieldNeed::May, FieldShape::Text),
        ];
        check_fields(payload, &fields, &path)?;
        let limits = match payload.get_some("limits") {
            Some(limits) => read_limits(limits, &path.key("limits"))?,
            None => HelloLimits::default(),
        };
        Ok(Some(DaemonHello {
            version: text(payload, "version", &path)?.unwrap_or_default(),
            capabilities: names(payload, "capabilities", &path)?,
            server: text(payload, "server", &path)?,
            limits,
            auth: read_auth(payload, &path)?,
        }))
    }

    /// Returns the message that says this: the three oldest fields first, in their order.
    pub fn to_message(&self) -> OacpMessage {
        let mut out = PlistWriter::handshake();
        out.text("version", Some(&self.version));
        out.keywords("capabilities", &self.capabilities);
        out.text("server", self.server.as_deref());
        if self.limits != HelloLimits::default() {
            let mut limits = PlistWriter(Vec::new());
            limits.size("max-frame", self.limits.max_frame);
            limits.size("max-message", self.limits.max_message);
            limits.size("max-depth", self.limits.max_depth);
            out.pair("limits", Value::list(limits.0));
        }
        if let Some(auth) = &self.auth {
            out.pair("auth", auth.to_value());
        }
        out.into_message()
    }
}

impl HelloAuth {
    fn to_value(&self) -> Value {
        let mut out = vec![Value::keyword("hmac")];
        out.extend(self.versions.iter().map(|version| Value::int(i64::from(*version))));
        let mut rest = PlistWriter(out);
        rest.text("key", self.key.as_deref());
        rest.text("nonce", self.nonce.as_deref());
        rest.text("answer", self.answer.as_deref());
        Value::list(rest.0)
    }
}

/// Checks a handshake of either side: the client's fields include all that a daemon sends but
/// its server and limits.
pub(crate) fn check<V: MessageView>(payload: V, path: &MessagePath) -> Result<(), InvalidMessage> {
    if let Some(limits) = payload.get_some("limits") {
        read_limits(limits, &path.key("limits"))?;
    }
    read_client(payload, path).map(|_| ())
}

fn handshake(message: &OacpMessage) -> Option<&Value> {
    let payload = message.payload.as_ref().filter(|_| message.kind == MessageType::Event)?;
    payload.get("action").filter(|action| action.is_keyword("handshake"))?;
    Some(payload)
}

fn read_client<V: MessageView>(
    payload: V,
    path: &MessagePath,
) -> Result<ClientHello, InvalidMessage> {
    check_fields(payload, &CLIENT_FIELDS, path)?;
    let natural = |key| {
        payload
            .get_some(key)
            .and_then(MessageView::as_i64)
            .and_then(|number| u64::try_from(number).ok())
    };
    Ok(ClientHello {
        version: text(payload, "version", path)?,
        capabilities: names(payload, "capabilities", path)?,
        length: choice(
            payload,
            "length",
            path,
            &[("bytes", LengthUnit::Bytes), ("chars", LengthUnit::Chars)],
        )?,
        dialect: choice(
            payload,
            "dialect",
            path,
            &[("lisp", Dialect::Lisp), ("emacs", Dialect::Emacs)],
        )?,
        client: text(payload, "client", path)?,
        session: text(payload, "session", path)?,
        cursor: natural("cursor"),
        role: choice(payload, "role", path, &ShellRole::ALL.map(|role| (role.as_str(), role)))?,
        shell: text(payload, "shell", path)?.map(|name| name.to_ascii_lowercase().into()),
        locale: text(payload, "locale", path)?,
        time_zone: text(payload, "time-zone", path)?,
        max_frame: max_frame(payload, path)?,
        render_rate: natural("render-rate"),
        receipts: payload.get_some("receipts").is_some(),
        actuators: actuators(payload, path)?,
        auth: read_auth(payload, path)?,
    })
}

/// A frame limit: too small is refused, larger than a header can say means the largest.
fn max_frame<V: MessageView>(
    plist: V,
    path: &MessagePath,
) -> Result<Option<usize>, InvalidMessage> {
    let key = "max-frame";
    let Some(value) = plist.get_some(key) else { return Ok(None) };
    let path = path.key(key);
    check_shape(value, FieldShape::Natural, &path)?;
    let size = value.as_i64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    if size < MIN_MAX_FRAME {
        return Err(invalid_value(value, &path, &format!("expected at least {MIN_MAX_FRAME}")));
    }
    Ok(Some(size.min(MAX_FRAME)))
}

fn read_limits<V: MessageView>(
    limits: V,
    path: &MessagePath,
) -> Result<HelloLimits, InvalidMessage> {
    check_plist(limits, path)?;
    let fields = [
        FieldRow("max-message", FieldNeed::May, FieldShape::Natural),
        FieldRow("max-depth", FieldNeed::May, FieldShape::Natural),
    ];
    check_fields(limits, &fields, path)?;
    let size = |key| {
        limits
            .get_some(key)
            .and_then(MessageView::as_i64)
            .and_then(|number| usize::try_from(number).ok())
    };
    Ok(HelloLimits {
        max_frame: max_frame(limits, path)?,
        max_message: size("max-message"),
        max_depth: size("max-depth"),
    })
}

fn read_auth<V: MessageView>(
    payload: V,
    path: &MessagePath,
) -> Result<Option<HelloAuth>, InvalidMessage> {
    let Some(value) = payload.get_some("auth") else { return Ok(None) };
    let path = path.key("auth");
    check_shape(value, FieldShape::List, &path)?;
    let mut items = value.items().peekable();
    if !items.next().is_some_and(|first| first.is_keyword("hmac")) {
        return Err(invalid_value(value, &path, "expected `(:hmac VERSION...)`"));
    }
    let mut auth = HelloAuth::default();
    while let Some(version) = items.next_if(|item| item.kind() != Kind::Keyword) {
        match version.as_i64().and_then(|number| u8::try_from(number).ok()) {
            Some(number) if auth.versions.len() < MAX_HELLO_NAMES => auth.versions.push(number),
            _ => return Err(invalid_value(version, &path, "expected small version numbers")),
        }
    }
    while let Some(key) = items.next() {
        let Some(value) = items.next() else {
            return Err(invalid_value(key, &path, "the last key has no value"));
        };
        let slots =
            [("key", &mut auth.key), ("nonce", &mut auth.nonce), ("answer", &mut auth.answer)];
        if let Some((_, slot)) = slots.into_iter().find(|(name, _)| key.is_keyword(name)) {
            slot.get_or_insert(short_text(value, &path)?);
        }
    }
    Ok(Some(auth))
}

/// A string, or a name, that is short enough to be kept.
fn text<V: MessageView>(
    plist: V,
    key: &'static str,
    path: &MessagePath,
) -> Result<Option<Box<str>>, InvalidMessage> {
    plist.get_some(key).map(|value| short_text(value, &path.key(key))).transpose()
}

fn short_text<V: MessageView>(value: V, path: &MessagePath) -> Result<Box<str>, InvalidMessage> {
    let text: Box<str> = match value.name() {
        Some(name) => name,
        None => match text_of(&value.to_value()) {
            Some(text) => text.into(),
            None => return Err(wrong_type(value, path, "a string")),
        },
    };
    if text.len() > MAX_HELLO_TEXT {
        let expected = format!("expected at most {MAX_HELLO_TEXT} bytes");
        return Err(invalid_value(value, path, &expected));
    }
    Ok(text)
}

/// A short list of keywords, in lower case.
fn names<V: MessageView>(
    plist: V,
    key: &'static str,
    path: &MessagePath,
) -> Result<Vec<Box<str>>, InvalidMessage> {
    let Some(list) = plist.get_some(key) else { return Ok(Vec::new()) };
    let path = path.key(key);
    let mut names = Vec::new();
    for (index, item) in list.items().take(unpadded_len(list)).enumerate() {
        let path = path.index(index);
        check_shape(item, FieldShape::Keyword, &path)?;
        if index == MAX_HELLO_NAMES {
            let expected = format!("expected at most {MAX_HELLO_NAMES} names");
            return Err(invalid_value(item, &path, &expected));
        }
        names.push(short_text(item, &path)?.to_ascii_lowercase().into());
    }
    Ok(names)
}

/// A short list of names, and of plists with `:name` and `:actions`.
fn actuators<V: MessageView>(
    payload: V,
    path: &MessagePath,
) -> Result<Vec<HelloActuator>, InvalidMessage> {
    let Some(list) = payload.get_some("actuators") else { return Ok(Vec::new()) };
    let path = path.key("actuators");
    let (mut all, mut bytes) = (Vec::new(), 0_usize);
    for (index, item) in list.items().take(unpadded_len(list)).enumerate() {
        let path = path.index(index);
        if index == MAX_HELLO_NAMES {
            let expected = format!("expected at most {MAX_HELLO_NAMES} names");
            return Err(invalid_value(item, &path, &expected));
        }
        let named = match item.kind() {
            Kind::List => item.get_some("name").unwrap_or(item),
            _ => item,
        };
        check_shape(named, FieldShape::Keyword, &path)?;
        let name = short_text(named, &path)?.to_ascii_lowercase().into();
        let actions = match item.kind() {
            Kind::List => item.get("actions").map(MessageView::to_value),
            _ => None,
        };
        bytes = bytes.saturating_add(actions.as_ref().map_or(0, |it| it.to_string().len()));
        if bytes > MAX_HELLO_ACTIONS {
            let expected = format!("expected at most {MAX_HELLO_ACTIONS} bytes of actions");
            return Err(invalid_value(item, &path, &expected));
        }
        all.push(HelloActuator { name, actions });
    }
    Ok(all)
}

/// One of a closed list of keywords.
fn choice<V: MessageView, T: Copy>(
    plist: V,
    key: &'static str,
    path: &MessagePath,
    choices: &[(&str, T)],
) -> Result<Option<T>, InvalidMessage> {
    let Some(value) = plist.get_some(key) else { return Ok(None) };
    if let Some((_, choice)) = choices.iter().find(|(name, _)| value.is_keyword(name)) {
        return Ok(Some(*choice));
    }
    let names: Vec<String> = choices.iter().map(|(name, _)| format!(":{name}")).collect();
    let expected = format!("expected {}", names.join(" or "));
    Err(invalid_value(value, &path.key(key), &expected))
}

fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Lisp => "lisp",
        Dialect::Emacs => "emacs",
    }
}

/// A plist that is being written.
struct PlistWriter(Vec<Value>);

impl PlistWriter {
    fn handshake() -> Self {
        PlistWriter(vec![Value::keyword("action"), Value::keyword("handshake")])
    }

    fn pair(&mut self, key: &str, value: Value) {
        self.0.extend([Value::keyword(key), value]);
    }

    fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.pair(key, Value::str(text));
        }
    }

    fn keyword(&mut self, key: &str, name: Option<&str>) {
        if let Some(name) = name {
            self.pair(key, Value::keyword(name));
        }
    }

    fn keywords(&mut self, key: &str, names: &[Box<str>]) {
        self.pair(key, Value::list(names.iter().map(|name| Value::keyword(name))));
    }

    fn number(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.pair(key, Value::int(i64::try_from(number).unwrap_or(i64::MAX)));
        }
    }

    fn size(&mut self, key: &str, size: Option<usize>) {
        self.number(key, size.and_then(|size| u64::try_from(size).ok()));
    }

    fn into_message(self) -> OacpMessage {
        OacpMessage::new(MessageType::Event).with_payload(Value::list(self.0))
    }
}
