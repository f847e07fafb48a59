//! Reads a part from the message that carries it.
//!
//! Called by whoever assembles, on messages with `:part`; the message model has checked them
//! before and answers what is wrong, so here a message is a part or it is not.

use std::borrow::Cow;

use bridle_sexp::Node;

use super::{PartsId, ReceivedPart};

/// Content of a message with `:part`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartMessage<'t> {
    /// A part of a payload.
    Part {
        /// The payload's name.
        id: PartsId,
        /// The number of this part, from 1.
        n: u32,
        /// The number of parts.
        of: u32,
        /// The text, unescaped.
        data: Cow<'t, str>,
    },
    /// The sender gives the payload up.
    Abort {
        /// The payload's name.
        id: PartsId,
    },
}

impl<'t> PartMessage<'t> {
    /// Reads the message; `None` if it is no well-formed part.
    pub fn read(message: Node<'t>) -> Option<PartMessage<'t>> {
        let part = message.get("part")?;
        let id = PartsId::new(&part.get("id")?.as_str()?)?;
        if part.get("abort").is_some_and(|abort| !abort.is_nil()) {
            return Some(PartMessage::Abort { id });
        }
        let number = |key| u32::try_from(part.get(key)?.as_i64()?).ok();
        let data = message.get("data")?.as_str()?;
        Some(PartMessage::Part { id, n: number("n")?, of: number("of")?, data })
    }

    /// The part as [`super::PartAssembler::accept`] takes it; `None` for an abort.
    pub fn part(&self) -> Option<ReceivedPart<'_>> {
        match self {
            PartMessage::Part { n, of, data, .. } => Some(ReceivedPart { n: *n, of: *of, data }),
            PartMessage::Abort { .. } => None,
        }
    }
}
