//! What a running skill asks its host for.

use bridle_sexp::Value;

/// Request of a running skill.
#[derive(Debug, Clone, PartialEq)]
pub enum SkillRequest {
    /// Propose an action and wait for its outcome: `(:outcome :done :value ..)` or `(:outcome :denied :reason ..)`.
    Act {
        /// The actuator.
        target: String,
        /// The action with its arguments.
        payload: Value,
    },
    /// Seconds since 1970.
    Now,
    /// A number from 0 to below `limit`.
    Random {
        /// The limit.
        limit: i64,
    },
    /// The value that was saved last, nil before the first.
    State,
    /// Keep this value beyond the call.
    SaveState(Value),
}

impl SkillRequest {
    /// Reads a request that [`Self::to_value`] or a running program made.
    pub fn read(value: &Value) -> Option<Self> {
        match value.get("do")?.as_keyword()? {
            "act" => Some(Self::Act {
                target: name(value.get("target")?)?,
                payload: value.get("payload").filter(|it| it.pairs().is_some())?.clone(),
            }),
            "now" => Some(Self::Now),
            "random" => Some(Self::Random { limit: value.get("limit")?.as_i64()? }),
            "state" => Some(Self::State),
            "save-state" => Some(Self::SaveState(value.get("value")?.clone())),
            _ => None,
        }
    }

    /// Name of the action that is asked for.
    pub fn action(&self) -> Option<&str> {
        match self {
            Self::Act { payload, .. } => payload.get("action").and_then(Value::as_keyword),
            _ => None,
        }
    }

    /// The request as a value, for records and people.
    pub fn to_value(&self) -> Value {
        let word = |word: &str| ("do", Value::keyword(word));
        match self {
            Self::Act { target, payload } => Value::plist([
                word("act"),
                ("target", Value::keyword(target)),
                ("payload", payload.clone()),
            ]),
            Self::Now => Value::plist([word("now")]),
            Self::Random { limit } => Value::plist([word("random"), ("limit", Value::int(*limit))]),
            Self::State => Value::plist([word("state")]),
            Self::SaveState(value) => Value::plist([word("save-state"), ("value", value.clone())]),
        }
    }
}

fn name(value: &Value) -> Option<String> {
    let word = value.as_keyword().or_else(|| value.as_str()).or_else(|| value.as_symbol())?;
    Some(word.to_ascii_lowercase())
}
