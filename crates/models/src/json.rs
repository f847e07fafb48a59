//! JSON in two forms: text that was checked once and is passed on byte by byte (schemas, arguments, a vendor's own
//! state), and values that are written with their members in the order of our choice, so that the same request is
//! the same bytes and a vendor's prompt cache finds it again.

use serde_json::Value;

/// JSON text as it came, with blanks around it cut off. Parsing it again cannot fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonText(String);

/// Refusal of a text that is not the JSON that is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonTextError {
    /// The text does not parse, or nests deeper than 127 levels.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// The text is JSON of another type.
    #[error("expected a JSON object")]
    NotAnObject,
}

impl JsonText {
    /// Checks any JSON value.
    ///
    /// # Errors
    /// Fails when the text is not one JSON value.
    pub fn parse(text: &str) -> Result<Self, JsonTextError> {
        value_of(text).map(|_| Self(text.trim().to_owned()))
    }

    /// Checks a JSON object.
    ///
    /// # Errors
    /// Fails when the text is not one JSON object.
    pub fn object(text: &str) -> Result<Self, JsonTextError> {
        match value_of(text)? {
            Value::Object(_) => Ok(Self(text.trim().to_owned())),
            _ => Err(JsonTextError::NotAnObject),
        }
    }

    /// Returns the object without members.
    #[must_use]
    pub fn empty_object() -> Self {
        Self("{}".to_owned())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what stands between the braces of an object, for putting it among other members.
    pub(crate) fn members(&self) -> &str {
        let inner = self.0.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        inner.unwrap_or_default().trim()
    }

    /// Takes the print of a value, which is JSON by construction.
    pub(crate) fn of_value(value: &Value) -> Self {
        Self(value.to_string())
    }

    /// Takes an object that was built here.
    pub(crate) fn of_object(object: JsonObject) -> Self {
        Self(JsonNode::Object(object).print())
    }
}

fn value_of(text: &str) -> Result<Value, JsonTextError> {
    serde_json::from_str(text).map_err(|error| JsonTextError::Syntax(error.to_string()))
}

/// A value to be written. Nested only as deep as a codec nests it.
#[derive(Clone, Debug)]
pub(crate) enum JsonNode {
    Raw(String),
    Text(String),
    Number(u64),
    /// Thousandths, written as a decimal fraction.
    Milli(u32),
    Flag(bool),
    List(Vec<JsonNode>),
    Object(JsonObject),
}

/// An object to be written, its members in the order in which they were put.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonObject(Vec<(&'static str, JsonNode)>);

/// Key of members that are copied as they are, see [`JsonObject::splice`].
const SPLICED: &str = "";

impl JsonObject {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An object whose first member is `"type": KIND`.
    pub(crate) fn typed(kind: &str) -> Self {
        Self::new().with("type", kind)
    }

    pub(crate) fn with(mut self, key: &'static str, value: impl Into<JsonNode>) -> Self {
        self.put(key, value);
        self
    }

    pub(crate) fn put(&mut self, key: &'static str, value: impl Into<JsonNode>) {
        self.0.push((key, value.into()));
    }

    pub(crate) fn put_some(&mut self, key: &'static str, value: Option<impl Into<JsonNode>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Puts the members of another object behind those that are there, byte by byte.
    pub(crate) fn splice(&mut self, object: &JsonText) {
        if !object.members().is_empty() {
            self.put(SPLICED, JsonNode::Raw(object.members().to_owned()));
        }
    }

    /// Puts the members of another object behind those that are there.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonNode {
    pub(crate) fn print(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Raw(text) => out.push_str(text),
            Self::Text(text) => out.push_str(&Value::from(text.as_str()).to_string()),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Milli(milli) => out.push_str(&decimal(*milli)),
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(object) => {
                out.push('{');
                for (index, (key, value)) in object.0.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    if *key != SPLICED {
                        out.push_str(&format!("\"{key}\":"));
                    }
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// 0.7 for 700.
fn decimal(milli: u32) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl From<&str> for JsonNode {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for JsonNode {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&JsonText> for JsonNode {
    fn from(text: &JsonText) -> Self {
        Self::Raw(text.0.clone())
    }
}

impl From<u64> for JsonNode {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for JsonNode {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for JsonNode {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Vec<JsonNode>> for JsonNode {
    fn from(items: Vec<JsonNode>) -> Self {
        Self::List(items)
    }
}

impl From<JsonObject> for JsonNode {
    fn from(object: JsonObject) -> Self {
        Self::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonNode, JsonObject, JsonText, JsonTextError, decimal};

    #[test]
    fn members_keep_their_order_and_raw_text_its_bytes() {
        let raw = JsonText::object("{ \"b\" : 1.50, \"a\":[ ] }").unwrap();
        let mut object = JsonObject::typed("x").with("z", &raw).with("flag", true);
        object.splice(&raw);
        let text = JsonNode::from(object).print();
        assert_eq!(
            text,
            "{\"type\":\"x\",\"z\":{ \"b\" : 1.50, \"a\":[ ] },\"flag\":true,\"b\" : 1.50, \"a\":[ ]}"
        );
        assert!(JsonText::parse(&text).is_ok());
    }

    #[test]
    fn an_empty_object_adds_nothing() {
        let mut object = JsonObject::new().with("a", 1_u32);
        object.splice(&JsonText::object("{ }").unwrap());
        assert_eq!(JsonNode::from(object).print(), "{\"a\":1}");
    }

    #[test]
    fn fractions_are_short() {
        let texts: Vec<String> = [0, 700, 1000, 1250, 5].map(decimal).into();
        assert_eq!(texts, ["0", "0.7", "1", "1.25", "0.005"]);
    }

    #[test]
    fn only_objects_are_objects() {
        assert_eq!(JsonText::object("[1]"), Err(JsonTextError::NotAnObject));
        assert!(matches!(JsonText::object("{"), Err(JsonTextError::Syntax(_))));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(matches!(JsonText::parse(&deep), Err(JsonTextError::Syntax(_))));
    }
}
