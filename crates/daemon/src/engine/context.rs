//! What is asked with `:target :context`: one table of actions, each answered by a module of its own.
//!
//! Read from a message by `query`, which hands over what is not for the daemon's `:system`; answered
//! here, beside every session: no turn is made of it and nothing is recorded. Whoever adds an action
//! adds a line to [`ACTIONS`]. Only somebody who is known is answered; what an action shows of which
//! session is its own business.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bridle_loop::SessionId;
use bridle_sexp::{Dialect, Reader, Value};
use bridle_wire::Code;
use bridle_wire::oacp::{Failure, Message, Path, Type};

use super::hub::Hub;
use super::overlay;
use super::recall;
use super::refusals::Attempt;
use crate::access::principal::Principal;

/// The target whose requests are answered here.
const CONTEXT: &str = "context";

/// Every action, by its name.
const ACTIONS: &[Action] = &[
    Action { name: "get-ast", answer: overlay::get_ast },
    Action { name: "modified", answer: overlay::modified },
    Action { name: "query", answer: recall::answer },
    Action { name: "outline", answer: recall::answer },
    Action { name: "focus", answer: recall::answer },
    Action { name: "get-object", answer: recall::answer },
    Action { name: "memex-status", answer: recall::answer },
    Action { name: "list-all-skills", answer: recall::answer },
    Action { name: "get-skill-source", answer: recall::answer },
    Action { name: "resolve-path", answer: recall::answer },
    Action { name: "get-system-logs", answer: recall::answer },
];

/// An answer in the making.
pub(super) type Answering = Pin<Box<dyn Future<Output = Result<Told, Failure>> + Send>>;

/// Something that can be asked.
struct Action {
    /// Without its colon.
    name: &'static str,
    /// Answers it: who asks, and the payload.
    answer: fn(Arc<Hub>, Inquirer, Value) -> Answering,
}

/// Who asks.
#[derive(Debug)]
pub(crate) struct Inquirer {
    /// The principal of the connection.
    pub(crate) who: Principal,
    /// The session that the connection is attached to.
    pub(crate) own: Option<SessionId>,
    /// The dialect of its answers.
    pub(crate) dialect: Dialect,
}

/// The payload of an answer.
#[derive(Debug)]
pub(crate) enum Told {
    /// As data.
    Value(Value),
    /// As text of the dialect that was asked for: some of it is passed on as it came.
    Text(String),
}

impl Told {
    /// As data, if the text is of this dialect.
    pub(crate) fn into_value(self, dialect: Dialect) -> Result<Value, Failure> {
        match self {
            Told::Value(value) => Ok(value),
            Told::Text(text) => match Reader::new().dialect(dialect).read_one(&text) {
                Ok(tree) => Ok(tree.root().to_value()),
                Err(error) => {
                    tracing::error!(%error, "an answer about the context cannot be read");
                    Err(Code::Internal.into())
                }
            },
        }
    }
}

impl From<Value> for Told {
    fn from(payload: Value) -> Told {
        Told::Value(payload)
    }
}

/// A question about the context.
pub(crate) struct Asked {
    action: &'static Action,
    payload: Value,
}

impl fmt::Debug for Asked {
    /// Says what is asked, not about what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("action", &self.action.name).finish_non_exhaustive()
    }
}

impl Asked {
    /// What a message asks about the context; `None` when it is for somebody else.
    ///
    /// # Errors
    /// No such action can be asked for.
    pub(super) fn of(message: &Message) -> Option<Result<Asked, Failure>> {
        let is_ours = message.kind == Type::Request
            && message.target.as_ref().is_some_and(|target| target.is(CONTEXT));
        let payload = message.payload.as_ref().filter(|_| is_ours)?;
        let action = payload.get("action");
        let named = |entry: &&Action| action.is_some_and(|name| name.is_keyword(entry.name));
        Some(match ACTIONS.iter().find(named) {
            Some(action) => Ok(Asked { action, payload: payload.clone() }),
            None => Err(unknown()),
        })
    }
}

impl Hub {
    /// Answers a question about the context.
    ///
    /// # Errors
    /// What the action says, and `not-permitted` for whoever is unknown.
    pub(crate) async fn inform(
        self: Arc<Hub>,
        from: Inquirer,
        asked: Asked,
    ) -> Result<Told, Failure> {
        if from.who == Principal::Anonymous {
            return Err(self.forbid(&from.who, Attempt::Say(Type::Request)));
        }
        let Asked { action, payload } = asked;
        (action.answer)(self, from, payload).await
    }
}

fn unknown() -> Failure {
    let names: Vec<String> = ACTIONS.iter().map(|action| format!(":{}", action.name)).collect();
    let path = Path::of(&["payload", "action"]);
    let text = format!("expected an action of `:context`: {}", names.join(" "));
    Failure { path, ..Failure::because(Code::Unsupported, text) }
}

/// The refusal of a field, for whoever reads a payload.
pub(super) fn invalid(key: &'static str, text: impl Into<String>) -> Failure {
    let path = Path::of(&["payload", key]);
    Failure { path, ..Failure::because(Code::InvalidValue, text) }
}
