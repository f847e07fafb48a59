//! Arguments of the actions that change how much a turn or a session may do.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::{natural, text};
use crate::limits::SessionLimits;

/// Largest number that a limit of a session can be set to.
const MAX_LIMIT: i64 = 1 << 40;

/// Longest description of what was reached, in bytes.
const MAX_REACHED_BYTES: usize = 64;

/// Arguments of the action `:set-limits`: what is given holds from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsRequest {
    /// Rounds of outcomes in a turn.
    pub rounds: Option<i64>,
    /// Proposals carried out in a turn.
    pub acts: Option<i64>,
    /// Drafts in a row with a veto.
    pub vetoes: Option<i64>,
    /// Milliseconds of a turn.
    pub turn_ms: Option<i64>,
    /// Milliseconds of an act of the daemon.
    pub act_ms: Option<i64>,
    /// Tokens of a turn.
    pub tokens: Option<i64>,
    /// Millionths of a dollar of a turn.
    pub microdollars: Option<i64>,
}

/// Arguments of the action `:go-on`: one more helping of every budget of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoOnRequest {
    /// The turn.
    pub turn: u64,
    /// Budget that was reached, in words.
    pub reached: Box<str>,
}

impl LimitsRequest {
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let limit = |key: &'static str, least: i64| match payload.get(key) {
            None | Some(Value::Nil) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(number) if (least..=MAX_LIMIT).contains(&number) => Ok(Some(number)),
                _ => Err(InvalidAction::Argument {
                    action: "set-limits",
                    key,
                    expected: "a whole number that a limit can be",
                }),
            },
        };
        let request = Self {
            rounds: limit("rounds", 1)?,
            acts: limit("acts", 1)?,
            vetoes: limit("vetoes", 1)?,
            turn_ms: limit("turn-ms", 1_000)?,
            act_ms: limit("act-ms", 1_000)?,
            tokens: limit("tokens", 0)?,
            microdollars: limit("microdollars", 0)?,
        };
        if request == Self::default() {
            let expected = "`:rounds`, `:acts`, `:vetoes`, `:turn-ms`, `:act-ms`, `:tokens` or \
                            `:microdollars`";
            return Err(InvalidAction::Argument { action: "set-limits", key: "rounds", expected });
        }
        Ok(request)
    }

    /// Sets the limits that are named.
    pub(crate) fn apply(&self, limits: &mut SessionLimits) {
        let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let wide = |number: i64| u64::try_from(number).unwrap_or_default();
        limits.depth = self.rounds.map_or(limits.depth, small);
        limits.acts = self.acts.map_or(limits.acts, small);
        limits.vetoes_in_row = self.vetoes.map_or(limits.vetoes_in_row, small);
        limits.turn_deadline_ms = self.turn_ms.unwrap_or(limits.turn_deadline_ms);
        limits.host_act_ms = self.act_ms.unwrap_or(limits.host_act_ms);
        limits.turn_tokens = self.tokens.map_or(limits.turn_tokens, wide);
        limits.turn_microdollars = self.microdollars.map_or(limits.turn_microdollars, wide);
    }
}

impl GoOnRequest {
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let reached = text(payload, "go-on", "reached")?;
        if reached.len() > MAX_REACHED_BYTES {
            let expected = "a string of at most 64 bytes";
            return Err(InvalidAction::Argument { action: "go-on", key: "reached", expected });
        }
        Ok(Self { turn: natural(payload, "go-on", "turn")?, reached })
    }
}
