//! All sessions by name: found, joined, driven, evicted.
//!
//! Connections attach here; drive tasks, workers and the timer report here. A session is in the
//! map while somebody is attached to it, while it has something to do, or while its State is
//! worth keeping; the record has all of them. Lock order: the map, then a session.

pub(in crate::engine) mod engine_tasks;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bridle_loop::{ApprovalRequest, Seq, SessionId, WithdrawalReason};
use bridle_sexp::Value;
use tokio::sync::oneshot;

use self::engine_tasks::EngineTasks;
use crate::access::principal::Principal;
use crate::config::EngineLimits;
use crate::engine::clock::MonotonicClock;
use crate::engine::commit::batch::BatchContext;
use crate::engine::commit::session_task::drive;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::Home;
use crate::engine::home::refusals::{NO_SUCH_SESSION, RefusedAttempt};
use crate::engine::queries::facts;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::live_session::{
    GuardQuestion, LiveSessionSlot, RingCapacity, SlotState,
};
use crate::engine::sessions::load;
use crate::engine::sessions::session_directory::SessionDirectory;
use crate::engine::sessions::shell_feed::{Reading, ShellFeed};
use crate::engine::shells::attached_shell::AttachedShell;
use crate::engine::stream::AttachRole;
use crate::engine::stream::{AttachRequest, AttachmentId, OutboundItem, StreamMode};
use crate::metrics::EngineMetrics;

/// Time that a question waits for sessions that are still being loaded after the start, or for what was said before
/// it.
const QUESTION_WAIT: Duration = Duration::from_secs(5);

/// Pause before work that could not be recorded is tried again.
const RECORD_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// One per daemon.
pub(crate) struct Hub {
    pub(in crate::engine) limits: EngineLimits,
    pub(in crate::engine) clock: Arc<MonotonicClock>,
    pub(in crate::engine) started: Instant,
    pub(in crate::engine) metrics: EngineMetrics,
    /// Everything that belongs to the owner of this daemon.
    pub(crate) home: Home,
    /// Sessions in memory, and when each is to wake.
    pub(in crate::engine) directory: SessionDirectory,
    /// Whatever runs, and the end of it.
    pub(in crate::engine) running: EngineTasks,
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
    /// Appends that wait for the keeper.
    pub(crate) appends: usize,
    /// Number of the latest record.
    pub(crate) records: u64,
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
    /// Attaches to a named session; it is made if there is none and a controller asks.
    ///
    /// # Errors
    /// `unknown-session`, `shutting-down`, `store-unavailable`.
    pub(crate) async fn attach(
        self: Arc<Hub>,
        who: Principal,
        want: AttachRequest,
    ) -> Result<Arc<AttachedShell>, EngineError> {
        self.running.check_open()?;
        if who == Principal::Anonymous {
            return Err(self.forbid(&who, RefusedAttempt::Attach(want.role, want.session.as_ref())));
        }
        let Some(id) = &want.session else { return self.attach_fresh(who, want) };
        let wants_past =
            want.role == AttachRole::Observer || want.cursor.is_some_and(|seq| seq > 0);
        // Held as soon as it is found: were it only seen, it could be swept with its last shell, and
        // be made anew without its past and with the wrong owner.
        let held = match self.find(id).await? {
            Some(held) => held,
            None if wants_past => return Err(unknown_session()),
            None => self.find_or_begin(id, &who.name()),
        };
        if !self.may_join(&who, want.role, &held.session) {
            return Err(self.forbid(&who, RefusedAttempt::Attach(want.role, Some(id))));
        }
        self.join(&held, who, want)
    }

    /// Attaches to a fresh session at once. It is recorded with its first message.
    ///
    /// # Errors
    /// `shutting-down`.
    pub(crate) fn attach_fresh(
        self: &Arc<Hub>,
        who: Principal,
        want: AttachRequest,
    ) -> Result<Arc<AttachedShell>, EngineError> {
        self.running.check_open()?;
        // Whoever is unknown has no session, not even in memory.
        if who == Principal::Anonymous {
            return Err(self.forbid(&who, RefusedAttempt::Attach(want.role, None)));
        }
        let held = self.find_or_begin(&self.directory.fresh_name(), &who.name());
        if !self.may_join(&who, want.role, &held.session) {
            return Err(self.forbid(&who, RefusedAttempt::Attach(want.role, None)));
        }
        self.join(&held, who, want)
    }

    /// Gives up whatever was begun for a message of a principal in a session, if that is not
    /// answered yet; of another principal's message nothing changes.
    pub(crate) async fn withdraw(
        self: Arc<Hub>,
        who: Principal,
        session: SessionId,
        seq: u64,
        how: WithdrawalReason,
    ) {
        let Ok(Some(held)) = self.find(&session).await else { return };
        if self.may_join(&who, AttachRole::Controller, &held.session) {
            held.post(InboxItem::Withdraw { seq: Seq(seq), how, principal: who.name() });
        }
    }

    /// Sessions that a principal may see, as a list of plists, those with the latest activity
    /// first.
    pub(crate) fn sessions(&self, who: &Principal) -> Value {
        facts::list(self, who)
    }

    /// Returns the counters of the engine.
    pub(crate) fn metrics(&self) -> &EngineMetrics {
        &self.metrics
    }

    /// Counts all that is going on now. Looks at every session in memory.
    pub(crate) fn traffic(&self) -> EngineTraffic {
        let appends = self.home.keeper.waiting();
        let records = self.home.head.load(Ordering::Relaxed);
        let mut traffic = EngineTraffic { appends, records, ..EngineTraffic::default() };
        for session in self.directory.present() {
            let inner = session.lock();
            traffic.sessions += 1;
            traffic.shells += inner.feeds.len();
            traffic.messages += inner.signals;
            traffic.effects += inner.workers.len() + inner.requests.len();
            traffic.approvals += inner.questions.len();
        }
        traffic
    }

    /// Returns the capacity of a session's ring of recent events.
    pub(in crate::engine) fn room(&self) -> RingCapacity {
        RingCapacity { events: self.limits.recent, bytes: self.limits.recent_bytes }
    }

    /// Returns the number of events that are read from the record at once.
    pub(in crate::engine) fn page(&self) -> usize {
        self.limits.page
    }

    /// The present, in milliseconds since 1970.
    pub(in crate::engine) fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Returns the services that a batch is made with.
    pub(in crate::engine) fn means(&self) -> BatchContext<'_> {
        let at = self.now();
        BatchContext {
            host: &self.home.host,
            actuators: self.home.files.actuators().unwrap_or(&self.home.actuators),
            guard: &self.home.guard,
            sums: &self.home.sums,
            plans: &self.home.plans,
            at,
        }
    }

    /// Returns the time that a question of the guard waits for an answer.
    pub(in crate::engine) fn approval_time(&self) -> Duration {
        self.limits.approval
    }

    /// Sees to it that a session's inbox is worked off.
    pub(in crate::engine) fn wake_drive(
        self: &Arc<Hub>,
        session: &Arc<LiveSessionSlot>,
        inner: &mut SlotState,
    ) {
        if !inner.driving {
            inner.driving = true;
            // In a place of its own: a task is handed on several times until it is where it stays.
            self.running.tasks.spawn(Box::pin(drive(Arc::clone(self), Arc::clone(session))));
        }
    }

    /// Hands work to a session.
    pub(in crate::engine) fn post(
        self: &Arc<Hub>,
        session: &Arc<LiveSessionSlot>,
        work: InboxItem,
    ) {
        let mut inner = session.lock();
        inner.inbox.push_back(work);
        self.wake_drive(session, &mut inner);
    }

    /// Waits until a session has recorded what was handed to it before, at most [`QUESTION_WAIT`].
    pub(in crate::engine) async fn reached(self: &Arc<Hub>, held: Option<&SessionHandle>) {
        let Some(SessionHandle { session, .. }) = held else { return };
        let reached = {
            let mut inner = session.lock();
            if inner.inbox.is_empty() && !inner.driving {
                return;
            }
            let (done, reached) = oneshot::channel();
            inner.inbox.push_back(InboxItem::Reach(done));
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
        self.check_room(&inner)?;
        inner.signals += 1;
        inner.inbox.push_back(work);
        self.wake_drive(session, &mut inner);
        Ok(())
    }

    /// Checks that one more message of a session may wait.
    pub(in crate::engine) fn check_room(&self, inner: &SlotState) -> Result<(), EngineError> {
        let most = self.limits.inbox;
        if inner.signals < most {
            return Ok(());
        }
        let text = format!("{most} messages of this session wait already; send it again later");
        Err(EngineError::because(EngineErrorCode::Overloaded, text))
    }

    /// Tries again soon what could not be recorded.
    pub(in crate::engine) fn retry_later(self: &Arc<Hub>, session: &Arc<LiveSessionSlot>) {
        let (hub, session) = (Arc::clone(self), Arc::clone(session));
        self.running.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(RECORD_RETRY_INTERVAL) => {}
                () = hub.running.quit.cancelled() => return,
            }
            let mut inner = session.lock();
            if !inner.inbox.is_empty() {
                hub.wake_drive(&session, &mut inner);
            }
        });
    }

    /// Begins to read events of a session after a number.
    pub(in crate::engine) fn read_page(&self, session: &SessionId, after: u64) -> Reading {
        let (readers, session, page) =
            (self.home.readers.clone(), session.clone(), self.limits.page);
        self.running.tasks.spawn(async move { load::page(&readers, session, after, page).await })
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
        let Some((owner, head)) = self.row(id).await? else { return Ok(None) };
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
    fn find_or_begin(self: &Arc<Hub>, id: &SessionId, owner: &Arc<str>) -> SessionHandle {
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
            let before = std::mem::replace(&mut inner.stamp, stamp);
            (before, std::mem::replace(&mut inner.rested, is_loaded), inner.feeds.is_empty())
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
        if !inner.driving && inner.core.is_some() {
            inner.inbox.push_back(InboxItem::Evict);
            self.wake_drive(session, &mut inner);
        }
    }

    fn join(
        self: &Arc<Hub>,
        held: &SessionHandle,
        who: Principal,
        want: AttachRequest,
    ) -> Result<Arc<AttachedShell>, EngineError> {
        let session = &held.session;
        let mut inner = session.lock();
        if let Some(gone) = &inner.gone {
            return Err(gone.clone());
        }
        let attachment = AttachmentId(self.directory.stamp());
        let feed = ShellFeed::new(attachment, who, want, inner.head);
        inner.join(feed);
        let open: Vec<GuardQuestion> = inner.questions.values().cloned().collect();
        self.offer_questions(session, &mut inner, &open, Some(attachment));
        drop(inner);
        Ok(Arc::new(AttachedShell::new(Arc::clone(self), Arc::clone(session), attachment)))
    }

    /// Shows open questions to shells that may answer and are past their numbers: to one, or all.
    pub(in crate::engine) fn offer_questions(
        &self,
        session: &LiveSessionSlot,
        inner: &mut SlotState,
        questions: &[GuardQuestion],
        only: Option<AttachmentId>,
    ) {
        for feed in inner.feeds.iter_mut().filter(|feed| only.is_none_or(|id| feed.id == id)) {
            for GuardQuestion { event, question } in questions {
                if feed.cursor >= event.seq && self.may_be_asked(session, feed, question) {
                    feed.push(OutboundItem::Offer(Arc::clone(event)));
                }
            }
        }
    }

    /// Tells whether a shell is asked a question, or only sees that it is asked.
    pub(in crate::engine) fn may_be_asked(
        &self,
        session: &LiveSessionSlot,
        feed: &ShellFeed,
        question: &ApprovalRequest,
    ) -> bool {
        feed.mode == StreamMode::Stream
            && feed.role == AttachRole::Controller
            && self.may_answer(&feed.who, question, &session.id, &session.owner)
    }

    /// Owner and last number of a session that the record knows.
    async fn row(&self, id: &SessionId) -> Result<Option<(Arc<str>, u64)>, EngineError> {
        let id = id.clone();
        let row = self.home.readers.read(move |reader| reader.session(id.as_str())).await?;
        let row = row.filter(|row| !row.forgotten);
        Ok(row.map(|row| (row.owner.into(), row.head_seq)))
    }

    fn hold(self: &Arc<Hub>, session: &Arc<LiveSessionSlot>) -> SessionHandle {
        session.lock().pins += 1;
        SessionHandle { hub: Arc::clone(self), session: Arc::clone(session) }
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
            inner.pins -= 1;
            inner.is_unused()
        };
        // Whoever makes it unused later sees to it then.
        if is_unused {
            self.hub.sweep(&self.session.id);
        }
    }
}

fn unknown_session() -> EngineError {
    EngineError::because(EngineErrorCode::UnknownSession, NO_SUCH_SESSION)
}
