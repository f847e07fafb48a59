//! Completions of a text, asked with `:target :context`: an editor wants them while somebody types, so they wait for
//! no turn and are in no record.
//!
//! Called by the table of `context_query`. The policies are asked first (`recall`). A model is asked for owners
//! alone, because it costs them money, and for few at a time: whoever comes meanwhile gets words of the memory.

use bridle_loop::{SessionAccess, SessionId};
use bridle_model_host::{RecallReach, complete_from_memory};
use bridle_sexp::Value;
use std::sync::Arc;

use crate::access::principal::Principal;
use crate::engine::error::EngineError;
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::hub::Hub;
use crate::engine::queries::context_query::{Answering, QueryAnswer, QueryAsker};
use crate::engine::queries::facts::HubFacts;
use crate::engine::queries::memory_query::NO_SESSION;
use crate::engine::queries::prompt_memory::HubRecall;
use crate::engine::queries::query::success;

/// Answers a question for completions.
pub(in crate::engine) fn answer(hub: Arc<Hub>, from: QueryAsker, payload: Value) -> Answering {
    Box::pin(async move {
        let QueryAsker { who, own, .. } = from;
        let prefix = payload.get("prefix").and_then(Value::as_str);
        let prefix = prefix.ok_or_else(|| EngineError::invalid("prefix", "expected a text"))?;
        let nowhere = || SessionId::parse(NO_SESSION).expect("letters are a name");
        let session = own.unwrap_or_else(nowhere);
        if !hub.home.may(&who, SessionAccess::Recall, &session, &who.name()) {
            return Err(hub.forbid(&who, RefusedAttempt::Recall));
        }
        let found = suggestions(&hub, &who, prefix).await;
        let pairs = [
            ("prefix", Value::str(prefix)),
            ("suggestions", Value::list(found.into_iter().map(Value::from))),
        ];
        Ok(QueryAnswer::from(success("complete", pairs)))
    })
}

async fn suggestions(hub: &Arc<Hub>, who: &Principal, prefix: &str) -> Vec<String> {
    let reach = if who.is_owner() { RecallReach::Whole } else { RecallReach::Open };
    let models = hub.home.abilities.models.get().filter(|_| who.is_owner());
    if let Some(models) = models
        && let Ok(_turn) = models.completions.try_acquire()
    {
        return models.completer().complete(prefix, Some(reach)).await;
    }
    let facts = Arc::new(HubFacts::default());
    facts.introduce(hub);
    complete_from_memory(&HubRecall::new(&facts, None), prefix, Some(reach)).await
}
