//! What memory holds, asked with `:target :context`: who may ask, and who answers.
//!
//! Called by the table of `context`. The policies are asked first (`recall`). Questions and answers are in no record: what memory holds would be there
//! twice, and what is private would be in a log. Refused attempts are recorded like all others.

use bridle_history::record_source::of_kinds;
use bridle_history::session_fold;
use bridle_loop::{RecordKind, SessionAccess, SessionId};
use bridle_memex::{MemexAsker, MemexQuestion, MemexRefusal, PrivateAccess, success};
use bridle_record::{Record, RecordFilter, RecordNumber, RecordReader, StoreError};
use bridle_sexp::Value;
use std::sync::Arc;

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::hub::Hub;
use crate::engine::queries::context_query::{Answering, QueryAnswer, QueryAsker};
use crate::engine::queries::skill_query::{self, SkillReader};

/// The session that a question is asked from when the connection is in none.
pub(super) const NO_SESSION: &str = "recall";

/// Records of the daemon that a log has: what it did, and what it refused.
const LOGGED_RECORD_KINDS: [RecordKind; 6] = [
    RecordKind::DaemonUp,
    RecordKind::DaemonDown,
    RecordKind::Policy,
    RecordKind::PolicyRefused,
    RecordKind::Refused,
    RecordKind::Forgot,
];

/// Records among which they are looked for, from the latest back.
const MAX_SEARCHED_RECORDS: u64 = 20_000;

/// Answers a question about what memory holds.
pub(in crate::engine) fn answer(hub: Arc<Hub>, from: QueryAsker, payload: Value) -> Answering {
    Box::pin(async move {
        let QueryAsker { who, own, .. } = from;
        let question = MemexQuestion::of(&payload)?;
        recall(&hub, &who, question, own).await.map(QueryAnswer::from)
    })
}

impl From<MemexRefusal> for EngineError {
    fn from(refusal: MemexRefusal) -> EngineError {
        let because = |code| EngineError::because(code, refusal.to_string());
        match refusal {
            MemexRefusal::NoMemex => because(EngineErrorCode::UnknownTarget),
            MemexRefusal::NotFound(_) => because(EngineErrorCode::UnknownId),
            MemexRefusal::Field { key, .. } => EngineError::invalid(key, refusal.to_string()),
            MemexRefusal::Invalid(_) => because(EngineErrorCode::InvalidValue),
            MemexRefusal::Unavailable(_) => because(EngineErrorCode::StoreUnavailable),
            MemexRefusal::Internal => EngineErrorCode::Internal.into(),
        }
    }
}

/// Answers a question, if the policies permit it.
pub(in crate::engine) async fn recall(
    hub: &Arc<Hub>,
    who: &Principal,
    ask: MemexQuestion,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    let nowhere = || SessionId::parse(NO_SESSION).expect("letters are a name");
    let session = own.unwrap_or_else(nowhere);
    // It is their own session: others are not let into it.
    if !hub.home.may(who, SessionAccess::Recall, &session, &who.name()) {
        return Err(hub.forbid(who, RefusedAttempt::Recall));
    }
    let access = if who.is_owner() { PrivateAccess::Owner } else { PrivateAccess::Public };
    match ask {
        MemexQuestion::Logs(_) if access == PrivateAccess::Public => {
            Err(hub.forbid(who, RefusedAttempt::Recall))
        }
        MemexQuestion::Logs(limit) => logs(hub, limit).await,
        ask => match hub.home.memex_service() {
            Some(service) => {
                let found = service.answer(ask.clone(), MemexAsker { access }).await?;
                let reader = match access {
                    PrivateAccess::Owner => SkillReader::Owner,
                    PrivateAccess::Public => SkillReader::Other,
                };
                Ok(skill_query::enriched(&ask, found, &hub.home.abilities.skills.table(), reader))
            }
            None => Err(MemexRefusal::NoMemex.into()),
        },
    }
}

/// The latest that the daemon has recorded about itself, the oldest of it first.
pub(in crate::engine) async fn logs(hub: &Hub, limit: usize) -> Result<Value, EngineError> {
    let head = hub.home.head();
    let records = hub.home.readers.read(move |reader| latest(reader, head, limit)).await?;
    let entries = records.iter().map(|record| {
        let body = record.body.text().and_then(session_fold::parse).unwrap_or(Value::Nil);
        let reason = body.get("reason").or_else(|| body.get("attempt")).cloned();
        let mut pairs = vec![
            ("record", Value::int(i64::try_from(record.number.0).unwrap_or(i64::MAX))),
            ("at", Value::int(record.at)),
            ("kind", Value::keyword(&record.kind)),
            ("principal", Value::str(&*record.principal)),
        ];
        pairs.extend(reason.map(|reason| ("reason", reason)));
        Value::plist(pairs)
    });
    Ok(success("get-system-logs", [("entries", Value::list(entries))]))
}

fn latest(reader: &RecordReader, head: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
    let filter = RecordFilter { session: Some("".into()), ..of_kinds(LOGGED_RECORD_KINDS) };
    let mut after = RecordNumber(head.saturating_sub(MAX_SEARCHED_RECORDS));
    let mut found: Vec<Record> = Vec::new();
    loop {
        let page = reader.records(after, &filter, limit)?;
        let Some(last) = page.last() else { return Ok(found) };
        after = last.number;
        found.extend(page);
        found.drain(..found.len().saturating_sub(limit));
    }
}
