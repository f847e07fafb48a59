//! What is asked with `:target :context`: one table of actions, each answered by a module of its own.
//!
//! Read from a message by `query`, which hands over what is not for the daemon's `:system`; answered
//! here, beside every session: no turn is made of it and nothing is recorded. Whoever adds an action
//! adds a line to [`ACTIONS`]. Only somebody who is known is answered; what an action shows of which
//! session is its own business.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bridle_loop::{KeywordName, SessionId, SignalKind};
use bridle_sexp::{Dialect, Reader, Value};

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::hub::Hub;
use crate::engine::queries::buffer_query;
use crate::engine::queries::completion_query;
use crate::engine::queries::memory_query;

/// The target whose requests are answered here.
const CONTEXT: &str = "context";

/// Every action, by its name.
const ACTIONS: &[ContextAction] = &[
    ContextAction { name: "get-ast", answer: buffer_query::get_ast },
    ContextAction { name: "modified", answer: buffer_query::modified },
    ContextAction { name: "query", answer: memory_query::answer },
    ContextAction { name: "outline", answer: memory_query::answer },
    ContextAction { name: "focus", answer: memory_query::answer },
    ContextAction { name: "agenda", answer: memory_query::answer },
    ContextAction { name: "get-object", answer: memory_query::answer },
    ContextAction { name: "memex-status", answer: memory_query::answer },
    ContextAction { name: "list-all-skills", answer: memory_query::answer },
    ContextAction { name: "get-skill-source", answer: memory_query::answer },
    ContextAction { name: "resolve-path", answer: memory_query::answer },
    ContextAction { name: "get-system-logs", answer: memory_query::answer },
    ContextAction { name: "complete", answer: completion_query::answer },
];

/// An answer in the making.
pub(in crate::engine) type Answering =
    Pin<Box<dyn Future<Output = Result<QueryAnswer, EngineError>> + Send>>;

/// Action that can be asked for.
struct ContextAction {
    /// Without its colon.
    name: &'static str,
    /// Answers it: who asks, and the payload.
    answer: fn(Arc<Hub>, QueryAsker, Value) -> Answering,
}

/// Asker of a question.
#[derive(Debug)]
pub(crate) struct QueryAsker {
    /// The principal of the connection.
    pub(crate) who: Principal,
    /// The session that the connection is attached to.
    pub(crate) own: Option<SessionId>,
    /// The dialect of its answers.
    pub(crate) dialect: Dialect,
}

/// The payload of an answer.
#[derive(Debug)]
pub(crate) enum QueryAnswer {
    /// As data.
    Value(Value),
    /// As text of the dialect that was asked for: some of it is passed on as it came.
    Text(String),
}

impl QueryAnswer {
    /// As data, if the text is of this dialect.
    pub(crate) fn into_value(self, dialect: Dialect) -> Result<Value, EngineError> {
        match self {
            QueryAnswer::Value(value) => Ok(value),
            QueryAnswer::Text(text) => match Reader::new().dialect(dialect).read_one(&text) {
                Ok(tree) => Ok(tree.root().to_value()),
                Err(error) => {
                    tracing::error!(%error, "an answer about the context cannot be read");
                    Err(EngineErrorCode::Internal.into())
                }
            },
        }
    }
}

impl From<Value> for QueryAnswer {
    fn from(payload: Value) -> QueryAnswer {
        QueryAnswer::Value(payload)
    }
}

/// A question about the context.
pub(crate) struct ContextQuery {
    action: &'static ContextAction,
    payload: Value,
}

impl fmt::Debug for ContextQuery {
    /// Says what is asked, not about what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("action", &self.action.name).finish_non_exhaustive()
    }
}

impl ContextQuery {
    /// Reads the payload of a request to this target; `None` when the target is not `:context`.
    ///
    /// # Errors
    /// No such action can be asked for.
    pub(in crate::engine) fn of(
        target: &KeywordName,
        payload: &Value,
    ) -> Option<Result<ContextQuery, EngineError>> {
        if target.as_str() != CONTEXT {
            return None;
        }
        let action = payload.get("action");
        let named = |entry: &&ContextAction| action.is_some_and(|name| name.is_keyword(entry.name));
        Some(match ACTIONS.iter().find(named) {
            Some(action) => Ok(ContextQuery { action, payload: payload.clone() }),
            None => Err(unknown()),
        })
    }
}

/// Answers a question about the context.
///
/// # Errors
/// The action fails, or the asker is unknown (`not-permitted`).
pub(crate) async fn inform(
    hub: Arc<Hub>,
    from: QueryAsker,
    asked: ContextQuery,
) -> Result<QueryAnswer, EngineError> {
    if from.who == Principal::Anonymous {
        return Err(hub.forbid(&from.who, RefusedAttempt::Say(SignalKind::Request)));
    }
    let ContextQuery { action, payload } = asked;
    (action.answer)(hub, from, payload).await
}

fn unknown() -> EngineError {
    let names: Vec<String> = ACTIONS.iter().map(|action| format!(":{}", action.name)).collect();
    let text = format!("expected an action of `:context`: {}", names.join(" "));
    EngineError {
        field: Some("action"),
        ..EngineError::because(EngineErrorCode::Unsupported, text)
    }
}
