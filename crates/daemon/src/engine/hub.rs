//! All sessions by name: found, joined, driven, evicted.
//!
//! Connections attach here; drive tasks, workers and the timer report here. A session is in the
//! map while somebody is attached to it, while it has something to do, or while its State is
//! worth keeping; the record has all of them. Lock order: the map, then a session.

pub(in crate::engine) mod engine_tasks;

use bridle_loop::RecordKind;
use bridle_record::{NewRecord, RecordAppend};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bridle_loop::{PolicyHash, SessionId};
use tokio::sync::oneshot;

use self::engine_tasks::EngineTasks;
use crate::access::principal::Principal;
use crate::config::EngineLimits;
use crate::engine::error::EngineError;
use crate::engine::home::Home;
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::live_session::{LiveSessionSlot, SlotState};
use crate::engine::sessions::session_directory::SessionDirectory;
use crate::metrics::EngineMetrics;

/// Time that a question waits for sessions that are still being loaded after the start, or for what was said before
/// it.
const QUESTION_WAIT: Duration = Duration::from_secs(5);

/// Task that works off the inbox of one session; boxed, since it is handed on several times until it is where it stays.
pub(in crate::engine) type SessionDriver =
    fn(Arc<Hub>, Arc<LiveSessionSlot>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads the policies again, in somebody's name.
pub(in crate::engine) type PolicyInstaller =
    for<'a> fn(
        &'a Arc<Hub>,
        &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<PolicyHash, EngineError>> + Send + 'a>>;

/// One per daemon.
pub(crate) struct Hub {
    pub(in crate::engine) limits: EngineLimits,
    pub(in crate::engine) started: Instant,
    pub(in crate::engine) metrics: EngineMetrics,
    /// Everything that belongs to the owner of this daemon.
    pub(crate) home: Home,
    /// Sessions in memory, and when each is to wake.
    pub(in crate::engine) directory: SessionDirectory,
    /// Whatever runs, and the end of it.
    pub(in crate::engine) running: EngineTasks,
    /// Task that works off the inbox of a session.
    pub(in crate::engine) drive: SessionDriver,
    /// Reads the policies again.
    pub(in crate::engine) install: PolicyInstaller,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A session that stays in the map as long as this is held.
pub(in crate::engine) struct SessionHandle {
    hub: Arc<Hub>,
    pub(in crate::engine) session: Arc<LiveSessionSlot>,
}

impl Hub {
    /// Whether a skill is for the procedure of this name.
    pub(crate) fn knows_procedure(&self, id: &str) -> bool {
        self.home.abilities.skills.table().knows_procedure(id)
    }

    /// Completes when an order wants the daemon to end and start anew.
    pub(crate) async fn restart_wanted(&self) {
        self.running.again.cancelled().await;
    }

    /// Returns the counters of the engine.
    pub(crate) fn metrics(&self) -> &EngineMetrics {
        &self.metrics
    }

    /// Sees to it that a session's inbox is worked off.
    pub(in crate::engine) fn wake_drive(
        self: &Arc<Hub>,
        session: &Arc<LiveSessionSlot>,
        inner: &mut SlotState,
    ) {
        if !inner.residence.driving {
            inner.residence.driving = true;
            // In a place of its own: a task is handed on several times until it is where it stays.
            self.running.tasks.spawn((self.drive)(Arc::clone(self), Arc::clone(session)));
        }
    }

    /// Hands work to a session.
    pub(in crate::engine) fn post(
        self: &Arc<Hub>,
        session: &Arc<LiveSessionSlot>,
        work: InboxItem,
    ) {
        let mut inner = session.lock();
        inner.inbox.work.push_back(work);
        self.wake_drive(session, &mut inner);
    }

    /// Waits until a session has recorded what was handed to it before, at most [`QUESTION_WAIT`].
    pub(in crate::engine) async fn reached(self: &Arc<Hub>, held: Option<&SessionHandle>) {
        let Some(SessionHandle { session, .. }) = held else { return };
        let reached = {
            let mut inner = session.lock();
            if inner.inbox.work.is_empty() && !inner.residence.driving {
                return;
            }
            let (done, reached) = oneshot::channel();
            inner.inbox.work.push_back(InboxItem::Reach(done));
            self.wake_drive(session, &mut inner);
            reached
        };
        // Whoever asks sees what is there by then.
        let _ = tokio::time::timeout(QUESTION_WAIT, reached).await;
    }

    /// Hands a message to a session, if it has room.
    ///
    /// # Errors
    /// `overloaded`, or why the session is gone.
    pub(in crate::engine) fn post_message(
        self: &Arc<Hub>,
        session: &Arc<LiveSessionSlot>,
        work: InboxItem,
    ) -> Result<(), EngineError> {
        let mut inner = session.lock();
        if let Some(gone) = &inner.gone {
            return Err(gone.clone());
        }
        inner.check_room(self.limits.inbox)?;
        inner.inbox.signals += 1;
        inner.inbox.work.push_back(work);
        self.wake_drive(session, &mut inner);
        Ok(())
    }

    /// The session of this name, from memory or from the record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(in crate::engine) async fn find(
        self: &Arc<Hub>,
        id: &SessionId,
    ) -> Result<Option<SessionHandle>, EngineError> {
        if let Some(session) = self.directory.map().get(id) {
            return Ok(Some(self.hold(session)));
        }
        let Some((owner, head)) = self.home.session_row(id).await? else { return Ok(None) };
        Ok(Some(self.find_or_make(id, &owner, head)))
    }

    /// The session of this name, made in memory if it is not there.
    pub(in crate::engine) fn find_or_make(
        self: &Arc<Hub>,
        id: &SessionId,
        owner: &Arc<str>,
        head: u64,
    ) -> SessionHandle {
        let mut map = self.directory.map();
        let make = || Arc::new(LiveSessionSlot::new(id.clone(), Arc::clone(owner), head));
        self.hold(map.entry(id.clone()).or_insert_with(make))
    }

    /// Returns the session of this name, made in memory without a look into the record, which does not know it.
    pub(in crate::engine) fn find_or_begin(
        self: &Arc<Hub>,
        id: &SessionId,
        owner: &Arc<str>,
    ) -> SessionHandle {
        let mut map = self.directory.map();
        let make = || Arc::new(LiveSessionSlot::unborn(id.clone(), Arc::clone(owner)));
        self.hold(map.entry(id.clone()).or_insert_with(make))
    }

    /// A session rests: others may need its memory more.
    pub(in crate::engine) fn rested(
        self: &Arc<Hub>,
        session: &Arc<LiveSessionSlot>,
        is_loaded: bool,
    ) {
        let stamp = self.directory.stamp();
        let (before, is_known, is_empty) = {
            let mut inner = session.lock();
            let before = std::mem::replace(&mut inner.residence.stamp, stamp);
            (
                before,
                std::mem::replace(&mut inner.residence.rested, is_loaded),
                inner.feeds.is_empty(),
            )
        };
        let gives_way = {
            let mut resting = self.directory.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            resting.remove(before);
            if is_loaded {
                resting.add(stamp, session.id.clone(), is_known);
            }
            resting.over(self.limits.loaded)
        };
        if let Some(id) = gives_way {
            self.evict(&id);
        }
        if is_empty && !is_loaded {
            self.sweep(&session.id);
        }
    }

    /// Takes a session out of the map if nothing keeps it there.
    pub(in crate::engine) fn sweep(&self, id: &SessionId) {
        let mut map = self.directory.map();
        if map.get(id).is_some_and(|session| session.lock().is_unused()) {
            map.remove(id);
        }
    }

    fn evict(self: &Arc<Hub>, id: &SessionId) {
        let map = self.directory.map();
        let Some(session) = map.get(id) else { return };
        let mut inner = session.lock();
        // One that is driven comes here again when it rests.
        if !inner.residence.driving && inner.core.is_some() {
            inner.inbox.work.push_back(InboxItem::Evict);
            self.wake_drive(session, &mut inner);
        }
    }

    fn hold(self: &Arc<Hub>, session: &Arc<LiveSessionSlot>) -> SessionHandle {
        session.lock().residence.pins += 1;
        SessionHandle { hub: Arc::clone(self), session: Arc::clone(session) }
    }

    /// Refuses what a principal may not do, and records that it was tried.
    pub(crate) fn forbid(
        self: &Arc<Hub>,
        who: &Principal,
        attempt: RefusedAttempt<'_>,
    ) -> EngineError {
        let failure = attempt.failure(who);
        let Some(unrecorded) = self.home.record.refusals.count(who, Instant::now()) else {
            return failure;
        };
        let body = attempt.body(failure.code, unrecorded).to_string();
        let draft =
            NewRecord::new("", RecordKind::Refused.word(), self.home.now(), &who.name(), body);
        let hub = Arc::clone(self);
        self.running.tasks().spawn(async move {
            let append = RecordAppend { drafts: vec![draft], ..RecordAppend::default() };
            if let Err(error) = hub.home.keep(append).await {
                tracing::warn!(%error, "a refused attempt could not be recorded");
            }
        });
        failure
    }
}

impl SessionHandle {
    /// Hands work to the session.
    pub(in crate::engine) fn post(&self, work: InboxItem) {
        self.hub.post(&self.session, work);
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        let is_unused = {
            let mut inner = self.session.lock();
            inner.residence.pins -= 1;
            inner.is_unused()
        };
        // Whoever makes it unused later sees to it then.
        if is_unused {
            self.hub.sweep(&self.session.id);
        }
    }
}
