//! JSON Schemas (draft 2020-12) of the declared messages. Called by `bridle schema openharness`, by the
//! description of the HTTP interface and by the comparison with published schemas. Nothing is written
//! here by hand but the list of what travels in which direction.

use std::collections::BTreeMap;

use super::directive::Directive;
use super::discovery::DiscoveryDocument;
use super::event;
use super::exchange::{AttachmentStored, CancelAccepted, CancelRequest, EngineHealth};
use super::json::{Json, JsonObject};
use super::pairing;
use super::payload;
use super::request::RequestMessage;
use super::response::ResponseMessage;
use super::shape::{JsonShape, ReadMode};

/// Sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemaDirection {
    /// From a shell to the engine.
    Request,
    /// From the engine to a shell.
    Response,
}

/// Returns the schema of what travels in a direction, or in both. Its root is the message of that
/// direction (either message, for both); under `$defs` are also the documents of the extra endpoints.
///
/// In strict mode it describes what is right to send, in lenient mode all that is accepted.
pub fn schema(direction: Option<SchemaDirection>, mode: ReadMode) -> Json {
    let mut book = SchemaBook::new(mode, DEFINITIONS);
    let mut roots = Vec::new();
    if direction != Some(SchemaDirection::Response) {
        roots.push(requests(&mut book));
    }
    if direction != Some(SchemaDirection::Request) {
        roots.push(responses(&mut book));
    }
    let (name, title) = match direction {
        None => ("message", "OpenHarness messages as bridle reads and writes them"),
        Some(SchemaDirection::Request) => {
            ("request", "OpenHarness messages from a shell to bridle")
        }
        Some(SchemaDirection::Response) => {
            ("response", "OpenHarness messages from bridle to a shell")
        }
    };
    let mut root = JsonObject::new();
    root.insert("$schema", "https://json-schema.org/draft/2020-12/schema");
    root.insert("$id", format!("urn:bridle:openharness:{}:{name}", super::version::OURS));
    root.insert("title", title);
    root.insert("description", "Unknown fields are allowed and ignored.");
    match roots.pop() {
        Some(Json::Object(only)) if roots.is_empty() => {
            only.iter().for_each(|(key, value)| root.insert(key, value.clone()));
        }
        // A message with a key of the other direction is of both: unknown fields are no fault.
        last => root.insert("anyOf", Json::array(roots.into_iter().chain(last))),
    }
    root.insert("$defs", book.definitions());
    Json::Object(root)
}

/// Returns the schema of one shape with all that it refers to, for a registry of payloads.
pub fn schema_of<T: JsonShape>(mode: ReadMode) -> Json {
    let mut book = SchemaBook::new(mode, DEFINITIONS);
    let shape = T::schema(&mut book);
    let Json::Object(mut root) = shape else { return shape };
    if !book.definitions.is_empty() {
        root.insert("$defs", book.definitions());
    }
    Json::Object(root)
}

/// Returns the definitions of a direction for the `components/schemas` of an OpenAPI document. Their
/// names begin with that of the direction (`request.auth`), since what is accepted one way and what is
/// sent the other may have one name and two schemas.
pub fn components(direction: SchemaDirection, mode: ReadMode) -> JsonObject {
    let base = match direction {
        SchemaDirection::Request => "#/components/schemas/request.",
        SchemaDirection::Response => "#/components/schemas/response.",
    };
    let mut book = SchemaBook::new(mode, base);
    match direction {
        SchemaDirection::Request => requests(&mut book),
        SchemaDirection::Response => responses(&mut book),
    };
    let (_, prefix) = base.rsplit_once('/').unwrap_or(("", base));
    let named = |(name, schema): (&&str, &Json)| (format!("{prefix}{name}"), schema.clone());
    book.definitions.iter().map(named).collect()
}

/// Defines all that a shell sends; returns the message of the main endpoint.
fn requests(book: &mut SchemaBook) -> Json {
    CancelRequest::schema(book);
    pairing::PairCreate::schema(book);
    pairing::PairConfirm::schema(book);
    pairing::PairPoll::schema(book);
    pairing::PairRefresh::schema(book);
    pairing::PairRevoke::schema(book);
    RequestMessage::schema(book)
}

/// Defines all that the engine sends; returns the message of the main endpoint.
fn responses(book: &mut SchemaBook) -> Json {
    Directive::schema(book);
    payload::schemas(book);
    event::schemas(book);
    DiscoveryDocument::schema(book);
    EngineHealth::schema(book);
    AttachmentStored::schema(book);
    CancelAccepted::schema(book);
    pairing::PairCreated::schema(book);
    pairing::PairConfirmed::schema(book);
    pairing::PairGranted::schema(book);
    pairing::PairStatus::schema(book);
    pairing::PairError::schema(book);
    ResponseMessage::schema(book)
}

/// Prefix of references in a schema that stands alone.
const DEFINITIONS: &str = "#/$defs/";

/// The definitions of a schema, collected while shapes are asked for theirs.
#[derive(Debug)]
pub struct SchemaBook {
    mode: ReadMode,
    /// Prefix of references, before the name.
    base: &'static str,
    definitions: BTreeMap<&'static str, Json>,
}

impl SchemaBook {
    fn new(mode: ReadMode, base: &'static str) -> Self {
        SchemaBook { mode, base, definitions: BTreeMap::new() }
    }

    /// Whether it describes what is right, or all that is accepted.
    pub fn mode(&self) -> ReadMode {
        self.mode
    }

    /// Defines an object once and returns a reference to it.
    pub(super) fn define(
        &mut self,
        name: &'static str,
        doc: &[&str],
        fields: impl FnOnce(&mut SchemaBook, &mut SchemaFields),
    ) -> Json {
        if !self.definitions.contains_key(name) {
            // Claims the name, so that a shape that holds itself ends here.
            self.definitions.insert(name, Json::Null);
            let mut collected = SchemaFields::default();
            fields(self, &mut collected);
            self.definitions.insert(name, collected.object(doc));
        }
        self.reference(name)
    }

    /// Defines a list of words once and returns a reference to it.
    pub(super) fn words(
        &mut self,
        name: &'static str,
        doc: &[&str],
        words: &[&str],
        otherwise: &str,
    ) -> Json {
        let mut word = object("string");
        let mut text = prose(doc);
        match self.mode {
            ReadMode::Strict => {
                word.insert("enum", Json::array(words.iter().map(|word| Json::from(*word))));
            }
            ReadMode::Lenient => {
                text.push_str(&format!(
                    " Known: {}; any other counts as {otherwise}.",
                    words.join(", ")
                ));
            }
        }
        word.insert("description", text);
        self.definitions.entry(name).or_insert(Json::Object(word));
        self.reference(name)
    }

    /// Allows `null` besides, where the mode does.
    pub(super) fn nullable(&self, inner: Json) -> Json {
        if self.mode == ReadMode::Strict {
            return inner;
        }
        match inner {
            Json::Object(mut object) if object.get("type").and_then(Json::as_str).is_some() => {
                let kind = object.get("type").cloned().unwrap_or(Json::Null);
                object.insert("type", Json::array([kind, "null".into()]));
                Json::Object(object)
            }
            Json::Object(object) if object.is_empty() => Json::Object(object),
            other => Json::object([("anyOf", Json::array([other, typed("null")]))]),
        }
    }

    fn reference(&self, name: &str) -> Json {
        Json::object([("$ref", format!("{}{name}", self.base).into())])
    }

    fn definitions(&self) -> Json {
        Json::object(self.definitions.iter().map(|(name, schema)| (*name, schema.clone())))
    }
}

/// The fields of an object, while it is defined.
#[derive(Debug, Default)]
pub(super) struct SchemaFields {
    properties: JsonObject,
    required: Vec<&'static str>,
}

impl SchemaFields {
    pub(super) fn property<T: JsonShape>(
        &mut self,
        book: &mut SchemaBook,
        key: &'static str,
        doc: &[&str],
    ) {
        let mut schema = T::schema(book);
        if let Json::Object(object) = &mut schema {
            object.insert("description", prose(doc));
        }
        self.properties.insert(key, schema);
        if T::absent().is_none() {
            self.required.push(key);
        }
    }

    fn object(self, doc: &[&str]) -> Json {
        let mut schema = object("object");
        schema.insert("description", prose(doc));
        if !self.required.is_empty() {
            schema.insert("required", Json::array(self.required.into_iter().map(Json::from)));
        }
        schema.insert("properties", self.properties);
        Json::Object(schema)
    }
}

/// A value of one type, without further rules.
pub(super) fn typed(name: &str) -> Json {
    Json::Object(object(name))
}

/// A number of this type that is not negative.
pub(super) fn from_zero(name: &str) -> Json {
    let mut number = object(name);
    number.insert("minimum", 0);
    Json::Object(number)
}

/// A string with so many characters.
pub(super) fn text(least: usize, most: usize) -> Json {
    let mut text = object("string");
    if least > 0 {
        text.insert("minLength", count(least));
    }
    if most < usize::MAX {
        text.insert("maxLength", count(most));
    }
    Json::Object(text)
}

fn object(kind: &str) -> JsonObject {
    JsonObject::from_iter([("type", Json::from(kind))])
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The lines of a doc comment as one text.
fn prose(doc: &[&str]) -> String {
    doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}
