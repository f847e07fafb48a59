//! What can be asked of an actuator, and what it touches.
//!
//! An action is read from a payload once, in `decide`; the guard and the actuator look at the same
//! typed value. What an action touches is declared here, beside its arguments, and its risk
//! follows from that: nobody proposes a risk.

use bridle_sexp::Value;

use crate::ids::Name;

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Show this text as a part of the conversation.
    Message {
        /// The text.
        text: Box<str>,
    },
    /// Show this text aside.
    Notify {
        /// The text.
        text: Box<str>,
    },
    /// Give completions.
    Complete {
        /// The text before point.
        prefix: Box<str>,
    },
    /// Evaluate code in the shell.
    Eval {
        /// The code.
        code: Box<str>,
    },
    /// Note something in the record.
    Log {
        /// The text.
        text: Box<str>,
    },
    /// Append text to a buffer.
    InsertAtEnd {
        /// The text.
        text: Box<str>,
        /// The buffer.
        buffer: Option<Box<str>>,
    },
    /// Change the properties of an Org subtree.
    RefactorSubtree {
        /// The id of the heading, a string or symbol.
        target_id: Value,
    },
    /// Send this session a signal later, once or again and again.
    Schedule(Schedule),
    /// Forget a schedule.
    Unschedule {
        /// Its name.
        name: Box<str>,
    },
    /// Destroy what a session or a record holds.
    Forget {
        /// The session, or the number of the record.
        what: Value,
    },
    /// Begin a session from a past point of another.
    Fork {
        /// The number of the record.
        record: u64,
        /// The name of the new session.
        name: Option<Box<str>>,
    },
    /// Count an execution in a file: equipment of fault tests.
    Tally {
        /// The name of the file.
        file: Box<str>,
    },
    /// Anything else.
    Other(Name),
}

/// What the action `:schedule` asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its name; a schedule of the same name is replaced.
    pub name: Box<str>,
    /// When it fires.
    pub when: When,
    /// The payload of the signal.
    pub payload: Value,
}

/// When a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Once, after so many milliseconds.
    In(i64),
    /// Again and again, every so many milliseconds.
    Every(i64),
}

/// What an action touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touches {
    /// What the user sees.
    Screen,
    /// Nothing: it only asks.
    Answer,
    /// The record, by adding to it.
    Record,
    /// What this session will do later.
    Plans,
    /// A counter of the test equipment.
    Counter,
    /// A session of its own.
    Sessions,
    /// The user's text.
    Text,
    /// Whatever code may touch.
    Anything,
    /// The record, by destroying.
    Past,
}

/// How much harm an action can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// None.
    Safe,
    /// Some, and it can be undone.
    Caution,
    /// More.
    Dangerous,
}

/// The longest name of a schedule, in bytes: it is a label, not a text.
const MAX_SCHEDULE_NAME: usize = 128;

/// Why a payload is no action; the text goes back to whoever proposed it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAction {
    /// The payload is no property list.
    #[error("the payload is no property list")]
    NoPlist,
    /// There is no `:action`, or it is no keyword.
    #[error("no `:action`, expected a keyword")]
    Unnamed,
    /// An argument is missing or is something else.
    #[error("`:{action}` without a good `:{key}`, expected {expected}")]
    Argument {
        /// The action.
        action: &'static str,
        /// The argument.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}

impl Action {
    /// Reads the action that a payload names.
    ///
    /// # Errors
    /// When it names none, or an argument that a known action needs is missing.
    pub fn from_payload(payload: &Value) -> Result<Self, NoAction> {
        if payload.pairs().is_none() {
            return Err(NoAction::NoPlist);
        }
        let name = payload.get("action").and_then(Name::of).ok_or(NoAction::Unnamed)?;
        Ok(match name.as_str() {
            "message" => Self::Message { text: text(payload, "message", "text")? },
            "notify" => Self::Notify { text: text(payload, "notify", "text")? },
            "complete" => Self::Complete { prefix: text(payload, "complete", "prefix")? },
            "eval" => Self::Eval { code: text(payload, "eval", "code")? },
            "log" => Self::Log { text: text(payload, "log", "text")? },
            "insert-at-end" => Self::InsertAtEnd {
                text: text(payload, "insert-at-end", "text")?,
                buffer: payload.get("buffer").and_then(Value::as_str).map(Into::into),
            },
            "refactor-subtree" => Self::RefactorSubtree {
                target_id: present(payload, "refactor-subtree", "target-id")?.clone(),
            },
            "schedule" => Self::Schedule(Schedule::from_payload(payload)?),
            "unschedule" => Self::Unschedule { name: text(payload, "unschedule", "name")? },
            "forget" => Self::Forget { what: forgettable(payload)? },
            "fork" => Self::Fork {
                record: natural(payload, "fork", "record")?,
                name: payload.get("name").and_then(Value::as_str).map(Into::into),
            },
            "tally" => Self::Tally { file: text(payload, "tally", "file")? },
            _ => Self::Other(name),
        })
    }

    /// Its name.
    pub fn name(&self) -> Name {
        Name::new(match self {
            Self::Message { .. } => "message",
            Self::Notify { .. } => "notify",
            Self::Complete { .. } => "complete",
            Self::Eval { .. } => "eval",
            Self::Log { .. } => "log",
            Self::InsertAtEnd { .. } => "insert-at-end",
            Self::RefactorSubtree { .. } => "refactor-subtree",
            Self::Schedule(_) => "schedule",
            Self::Unschedule { .. } => "unschedule",
            Self::Forget { .. } => "forget",
            Self::Fork { .. } => "fork",
            Self::Tally { .. } => "tally",
            Self::Other(name) => return name.clone(),
        })
    }

    /// What it touches. Nobody knows what an unknown action touches.
    pub fn touches(&self) -> Touches {
        match self {
            Self::Message { .. } | Self::Notify { .. } => Touches::Screen,
            Self::Complete { .. } => Touches::Answer,
            Self::Log { .. } => Touches::Record,
            Self::Schedule(_) | Self::Unschedule { .. } => Touches::Plans,
            Self::Tally { .. } => Touches::Counter,
            Self::Fork { .. } => Touches::Sessions,
            Self::InsertAtEnd { .. } | Self::RefactorSubtree { .. } => Touches::Text,
            Self::Eval { .. } | Self::Other(_) => Touches::Anything,
            Self::Forget { .. } => Touches::Past,
        }
    }

    /// Its risk, which follows from what it touches.
    pub fn risk(&self) -> Risk {
        match self.touches() {
            Touches::Screen
            | Touches::Answer
            | Touches::Record
            | Touches::Plans
            | Touches::Counter => Risk::Safe,
            Touches::Sessions | Touches::Text => Risk::Caution,
            Touches::Anything | Touches::Past => Risk::Dangerous,
        }
    }

    /// Whether only the daemon itself can carry it out.
    pub fn is_for_system(&self) -> bool {
        matches!(self, Self::Schedule(_) | Self::Unschedule { .. }) || self.is_administration()
    }

    /// Whether it is administration of the daemon, which only an owner may ask for.
    pub fn is_administration(&self) -> bool {
        matches!(self, Self::Forget { .. } | Self::Fork { .. })
    }
}

impl Touches {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Touches::Screen => "the screen",
            Touches::Answer => "nothing",
            Touches::Record => "the log",
            Touches::Plans => "the session's plans",
            Touches::Counter => "a counter",
            Touches::Sessions => "other sessions",
            Touches::Text => "the user's text",
            Touches::Anything => "anything",
            Touches::Past => "the past",
        }
    }
}

impl Risk {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Risk::Safe => "safe",
            Risk::Caution => "caution",
            Risk::Dangerous => "dangerous",
        }
    }
}

impl Schedule {
    fn from_payload(payload: &Value) -> Result<Self, NoAction> {
        let fault = |key, expected| Err(NoAction::Argument { action: "schedule", key, expected });
        let name = text(payload, "schedule", "name")?;
        if name.is_empty() || name.len() > MAX_SCHEDULE_NAME {
            return fault("name", "a string of 1 to 128 bytes");
        }
        let milliseconds = |key| payload.get(key).and_then(Value::as_i64).filter(|ms| *ms >= 0);
        let when = match (milliseconds("in"), milliseconds("every")) {
            (Some(ms), None) => When::In(ms),
            (None, Some(ms)) => When::Every(ms),
            _ => return fault("in", "either `:in` or `:every`, in milliseconds"),
        };
        let signal = present(payload, "schedule", "payload")?;
        if signal.pairs().is_none() || signal.get("sensor").and_then(Name::of).is_none() {
            return fault("payload", "a property list with a `:sensor`");
        }
        Ok(Self { name, when, payload: signal.clone() })
    }
}

fn present<'v>(
    payload: &'v Value,
    action: &'static str,
    key: &'static str,
) -> Result<&'v Value, NoAction> {
    let value = payload.get(key).filter(|value| !value.is_nil());
    value.ok_or(NoAction::Argument { action, key, expected: "a value" })
}

fn text(payload: &Value, action: &'static str, key: &'static str) -> Result<Box<str>, NoAction> {
    let text = payload.get(key).and_then(Value::as_str);
    text.map(Into::into).ok_or(NoAction::Argument { action, key, expected: "a string" })
}

fn natural(payload: &Value, action: &'static str, key: &'static str) -> Result<u64, NoAction> {
    let number = payload.get(key).and_then(Value::as_i64).and_then(|n| u64::try_from(n).ok());
    number.ok_or(NoAction::Argument { action, key, expected: "a number" })
}

/// `:session NAME` or `:record NUMBER`.
fn forgettable(payload: &Value) -> Result<Value, NoAction> {
    let session = payload.get("session").filter(|session| session.as_str().is_some());
    match session {
        Some(session) => Ok(session.clone()),
        None => match payload.get("record") {
            Some(record @ Value::Int(1..)) => Ok(record.clone()),
            _ => Err(NoAction::Argument {
                action: "forget",
                key: "session",
                expected: "a session's name, or a record's number as `:record`",
            }),
        },
    }
}

#[cfg(test)]
mod tests;
