//! `:context` as an actuator: what a thinker looks up, recorded and judged like every act.
//!
//! The same answers as those of `context_query`, which clients ask beside their sessions. Who reads along is found
//! out before the read is judged, and decides how much is shown; an answer with anything that is the owner's alone
//! is labelled `:secret`, for whoever builds prompts of models that are elsewhere.

use std::sync::Arc;

use bridle_host::{ActIo, Actuator, HostFuture, ProposalPlace, Readership};
use bridle_loop::{
    Action, CONTEXT_ACTIONS, ContextRead, KeywordName, Order, Outcome, PREPARED, Privacy, Seq,
    SessionAccess, SignalSender,
};
use bridle_memex::{MemexAsker, MemexQuestion, MemexRefusal, PrivateAccess};
use bridle_model_host::{OPEN_ANSWER, RecallReach};
use bridle_sexp::{Dialect, Value};

use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::unsaved_buffers::cut::MAX_AST_BYTES;
use crate::engine::home::unsaved_buffers::disk::{NodeShape, ast};
use crate::engine::hub::Hub;
use crate::engine::queries::facts::HubFacts;
use crate::engine::queries::memory_query::logs;
use crate::engine::queries::skill_query::{self, SkillReader};
use crate::engine::sessions::load;

/// Characters of a result that one read shows, unless it asks for another number.
const DEFAULT_RESULT_CHARS: usize = 8 << 10;

/// Most characters of a result that one read shows.
const MAX_RESULT_CHARS: usize = 32 << 10;

/// Answers reads of the memory, of the daemon's log and of earlier results.
pub(in crate::engine) struct ContextActuator(Arc<HubFacts>);

impl ContextActuator {
    /// An actuator that asks the hub which these facts are of.
    pub(in crate::engine) fn new(facts: &Arc<HubFacts>) -> ContextActuator {
        ContextActuator(Arc::clone(facts))
    }
}

impl Actuator for ContextActuator {
    fn actions(&self) -> &'static [&'static str] {
        CONTEXT_ACTIONS
    }

    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        let access = match around.readers {
            Readership::Owners => "owner",
            Readership::Others => "public",
        };
        let pairs = payload.elements().filter(|_| payload.pairs().is_some())?.chunks_exact(2);
        // Whoever says it themselves is not listened to.
        let said = pairs.filter(|pair| !pair[0].is_keyword(PREPARED)).flatten().cloned();
        let found = Value::plist([("access", Value::keyword(access))]);
        Some(Value::list(said.chain([Value::keyword(PREPARED), found])))
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let Action::Context(read) = order.action() else {
                let action = order.action().name();
                return Outcome::Failed(format!("`:context` has no action `{action}`").into());
            };
            let Some(hub) = self.0.hub() else {
                return Outcome::Failed("the daemon is not there yet".into());
            };
            if read.name == "complete" {
                return Outcome::Done(self.complete(&hub, *read, order.payload(), io).await);
            }
            match answer(&hub, *read, order.payload(), io).await {
                Ok((found, label)) => Outcome::Done(labelled(found, label)),
                Err(error) if error.code == EngineErrorCode::NotPermitted => {
                    Outcome::Denied(error.to_string().into())
                }
                Err(error) => Outcome::Failed(error.to_string().into()),
            }
        })
    }
}

impl ContextActuator {
    /// Completions, in the words of those who ask for them.
    async fn complete(&self, hub: &Hub, read: ContextRead, payload: &Value, io: &ActIo) -> Value {
        let prefix = payload.get("prefix").and_then(Value::as_str).unwrap_or_default();
        let reach = if read.is_for_owner { RecallReach::Whole } else { RecallReach::Open };
        let is_let = hub.home.may_ask(&asker(read, io), SessionAccess::Recall, &io.context.session);
        let found = self.0.complete(prefix, is_let.then_some(reach)).await;
        let label = if read.is_for_owner { Privacy::Secret } else { Privacy::default() };
        let suggestions = Value::list(found.into_iter().map(Value::from));
        let pairs = [("prefix", Value::str(prefix)), ("suggestions", suggestions)];
        labelled(Value::plist(pairs), label)
    }
}

/// Answers a read, with the label of the answer.
async fn answer(
    hub: &Arc<Hub>,
    read: ContextRead,
    payload: &Value,
    io: &ActIo,
) -> Result<(Value, Privacy), EngineError> {
    let denied =
        || EngineError::because(EngineErrorCode::NotPermitted, "the memory may not be read");
    if !hub.home.may_ask(&asker(read, io), SessionAccess::Recall, &io.context.session) {
        return Err(denied());
    }
    let question = match read.name {
        "get-result" => {
            return result(hub, payload, io).await;
        }
        "get-ast" => {
            let file = payload.get("file").and_then(Value::as_str);
            let file = file.ok_or_else(|| EngineError::invalid("file", "expected a path"))?;
            MemexQuestion::Source(file.to_owned())
        }
        _ => MemexQuestion::of(payload)?,
    };
    let found = match question {
        MemexQuestion::Logs(_) if !read.is_for_owner => return Err(denied()),
        MemexQuestion::Logs(limit) => (logs(hub, limit).await?, Privacy::Secret),
        question => recalled(hub, read, question).await?,
    };
    match read.name {
        "get-ast" => Ok((parsed(&found.0, payload)?, found.1)),
        _ => Ok(found),
    }
}

/// Whoever the read is for.
fn asker(read: ContextRead, io: &ActIo) -> SignalSender {
    SignalSender { owner: read.is_for_owner, ..SignalSender::new(&io.context.principal) }
}

/// Asks the memory. What others would not be shown in the same way is the owner's alone.
async fn recalled(
    hub: &Arc<Hub>,
    read: ContextRead,
    question: MemexQuestion,
) -> Result<(Value, Privacy), EngineError> {
    let service = hub.home.memex_service().ok_or(MemexRefusal::NoMemex)?;
    let table = hub.home.abilities.skills.table();
    let ask = async |access| {
        let found = service.answer(question.clone(), MemexAsker { access }).await?;
        // The same for both: whether a skill serves is nobody's secret.
        let found = skill_query::enriched(&question, found, &table, SkillReader::Other);
        Ok::<_, MemexRefusal>(found)
    };
    let public = ask(PrivateAccess::Public).await;
    if !read.is_for_owner {
        return Ok((public?, Privacy::default()));
    }
    let whole = ask(PrivateAccess::Owner).await?;
    let Ok(open) = public else { return Ok((whole, Privacy::Secret)) };
    if is_same(&open, &whole) {
        return Ok((whole, Privacy::default()));
    }
    // A model elsewhere is told this one.
    let pairs = whole.elements().unwrap_or_default().iter().cloned();
    let both = Value::list(pairs.chain([Value::keyword(OPEN_ANSWER), open]));
    Ok((both, Privacy::Secret))
}

/// Whether two answers say the same, but for the hashes, which only the owner is told.
fn is_same(open: &Value, whole: &Value) -> bool {
    let (Value::List(some), Value::List(all)) = (open, whole) else { return open == whole };
    if whole.pairs().is_none() {
        return some.len() == all.len() && some.iter().zip(all).all(|(a, b)| is_same(a, b));
    }
    let told = all.chunks_exact(2).filter(|pair| !pair[0].is_keyword("hash"));
    let told: Vec<&Value> = told.flatten().collect();
    some.len() == told.len() && some.iter().zip(told).all(|(a, b)| is_same(a, b))
}

/// The parsed text of a file.
fn parsed(source: &Value, payload: &Value) -> Result<Value, EngineError> {
    let shape = NodeShape::of(payload, Dialect::Lisp)
        .ok_or_else(|| EngineError::invalid("shape", "expected `:org-element` or `:plist`"))?;
    let text = source.get("source").and_then(Value::as_str).unwrap_or_default();
    let too_long =
        || EngineError::invalid("file", format!("its AST is longer than {MAX_AST_BYTES} bytes"));
    let ast = ast(text, shape, Dialect::Lisp, MAX_AST_BYTES).ok_or_else(too_long)?;
    let ast = bridle_history::session_fold::parse(&ast).ok_or(EngineErrorCode::Internal)?;
    Ok(Value::plist([("shape", Value::keyword(shape.word())), ("ast", ast)]))
}

/// A part of the text of an earlier result of the session, with the label of the whole.
async fn result(
    hub: &Arc<Hub>,
    payload: &Value,
    io: &ActIo,
) -> Result<(Value, Privacy), EngineError> {
    let number = |key: &str| {
        let number = payload.get(key).filter(|number| !number.is_nil()).map(Value::as_i64);
        match number {
            None => Ok(None),
            Some(number) => number
                .and_then(|number| usize::try_from(number).ok())
                .map(Some)
                .ok_or_else(|| EngineError::invalid("seq", "expected numbers from 0")),
        }
    };
    let missing = || EngineError::invalid("seq", "no result of this session has this number");
    let seq = number("seq")?.ok_or_else(missing)?;
    let (from, length) = (number("from")?.unwrap_or(0), number("length")?);
    let length = length.unwrap_or(DEFAULT_RESULT_CHARS).min(MAX_RESULT_CHARS);
    let seq = Seq(u64::try_from(seq).unwrap_or(u64::MAX));
    let found = load::result(&hub.home.readers, io.context.session.clone(), seq).await?;
    let found = found.ok_or_else(missing)?;
    let label = match found.get("privacy").and_then(KeywordName::of) {
        None => Privacy::default(),
        Some(word) => Privacy::parse(word.as_str()).unwrap_or(Privacy::Secret),
    };
    let whole = match found.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => found.to_string(),
    };
    let total = whole.chars().count();
    let part: String = whole.chars().skip(from).take(length).collect();
    let count = |n: usize| Value::int(i64::try_from(n).unwrap_or(i64::MAX));
    let part = Value::plist([
        ("seq", count(usize::try_from(seq.0).unwrap_or(usize::MAX))),
        ("from", count(from)),
        ("of", count(total)),
        ("text", Value::str(part)),
    ]);
    Ok((part, label))
}

/// The answer with its label, where that is not the usual one.
fn labelled(found: Value, label: Privacy) -> Value {
    if label == Privacy::default() {
        return found;
    }
    if found.pairs().is_none() {
        let label = Value::keyword(label.word());
        return Value::plist([("found", found), ("privacy", label)]);
    }
    let pairs = found.elements().unwrap_or_default().iter().cloned();
    Value::list(pairs.chain([Value::keyword("privacy"), Value::keyword(label.word())]))
}
