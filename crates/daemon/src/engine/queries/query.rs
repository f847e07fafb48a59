//! What a client asks of the daemon itself, beside its session: no turn is made of it.
//!
//! Read from a message by `conversation`, answered by the hub. Only an answer to a question of the guard
//! leaves a record, in the session that asked it; a list leaves none.

use crate::engine::queries::config_query::{self, ConfigQuery};
use crate::engine::queries::context_query::inform;
use crate::engine::queries::effects_query::{self, EffectsQuery};
use crate::engine::queries::facts;
use crate::engine::queries::grant_query::{self, GrantQuery};
use crate::engine::queries::memex_choice::open_memex;
use crate::engine::queries::offer_query::{self, OfferQuery};
use crate::engine::queries::policy_install::install_policies;
use crate::engine::queries::preview_query::{self, PreviewQuery};
use crate::engine::queries::provider_query::{self, ProviderQuery};
use bridle_history::record_source::kind_of;
use bridle_history::session_fold;
use bridle_loop::{
    ActionHash, AnsweredBody, ApprovalAnswer, ApprovalChoice, EffectId, IntentBody, KeywordName,
    RecordKind, SessionId,
};
use bridle_record::Record;
use bridle_sexp::{Dialect, Value};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::hub::{Hub, SessionHandle};
use crate::engine::queries::context_query::{ContextQuery, QueryAsker};
use crate::engine::queries::record_query::{self, RecordQuery};
use crate::engine::sessions::inbound_message::request_id;
use crate::engine::sessions::inbox_item::{AnswerRoute, ApprovalAnswering, InboxItem};
use crate::engine::sessions::live_session::{GuardQuestion, LiveSessionSlot};
use crate::engine::sessions::load;
use crate::engine::stream::{StreamEvent, StreamEventKind};

/// Target whose requests are answered here.
const SYSTEM: &str = "system";

/// Most questions in one list, the ones that expire first.
const MAX_LISTED_APPROVALS: usize = 1000;

/// Events of a session among which the outcome of an approved act is looked for, the latest.
const MAX_SEARCHED_EVENTS: u64 = 512;

/// Reason for a request that names no question.
const NO_NAME: &str = "expected the name of a question, such as `work-7`";

/// Reason for a request that names no folder.
const NO_PATH: &str = "expected the path of a folder";

/// Reason for an answer that is neither yes nor no.
const NO_VERDICT: &str = "expected `:allow` or `:deny`";

/// Reason for an answer that could not be recorded.
const NOT_TAKEN: &str = "the answer could not be recorded, so it does not count; send it again";

/// A question for the daemon.
#[derive(Debug)]
pub(crate) enum DaemonQuery {
    /// List of sessions.
    Sessions,
    /// List of schedules.
    Schedules,
    /// List of open approvals.
    Approvals,
    /// State of one approval.
    Approval(ApprovalName),
    /// An answer to one.
    Approve(ApprovalName, ApprovalReply),
    /// Read the policies again and let them hold.
    InstallPolicy,
    /// Question about settings.
    Config(ConfigQuery),
    /// Request about grants.
    Grant(GrantQuery),
    /// Take a folder of Org files up, by its path.
    OpenMemex(String),
    /// Request about projects, commits and the jail.
    Effects(EffectsQuery),
    /// Request about providers of models.
    Provider(ProviderQuery),
    /// Question about what is offered, or what a session cost.
    Offer(OfferQuery),
    /// Request for a preview of a prompt.
    Preview(Box<PreviewQuery>),
    /// Question about the context.
    Context(ContextQuery),
    /// Question about the record.
    Record(RecordQuery),
}

/// The name of a question: its session, if that is said, and its effect.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalName {
    session: Option<SessionId>,
    effect: u64,
}

impl ApprovalName {
    /// Returns the name in full; `own` is the session of a number that stands alone.
    pub(super) fn in_full(&self, own: Option<&SessionId>) -> Option<Box<str>> {
        let session = self.session.as_ref().or(own)?;
        Some(request_id(session, self.effect).into())
    }
}

/// A yes or a no.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApprovalReply {
    answer: ApprovalChoice,
    /// Hash of the action that was seen, if that is said.
    hash: Option<ActionHash>,
    /// For how many milliseconds the same is to be allowed from now on.
    always: Option<i64>,
}

impl DaemonQuery {
    /// Reads the payload of a request to this target; `None` when it is no question for the daemon.
    pub(crate) fn of(
        target: &KeywordName,
        payload: &Value,
    ) -> Option<Result<DaemonQuery, EngineError>> {
        if let Some(asked) = ContextQuery::of(target, payload) {
            return Some(asked.map(DaemonQuery::Context));
        }
        if let Some(asked) = RecordQuery::of(target, payload) {
            return Some(asked.map(DaemonQuery::Record));
        }
        let action = payload.get("action").filter(|_| target.as_str() == SYSTEM)?;
        if let Some(asked) = GrantQuery::of(action, payload) {
            return Some(asked.map(DaemonQuery::Grant));
        }
        if let Some(asked) = ConfigQuery::of(action, payload) {
            return Some(asked.map(DaemonQuery::Config));
        }
        if let Some(asked) = EffectsQuery::of(action, payload) {
            return Some(asked.map(DaemonQuery::Effects));
        }
        if let Some(asked) = ProviderQuery::of(action, payload) {
            return Some(asked.map(DaemonQuery::Provider));
        }
        if let Some(asked) = OfferQuery::of(action, payload) {
            return Some(Ok(DaemonQuery::Offer(asked)));
        }
        if let Some(asked) = PreviewQuery::of(action, payload) {
            return Some(asked.map(|asked| DaemonQuery::Preview(Box::new(asked))));
        }
        let says = |name| action.is_keyword(name);
        if says("sessions") {
            Some(Ok(DaemonQuery::Sessions))
        } else if says("schedules") {
            Some(Ok(DaemonQuery::Schedules))
        } else if says("approvals") {
            Some(Ok(DaemonQuery::Approvals))
        } else if says("install-policy") {
            Some(Ok(DaemonQuery::InstallPolicy))
        } else if says("open-memex") {
            let path = payload.get("path").and_then(Value::as_str).map(str::to_owned);
            Some(
                path.map(DaemonQuery::OpenMemex)
                    .ok_or_else(|| EngineError::invalid("path", NO_PATH)),
            )
        } else if says("approval") {
            Some(ApprovalName::of(payload).map(DaemonQuery::Approval))
        } else if says("approve") {
            let both = ApprovalName::of(payload)
                .and_then(|named| Ok((named, ApprovalReply::of(payload)?)));
            Some(both.map(|(named, reply)| DaemonQuery::Approve(named, reply)))
        } else {
            None
        }
    }
}

impl DaemonQuery {
    /// Makes the answer to a question that is known by its name, such as `work-7`; `None` if that is no name.
    pub(crate) fn approve(name: &str, answer: ApprovalChoice) -> Option<DaemonQuery> {
        let named = ApprovalName::parse(name)?;
        Some(DaemonQuery::Approve(named, ApprovalReply { answer, hash: None, always: None }))
    }
}

impl ApprovalName {
    pub(super) fn of(payload: &Value) -> Result<ApprovalName, EngineError> {
        let value = payload.get("approval");
        if let Some(effect) = value.and_then(Value::as_i64) {
            let effect =
                u64::try_from(effect).map_err(|_| EngineError::invalid("approval", NO_NAME))?;
            return Ok(ApprovalName { session: None, effect });
        }
        let named = value.and_then(Value::as_str).and_then(ApprovalName::parse);
        named.ok_or_else(|| EngineError::invalid("approval", NO_NAME))
    }

    fn parse(name: &str) -> Option<ApprovalName> {
        let (session, effect) = name.rsplit_once('-')?;
        let session = SessionId::parse(session).ok()?;
        Some(ApprovalName { session: Some(session), effect: effect.parse().ok()? })
    }
}

impl ApprovalReply {
    /// Makes a yes to exactly this.
    pub(super) fn allow(hash: Option<ActionHash>) -> ApprovalReply {
        ApprovalReply { answer: ApprovalChoice::Allow, hash, always: None }
    }

    /// Reads the hash of what was seen.
    ///
    /// # Errors
    /// When it is no hash.
    pub(super) fn hash_of(payload: &Value) -> Result<Option<ActionHash>, EngineError> {
        let Some(hash) = payload.get("hash") else { return Ok(None) };
        let hash = hash.as_str().and_then(ActionHash::parse);
        hash.map(Some).ok_or_else(|| EngineError::invalid("hash", "expected 64 hex digits"))
    }

    /// Reads an answer from a payload.
    ///
    /// # Errors
    /// When it says neither yes nor no.
    pub(in crate::engine) fn of(payload: &Value) -> Result<ApprovalReply, EngineError> {
        let verdict = payload.get("verdict");
        let says = |name| verdict.is_some_and(|verdict| verdict.is_keyword(name));
        let answer = match (says("allow"), says("deny")) {
            (true, _) => ApprovalChoice::Allow,
            (_, true) => ApprovalChoice::Deny,
            _ => return Err(EngineError::invalid("verdict", NO_VERDICT)),
        };
        let hash = ApprovalReply::hash_of(payload)?;
        Ok(ApprovalReply { answer, hash, always: payload.get("always").and_then(Value::as_i64) })
    }

    /// As the loop is told.
    pub(in crate::engine) fn answered(
        self,
        effect: u64,
        who: &Principal,
        id: Option<Value>,
    ) -> ApprovalAnswer {
        let ApprovalReply { answer, hash, always } = self;
        ApprovalAnswer { approval: EffectId(effect), hash, answer, from: who.asker(), id, always }
    }
}

/// Answers a question for the daemon: the payload of the answer. `own` is the session that the
/// connection is attached to.
///
/// # Errors
/// When there is no such question, or not for this principal.
pub(crate) async fn ask_daemon(
    hub: Arc<Hub>,
    who: Principal,
    query: DaemonQuery,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    if matches!(query, DaemonQuery::Schedules | DaemonQuery::Approvals | DaemonQuery::Approval(_)) {
        hub.running.recovered().await;
    }
    match query {
        DaemonQuery::Sessions | DaemonQuery::Schedules | DaemonQuery::Approvals
            if who == Principal::Anonymous =>
        {
            Err(hub.forbid(&who, RefusedAttempt::List))
        }
        DaemonQuery::Sessions => listed(hub, "sessions", who, facts::list).await,
        DaemonQuery::Schedules => listed(hub, "schedules", who, facts::list_schedules).await,
        DaemonQuery::Approvals => listed(hub, "approvals", who, approvals).await,
        DaemonQuery::InstallPolicy if !who.is_owner() => {
            Err(hub.forbid(&who, RefusedAttempt::Install))
        }
        DaemonQuery::InstallPolicy => {
            let hash = install_policies(&hub, &who.name()).await?;
            let hash = Value::str(hash.to_string());
            Ok(success("install-policy", [("hash", hash)]))
        }
        DaemonQuery::Config(_) if !who.is_owner() => Err(hub.forbid(&who, RefusedAttempt::List)),
        DaemonQuery::Config(asked) => config_query::answer(&hub.home.settings, &asked),
        DaemonQuery::Grant(_) if !who.is_owner() => Err(hub.forbid(&who, RefusedAttempt::Grant)),
        DaemonQuery::Grant(asked) => grant_query::answer(&hub, &who, asked, own).await,
        DaemonQuery::Effects(_) if !who.is_owner() => {
            Err(hub.forbid(&who, RefusedAttempt::Effects))
        }
        DaemonQuery::Effects(asked) => effects_query::answer(&hub, asked, own).await,
        DaemonQuery::Provider(_) if !who.is_owner() => {
            Err(hub.forbid(&who, RefusedAttempt::Provider))
        }
        DaemonQuery::Provider(asked) => provider_query::answer(&hub, asked).await,
        DaemonQuery::Preview(_) if !who.is_owner() => {
            Err(hub.forbid(&who, RefusedAttempt::Provider))
        }
        DaemonQuery::Preview(asked) => preview_query::answer(&hub, &who, *asked, own).await,
        DaemonQuery::OpenMemex(_) if !who.is_owner() => {
            Err(hub.forbid(&who, RefusedAttempt::OpenMemex))
        }
        DaemonQuery::OpenMemex(path) => {
            let folder = open_memex(&hub, &path, &who.name()).await?;
            Ok(success("open-memex", [("path", folder)]))
        }
        DaemonQuery::Approval(named) => approval(&hub, &who, named, own).await,
        DaemonQuery::Approve(named, reply) => approve(&hub, &who, named, reply, own).await,
        DaemonQuery::Offer(asked) => offer_query::answer(&hub, &who, asked, own).await,
        DaemonQuery::Record(asked) => record_query::answer(&hub, &who, asked).await,
        DaemonQuery::Context(asked) => {
            let dialect = Dialect::Lisp;
            let told = inform(hub, QueryAsker { who, own, dialect }, asked).await?;
            told.into_value(dialect)
        }
    }
}

/// Open questions that a principal may see, as a list of plists.
pub(crate) fn approvals(hub: &Hub, who: &Principal) -> Value {
    let mut all = Vec::new();
    for session in hub.directory.present() {
        let open: Vec<(u64, GuardQuestion)> = {
            let inner = session.lock();
            inner.open.questions.iter().map(|(id, asking)| (*id, asking.clone())).collect()
        };
        if open.is_empty() || !session.is_visible_to(&hub.home, who) {
            continue;
        }
        all.extend(open.into_iter().map(|(effect, asking)| {
            (asking.question.expires.0, shown(hub, who, &session, effect, &asking))
        }));
    }
    all.sort_by_key(|(expires, _)| *expires);
    Value::list(all.into_iter().take(MAX_LISTED_APPROVALS).map(|(_, plist)| Value::plist(plist)))
}

async fn listed(
    hub: Arc<Hub>,
    what: &'static str,
    who: Principal,
    list: fn(&Hub, &Principal) -> Value,
) -> Result<Value, EngineError> {
    // As long as there are sessions in the record.
    let listing = tokio::task::spawn_blocking(move || list(&hub, &who));
    let list = listing.await.unwrap_or_else(|error| {
        tracing::error!(%error, what, "a list could not be made");
        Value::Nil
    });
    Ok(success(what, [(what, list)]))
}

/// Returns the state of an approval.
async fn approval(
    hub: &Arc<Hub>,
    who: &Principal,
    named: ApprovalName,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    let (held, effect) = question(hub, who, named, own).await?;
    let session = &held.session;
    let open = session.lock().open.questions.get(&effect).cloned();
    if let Some(asking) = open {
        let status = [("status", Value::keyword("pending-approval"))];
        let shown = shown(hub, who, session, effect, &asking);
        return Ok(Value::plist(status.into_iter().chain(shown)));
    }
    let found = load::load(&hub.home, &session.id).await?;
    let Some((how, by)) = found.core.state.ending_of(EffectId(effect)) else {
        return Err(unknown());
    };
    let name = request_id(&session.id, effect);
    let mut pairs = vec![
        ("approval", Value::str(&*name)),
        ("how", Value::keyword(how)),
        ("by", by.map_or(Value::Nil, Value::str)),
    ];
    let (id, head) = (session.id.clone(), found.core.state.next_seq().0);
    let looked_at = hub.home.readers.read(move |reader| {
        let after = head.saturating_sub(MAX_SEARCHED_EVENTS);
        reader.stream(
            id.as_str(),
            after,
            usize::try_from(MAX_SEARCHED_EVENTS).unwrap_or(usize::MAX),
        )
    });
    let events = looked_at.await?;
    pairs.extend(said(&events, &name).map(|said| ("said", said)));
    pairs.extend(outcome(&events, effect).map(|outcome| ("outcome", outcome)));
    Ok(success("approval", pairs.into_iter().filter(|(_, value)| !value.is_nil())))
}

/// Takes an answer to its session, and brings back what became of it.
pub(super) async fn approve(
    hub: &Arc<Hub>,
    who: &Principal,
    named: ApprovalName,
    reply: ApprovalReply,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    let (held, effect) = question(hub, who, named, own).await?;
    hub.running.check_open()?;
    // An answer that does not count is recorded as well.
    hub.home.record.spending.check(who, hub.home.now())?;
    let (done, told) = oneshot::channel();
    let answered = reply.answered(effect, who, None);
    let work =
        InboxItem::Answer(Box::new(ApprovalAnswering { answered, back: AnswerRoute::To(done) }));
    hub.post_message(&held.session, work)?;
    let lost = || EngineError::because(EngineErrorCode::StoreUnavailable, NOT_TAKEN);
    let told: Arc<StreamEvent> = told.await.map_err(|_| lost())?;
    payload_of(&told).ok_or_else(lost)
}

/// The session of a question that somebody may see; others are told that there is none.
async fn question(
    hub: &Arc<Hub>,
    who: &Principal,
    named: ApprovalName,
    own: Option<SessionId>,
) -> Result<(SessionHandle, u64), EngineError> {
    let ApprovalName { session, effect } = named;
    let Some(id) = session.or(own) else {
        return Err(EngineError::invalid("approval", NO_NAME));
    };
    let held = hub.find(&id).await?;
    match held {
        Some(held) if held.session.is_visible_to(&hub.home, who) => Ok((held, effect)),
        None if who.is_owner() => Err(unknown()),
        // One that there is not is refused like one that is not theirs.
        _ => {
            let name = Value::str(request_id(&id, effect));
            Err(hub.forbid(who, RefusedAttempt::Answer(Some(&name))))
        }
    }
}

fn shown(
    hub: &Hub,
    who: &Principal,
    session: &LiveSessionSlot,
    effect: u64,
    asking: &GuardQuestion,
) -> Vec<(&'static str, Value)> {
    let question = &asking.question;
    let intent = &question.intent;
    let may_answer = hub.home.may_answer(who, question, &session.id, &session.owner);
    let mut shown = vec![
        ("approval", Value::str(request_id(&session.id, effect))),
        ("session", Value::str(session.id.as_str())),
        ("question", Value::str(&*question.text)),
        ("risk", Value::keyword(intent.action().risk().word())),
        ("target", intent.target().to_value()),
        ("wanted", Value::clone(intent.payload())),
        ("hash", Value::str(intent.hash().to_string())),
        ("asker", Value::str(&*question.asker.principal)),
        ("asked", Value::int(asking.event.at)),
        ("deadline", Value::int(question.expires.0)),
        ("may-answer", Value::bool(may_answer)),
    ];
    if may_answer && who.is_owner() {
        shown.push(("scopes", grant_query::scopes(question.grant_scopes())));
    }
    shown
}

/// Returns the latest words about an approved act, if they are recent.
fn said(events: &[Record], name: &str) -> Option<Value> {
    events.iter().rev().filter(|record| kind_of(record) == Some(RecordKind::Say)).find_map(
        |record| {
            let body = session_fold::parse(record.body.text().filter(|text| text.contains(name))?)?;
            let payload = body.get("payload")?;
            let is_it = payload.get("approval").and_then(Value::as_str) == Some(name);
            (is_it && payload.get("outcome").is_some()).then(|| payload.clone())
        },
    )
}

/// Returns the word for the outcome of an approved request, if it ended and is recent.
fn outcome(events: &[Record], question: u64) -> Option<Value> {
    let of = |kind: RecordKind, effect: u64| {
        events.iter().filter(move |record| kind_of(record) == Some(kind)).find_map(move |record| {
            let body = session_fold::parse(record.body.text()?)?;
            let answer = AnsweredBody::read(&body);
            (answer.effect == Some(effect) && answer.counts).then_some((record, body))
        })
    };
    let ended = |effect: u64| {
        let (_, body) =
            of(RecordKind::Acted, effect).or_else(|| of(RecordKind::Settled, effect))?;
        body.get("outcome").cloned()
    };
    // Without a yes, or because it was no longer permitted.
    if let Some(word) = ended(question) {
        return Some(word);
    }
    let (answered, _) = of(RecordKind::Answered, question)?;
    let follows = |record: &&Record| record.cause == Some(answered.number);
    let is_act = |record: &&Record| kind_of(record) == Some(RecordKind::Act);
    let Some(act) = events.iter().filter(is_act).find(follows) else {
        // What concerns the session alone is done as it is decided.
        return Some(Value::keyword("done"));
    };
    let act = session_fold::parse(act.body.text()?)?;
    ended(IntentBody::read(&act).effect?)
}

fn payload_of(event: &StreamEvent) -> Option<Value> {
    debug_assert_eq!(event.kind, StreamEventKind::Say);
    session_fold::parse(event.body.as_deref()?)?.get("payload").cloned()
}

pub(super) fn success<'k>(action: &str, rest: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let head = [("status", Value::keyword("success")), ("action", Value::keyword(action))];
    Value::plist(head.into_iter().chain(rest))
}

fn unknown() -> EngineError {
    EngineError::because(EngineErrorCode::UnknownId, "no such question")
}
