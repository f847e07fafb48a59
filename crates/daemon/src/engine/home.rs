//! Everything that belongs to one owner: the record, its readers and budgets, the policies, the memory, the buffers.
//!
//! One daemon has one home today. Made by `start`; the hub and the tasks of sessions work with it.

pub(in crate::engine) mod action_catalog;
pub(in crate::engine) mod effects;
pub(in crate::engine) mod engine_files;
pub(in crate::engine) mod guard;
pub(in crate::engine) mod kept_files;
mod mail;
pub(in crate::engine) mod memex_service;
pub(in crate::engine) mod models;
mod notify;
pub(in crate::engine) mod own_files;
pub(in crate::engine) mod principal_usage;
pub(in crate::engine) mod readers;
pub(in crate::engine) mod record_writer;
pub(in crate::engine) mod refusals;
pub(in crate::engine) mod schedules;
pub(in crate::engine) mod secret_mask;
pub(in crate::engine) mod session_usage;
pub(in crate::engine) mod skill_writer;
pub(in crate::engine) mod spending;
pub(in crate::engine) mod time_zones;
pub(in crate::engine) mod unsaved_buffers;
mod web;

use crate::access::principal::Principal;
use crate::engine::clock::MonotonicClock;
use crate::engine::error::EngineError;
use bridle_loop::{
    ANONYMOUS, ApprovalRequest, PolicyVerdict, SessionAccess, SessionId, SignalSender, UnixMillis,
    VisitedSession,
};
use bridle_record::NewRecord;
use std::sync::{Arc, OnceLock};

use bridle_effects::Workspace;
use bridle_host::Host;
use bridle_jail::SecretStore;
use bridle_memex::MemoryStore;
use bridle_record::{AppendNumbers, RecordAppend};
use bridle_skill_host::SkillRegistry;

use crate::config::SettingFact;
use crate::engine::home::action_catalog::ActionCatalog;
use crate::engine::home::engine_files::EngineFiles;
use crate::engine::home::guard::PolicyGuard;
use crate::engine::home::memex_service::AsyncMemexService;
use crate::engine::home::own_files::OwnFiles;
use crate::engine::home::principal_usage::PrincipalUsageSums;
use crate::engine::home::readers::ReaderPool;
use crate::engine::home::record_writer::{AppendError, RecordWriter};
use crate::engine::home::refusals::RefusalCounter;
use crate::engine::home::schedules::ScheduleList;
use crate::engine::home::session_usage::SessionUsageSums;
use crate::engine::home::spending::RecordBudgetUse;
use crate::engine::home::unsaved_buffers::UnsavedBuffers;

/// Everything that belongs to one owner.
pub(crate) struct Home {
    pub(in crate::engine) record: HomeRecord,
    pub(in crate::engine) readers: ReaderPool,
    pub(in crate::engine) abilities: HomeAbilities,
    /// The Org files, if a folder is set.
    pub(in crate::engine) files: EngineFiles,
    /// Files that shells hand in.
    pub(crate) shelf: Arc<kept_files::KeptFiles>,
    /// Policies that hold.
    pub(crate) guard: PolicyGuard,
    /// Acts of principals in all sessions, as budgets count them.
    pub(in crate::engine) usage: PrincipalUsageSums,
    /// Schedules of all sessions.
    pub(in crate::engine) schedules: ScheduleList,
    /// Buffers that shells have not saved.
    pub(crate) buffers: Arc<UnsavedBuffers>,
    /// Secrets by name and host, for whoever sends a request; masked in everything that is recorded or shown.
    pub(crate) secrets: Arc<SecretStore>,
    /// Sums of the thoughts of sessions, as far as somebody asked for them.
    pub(in crate::engine) session_usage: SessionUsageSums,
    /// Settings as they were given.
    pub(in crate::engine) settings: Arc<[SettingFact]>,
}

/// Writing into the record: the clock and the thread that do it, and the bounds.
pub(in crate::engine) struct HomeRecord {
    pub(in crate::engine) clock: Arc<MonotonicClock>,
    pub(in crate::engine) writer: RecordWriter,
    /// Use of the record's budgets.
    pub(in crate::engine) spending: Arc<RecordBudgetUse>,
    /// Refused attempts, of which not every one is recorded.
    pub(in crate::engine) refusals: RefusalCounter,
}

/// Thinkers and actuators of a home, and what they work with.
pub(in crate::engine) struct HomeAbilities {
    pub(in crate::engine) host: Arc<Host>,
    /// Descriptions of actions.
    pub(in crate::engine) actions: ActionCatalog,
    /// Language models, if the thinker asks any.
    pub(in crate::engine) models: OnceLock<Arc<models::HomeModels>>,
    /// Files and programs of the agent, if it has any.
    pub(in crate::engine) workspace: Option<Workspace>,
    /// Files of bridle itself that an order may change.
    pub(in crate::engine) own_files: OwnFiles,
    /// Skills of the owner.
    pub(in crate::engine) skills: Arc<SkillRegistry>,
}

impl Home {
    /// Whether the record takes what it is given.
    pub(crate) fn is_healthy(&self) -> bool {
        self.record.writer.is_healthy()
    }

    /// The user's files, once there are any to look after.
    pub(in crate::engine) fn memory(&self) -> Option<&Arc<MemoryStore>> {
        self.files.memory()
    }

    /// Returns the service that keeps the index of them.
    pub(in crate::engine) fn memex_service(&self) -> Option<&AsyncMemexService> {
        self.files.memex_service()
    }

    pub(in crate::engine) fn host(&self) -> Arc<Host> {
        Arc::clone(&self.abilities.host)
    }

    pub(in crate::engine) fn host_ref(&self) -> &Host {
        &self.abilities.host
    }

    /// Has an append kept.
    pub(in crate::engine) async fn keep(
        &self,
        append: RecordAppend,
    ) -> Result<AppendNumbers, AppendError> {
        self.record.writer.append(append).await
    }

    /// The present, in milliseconds since 1970.
    pub(in crate::engine) fn now(&self) -> i64 {
        self.record.clock.now()
    }

    /// Number of the latest record.
    pub(in crate::engine) fn head(&self) -> u64 {
        self.record.writer.head()
    }

    /// Asks the policies whether somebody may do this to a session. Anybody of whom nothing is
    /// known may not, whatever they say: one of those is like another.
    pub(in crate::engine) fn may(
        &self,
        who: &Principal,
        access: SessionAccess,
        session: &SessionId,
        owner: &str,
    ) -> bool {
        let visited = VisitedSession { session, owner, now: UnixMillis(self.now()) };
        let found = self.guard.present().installed.may(&who.asker(), access, visited);
        who.permits(access) && found.word == PolicyVerdict::Allow
    }

    /// Asks the policies whether somebody may do this from within a session of theirs.
    pub(in crate::engine) fn may_ask(
        &self,
        asker: &SignalSender,
        access: SessionAccess,
        session: &SessionId,
    ) -> bool {
        let owner = &*asker.principal;
        let visited = VisitedSession { session, owner, now: UnixMillis(self.now()) };
        let found = self.guard.present().installed.may(asker, access, visited);
        *asker.principal != *ANONYMOUS && found.word == PolicyVerdict::Allow
    }

    /// Asks the policies whether somebody may answer a question of a session.
    pub(in crate::engine) fn may_answer(
        &self,
        who: &Principal,
        question: &ApprovalRequest,
        session: &SessionId,
        owner: &str,
    ) -> bool {
        let visited = VisitedSession { session, owner, now: UnixMillis(self.now()) };
        let found = self.guard.present().installed.may_answer(&who.asker(), question, visited);
        who.permits(SessionAccess::Approve) && found.word == PolicyVerdict::Allow
    }

    /// Owner and last number of a session that the record knows.
    pub(in crate::engine) async fn session_row(
        &self,
        id: &SessionId,
    ) -> Result<Option<(Arc<str>, u64)>, EngineError> {
        let id = id.clone();
        let row = self.readers.read(move |reader| reader.session(id.as_str())).await?;
        let row = row.filter(|row| !row.forgotten);
        Ok(row.map(|row| (row.owner.into(), row.head_seq)))
    }

    /// Records something of the daemon itself; tells whether it is kept.
    pub(in crate::engine) async fn record_own(&self, draft: NewRecord) -> bool {
        let kind = draft.kind;
        let append = RecordAppend { drafts: vec![draft], ..RecordAppend::default() };
        match self.keep(append).await {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(%error, kind, "could not be recorded");
                false
            }
        }
    }
}
