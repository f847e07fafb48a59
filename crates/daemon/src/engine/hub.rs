//! All sessions by name: found, joined, driven, evicted.
//!
//! Connections attach here; drive tasks, workers and the timer report here. A session is in the
//! map while somebody is attached to it, while it has something to do, or while its State is
//! worth keeping; the record has all of them. Lock order: the map, then a session.

mod install;
mod ongoing;
mod opening;
mod resting;
mod start;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bridle_host::Host;
use bridle_loop::{Actuator, Question, Seq, SessionId, Withdrawal};
use bridle_sexp::Value;
use bridle_store::memory::Memory;
use bridle_store::{Append, Numbers};
use bridle_wire::Code;
use bridle_wire::oacp::Failure;
use bridle_wire::oacp::hello::Role;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::opening::Files;
use self::resting::Resting;
use super::attachment::Attachment;
use super::batch::Means;
use super::clock::Clock;
use super::drive::drive;
use super::facts;
use super::feed::{Feed, Reading};
use super::guard::Guard;
use super::keeper::{Keeper, NotKept};
use super::load;
use super::overlay::Overlays;
use super::plans::Plans;
use super::readers::Readers;
use super::refusals::{Attempt, NO_SUCH_SESSION, Refusals};
use super::session::{Asking, Inner, Room, Session};
use super::spending::RecordSpending;
use super::sums::Sums;
use super::terms::{Attach, AttachmentId, Mode, Out};
use super::wakes::Wakes;
use super::work::Work;
use crate::access::principal::Principal;
use crate::config::EngineLimits;
use crate::librarian::Librarian;
use crate::metrics::EngineMetrics;

/// Sessions that are stepped through at the same time: as many as a few commits take. Others wait with
/// their messages alone: 5,000 prompts at once left 76 MiB behind instead of 133.
const DESKS: usize = 512;

/// How long a list of questions waits for sessions that are still being loaded after the start, and a
/// question about a buffer for what was said before it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long work that could not be recorded waits until it is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// One per daemon.
pub(crate) struct Hub {
    limits: EngineLimits,
    keeper: Keeper,
    /// The keeper's thread, until it is joined.
    keeping: Mutex<Option<JoinHandle<()>>>,
    pub(super) readers: Readers,
    clock: Arc<Clock>,
    host: Arc<Host>,
    /// What the host carried out when it began.
    actuators: Vec<Actuator>,
    /// The user's files, if there are any to look after.
    files: Files,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Sessions at rest whose State is in memory.
    loaded: Mutex<Resting>,
    pub(super) wakes: Wakes,
    pub(super) refusals: Refusals,
    /// The policies that hold.
    pub(crate) guard: Guard,
    /// What principals did in all sessions.
    pub(super) sums: Sums,
    /// What sessions have planned.
    pub(super) plans: Plans,
    /// What of the record's budgets is used.
    pub(super) spending: Arc<RecordSpending>,
    /// Buffers that shells have not saved.
    pub(crate) overlays: Arc<Overlays>,
    /// Turns for thoughts and acts.
    workers: Semaphore,
    /// Turns for batches: what is loaded and stepped through at the same time.
    desks: Semaphore,
    /// Drive tasks, workers, the timer.
    tasks: TaskTracker,
    /// Sessions that had something open when the daemon started and are not loaded yet.
    recovering: TaskTracker,
    /// Cancelled when the daemon stops; ends what only waits.
    quit: CancellationToken,
    /// Counts everything that needs an order: attachments, messages, rests.
    stamps: AtomicU64,
    stopping: AtomicBool,
    /// The number of the latest record.
    pub(super) head: AtomicU64,
    pub(super) started: Instant,
    names: RandomState,
    metrics: EngineMetrics,
}

/// How much is going on, for a detailed health answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
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
pub(super) struct Held {
    hub: Arc<Hub>,
    pub(super) session: Arc<Session>,
}

impl Hub {
    /// Attaches to a named session; it is made if there is none and a controller asks.
    ///
    /// # Errors
    /// `unknown-session`, `shutting-down`, `store-unavailable`.
    pub(crate) async fn attach(
        self: Arc<Hub>,
        who: Principal,
        want: Attach,
    ) -> Result<Arc<Attachment>, Failure> {
        self.check_open()?;
        if who == Principal::Anonymous {
            return Err(self.forbid(&who, Attempt::Attach(want.role, want.session.as_ref())));
        }
        let Some(id) = &want.session else { return self.attach_fresh(who, want) };
        let wants_past = want.role == Role::Observer || want.cursor.is_some_and(|seq| seq > 0);
        // Held as soon as it is found: were it only seen, it could be swept with its last shell, and
        // be made anew without its past and with the wrong owner.
        let held = match self.find(id).await? {
            Some(held) => held,
            None if wants_past => return Err(unknown_session()),
            None => self.find_or_begin(id, &who.name()),
        };
        if !self.may_join(&who, want.role, &held.session) {
            return Err(self.forbid(&who, Attempt::Attach(want.role, Some(id))));
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
        want: Attach,
    ) -> Result<Arc<Attachment>, Failure> {
        self.check_open()?;
        // Whoever is unknown has no session, not even in memory.
        if who == Principal::Anonymous {
            return Err(self.forbid(&who, Attempt::Attach(want.role, None)));
        }
        let held = self.find_or_begin(&self.fresh_name(), &who.name());
        if !self.may_join(&who, want.role, &held.session) {
            return Err(self.forbid(&who, Attempt::Attach(want.role, None)));
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
        how: Withdrawal,
    ) {
        let Ok(Some(held)) = self.find(&session).await else { return };
        if self.may_join(&who, Role::Controller, &held.session) {
            held.post(Work::Withdraw { seq: Seq(seq), how, principal: who.name() });
        }
    }

    /// Sessions that a principal may see, as a list of plists, those with the latest activity
    /// first.
    pub(crate) fn sessions(&self, who: &Principal) -> Value {
        facts::list(self, who)
    }

    /// Whether the record takes what it is given.
    pub(crate) fn is_healthy(&self) -> bool {
        self.keeper.is_healthy()
    }

    /// What the engine counts.
    pub(crate) fn metrics(&self) -> &EngineMetrics {
        &self.metrics
    }

    /// How much is going on now. Looks at every session in memory.
    pub(crate) fn traffic(&self) -> Traffic {
        let appends = self.keeper.waiting();
        let records = self.head.load(Ordering::Relaxed);
        let mut traffic = Traffic { appends, records, ..Traffic::default() };
        for session in self.present() {
            let inner = session.lock();
            traffic.sessions += 1;
            traffic.shells += inner.feeds.len();
            traffic.messages += inner.signals;
            traffic.effects += inner.workers.len() + inner.requests.len();
            traffic.approvals += inner.questions.len();
        }
        traffic
    }

    /// How much a session's ring of recent events holds.
    pub(super) fn room(&self) -> Room {
        Room { events: self.limits.recent, bytes: self.limits.recent_bytes }
    }

    /// How many events are read from the record at once.
    pub(super) fn page(&self) -> usize {
        self.limits.page
    }

    /// The present, in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        self.clock.now()
    }

    pub(super) fn host(&self) -> Arc<Host> {
        Arc::clone(&self.host)
    }

    /// The user's files, once there are any to look after.
    pub(super) fn memory(&self) -> Option<&Arc<Memory>> {
        self.files.memory()
    }

    /// Who keeps the index of them.
    pub(super) fn librarian(&self) -> Option<&Arc<Librarian>> {
        self.files.librarian()
    }

    pub(super) fn host_ref(&self) -> &Host {
        &self.host
    }

    pub(super) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// What batches are made with.
    pub(super) fn means(&self) -> Means<'_> {
        let at = self.now();
        Means {
            host: &self.host,
            actuators: self.files.actuators().unwrap_or(&self.actuators),
            guard: &self.guard,
            sums: &self.sums,
            plans: &self.plans,
            at,
        }
    }

    /// Waits until every session that had something open at the start is loaded, at most [`PATIENCE`].
    pub(super) async fn recovered(&self) {
        // Whoever asks is told what is there by then.
        let _ = tokio::time::timeout(PATIENCE, self.recovering.wait()).await;
    }

    /// How long a question of the guard waits for an answer.
    pub(super) fn approval_time(&self) -> Duration {
        self.limits.approval
    }

    /// A number larger than all before.
    pub(super) fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(super) fn check_open(&self) -> Result<(), Failure> {
        match self.is_stopping() {
            true => Err(Code::ShuttingDown.into()),
            false => Ok(()),
        }
    }

    /// Waits for a turn to think or act. Never closed; if it were, none would be held back.
    pub(super) async fn worker_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.workers.acquire().await.ok()
    }

    /// Waits for a turn to load a session and step through its work.
    pub(super) async fn desk_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.desks.acquire().await.ok()
    }

    /// Has an append kept.
    pub(super) async fn keep(&self, append: Append) -> Result<Numbers, NotKept> {
        let numbers = self.keeper.append(append).await?;
        if let Some(last) = numbers.last() {
            self.head.fetch_max(last.0, Ordering::Relaxed);
        }
        Ok(numbers)
    }

    /// Sees to it that a session's inbox is worked off.
    pub(super) fn wake_drive(self: &Arc<Hub>, session: &Arc<Session>, inner: &mut Inner) {
        if !inner.driving {
            inner.driving = true;
            // In a place of its own: a task is handed on several times until it is where it stays.
            self.tasks.spawn(Box::pin(drive(Arc::clone(self), Arc::clone(session))));
        }
    }

    /// Hands work to a session.
    pub(super) fn post(self: &Arc<Hub>, session: &Arc<Session>, work: Work) {
        let mut inner = session.lock();
        inner.inbox.push_back(work);
        self.wake_drive(session, &mut inner);
    }

    /// Waits until a session has recorded what was handed to it before, at most [`PATIENCE`].
    pub(super) async fn reached(self: &Arc<Hub>, held: Option<&Held>) {
        let Some(Held { session, .. }) = held else { return };
        let reached = {
            let mut inner = session.lock();
            if inner.inbox.is_empty() && !inner.driving {
                return;
            }
            let (done, reached) = oneshot::channel();
            inner.inbox.push_back(Work::Reach(done));
            self.wake_drive(session, &mut inner);
            reached
        };
        // Whoever asks sees what is there by then.
        let _ = tokio::time::timeout(PATIENCE, reached).await;
    }

    /// Hands a message to a session, if it has room.
    ///
    /// # Errors
    /// `overloaded`, or why the session is gone.
    pub(super) fn post_message(
        self: &Arc<Hub>,
        session: &Arc<Session>,
        work: Work,
    ) -> Result<(), Failure> {
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
    pub(super) fn check_room(&self, inner: &Inner) -> Result<(), Failure> {
        let most = self.limits.inbox;
        if inner.signals < most {
            return Ok(());
        }
        let text = format!("{most} messages of this session wait already; send it again later");
        Err(Failure::because(Code::Overloaded, text))
    }

    /// Tries again soon what could not be recorded.
    pub(super) fn retry_later(self: &Arc<Hub>, session: &Arc<Session>) {
        let (hub, session) = (Arc::clone(self), Arc::clone(session));
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = hub.quit.cancelled() => return,
            }
            let mut inner = session.lock();
            if !inner.inbox.is_empty() {
                hub.wake_drive(&session, &mut inner);
            }
        });
    }

    /// Begins to read events of a session after a number.
    pub(super) fn read_page(&self, session: &SessionId, after: u64) -> Reading {
        let (readers, session, page) = (self.readers.clone(), session.clone(), self.limits.page);
        self.tasks.spawn(async move { load::page(&readers, session, after, page).await })
    }

    /// The session of this name, from memory or from the record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) async fn find(self: &Arc<Hub>, id: &SessionId) -> Result<Option<Held>, Failure> {
        if let Some(session) = self.map().get(id) {
            return Ok(Some(self.hold(session)));
        }
        let Some((owner, head)) = self.row(id).await? else { return Ok(None) };
        Ok(Some(self.find_or_make(id, &owner, head)))
    }

    /// The session of this name, made in memory if it is not there.
    pub(super) fn find_or_make(
        self: &Arc<Hub>,
        id: &SessionId,
        owner: &Arc<str>,
        head: u64,
    ) -> Held {
        let mut map = self.map();
        let make = || Arc::new(Session::new(id.clone(), Arc::clone(owner), head));
        self.hold(map.entry(id.clone()).or_insert_with(make))
    }

    /// The same for a session that the record does not know: nothing is read when it begins.
    fn find_or_begin(self: &Arc<Hub>, id: &SessionId, owner: &Arc<str>) -> Held {
        let mut map = self.map();
        let make = || Arc::new(Session::unborn(id.clone(), Arc::clone(owner)));
        self.hold(map.entry(id.clone()).or_insert_with(make))
    }

    /// A session rests: others may need its memory more.
    pub(super) fn rested(self: &Arc<Hub>, session: &Arc<Session>, is_loaded: bool) {
        let stamp = self.stamp();
        let (before, is_known, is_empty) = {
            let mut inner = session.lock();
            let before = std::mem::replace(&mut inner.stamp, stamp);
            (before, std::mem::replace(&mut inner.rested, is_loaded), inner.feeds.is_empty())
        };
        let gives_way = {
            let mut resting = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
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
    pub(super) fn sweep(&self, id: &SessionId) {
        let mut map = self.map();
        if map.get(id).is_some_and(|session| session.lock().is_unused()) {
            map.remove(id);
        }
    }

    /// All sessions in memory.
    pub(super) fn present(&self) -> Vec<Arc<Session>> {
        self.map().values().cloned().collect()
    }

    /// A name that no session has.
    pub(super) fn fresh_name(&self) -> SessionId {
        let name = format!("s{:016x}", self.names.hash_one(self.stamp()));
        SessionId::parse(&name).expect("hex digits are a name")
    }

    fn evict(self: &Arc<Hub>, id: &SessionId) {
        let map = self.map();
        let Some(session) = map.get(id) else { return };
        let mut inner = session.lock();
        // One that is driven comes here again when it rests.
        if !inner.driving && inner.core.is_some() {
            inner.inbox.push_back(Work::Evict);
            self.wake_drive(session, &mut inner);
        }
    }

    fn join(
        self: &Arc<Hub>,
        held: &Held,
        who: Principal,
        want: Attach,
    ) -> Result<Arc<Attachment>, Failure> {
        let session = &held.session;
        let mut inner = session.lock();
        if let Some(gone) = &inner.gone {
            return Err(gone.clone());
        }
        let attachment = AttachmentId(self.stamp());
        let feed = Feed::new(attachment, who, want, inner.head);
        inner.join(feed);
        let open: Vec<Asking> = inner.questions.values().cloned().collect();
        self.offer_questions(session, &mut inner, &open, Some(attachment));
        drop(inner);
        Ok(Arc::new(Attachment::new(Arc::clone(self), Arc::clone(session), attachment)))
    }

    /// Shows open questions to shells that may answer and are past their numbers: to one, or all.
    pub(super) fn offer_questions(
        &self,
        session: &Session,
        inner: &mut Inner,
        questions: &[Asking],
        only: Option<AttachmentId>,
    ) {
        for feed in inner.feeds.iter_mut().filter(|feed| only.is_none_or(|id| feed.id == id)) {
            for Asking { event, question } in questions {
                if feed.cursor >= event.seq && self.may_be_asked(session, feed, question) {
                    feed.push(Out::Offer(Arc::clone(event)));
                }
            }
        }
    }

    /// Tells whether a shell is asked a question, or only sees that it is asked.
    pub(super) fn may_be_asked(&self, session: &Session, feed: &Feed, question: &Question) -> bool {
        feed.mode == Mode::Stream
            && feed.role == Role::Controller
            && self.may_answer(&feed.who, question, &session.id, &session.owner)
    }

    /// Owner and last number of a session that the record knows.
    async fn row(&self, id: &SessionId) -> Result<Option<(Arc<str>, u64)>, Failure> {
        let id = id.clone();
        let row = self.readers.read(move |reader| reader.session(id.as_str())).await?;
        let row = row.filter(|row| !row.forgotten);
        Ok(row.map(|row| (row.owner.into(), row.head_seq)))
    }

    fn hold(self: &Arc<Hub>, session: &Arc<Session>) -> Held {
        session.lock().pins += 1;
        Held { hub: Arc::clone(self), session: Arc::clone(session) }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Hands work to the session.
    pub(super) fn post(&self, work: Work) {
        self.hub.post(&self.session, work);
    }
}

impl Drop for Held {
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

fn unknown_session() -> Failure {
    Failure::because(Code::UnknownSession, NO_SUCH_SESSION)
}
