//! Requests to the daemon itself, `:target :system`: forks, forgetting, policies and answers to its
//! questions; and to `:target :memory`. Used by the commands of the same names; the daemon decides whether the asker may.

use bridle_sexp::{Value, read_one};
use bridle_wire::oacp::{MessageType, OacpMessage, RequestTarget as Actuator};

use crate::client::{DaemonClient, DaemonTarget, ErrorAnswer};
use crate::error::ShellError;
use crate::send::SendConnection;

/// Request for the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemRequest {
    /// A session that begins where another one was after `record`.
    Fork {
        /// The last record that both share.
        record: u64,
        /// The new session's name; `None` lets the daemon choose.
        name: Option<String>,
    },
    /// Every record of a session made unreadable.
    ForgetSession(String),
    /// One record made unreadable.
    ForgetRecord(u64),
    /// The policies read again.
    InstallPolicy,
    /// A folder of Org files taken up, by its path.
    OpenMemex(String),
    /// Request about projects, commits and actuators, by its payload.
    Effects(Value),
    /// Request about providers of models, by its payload.
    Provider(Value),
    /// Request about changes on a stage, or a commit, by its payload.
    Stage(Value),
    /// The questions that wait for a yes.
    Approvals,
    /// State of one approval.
    Approval(String),
    /// An answer to one of them.
    Approve {
        /// The question.
        approval: String,
        /// `allow` or `deny`.
        verdict: &'static str,
        /// The hash of what was seen; an answer to something else does not count.
        hash: Option<String>,
    },
    /// A yes and a grant, or what each scope of one would allow.
    Grant {
        /// The question.
        approval: String,
        /// Scope of the grant; a preview needs none.
        scope: Option<String>,
        /// Time that it holds, such as `12h`.
        span: String,
        /// Hash of what was seen; a yes to something else does not count.
        hash: Option<String>,
        /// Whether nothing is done yet.
        is_preview: bool,
    },
    /// The grants of the policy file.
    Grants,
    /// A grant taken back by its id; `expired` stands for all that are over.
    RevokeGrant(String),
    /// Sessions that the asker may see, the latest first.
    Sessions,
    /// Schedules of the sessions.
    Schedules,
    /// A schedule, by the arguments of the action; for [`ask_in`] its session.
    Schedule(Value),
    /// A schedule taken back, by its name; for [`ask_in`] its session.
    Unschedule(String),
    /// A schedule that waits from now on, likewise.
    PauseSchedule(String),
    /// A schedule that goes on, likewise.
    ResumeSchedule(String),
    /// A change of the memory, by its payload.
    Edit(Value),
    /// Changes of the memory taken back.
    Undo {
        /// The record that made them.
        record: u64,
    },
    /// Changes of a turn, or of a whole session, taken back.
    Rollback {
        /// Session that made them.
        session: String,
        /// The turn; `None`: all.
        turn: Option<u64>,
    },
    /// All files of the memory kept under a name.
    Snapshot(String),
    /// Files of a snapshot brought back.
    Restore {
        /// The snapshot.
        name: String,
        /// One file; `None`: all.
        file: Option<String>,
    },
}

impl SystemRequest {
    /// The actuator that it is for.
    fn target(&self) -> &'static str {
        match self {
            SystemRequest::Edit(_)
            | SystemRequest::Undo { .. }
            | SystemRequest::Rollback { .. }
            | SystemRequest::Snapshot(_)
            | SystemRequest::Restore { .. } => "memory",
            SystemRequest::Stage(_) => "stage",
            _ => "system",
        }
    }

    fn payload(&self) -> Value {
        match self {
            SystemRequest::Fork { record, name } => {
                let mut pairs =
                    vec![("action", Value::keyword("fork")), ("record", number(*record))];
                pairs.extend(name.as_deref().map(|name| ("name", Value::str(name))));
                Value::plist(pairs)
            }
            SystemRequest::ForgetSession(name) => about("forget", "session", name),
            SystemRequest::ForgetRecord(record) => {
                Value::plist([("action", Value::keyword("forget")), ("record", number(*record))])
            }
            SystemRequest::InstallPolicy => {
                Value::plist([("action", Value::keyword("install-policy"))])
            }
            SystemRequest::OpenMemex(path) => about("open-memex", "path", path),
            SystemRequest::Approvals => Value::plist([("action", Value::keyword("approvals"))]),
            SystemRequest::Approval(approval) => about("approval", "approval", approval),
            SystemRequest::Approve { approval, verdict, hash } => {
                let mut pairs = vec![
                    ("action", Value::keyword("approve")),
                    ("approval", Value::str(approval.as_str())),
                    ("verdict", Value::keyword(verdict)),
                ];
                pairs.extend(hash.as_deref().map(|hash| ("hash", Value::str(hash))));
                Value::plist(pairs)
            }
            SystemRequest::Grant { .. } => self.grant(),
            SystemRequest::Grants => Value::plist([("action", Value::keyword("grants"))]),
            SystemRequest::RevokeGrant(id) => about("revoke-grant", "grant", id),
            SystemRequest::Sessions => Value::plist([("action", Value::keyword("sessions"))]),
            SystemRequest::Schedules => Value::plist([("action", Value::keyword("schedules"))]),
            SystemRequest::Schedule(arguments) => scheduled(arguments),
            SystemRequest::Unschedule(name) => about("unschedule", "name", name),
            SystemRequest::PauseSchedule(name) => about("pause-schedule", "name", name),
            SystemRequest::ResumeSchedule(name) => about("resume-schedule", "name", name),
            SystemRequest::Edit(payload)
            | SystemRequest::Effects(payload)
            | SystemRequest::Provider(payload)
            | SystemRequest::Stage(payload) => payload.clone(),
            SystemRequest::Undo { record } => {
                Value::plist([("action", Value::keyword("undo")), ("record", number(*record))])
            }
            SystemRequest::Rollback { session, turn } => rolled_back(session, *turn),
            SystemRequest::Snapshot(name) => about("snapshot", "name", name),
            SystemRequest::Restore { name, file } => {
                let mut pairs = vec![
                    ("action", Value::keyword("restore")),
                    ("name", Value::str(name.as_str())),
                ];
                pairs.extend(file.as_deref().map(|file| ("path", Value::str(file))));
                Value::plist(pairs)
            }
        }
    }
}

impl SystemRequest {
    /// The payload of a request for a grant.
    fn grant(&self) -> Value {
        let SystemRequest::Grant { approval, scope, span, hash, is_preview } = self else {
            return Value::Nil;
        };
        let mut pairs = vec![
            ("action", Value::keyword("grant")),
            ("approval", Value::str(approval.as_str())),
            ("for", Value::str(span.as_str())),
        ];
        pairs.extend(scope.as_deref().map(|scope| ("scope", Value::keyword(scope))));
        pairs.extend(hash.as_deref().map(|hash| ("hash", Value::str(hash))));
        pairs.extend(is_preview.then(|| ("preview", Value::bool(true))));
        Value::plist(pairs)
    }
}

/// Returns the payload that plans something.
fn scheduled(arguments: &Value) -> Value {
    let action = [Value::keyword("action"), Value::keyword("schedule")];
    Value::list(action.into_iter().chain(arguments.elements().into_iter().flatten().cloned()))
}

/// Returns the payload that takes back a session, or a turn of it.
fn rolled_back(session: &str, turn: Option<u64>) -> Value {
    let head = [("action", Value::keyword("rollback")), ("session", Value::str(session))];
    Value::plist(head.into_iter().chain(turn.map(|turn| ("turn", number(turn)))))
}

/// Returns the payload of an action with one text.
fn about(action: &str, key: &str, text: &str) -> Value {
    Value::plist([("action", Value::keyword(action)), (key, Value::str(text))])
}

/// No record has a number beyond this: the record counts with the same type.
fn number(record: u64) -> Value {
    Value::int(i64::try_from(record).unwrap_or(i64::MAX))
}

/// Answer of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemReply {
    /// The request was carried out; the payload of the answer.
    Done(Value),
    /// The request was refused.
    Not(ErrorAnswer),
}

/// Asks and waits for the answer.
///
/// # Errors
///
/// Nobody is there, or nobody answers.
pub fn ask(targets: &[DaemonTarget], ask: &SystemRequest) -> Result<SystemReply, ShellError> {
    request(targets, ask.target(), ask.payload())
}

/// Asks on a connection that is there, and waits for the answer.
///
/// # Errors
///
/// Nobody answers.
pub fn ask_on(client: &mut DaemonClient, ask: &SystemRequest) -> Result<SystemReply, ShellError> {
    request_on(client, ask.target(), ask.payload())
}

/// Asks in a session, and waits for the answer.
///
/// # Errors
///
/// Nobody is there, the session cannot be joined, or nobody answers.
pub fn ask_in(
    targets: &[DaemonTarget],
    session: &str,
    ask: &SystemRequest,
) -> Result<SystemReply, ShellError> {
    let mut talk = SendConnection::begin(targets, Some(session))?;
    let answer = talk.request(&written(ask.target(), ask.payload(), None))?;
    read_answer(&talk.client, &answer)
}

/// Asks what the daemon knows, `:target :context`, and waits for the answer.
///
/// # Errors
///
/// Nobody is there, or nobody answers.
pub fn ask_context(targets: &[DaemonTarget], payload: Value) -> Result<SystemReply, ShellError> {
    request(targets, "context", payload)
}

fn request(
    targets: &[DaemonTarget],
    target: &str,
    payload: Value,
) -> Result<SystemReply, ShellError> {
    request_on(&mut DaemonClient::connect_any(targets)?, target, payload)
}

fn request_on(
    client: &mut DaemonClient,
    target: &str,
    payload: Value,
) -> Result<SystemReply, ShellError> {
    let answer = client.request(&written(target, payload, Some(1)))?;
    read_answer(client, &answer)
}

/// Writes a request.
fn written(target: &str, payload: Value, id: Option<i64>) -> String {
    let mut message = OacpMessage::new(MessageType::Request).with_payload(payload);
    if let Some(id) = id {
        message = message.with_id(id);
    }
    message.target = Some(Actuator::new(target));
    let mut text = String::new();
    message.write(&mut text);
    text
}

/// Reads what the daemon answered.
fn read_answer(client: &DaemonClient, answer: &str) -> Result<SystemReply, ShellError> {
    let tree = read_one(answer).map_err(|error| client.not_protocol(error.to_string()))?;
    Ok(match ErrorAnswer::of(tree.root()) {
        Some(error) => SystemReply::Not(error),
        None => {
            SystemReply::Done(tree.root().get("payload").map_or(Value::Nil, |it| it.to_value()))
        }
    })
}
