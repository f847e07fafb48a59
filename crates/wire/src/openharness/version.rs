//! Versions of the wire format, and which of them are served.
//!
//! The form is the published pattern, `N.N.N[-pre][+build]`, read by hand: ASCII digits only, nothing
//! before or behind. Any 1.x is served: later minor versions only add what a recipient ignores, and
//! patch, pre-release and build change nothing on the wire.

use std::borrow::Cow;
use std::fmt;

use super::json::{Json, JsonNode, JsonObject, JsonWriter};
use super::limits::MAX_VERSION;
use super::schema::SchemaBook;
use super::shape::{JsonShape, ReadPosition, ShapeError};

/// The version that bridle writes.
pub const OURS: &str = "1.0.0";

/// The major line that bridle serves.
pub const MAJOR: u64 = 1;

/// The highest minor version whose fields bridle knows.
pub const MINOR: u64 = 0;

/// Form of a version for schemas, spelled with ASCII digits.
const PATTERN: &str = r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";

/// A version as it was written. Numbers that do not fit count as the largest that do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProtocolVersion {
    text: Cow<'static, str>,
    /// The major number.
    pub major: u64,
    /// The minor number.
    pub minor: u64,
    /// The patch number.
    pub patch: u64,
}

/// Service that a message of a version gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VersionService {
    /// All its fields are known.
    Known,
    /// Served; fields that are newer than bridle are ignored.
    Newer,
    /// Another major line: nothing of the message may be taken for what it looks like.
    Unsupported,
}

impl ProtocolVersion {
    /// The version that bridle writes.
    pub fn ours() -> Self {
        ProtocolVersion { text: OURS.into(), major: MAJOR, minor: MINOR, patch: 0 }
    }

    /// Reads a version; `None` when the text is not of the form, or too long.
    pub fn parse(text: &str) -> Option<Self> {
        if text == OURS {
            return Some(ProtocolVersion::ours());
        }
        if text.len() > MAX_VERSION {
            return None;
        }
        let (rest, build) = split(text, '+');
        let (numbers, pre) = split(rest, '-');
        if ![build, pre].into_iter().flatten().all(is_label) {
            return None;
        }
        let mut numbers = numbers.split('.').map(number);
        let version = ProtocolVersion {
            text: text.to_owned().into(),
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
        };
        numbers.next().is_none().then_some(version)
    }

    /// Returns the text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Text of the version, to keep.
    pub(super) fn text(&self) -> Cow<'static, str> {
        self.text.clone()
    }

    /// Tells whether and how messages of this version are served.
    pub fn service(&self) -> VersionService {
        match (self.major, self.minor) {
            (MAJOR, MINOR) => VersionService::Known,
            (MAJOR, _) => VersionService::Newer,
            _ => VersionService::Unsupported,
        }
    }

    /// Returns what stands in `supported_protocol_versions`: one for each minor line.
    pub fn supported() -> Vec<ProtocolVersion> {
        vec![ProtocolVersion::ours()]
    }
}

/// Text before the mark, and behind it if the mark is there.
fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

/// Whether this is a pre-release or a build: letters, digits, dots and hyphens.
fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl JsonShape for ProtocolVersion {
    fn expected() -> Cow<'static, str> {
        "a version such as `1.0.0`".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        let text = node.as_str().ok_or_else(|| at.unlike::<Self>(node))?;
        ProtocolVersion::parse(&text).ok_or_else(|| at.invalid(Self::expected(), "another string"))
    }

    fn write(&self, out: &mut JsonWriter) {
        out.string(&self.text);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        let mut schema = JsonObject::from_iter([("type", Json::from("string"))]);
        schema.insert("pattern", PATTERN);
        schema.insert("maxLength", MAX_VERSION as u64);
        Json::Object(schema)
    }
}
