//! What can be asked of an actuator, and what it touches.
//!
//! An action is read from a payload once, in `decide`; the guard and the actuator look at the same
//! typed value. What an action touches is declared here, beside its arguments, and its risk
//! follows from that: nobody proposes a risk.
//!
//! long: the actions are one list, and each question about them is a match over it.

mod argument;
mod context;
mod context_change;
mod directive;
mod effect_facts;
mod exec;
mod file;
mod http;
mod limits;
mod memory;
mod schedule;
mod stage;
mod tool;

use bridle_sexp::Value;

use self::argument::{forgettable, natural, present, text};
pub use self::context::{CONTEXT, CONTEXT_ACTIONS, ContextRead};
pub use self::context_change::{CompactRequest, ReleaseRequest};
pub use self::directive::DirectiveRequest;
pub use self::effect_facts::{ChangeCounts, EffectFacts, MAX_TOLD};
pub use self::exec::{ExecCommand, ExecRequest};
pub use self::file::{FILE_ACTIONS, FileOperation, FileRequest};
pub use self::http::{HTTP_ACTIONS, WebRequest};
pub use self::limits::{GoOnRequest, LimitsRequest};
pub use self::memory::{
    ACTIONS, EDITS, EditOperation, MemoryEdit, OrgLocation, PREPARED, PlanningKeyword,
    PreparedEdit, UNDOS, UndoRequest, UndoTarget,
};
pub use self::schedule::ScheduleRequest;
pub(crate) use self::schedule::ScheduleTime;
pub use self::stage::{STAGE_ACTIONS, StageOperation, StageRequest};
pub use self::tool::{SKILL, TOOL, ToolCall};
use crate::event::ActuatorLocation;
use crate::ids::KeywordName;
use crate::plist_codec::{UnreadableValue, name};

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
    Schedule(ScheduleRequest),
    /// Forget a schedule.
    Unschedule {
        /// Its name.
        name: Box<str>,
    },
    /// Have a schedule wait, or go on.
    PauseSchedule {
        /// Its name.
        name: Box<str>,
        /// Whether it is to wait.
        is_paused: bool,
    },
    /// Change limits of this session.
    SetLimits(LimitsRequest),
    /// Go on with a turn that reached a budget.
    GoOn(GoOnRequest),
    /// Put words in the place of older exchanges.
    Compact(CompactRequest),
    /// Let models elsewhere see a secret exchange.
    Release(Box<ReleaseRequest>),
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
    /// Read or change a file.
    File(Box<FileRequest>),
    /// Run a program or a script.
    Exec(Box<ExecRequest>),
    /// Send a request to a host of the web.
    Http(Box<WebRequest>),
    /// Commit or drop what waits on a stage.
    Stage(Box<StageRequest>),
    /// Talk to a host on the network.
    Net {
        /// Its name or address, in lower case.
        host: Box<str>,
        /// The port.
        port: u16,
    },
    /// Spend money.
    Spend {
        /// Amount, in millionths of the currency.
        amount: i64,
        /// The currency, such as `usd`.
        currency: Box<str>,
    },
    /// Count an execution in a file: equipment of fault tests.
    Tally {
        /// The name of the file.
        file: Box<str>,
    },
    /// Change an Org file of the memory.
    Edit(Box<MemoryEdit>),
    /// Take changes of the memory back.
    Undo(Box<UndoRequest>),
    /// Keep all files of the memory under a name.
    Snapshot {
        /// The name.
        name: Box<str>,
    },
    /// Look something up.
    Context(ContextRead),
    /// Call a tool of a server.
    Tool(Box<ToolCall>),
    /// Give the one who asked a directive of OpenHarness.
    Directive(Box<DirectiveRequest>),
    /// Anything else.
    Other(KeywordName),
}

/// Action of the daemon that makes a skill of a text, which it looks at before it is judged.
const CREATE_SKILL: &str = "create-skill";

/// Things that an action touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TouchedResource {
    /// Screen of the user.
    Screen,
    /// Nothing: it only asks.
    Answer,
    /// The record, by adding to it.
    Record,
    /// The memory, by reading.
    Memory,
    /// Schedules of this session.
    Plans,
    /// Budgets of this session.
    Budgets,
    /// A counter of the test equipment.
    Counter,
    /// A session of its own.
    Sessions,
    /// Changes that wait, and nothing else.
    Stage,
    /// The user's text.
    Text,
    /// Files.
    Files,
    /// Other machines.
    Network,
    /// Money.
    Money,
    /// Whatever code may touch.
    Anything,
    /// Labels of what is secret.
    Secrecy,
    /// The record, by destroying.
    Past,
}

/// Harm that an action can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RiskLevel {
    /// None.
    Safe,
    /// Some, and it can be undone.
    Caution,
    /// More.
    Dangerous,
}

/// Flaw of a payload that is no action; the text goes back to whoever proposed it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAction {
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
        /// Description of a right value.
        expected: &'static str,
    },
    /// The cron expression of a schedule is none.
    #[error("`:schedule` without a good `:cron`: {0}")]
    Cron(Box<str>),
}

impl Action {
    /// Reads the action that a payload names.
    ///
    /// # Errors
    /// When it names none, or an argument that a known action needs is missing.
    pub fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        if payload.pairs().is_none() {
            return Err(InvalidAction::NoPlist);
        }
        let name = payload.get("action").and_then(KeywordName::of).ok_or(InvalidAction::Unnamed)?;
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
            "schedule" => Self::Schedule(ScheduleRequest::from_payload(payload)?),
            "unschedule" => Self::Unschedule { name: text(payload, "unschedule", "name")? },
            "pause-schedule" | "resume-schedule" => Self::PauseSchedule {
                name: text(payload, "pause-schedule", "name")?,
                is_paused: name.as_str() == "pause-schedule",
            },
            "set-limits" => Self::SetLimits(LimitsRequest::from_payload(payload)?),
            "go-on" => Self::GoOn(GoOnRequest::from_payload(payload)?),
            "compact" => Self::Compact(CompactRequest::from_payload(payload)?),
            "release" => Self::Release(Box::new(ReleaseRequest::from_payload(payload)?)),
            "forget" => Self::Forget { what: forgettable(payload)? },
            "fork" => Self::Fork {
                record: natural(payload, "fork", "record")?,
                name: payload.get("name").and_then(Value::as_str).map(Into::into),
            },
            "read" | "write" => typed(name.as_str(), payload)?.unwrap_or(Self::Other(name)),
            "exec" => Self::Exec(Box::new(ExecRequest::from_payload(payload)?)),
            "net" => argument::net(payload)?,
            "spend" => argument::spend(payload)?,
            directive::DIRECTIVE => {
                Self::Directive(Box::new(DirectiveRequest::from_payload(payload)?))
            }
            TOOL => Self::Tool(Box::new(ToolCall::from_payload(payload)?)),
            "tally" => Self::Tally { file: text(payload, "tally", "file")? },
            "snapshot" => Self::Snapshot { name: text(payload, "snapshot", "name")? },
            other => {
                match (
                    MemoryEdit::from_payload(other, payload)?,
                    UndoRequest::from_payload(other, payload)?,
                ) {
                    (Some(edit), _) => Self::Edit(Box::new(edit)),
                    (_, Some(undo)) => Self::Undo(Box::new(undo)),
                    // A shell may have an action of the same name, and other arguments for it.
                    (None, None) => {
                        typed(name.as_str(), payload).ok().flatten().unwrap_or(Self::Other(name))
                    }
                }
            }
        })
    }

    /// The action as the actuator of a name at a place understands it: some names mean something in the
    /// daemon, and whatever they like in a shell.
    ///
    /// # Errors
    /// In the daemon, an argument is missing or is something else.
    pub fn placed(
        self,
        payload: &Value,
        target: &KeywordName,
        place: ActuatorLocation,
    ) -> Result<Self, InvalidAction> {
        let is_claimed = |name: &str| {
            [FILE_ACTIONS, HTTP_ACTIONS, STAGE_ACTIONS].iter().any(|all| all.contains(&name))
                && !matches!(name, "read" | "write")
        };
        let name = self.name();
        if place == ActuatorLocation::Host && target.as_str() == CONTEXT {
            return Ok(ContextRead::of(name.as_str(), payload).map_or(self, Self::Context));
        }
        Ok(match (place, self) {
            (ActuatorLocation::Host, Self::Tool(call)) if target.as_str() == SKILL => {
                Self::Tool(Box::new(ToolCall { only_asks: true, ..*call }))
            }
            (ActuatorLocation::Shell, Self::File(_) | Self::Http(_) | Self::Stage(_))
                if is_claimed(name.as_str()) =>
            {
                Self::Other(name)
            }
            (ActuatorLocation::Host, Self::Other(name)) if is_claimed(name.as_str()) => {
                typed(name.as_str(), payload)?.unwrap_or(Self::Other(name))
            }
            (_, action) => action,
        })
    }

    /// Its name.
    pub fn name(&self) -> KeywordName {
        KeywordName::of_word(match self {
            Self::Message { .. } => "message",
            Self::Notify { .. } => "notify",
            Self::Complete { .. } => "complete",
            Self::Eval { .. } => "eval",
            Self::Log { .. } => "log",
            Self::InsertAtEnd { .. } => "insert-at-end",
            Self::RefactorSubtree { .. } => "refactor-subtree",
            Self::Schedule(_) => "schedule",
            Self::Unschedule { .. } => "unschedule",
            Self::PauseSchedule { is_paused: true, .. } => "pause-schedule",
            Self::PauseSchedule { is_paused: false, .. } => "resume-schedule",
            Self::SetLimits(_) => "set-limits",
            Self::GoOn(_) => "go-on",
            Self::Compact(_) => "compact",
            Self::Release(_) => "release",
            Self::Forget { .. } => "forget",
            Self::Fork { .. } => "fork",
            Self::File(file) => file.name(),
            Self::Exec(_) => "exec",
            Self::Http(request) => request.method,
            Self::Stage(stage) => stage.name(),
            Self::Net { .. } => "net",
            Self::Spend { .. } => "spend",
            Self::Tally { .. } => "tally",
            Self::Edit(edit) => edit.name(),
            Self::Undo(undo) => undo.name(),
            Self::Snapshot { .. } => "snapshot",
            Self::Context(read) => read.name,
            Self::Tool(_) => TOOL,
            Self::Directive(_) => directive::DIRECTIVE,
            Self::Other(name) => return name.clone(),
        })
    }

    /// Things that it touches. Nobody knows what an unknown action touches.
    pub fn touches(&self) -> TouchedResource {
        match self {
            Self::Message { .. } | Self::Notify { .. } => TouchedResource::Screen,
            Self::Complete { .. } => TouchedResource::Answer,
            Self::Tool(call) if call.only_asks => TouchedResource::Answer,
            Self::Directive(directive) if directive.is_harmless() => TouchedResource::Screen,
            Self::Log { .. } | Self::Compact(_) => TouchedResource::Record,
            Self::Context(_) => TouchedResource::Memory,
            Self::Schedule(_) | Self::Unschedule { .. } | Self::PauseSchedule { .. } => {
                TouchedResource::Plans
            }
            Self::SetLimits(_) | Self::GoOn(_) => TouchedResource::Budgets,
            Self::Tally { .. } => TouchedResource::Counter,
            Self::Fork { .. } => TouchedResource::Sessions,
            Self::InsertAtEnd { .. }
            | Self::RefactorSubtree { .. }
            | Self::Edit(_)
            | Self::Undo(_) => TouchedResource::Text,
            Self::File(_) | Self::Snapshot { .. } => TouchedResource::Files,
            Self::Stage(stage) => match stage.operation {
                StageOperation::Commit { .. } => TouchedResource::Files,
                StageOperation::Discard | StageOperation::Changes => TouchedResource::Stage,
            },
            Self::Net { .. } | Self::Http(_) => TouchedResource::Network,
            Self::Spend { .. } => TouchedResource::Money,
            Self::Eval { .. }
            | Self::Exec(_)
            | Self::Tool(_)
            | Self::Directive(_)
            | Self::Other(_) => TouchedResource::Anything,
            Self::Release(_) => TouchedResource::Secrecy,
            Self::Forget { .. } => TouchedResource::Past,
        }
    }

    /// Its risk, which follows from what it touches.
    pub fn risk(&self) -> RiskLevel {
        match self.touches() {
            TouchedResource::Screen
            | TouchedResource::Answer
            | TouchedResource::Record
            | TouchedResource::Memory
            | TouchedResource::Plans
            | TouchedResource::Stage
            | TouchedResource::Counter => RiskLevel::Safe,
            TouchedResource::Budgets
            | TouchedResource::Sessions
            | TouchedResource::Text
            | TouchedResource::Files => RiskLevel::Caution,
            TouchedResource::Network
            | TouchedResource::Money
            | TouchedResource::Anything
            | TouchedResource::Secrecy
            | TouchedResource::Past => RiskLevel::Dangerous,
        }
    }

    /// Whether only the daemon itself can carry it out.
    pub fn is_for_system(&self) -> bool {
        matches!(
            self,
            Self::Schedule(_)
                | Self::Unschedule { .. }
                | Self::PauseSchedule { .. }
                | Self::SetLimits(_)
                | Self::GoOn(_)
                | Self::Compact(_)
                | Self::Release(_)
        ) || self.is_administration()
    }

    /// Whether only an actuator of the daemon that names it can carry it out: none that takes all.
    pub fn is_for_host(&self) -> bool {
        matches!(
            self,
            Self::File(_)
                | Self::Exec(_)
                | Self::Http(_)
                | Self::Stage(_)
                | Self::Net { .. }
                | Self::Spend { .. }
                | Self::Tally { .. }
                | Self::Edit(_)
                | Self::Undo(_)
                | Self::Snapshot { .. }
                | Self::Context(_)
                | Self::Tool(_)
        )
    }

    /// A second file that it changes, besides the one that it names first.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        match self {
            Self::Edit(edit) => edit.elsewhere(),
            Self::File(file) => file.elsewhere(),
            _ => None,
        }
    }

    /// Facts that the daemon found out about an effect on files, programs or hosts.
    pub fn effect_facts(&self) -> Option<&EffectFacts> {
        match self {
            Self::File(file) => Some(&file.facts),
            Self::Exec(exec) => Some(&exec.facts),
            Self::Http(request) => Some(&request.facts),
            Self::Stage(stage) => Some(&stage.facts),
            _ => None,
        }
    }

    /// Whether what it changes waits on a stage.
    pub(crate) fn is_staged(&self) -> bool {
        match self {
            Self::File(file) => file.is_change() && file.facts.staged,
            Self::Exec(exec) => exec.facts.staged,
            _ => false,
        }
    }

    /// Facts that the daemon found out before the action was judged.
    pub fn prepared(&self) -> Option<&PreparedEdit> {
        match self {
            Self::Edit(edit) => edit.prepared.as_ref(),
            Self::Undo(undo) => undo.prepared.as_ref(),
            _ => None,
        }
    }

    /// The daemon's reason why it cannot be done, if it found one before it was judged. `payload` is what the
    /// action was read from.
    pub(crate) fn fault<'a>(&'a self, payload: &'a Value) -> Option<&'a str> {
        match self {
            Self::Snapshot { .. } => payload.get(PREPARED)?.get("fault")?.as_str(),
            Self::Other(name) if name.as_str() == CREATE_SKILL => {
                payload.get(PREPARED)?.get("fault")?.as_str()
            }
            Self::File(_) | Self::Exec(_) | Self::Http(_) | Self::Stage(_) => {
                self.effect_facts()?.fault.as_deref()
            }
            _ => self.prepared()?.fault.as_deref(),
        }
    }

    /// Whether it is administration of the daemon, which only an owner may ask for.
    pub fn is_administration(&self) -> bool {
        matches!(self, Self::Forget { .. } | Self::Fork { .. })
    }
}

impl TouchedResource {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            TouchedResource::Screen => "the screen",
            TouchedResource::Answer => "nothing",
            TouchedResource::Record => "the log",
            TouchedResource::Memory => "the memory, by reading",
            TouchedResource::Plans => "the session's plans",
            TouchedResource::Stage => "changes that wait",
            TouchedResource::Budgets => "the session's budgets",
            TouchedResource::Counter => "a counter",
            TouchedResource::Sessions => "other sessions",
            TouchedResource::Text => "the user's text",
            TouchedResource::Files => "files",
            TouchedResource::Network => "the network",
            TouchedResource::Money => "money",
            TouchedResource::Anything => "anything",
            TouchedResource::Secrecy => "what is secret",
            TouchedResource::Past => "the past",
        }
    }
}

impl RiskLevel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Safe, Self::Caution, Self::Dangerous];

    /// Reads the `:risk` of a plist.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let word = name(value, "risk")?;
        let known = Self::ALL.into_iter().find(|risk| risk.word() == word.as_str());
        known.ok_or(UnreadableValue::new("risk", "the word for a risk"))
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            RiskLevel::Safe => "safe",
            RiskLevel::Caution => "caution",
            RiskLevel::Dangerous => "dangerous",
        }
    }
}

/// An action on files, the web or a stage; `None` if none has this name.
fn typed(name: &str, payload: &Value) -> Result<Option<Action>, InvalidAction> {
    if let Some(file) = FileRequest::from_payload(name, payload)? {
        return Ok(Some(Action::File(Box::new(file))));
    }
    if let Some(request) = WebRequest::from_payload(name, payload)? {
        return Ok(Some(Action::Http(Box::new(request))));
    }
    let stage = StageRequest::from_payload(name, payload)?;
    Ok(stage.map(|stage| Action::Stage(Box::new(stage))))
}

#[cfg(test)]
mod tests;
