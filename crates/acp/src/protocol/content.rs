//! Blocks of content: what a prompt is made of, and what is shown.

use serde::{Deserialize, Serialize};

/// Piece of a prompt or of a message.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// Picture.
    Image {
        /// The bytes in base64.
        data: String,
        /// Type of the bytes.
        mime_type: String,
        /// Place it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// Sound; bridle never says that it takes any.
    Audio {
        /// The bytes in base64.
        data: String,
        /// Type of the bytes.
        mime_type: String,
    },
    /// Link to text that is read elsewhere.
    ResourceLink {
        /// Name for people.
        name: String,
        /// Place.
        uri: String,
    },
    /// Text or bytes, handed over whole.
    Resource {
        /// The contents.
        resource: EmbeddedContents,
    },
}

/// Contents of an embedded resource: text, or bytes in base64.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum EmbeddedContents {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Place.
        uri: String,
    },
    /// Bytes.
    Blob {
        /// The bytes in base64.
        blob: String,
        /// Place.
        uri: String,
    },
}

impl ContentBlock {
    /// Makes a block of text.
    pub fn text(text: impl Into<String>) -> ContentBlock {
        ContentBlock::Text { text: text.into() }
    }
}
