//! Arguments of the actions that change what a session shows to thinkers: `:compact` and `:release`.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::text;

/// Longest words of a summary, in bytes.
const MAX_WORDS_BYTES: usize = 4 << 10;

/// Exchanges that stay as they are unless something else is said.
const USUAL_KEPT_EXCHANGES: i64 = 4;

/// Most exchanges that can be asked to stay.
const MAX_KEPT_EXCHANGES: i64 = 1_000;

/// Arguments of the action `:compact`: words for all exchanges but the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactRequest {
    /// The words.
    pub text: Box<str>,
    /// Number of the latest exchanges that stay.
    pub keep: u32,
}

/// Arguments of the action `:release`: a secret exchange that models elsewhere may see from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseRequest {
    /// Words of the user in it, as the daemon looked them up.
    pub asked: Box<str>,
    /// Text of its answer.
    pub said: Box<str>,
}

impl CompactRequest {
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let words = text(payload, "compact", "text")?;
        if words.len() > MAX_WORDS_BYTES {
            let expected = "a string of at most 4096 bytes";
            return Err(InvalidAction::Argument { action: "compact", key: "text", expected });
        }
        let keep = match payload.get("keep").filter(|keep| !keep.is_nil()) {
            None => Some(USUAL_KEPT_EXCHANGES),
            Some(keep) => keep.as_i64().filter(|keep| (0..=MAX_KEPT_EXCHANGES).contains(keep)),
        };
        let keep = keep.and_then(|keep| u32::try_from(keep).ok());
        let expected = "a number of exchanges, at most 1000";
        let keep =
            keep.ok_or(InvalidAction::Argument { action: "compact", key: "keep", expected })?;
        Ok(Self { text: words, keep })
    }
}

impl ReleaseRequest {
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let found = |key| {
            let expected = "the number of a secret exchange that is kept, as `:exchange`";
            let error = InvalidAction::Argument { action: "release", key: "exchange", expected };
            text(payload, "release", key).map_err(|_| error)
        };
        Ok(Self { asked: found("asked")?, said: found("said")? })
    }
}
