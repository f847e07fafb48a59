//! What records of an older version of the loop have in common with what replay gives today.
//!
//! Orders, outcomes, answers, questions and verdicts have to be the same. What only describes them, such as the facts
//! of a decision or what a thinker was told, may have been written otherwise.

use bridle_loop::{Effect, RecordKind};

use crate::record_body;

/// Keys of a body that say what an effect is.
const KEYS: [&str; 8] =
    ["turn", "target", "action", "payload", "verdict", "outcome", "result", "answers"];

/// Whether effects of a kind have to be there.
pub(super) fn is_binding(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Act
            | RecordKind::Decided
            | RecordKind::Ask
            | RecordKind::Settled
            | RecordKind::Say
    )
}

/// Whether an effect is what a record of its kind says, in other words.
pub(super) fn means_the_same(effect: &Effect, seq: Option<u64>, recorded: &str) -> bool {
    let kind = effect.kind();
    if !is_binding(kind) {
        return true;
    }
    if effect.seq().map(|seq| seq.0) != seq {
        return false;
    }
    let (recorded, got) = (record_body::value(recorded), effect.to_value());
    // A decision may name its proposal instead of the payload.
    let is_told = |key: &str| kind != RecordKind::Decided || key != "payload";
    KEYS.into_iter().filter(|key| is_told(key)).all(|key| recorded.get(key) == got.get(key))
}
