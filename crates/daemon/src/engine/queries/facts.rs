//! What the daemon tells about itself: to thinkers, and to shells that ask for sessions.

use crate::engine::home::schedules::MAX_LISTED;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use bridle_host::{DaemonFacts, SessionFact, SessionList, SessionVisibility, StatusFact};
use bridle_loop::{ANONYMOUS, SessionAccess, SessionId, SessionWorkload};
use bridle_model_host::{ModelCompleter, RecallReach};
use bridle_record::SessionRow;
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::engine::hub::Hub;
use crate::engine::stream::{EngineActivity, SessionStatus, workload_pairs};

/// Most sessions in one list; the ones with the latest activity are shown.
const MAX_LISTED_SESSIONS: usize = 1000;

/// Most sessions that the policies are asked about for one list, the latest first: some 50 us each.
const LOOKED_AT: usize = 10_000;

/// The host's way to the hub, which is made after it.
#[derive(Default)]
pub(in crate::engine) struct HubFacts {
    hub: OnceLock<Weak<Hub>>,
    /// Giver of completions, where models are the thinker.
    completer: OnceLock<ModelCompleter>,
}

impl HubFacts {
    /// Says which hub it is.
    pub(in crate::engine) fn introduce(&self, hub: &Arc<Hub>) {
        // A second hub never comes.
        let _ = self.hub.set(Arc::downgrade(hub));
    }

    /// Says who gives completions.
    pub(in crate::engine) fn introduce_completer(&self, completer: ModelCompleter) {
        let _ = self.completer.set(completer);
    }

    /// Completions of a text, by a model or by the memory.
    pub(in crate::engine) async fn complete(
        &self,
        prefix: &str,
        reach: Option<RecallReach>,
    ) -> Vec<String> {
        match self.completer.get() {
            Some(completer) => completer.complete(prefix, reach).await,
            None => Vec::new(),
        }
    }

    /// The hub, once it is there.
    pub(in crate::engine) fn hub(&self) -> Option<Arc<Hub>> {
        self.hub.get().and_then(Weak::upgrade)
    }
}

/// Counts of all that is going on, for a detailed health answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineTraffic {
    /// Sessions in memory.
    pub(crate) sessions: usize,
    /// Connections attached to them.
    pub(crate) shells: usize,
    /// Messages that wait for their session.
    pub(crate) messages: usize,
    /// Thoughts, acts and requests to shells that are not over.
    pub(crate) effects: usize,
    /// Questions of the guard that nobody has answered.
    pub(crate) approvals: usize,
    /// Appends that wait for the record writer.
    pub(crate) appends: usize,
    /// Number of the latest record.
    pub(crate) records: u64,
}

/// Facts about a session that is in memory.
#[derive(Clone, Copy, Default)]
struct LiveSession {
    head: u64,
    shells: usize,
    status: SessionStatus,
    load: SessionWorkload,
}

impl DaemonFacts for HubFacts {
    fn sessions(&self, whose: SessionVisibility<'_>, limit: usize) -> SessionList {
        let Some(hub) = self.hub() else { return SessionList::default() };
        let sees = |owner: &str| match whose {
            SessionVisibility::Everybodys => true,
            // One of those is like another: what one has said is not for the next.
            SessionVisibility::Of(principal) => principal == owner && owner != ANONYMOUS,
        };
        let live = live(&hub);
        let rows = rows(&hub, sees);
        let fact = |row: &SessionRow| {
            let live = live.get(&*row.name).copied().unwrap_or_default();
            Some(SessionFact {
                session: SessionId::parse(&row.name).ok()?,
                head: row.head_seq.max(live.head),
                shells: live.shells,
                busy: live.status.doing != EngineActivity::Idle,
            })
        };
        SessionList { total: rows.len(), shown: rows.iter().take(limit).filter_map(fact).collect() }
    }

    fn status(&self) -> StatusFact {
        let Some(hub) = self.hub() else { return nothing_known() };
        let live = live(&hub);
        StatusFact {
            uptime: hub.started.elapsed(),
            sessions: live.len(),
            busy: live.values().filter(|live| live.status.doing != EngineActivity::Idle).count(),
            shells: live.values().map(|live| live.shells).sum(),
            record: hub.home.head(),
            trouble: (!hub.home.is_healthy()).then(|| "the record takes nothing".into()),
            ..nothing_known()
        }
    }
}

/// Sessions that a principal may see, as a list of plists.
pub(in crate::engine) fn list(hub: &Hub, who: &Principal) -> Value {
    let live = live(hub);
    let sees = |row: &SessionRow| {
        let id = SessionId::parse(&row.name);
        id.is_ok_and(|id| hub.home.may(who, SessionAccess::Observe, &id, &row.owner))
    };
    let rows = rows(hub, |_| true);
    let rows = rows.iter().take(LOOKED_AT).filter(|row| sees(row));
    Value::list(rows.take(MAX_LISTED_SESSIONS).map(|row| {
        let live = live.get(&*row.name).copied().unwrap_or_default();
        let pairs = [
            ("session", Value::str(&*row.name)),
            ("owner", Value::str(&*row.owner)),
            ("seq", number(row.head_seq.max(live.head))),
            ("records", number(row.records)),
            ("began", Value::int(row.created)),
            ("at", Value::int(row.last_at)),
            ("shells", number(live.shells as u64)),
            ("state", Value::keyword(live.status.doing.as_str())),
        ];
        Value::plist(pairs.into_iter().chain(workload_pairs(live.load)))
    }))
}

/// Recorded sessions, the latest first.
fn rows(hub: &Hub, sees: impl Fn(&str) -> bool) -> Vec<SessionRow> {
    let mut rows =
        hub.home.readers.read_here(bridle_record::RecordReader::sessions).unwrap_or_default();
    rows.retain(|row| !row.forgotten && sees(&row.owner));
    rows.sort_by_key(|row| std::cmp::Reverse(row.last_at));
    rows
}

fn live(hub: &Hub) -> HashMap<Box<str>, LiveSession> {
    let look = |session: Arc<crate::engine::sessions::live_session::LiveSessionSlot>| {
        let inner = session.lock();
        let live = LiveSession {
            head: inner.events.head,
            shells: inner.feeds.len(),
            status: inner.status,
            load: inner.load,
        };
        (session.id.as_str().into(), live)
    };
    hub.directory.present().into_iter().map(look).collect()
}

/// Schedules that a principal may see, as a list of plists, those that are due first.
pub(crate) fn list_schedules(hub: &Hub, who: &Principal) -> Value {
    let mut all = hub.home.schedules.all();
    all.retain(|(session, owner, _)| hub.home.may(who, SessionAccess::Observe, session, owner));
    all.sort_by_key(|(_, _, fact)| fact.due);
    Value::list(all.into_iter().take(MAX_LISTED).map(|(session, owner, fact)| {
        let optional = [
            ("every", fact.every),
            ("left", fact.left.map(i64::from)),
            ("until", fact.until.map(|until| until.0)),
        ];
        let optional = optional.into_iter().filter_map(|(key, it)| Some((key, Value::int(it?))));
        let cron = fact.cron.iter().flat_map(|(cron, zone)| {
            [("cron", Value::str(&**cron)), ("zone", Value::str(&**zone))]
        });
        let missed = ("missed", Value::keyword(fact.missed.word()));
        let paused = fact.is_paused.then_some(("paused", Value::T));
        let optional = optional.chain(cron.collect::<Vec<_>>()).chain([missed]).chain(paused);
        let pairs = [
            ("session", Value::str(session.as_str())),
            ("owner", Value::str(&*owner)),
            ("name", Value::str(&*fact.name)),
            ("due", Value::int(fact.due.0)),
        ];
        Value::plist(pairs.into_iter().chain(optional))
    }))
}

/// Counts all that is going on now. Looks at every session in memory.
pub(crate) fn count_traffic(hub: &Hub) -> EngineTraffic {
    let appends = hub.home.record.writer.waiting();
    let records = hub.home.head();
    let mut traffic = EngineTraffic { appends, records, ..EngineTraffic::default() };
    for session in hub.directory.present() {
        let inner = session.lock();
        traffic.sessions += 1;
        traffic.shells += inner.feeds.len();
        traffic.messages += inner.inbox.signals;
        traffic.effects += inner.open.workers.len() + inner.open.requests.len();
        traffic.approvals += inner.open.questions.len();
    }
    traffic
}

fn nothing_known() -> StatusFact {
    StatusFact {
        version: env!("CARGO_PKG_VERSION").into(),
        uptime: std::time::Duration::ZERO,
        sessions: 0,
        busy: 0,
        shells: 0,
        record: 0,
        trouble: None,
    }
}

fn number(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}
