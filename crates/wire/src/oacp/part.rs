//! The check of a message that is a part of a larger one, and the way from it to `parts`.
//!
//! The check runs with every message. Joining parts is not done here: that is an assembler's work.

use bridle_sexp::{Kind, Value};

use super::invalid::{InvalidMessage, MessagePath};
use super::message::{MessageType, OacpMessage};
use super::shape::{
    FieldNeed, FieldRow, FieldShape, check_fields, invalid_value, missing, text_of, wrong_type,
};
use super::view::{MessageView, check_plist};
use crate::parts::{MAX_ID, PartMessage, PartsId};

impl<'m> PartMessage<'m> {
    /// Reads a part from a checked message; `None` when the message is something else.
    pub fn from_message(message: &'m OacpMessage) -> Option<Self> {
        let find = |name| message.extra.iter().find(|(key, _)| key.is(name)).map(|(_, v)| v);
        let is_part = message.kind == MessageType::Event && message.payload.is_none();
        let part = find("part").filter(|_| is_part)?;
        let id = PartsId::new(part.get("id").and_then(Value::as_str)?)?;
        if part.get_some("abort").is_some() {
            return Some(PartMessage::Abort { id });
        }
        let number = |key| u32::try_from(part.get(key)?.as_i64()?).ok();
        let data = find("data").and_then(Value::as_str)?.into();
        Some(PartMessage::Part { id, n: number("n")?, of: number("of")?, data })
    }
}

/// Checks the `:part` of an event and the `:data` beside it.
pub(super) fn check<V: MessageView>(root: V, part: V) -> Result<(), InvalidMessage> {
    let path = MessagePath::of(&["part"]);
    check_plist(part, &path)?;
    let id = plain_text(part, "id", &path)?;
    if text_of(&id.to_value()).and_then(PartsId::new).is_none() {
        let expected = format!("expected a name of 1 to {MAX_ID} bytes");
        return Err(invalid_value(id, &path.key("id"), &expected));
    }
    if part.get_some("abort").is_some() {
        return Ok(());
    }
    let fields = [
        FieldRow("n", FieldNeed::Must, FieldShape::Natural),
        FieldRow("of", FieldNeed::Must, FieldShape::Natural),
    ];
    check_fields(part, &fields, &path)?;
    let number = |key| part.get_some(key).and_then(MessageView::as_i64).unwrap_or_default();
    if number("of") > i64::from(u32::MAX) {
        let of = part.get_some("of").unwrap_or(part);
        return Err(invalid_value(of, &path.key("of"), "expected a number of 32 bits"));
    }
    if number("n") < 1 || number("n") > number("of") {
        let n = part.get_some("n").unwrap_or(part);
        return Err(invalid_value(n, &path.key("n"), "expected a number from 1 to `:of`"));
    }
    plain_text(root, "data", &MessagePath::ROOT).map(|_| ())
}

/// A string without properties: a piece of text is joined, and properties would be lost.
fn plain_text<V: MessageView>(
    plist: V,
    key: &'static str,
    path: &MessagePath,
) -> Result<V, InvalidMessage> {
    let path = path.key(key);
    match plist.get_some(key) {
        Some(value) if value.kind() == Kind::String => Ok(value),
        Some(value) => Err(wrong_type(value, &path, "a string")),
        None => Err(missing(plist, &path)),
    }
}
