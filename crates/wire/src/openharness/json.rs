//! JSON text as OpenHarness needs it: strict, bounded, without recursion on what a peer sent.
//!
//! Called by every reader and writer of this room; knows no message. [`JsonDocument`] is a tape over the
//! received text, made by one pass that refuses what RFC 8259 and I-JSON refuse; [`Json`] is a value
//! of our own, for what is kept or made; [`JsonWriter`] prints both. Not a general JSON library: there is
//! no derive and no mapping, the shapes of messages are in `shape`.

mod canonical;
mod decimal;
mod fault;
mod node;
mod read;
mod string;
mod value;
mod write;

pub use fault::{BrokenJson, JsonFault};
pub use node::{JsonDocument, JsonNode, NodeKind};
pub use value::{Json, JsonNumber, JsonObject};
pub use write::JsonWriter;

pub(super) use canonical::canonical;
pub(super) use string::unescape_checked;
pub(super) use write::is_plain;

#[cfg(test)]
mod tests;
