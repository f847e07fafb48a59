//! Arguments of a tool call. Models write text that ought to be a JSON object. A text with exactly one reading is
//! repaired; anything else is returned to the model with the reason, and nothing is guessed: half a path is another
//! path.
//!
//! Repairs, in this order, each of which keeps every name and value that is there:
//! 1. nothing, blanks or `null`: the object without members (a call without arguments);
//! 2. a Markdown fence around the object is taken off;
//! 3. a JSON string that holds the object is unpacked (it was encoded twice);
//! 4. line ends and tabs inside of strings are escaped;
//! 5. a comma before a closing bracket is dropped.
//!
//! Refused: a text that ends too early, several values, two members of one name (readers differ in which one
//! counts, and the guard must see what the tool sees), other quotes, names without quotes.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::json::{JsonNode, JsonObject, JsonText};

/// Arguments of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolArguments {
    /// A JSON object, as the model wrote it.
    Valid(JsonText),
    /// A JSON object, after repairs.
    Repaired {
        /// The object.
        json: JsonText,
        /// The last repair that was needed.
        repair: ArgumentRepair,
    },
    /// No JSON object.
    Invalid {
        /// Text of the model.
        text: String,
        /// Reason why it is none, for the model and the user.
        reason: String,
    },
}

/// Repair of a tool's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentRepair {
    /// There were none.
    Empty,
    /// A Markdown fence stood around them.
    CodeFence,
    /// A string held them as JSON.
    EncodedTwice,
    /// A string had a raw line end or tab.
    ControlCharacter,
    /// A comma stood before a closing bracket.
    TrailingComma,
}

impl ToolArguments {
    /// Reads the text of a model.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let reason = match read_object(text) {
            Ok(json) => return Self::Valid(json),
            Err(reason) => reason,
        };
        match repaired(text) {
            Some((json, repair)) => Self::Repaired { json, repair },
            None => Self::Invalid { text: text.to_owned(), reason },
        }
    }

    /// Returns the object, or `None` for arguments that are none.
    #[must_use]
    pub fn json(&self) -> Option<&JsonText> {
        match self {
            Self::Valid(json) | Self::Repaired { json, .. } => Some(json),
            Self::Invalid { .. } => None,
        }
    }

    /// Returns an object for the history: servers read the arguments of past calls too, so a text that is none
    /// becomes the member `unreadable_arguments`.
    pub(crate) fn for_history(&self) -> JsonText {
        match self {
            Self::Valid(json) | Self::Repaired { json, .. } => json.clone(),
            Self::Invalid { text, .. } => {
                JsonText::of_object(JsonObject::new().with("unreadable_arguments", text.as_str()))
            }
        }
    }
}

/// The object, or why the text is none.
fn read_object(text: &str) -> Result<JsonText, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = UniqueMembers::deserialize(&mut reader).and_then(|_| reader.end());
    read.map_err(|error| error.to_string())?;
    JsonText::object(text).map_err(|error| error.to_string())
}

fn repaired(text: &str) -> Option<(JsonText, ArgumentRepair)> {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Some((JsonText::empty_object(), ArgumentRepair::Empty));
    }
    let mut text = trimmed.to_owned();
    let mut last = None;
    if let Some(inner) = without_fence(&text) {
        (text, last) = (inner.to_owned(), Some(ArgumentRepair::CodeFence));
    }
    if let Ok(Value::String(inner)) = serde_json::from_str(&text) {
        (text, last) = (inner, Some(ArgumentRepair::EncodedTwice));
    }
    if let (Ok(json), Some(repair)) = (read_object(&text), last) {
        return Some((json, repair));
    }
    let escaped = with_escaped_controls(&text);
    if let Ok(json) = read_object(&escaped) {
        return Some((json, ArgumentRepair::ControlCharacter));
    }
    let json = read_object(&without_trailing_commas(&escaped)).ok()?;
    Some((json, ArgumentRepair::TrailingComma))
}

/// The text between the lines of a Markdown fence.
fn without_fence(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (language, body) = inner.split_once('\n')?;
    matches!(language.trim(), "" | "json").then(|| body.trim())
}

/// Place of a character of JSON.
enum Position {
    Outside,
    InString,
    BehindBackslash,
}

impl Position {
    fn after(&self, character: char) -> Self {
        match (self, character) {
            (Self::Outside, '"') | (Self::BehindBackslash, _) => Self::InString,
            (Self::InString, '\\') => Self::BehindBackslash,
            (Self::InString, '"') | (Self::Outside, _) => Self::Outside,
            (Self::InString, _) => Self::InString,
        }
    }
}

fn with_escaped_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut position = Position::Outside;
    for character in text.chars() {
        match (&position, character) {
            (Position::InString, '\n') => out.push_str("\\n"),
            (Position::InString, '\r') => out.push_str("\\r"),
            (Position::InString, '\t') => out.push_str("\\t"),
            _ => out.push(character),
        }
        position = position.after(character);
    }
    out
}

fn without_trailing_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut position = Position::Outside;
    for character in text.chars() {
        if matches!(position, Position::Outside) && matches!(character, '}' | ']') {
            let kept = out.trim_end();
            // A comma behind an opening bracket or another comma separates nothing: that is no list.
            if let Some(rest) = kept.strip_suffix(',')
                && !rest.trim_end().ends_with(['{', '[', ','])
            {
                out.truncate(rest.len());
            }
        }
        out.push(character);
        position = position.after(character);
    }
    out
}

/// JSON in which no object has two members of one name.
struct UniqueMembers;

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = UniqueMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueMembers, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format!("two members are named `{name}`")));
            }
            map.next_value::<UniqueMembers>()?;
            names.insert(name);
        }
        Ok(UniqueMembers)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<UniqueMembers, A::Error> {
        while list.next_element::<UniqueMembers>()?.is_some() {}
        Ok(UniqueMembers)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_unit<E>(self) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }
}

impl From<&ToolArguments> for JsonNode {
    fn from(arguments: &ToolArguments) -> Self {
        Self::from(&arguments.for_history())
    }
}

#[cfg(test)]
mod tests {
    use super::{ArgumentRepair, ToolArguments};

    /// The object and its repair, or the beginning of the reason.
    #[track_caller]
    fn check(text: &str, expect: Result<(&str, Option<ArgumentRepair>), &str>) {
        let read = ToolArguments::read(text);
        match (&read, expect) {
            (ToolArguments::Valid(json), Ok((wanted, None))) => assert_eq!(json.as_str(), wanted),
            (ToolArguments::Repaired { json, repair }, Ok((wanted, Some(expected)))) => {
                assert_eq!((json.as_str(), *repair), (wanted, expected));
            }
            (ToolArguments::Invalid { reason, text: kept }, Err(wanted)) => {
                assert!(reason.starts_with(wanted), "{reason}");
                assert_eq!(kept, text);
            }
            _ => panic!("{read:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn an_object_stays_as_it_is() {
        check("{\"b\":1.50,\"a\":[null,true]}", Ok(("{\"b\":1.50,\"a\":[null,true]}", None)));
        check(" {} ", Ok(("{}", None)));
        check("{\"a\":{\"x\":1},\"b\":{\"x\":1}}", Ok(("{\"a\":{\"x\":1},\"b\":{\"x\":1}}", None)));
    }

    #[test]
    fn one_reading_is_repaired() {
        use ArgumentRepair::{CodeFence, ControlCharacter, Empty, EncodedTwice, TrailingComma};
        check("", Ok(("{}", Some(Empty))));
        check("  \n", Ok(("{}", Some(Empty))));
        check("null", Ok(("{}", Some(Empty))));
        check("```json\n{\"a\":1}\n```", Ok(("{\"a\":1}", Some(CodeFence))));
        check("```\n{\"a\":1}\n```", Ok(("{\"a\":1}", Some(CodeFence))));
        check("\"{\\\"a\\\":1}\"", Ok(("{\"a\":1}", Some(EncodedTwice))));
        check("{\"a\":\"x\ny\t\"}", Ok(("{\"a\":\"x\\ny\\t\"}", Some(ControlCharacter))));
        check("{\"a\":[1,2,],}", Ok(("{\"a\":[1,2]}", Some(TrailingComma))));
        check("{\"a\":\"x,}\", }", Ok(("{\"a\":\"x,}\"}", Some(TrailingComma))));
        check("{\"a\":\"x\n\",}", Ok(("{\"a\":\"x\\n\"}", Some(TrailingComma))));
    }

    #[test]
    fn anything_else_goes_back_with_its_reason() {
        check("{\"path\":\"/tmp/a", Err("EOF while parsing a string"));
        check("{\"a\":1", Err("EOF while parsing an object"));
        check("{\"a\":1}{\"a\":1}", Err("trailing characters"));
        check("{\"a\":1,\"a\":2}", Err("two members are named `a`"));
        check("{\"a\":{\"b\":1,\"b\":2}}", Err("two members are named `b`"));
        check("{'a':1}", Err("key must be a string"));
        check("{a:1}", Err("key must be a string"));
        check("[1]", Err("expected a JSON object"));
        check("[,]", Err("expected value"));
        check("{,}", Err("key must be a string"));
        check("\"hello\"", Err("expected a JSON object"));
        check("rm -rf /", Err("expected value"));
        check(&"[".repeat(300), Err("recursion limit exceeded"));
    }

    #[test]
    fn history_is_an_object_always() {
        let invalid = ToolArguments::read("{\"a\":\"b");
        assert_eq!(
            invalid.for_history().as_str(),
            "{\"unreadable_arguments\":\"{\\\"a\\\":\\\"b\"}"
        );
        assert_eq!(invalid.json(), None);
    }
}
