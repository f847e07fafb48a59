//! Other policies while the daemon runs: at its start, on SIGHUP, and when an owner asks.

use std::sync::Arc;

use bridle_history::policy_sets;
use bridle_loop::{PolicyHash, SessionAccess};
use bridle_record::{NewRecord, RecordAppend};

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::guard::{self, PolicyCandidate};
use crate::engine::hub::Hub;
use crate::engine::sessions::live_session::{AdmittedShell, LiveSessionSlot};
use crate::engine::stream::AttachRole;
use crate::engine::stream::AttachmentId;

/// Policies know the time to the second.
const SECOND_MS: i64 = 1_000;

/// Reason for a shell that may no longer see its session.
const NO_LONGER: &str = "the policies that hold now do not let this connection be here";

/// Reason for a file that could not even be looked at.
const NOT_READ: &str = "the policies could not be read; the daemon's log has the reason";

impl Hub {
    /// Reads the file of policies again, checks it, and lets it hold. The old ones stay when
    /// anything is wrong with it, or when it cannot be recorded.
    ///
    /// # Errors
    /// `invalid-value` with the lines of the file; `store-unavailable`.
    pub(crate) async fn install_policies(
        self: &Arc<Hub>,
        by: &str,
    ) -> Result<PolicyHash, EngineError> {
        let _alone = self.home.guard.installing.lock().await;
        let hub = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || hub.home.guard.read()).await;
        let read = read.map_err(|error| {
            tracing::error!(%error, "reading the policies broke off");
            EngineError::because(EngineErrorCode::Internal, NOT_READ)
        })?;
        let candidate = match read {
            Ok(candidate) => candidate,
            Err(reason) => {
                self.home.guard.refuse(&reason);
                self.tell_refused(&reason, by).await;
                return Err(EngineError::because(EngineErrorCode::InvalidValue, reason));
            }
        };
        self.record_policies(&candidate, by).await?;
        let hash = self.home.guard.install(candidate);
        tracing::info!(%hash, by, "policies installed");
        self.look_again();
        Ok(hash)
    }

    /// Records at the start what holds, and why the file does not if it does not.
    pub(in crate::engine) async fn record_first_policies(&self, by: &str) {
        let present = self.home.guard.present();
        if let Some(reason) = &present.fault {
            self.tell_refused(reason, by).await;
        }
        let hash = present.installed.hash();
        let known =
            self.home.readers.read(move |reader| policy_sets::is_recorded(reader, hash)).await;
        let is_recorded = match known {
            Ok(true) => true,
            // Otherwise it is recorded with the first session that needs it.
            _ => self.record_own(present.draft(self.now(), by)).await,
        };
        if is_recorded {
            self.home.guard.set_recorded();
        }
    }

    /// Says loudly that policies were not installed.
    async fn tell_refused(&self, reason: &str, by: &str) {
        tracing::warn!(reason, "the policies are not installed; what held before goes on to hold");
        self.record_own(guard::refusal(self.home.guard.file(), reason, self.now(), by)).await;
    }

    async fn record_policies(
        &self,
        candidate: &PolicyCandidate,
        by: &str,
    ) -> Result<(), EngineError> {
        let hash = candidate.hash();
        if self.home.readers.read(move |reader| policy_sets::is_recorded(reader, hash)).await? {
            return Ok(());
        }
        match self.record_own(candidate.draft(self.now(), by)).await {
            true => Ok(()),
            false => Err(EngineErrorCode::StoreUnavailable.into()),
        }
    }

    /// Records something of the daemon itself; tells whether it is kept.
    async fn record_own(&self, draft: NewRecord) -> bool {
        let kind = draft.kind;
        let append = RecordAppend { drafts: vec![draft], ..RecordAppend::default() };
        match self.home.keep(append).await {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(%error, kind, "could not be recorded");
                false
            }
        }
    }

    /// Tells whether somebody may join a session in a role. Whoever comes again within the second is
    /// told the same by the same policies: nothing that they look at is another.
    pub(in crate::engine) fn may_join(
        &self,
        who: &Principal,
        role: AttachRole,
        session: &LiveSessionSlot,
    ) -> bool {
        let (at, present) = (self.now().div_euclid(SECOND_MS), self.home.guard.present());
        let is_same = |last: &AdmittedShell| {
            last.at == at
                && last.role == role
                && last.who == *who
                && std::ptr::eq(last.by.as_ptr(), Arc::as_ptr(&present))
        };
        if session.lock().let_in.as_deref().is_some_and(is_same) {
            return true;
        }
        let may = |access| self.may(who, access, &session.id, &session.owner);
        let may_join = may(SessionAccess::Attach)
            && may(SessionAccess::Observe)
            && (role == AttachRole::Observer || may(SessionAccess::Control));
        if may_join {
            let last = AdmittedShell { who: who.clone(), role, at, by: Arc::downgrade(&present) };
            session.lock().let_in = Some(Box::new(last));
        }
        may_join
    }

    /// Asks again for everybody who is attached.
    fn look_again(&self) {
        for session in self.directory.present() {
            let feeds: Vec<(AttachmentId, Principal, AttachRole)> = {
                let inner = session.lock();
                inner.feeds.iter().map(|feed| (feed.id, feed.who.clone(), feed.role)).collect()
            };
            for (id, who, role) in feeds {
                // Whoever is unknown holds nothing but the own conversation.
                if who == Principal::Anonymous || self.may_join(&who, role, &session) {
                    continue;
                }
                if let Some(feed) = session.lock().feed(id) {
                    feed.end(EngineError::because(EngineErrorCode::UnknownSession, NO_LONGER));
                }
            }
        }
    }
}
