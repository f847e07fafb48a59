//! The task that works off a session's inbox. It exists only while there is work.
//!
//! Strict order: a batch of work is stepped through and recorded in one append; only when that is
//! durable does anybody hear of it (`publish`). When an append fails, the State is thrown away,
//! messages are refused to their senders, and what nobody would send again waits for the next
//! try.

use crate::engine::commit::batch::BatchContext;
use bridle_history::session_fold;
use bridle_loop::{LOOP_VERSION, RecordKind, SessionStart, TextDigest};
use bridle_record::{
    ForgetRequest, ForgetResult, RecordAppend, RecordNumber, RecordStore, StateCheckpoint, fault,
};
use bridle_sexp::Value;
use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::byte_budget::OWNED_FACTOR;
use crate::engine::commit::batch::{AppendBatch, PostCommit};
use crate::engine::commit::publish;
use crate::engine::commit::redact::redact;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::principal_usage::Act;
use crate::engine::home::record_writer::AppendError;
use crate::engine::home::unsaved_buffers::{BufferChange, UnindexedChanges};
use crate::engine::hub::Hub;
use crate::engine::sessions::inbox_item::{AnswerRoute, InboxItem};
use crate::engine::sessions::live_session::LiveSessionSlot;
use crate::engine::sessions::load;
use crate::engine::sessions::loaded_session::{LoadedSession, began, session_limits};
use crate::engine::sessions::shell_feed::ShellFeed;
use crate::engine::stream::{AttachmentId, ShellOffer};
use crate::engine::workers::admin;

/// Pieces of work in one append: bounds what one failure throws back.
const MAX_BATCH_ITEMS: usize = 64;

/// A message that weighs more than this many bytes is stepped through on another thread. Its
/// value is walked and printed then, some 100 us for this much.
const SPAWN_BLOCKING_BYTES: usize = OWNED_FACTOR * (64 << 10);

/// Records since the last checkpoint from which on a State that is given back is written down.
/// Fewer are read again in about a millisecond, and a session of one exchange has ten.
const MIN_RECORDS_TO_SAVE: usize = 32;

/// Pause before work that could not be recorded is tried again.
const RECORD_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Reason for a message that could not be recorded.
const NOT_RECORDED: &str = "the record takes nothing now, so nothing was done; send it again later";

/// Works the inbox off and ends.
pub(in crate::engine) fn drive(
    hub: Arc<Hub>,
    session: Arc<LiveSessionSlot>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(work_off(hub, session))
}

async fn work_off(hub: Arc<Hub>, session: Arc<LiveSessionSlot>) {
    let core = session.lock().core.take();
    let mut task = SessionTask { hub, session, core, undo: Vec::new() };
    loop {
        let goes_on = match task.next() {
            TaskStep::Rest => break,
            TaskStep::Batch(works) => task.batch(works).await,
            // What is rare is boxed: the task is made anew for most messages, and copied as a whole.
            TaskStep::Begin(began, done) => Box::pin(task.begin(*began, done)).await,
            TaskStep::Evict => Box::pin(task.evict()).await,
            TaskStep::Erase { record, by, done } => {
                let _ = done.send(Box::pin(task.erase(record, by)).await);
                true
            }
            TaskStep::Reach(done) => {
                // Whoever asked may have gone.
                let _ = done.send(());
                true
            }
            TaskStep::Close(done) => Box::pin(task.close(done)).await,
        };
        if !goes_on {
            task.stall();
            break;
        }
    }
}

/// Task of one session.
pub(in crate::engine) struct SessionTask {
    pub(in crate::engine) hub: Arc<Hub>,
    pub(in crate::engine) session: Arc<LiveSessionSlot>,
    pub(in crate::engine) core: Option<Box<LoadedSession>>,
    /// Steps for the case that the batch under way fails.
    undo: Vec<AppendRollback>,
}

enum TaskStep {
    Batch(Vec<InboxItem>),
    Begin(Box<SessionStart>, oneshot::Sender<bool>),
    Evict,
    Erase {
        record: RecordNumber,
        by: ForgetRequest,
        done: oneshot::Sender<Result<ForgetResult, String>>,
    },
    Reach(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
    Rest,
}

/// Step for the case that an append fails.
enum AppendRollback {
    Refuse { to: AttachmentId, ticket: Option<u64>, id: Option<Value> },
    Again(InboxItem),
}

/// A batch before it is stepped through.
struct PendingBatch {
    works: Vec<InboxItem>,
    /// Actuators that attached shells offer.
    offers: Vec<ShellOffer>,
    /// Effects that are being worked on, if what was left open is to be taken up.
    take_up: Option<BTreeSet<u64>>,
}

/// A batch that was stepped through and is not recorded yet.
struct SteppedBatch {
    append: RecordAppend,
    after: Vec<PostCommit>,
    /// Acts that were added to the sums.
    acts: Vec<Act>,
    /// Reports of messages about buffers.
    changes: Vec<BufferChange>,
    /// Descriptions of actions that are recorded with it.
    described: Vec<TextDigest>,
}

impl PendingBatch {
    /// Steps through it.
    fn make(self, hub: &Hub, session: &LiveSessionSlot, core: &mut LoadedSession) -> SteppedBatch {
        let mut batch = AppendBatch::new(core, BatchContext::of(&hub.home));
        if self.works.iter().any(InboxItem::begins) {
            batch.begin(|| began(&session.owner, &hub.limits));
        }
        if batch.core.state.version() < LOOP_VERSION {
            batch.upgrade(&session_limits(&hub.limits));
        }
        if let Some(busy) = &self.take_up {
            batch.take_up(busy);
        }
        let payer = self.works.iter().rev().find_map(|work| work.payer(&session.owner));
        let is_stopping = hub.running.is_stopping();
        for work in self.works {
            // What has not begun waits for the next start.
            if is_stopping && matches!(work, InboxItem::Start { .. }) {
                continue;
            }
            batch.add(work, &self.offers);
        }
        let AppendBatch { mut append, after, acts, changes, described, .. } = batch;
        core.complete(&mut append);
        core.bill(&mut append, payer, hub.home.now());
        SteppedBatch { append, after, acts, changes, described }
    }
}

impl SessionTask {
    /// The next piece of work; without any, the State goes back and the session rests.
    fn next(&mut self) -> TaskStep {
        let mut inner = self.session.lock();
        let Some(work) = inner.inbox.work.pop_front() else {
            inner.inbox.work.shrink_to_fit();
            inner.residence.driving = false;
            let core = self.core.take().filter(|core| core.born);
            let is_loaded = core.is_some();
            inner.core = core;
            drop(inner);
            self.hub.rested(&self.session, is_loaded);
            return TaskStep::Rest;
        };
        match work {
            InboxItem::Begin { began, done } => TaskStep::Begin(began, done),
            InboxItem::Evict => TaskStep::Evict,
            InboxItem::Erase { record, by, done } => TaskStep::Erase { record, by, done },
            InboxItem::Reach(done) => TaskStep::Reach(done),
            InboxItem::Close(done) => TaskStep::Close(done),
            work => {
                let mut works = vec![work];
                while works.len() < MAX_BATCH_ITEMS
                    && let Some(work) = inner.inbox.work.pop_front_if(|work| work.can_share())
                {
                    works.push(work);
                }
                let signals = works.iter().filter(|work| work.is_message()).count();
                inner.inbox.signals = inner.inbox.signals.saturating_sub(signals);
                TaskStep::Batch(works)
            }
        }
    }

    /// Records a batch of work and lets everybody know; tells whether to go on.
    async fn batch(&mut self, works: Vec<InboxItem>) -> bool {
        let hub = Arc::clone(&self.hub);
        let _turn = hub.running.step_permit().await;
        self.undo = works.iter().filter_map(AppendRollback::of).collect();
        let gone = self.session.lock().gone.clone();
        if let Some(gone) = gone {
            return self.undo(&gone);
        }
        let was_loaded = self.core.is_some();
        if !was_loaded && let Err(failure) = Box::pin(self.load()).await {
            return self.undo(&failure);
        }
        let Some(works) = self.prepared(works).await else {
            return self.undo(&EngineErrorCode::Internal.into());
        };
        let (offers, busy) = self.look(&works);
        let steps = PendingBatch { works, offers, take_up: (!was_loaded).then_some(busy) };
        let SteppedBatch { append, after, acts, changes, described } = match self.step(steps).await
        {
            Ok(made) => made,
            Err(failure) => return self.undo(&failure),
        };
        let brings_policies =
            append.drafts.iter().any(|draft| draft.kind == RecordKind::Policy.word());
        let kept =
            match Box::pin(self.hub.home.buffers.note(self.session.id.as_str(), changes)).await {
                Ok(noted) => match self.keep(append).await {
                    Ok(numbers) => {
                        self.settle_overlays(noted);
                        Ok(numbers)
                    }
                    Err(failure) => {
                        self.hub.home.buffers.take_back(noted).await;
                        Err(failure)
                    }
                },
                Err(failure) => Err(failure),
            };
        match kept {
            Ok(numbers) => {
                if brings_policies {
                    self.hub.home.guard.set_recorded();
                }
                self.hub.home.abilities.actions.set_recorded(&described);
                fault::point("engine.publish");
                // A token of the recovery is given back when what the session planned is noted.
                publish::settle(self, after, numbers);
                self.undo.clear();
                fault::point("engine.published");
                true
            }
            Err(failure) => {
                self.hub.home.usage.take_back(&acts);
                self.undo(&failure)
            }
        }
    }

    /// Lets what messages say about buffers hold; what it replaces goes from the disk meanwhile.
    fn settle_overlays(&self, noted: UnindexedChanges) {
        let gone = self.hub.home.buffers.settle(noted);
        if !gone.is_empty() {
            let overlays = Arc::clone(&self.hub.home.buffers);
            self.hub.running.tasks().spawn_blocking(move || overlays.remove(&gone));
        }
    }

    /// Steps through a batch: here, or on another thread if that takes long.
    async fn step(&mut self, steps: PendingBatch) -> Result<SteppedBatch, EngineError> {
        let Some(mut core) = self.core.take() else { return Err(EngineErrorCode::Internal.into()) };
        if steps.works.iter().all(|work| work.bytes() <= SPAWN_BLOCKING_BYTES) {
            let made = steps.make(&self.hub, &self.session, &mut core);
            self.core = Some(core);
            return Ok(made);
        }
        let (hub, session) = (Arc::clone(&self.hub), Arc::clone(&self.session));
        let apart = tokio::task::spawn_blocking(move || {
            let made = steps.make(&hub, &session, &mut core);
            (core, made)
        });
        match apart.await {
            Ok((core, made)) => {
                self.core = Some(core);
                Ok(made)
            }
            // The State is read from the record again.
            Err(error) => {
                tracing::error!(%error, "a batch broke off");
                Err(EngineErrorCode::Internal.into())
            }
        }
    }

    /// Has an append kept, if there is anything in it.
    async fn keep(
        &self,
        append: RecordAppend,
    ) -> Result<Option<bridle_record::AppendNumbers>, EngineError> {
        if append == RecordAppend::default() {
            return Ok(None);
        }
        let has_checkpoint = append.checkpoint.is_some();
        if has_checkpoint {
            fault::point("engine.checkpoint");
        }
        if !append.started.is_empty() {
            fault::point("engine.start");
        }
        let kept = self.hub.home.keep(append).await;
        if has_checkpoint {
            fault::point("engine.checkpointed");
        }
        kept.map(Some).map_err(|error| match error {
            AppendError::Unavailable(_) => {
                EngineError::because(EngineErrorCode::StoreUnavailable, NOT_RECORDED)
            }
            AppendError::Refused(_) => EngineErrorCode::Internal.into(),
            AppendError::Closed => EngineErrorCode::ShuttingDown.into(),
        })
    }

    /// Lets actuators find out what has to be known about requests before they are judged. It may
    /// read files, so it happens elsewhere; most work needs nothing of that.
    async fn prepared(&self, works: Vec<InboxItem>) -> Option<Vec<InboxItem>> {
        match works.iter().any(|work| work.wants_preparation(self.hub.home.host_ref())) {
            true => Box::pin(self.prepare(works)).await,
            false => Some(works),
        }
    }

    async fn prepare(&self, mut works: Vec<InboxItem>) -> Option<Vec<InboxItem>> {
        let (host, session) = (self.hub.home.host(), Arc::clone(&self.session));
        let shelf = Arc::clone(&self.hub.home.shelf);
        let prepared = tokio::task::spawn_blocking(move || {
            for work in &mut works {
                work.keep_files(&shelf);
                work.prepare(&host, &session.id, &session.owner);
            }
            works
        });
        let broke_off =
            |error| tracing::error!(%error, "an actuator broke off while it looked at a request");
        prepared.await.map_err(broke_off).ok()
    }

    /// Reads the session from the record, unless its State is here.
    async fn load(&mut self) -> Result<(), EngineError> {
        if self.core.is_some() {
            return Ok(());
        }
        // Once: should it not become known to the record, it is looked up there.
        if std::mem::take(&mut self.session.lock().events.unborn) {
            self.core = Some(Box::new(LoadedSession::unborn(self.session.id.clone())));
            return Ok(());
        }
        let found = load::load(&self.hub.home, &self.session.id).await?;
        let mut inner = self.session.lock();
        inner.events.head = inner.events.head.max(found.core.state.next_seq().0 - 1);
        for (effect, request) in found.requests {
            inner.open.requests.entry(effect).or_insert(request);
        }
        inner.offer_requests();
        let mut fresh = Vec::new();
        for (effect, asking) in found.questions {
            if let Entry::Vacant(place) = inner.open.questions.entry(effect) {
                fresh.push(place.insert(asking).clone());
            }
        }
        self.session.offer_questions(&self.hub.home, &mut inner, &fresh, None);
        drop(inner);
        self.core = Some(Box::new(found.core));
        Ok(())
    }

    /// Returns the offers of attached shells, if they may be news, and the effects that are being worked on.
    fn look(&self, works: &[InboxItem]) -> (Vec<ShellOffer>, BTreeSet<u64>) {
        let mut inner = self.session.lock();
        let mut busy: BTreeSet<u64> = inner.open.workers.keys().copied().collect();
        busy.extend(works.iter().chain(&inner.inbox.work).filter_map(InboxItem::effect));
        // An answer is on its way: the request is not to be made again.
        inner.open.requests.retain(|effect, _| !busy.contains(effect));
        let registers = inner.newcomers && works.iter().any(|w| matches!(w, InboxItem::Signal(_)));
        if !registers {
            return (Vec::new(), busy);
        }
        inner.newcomers = false;
        // Of two that describe the same actuator in two ways the one that came last is believed.
        let mut offers: Vec<ShellOffer> =
            inner.feeds.iter().rev().flat_map(ShellFeed::offered).collect();
        offers.sort_by(|one, other| {
            one.name.cmp(&other.name).then(other.spec.is_some().cmp(&one.spec.is_some()))
        });
        offers.dedup_by(|later, first| later.name == first.name);
        (offers, busy)
    }

    /// Nothing was recorded: tells the senders, keeps what must not be lost.
    fn undo(&mut self, failure: &EngineError) -> bool {
        self.core = None;
        let undo = std::mem::take(&mut self.undo);
        let gives_up = failure.code != EngineErrorCode::StoreUnavailable;
        let mut inner = self.session.lock();
        inner.newcomers = true;
        let mut again = Vec::new();
        for undo in undo {
            match undo {
                AppendRollback::Refuse { to, ticket, id } => {
                    if let Some(feed) = inner.feed(to) {
                        feed.refuse(ticket, id, failure.clone());
                    }
                }
                AppendRollback::Again(work) if gives_up => {
                    tracing::warn!(session = %self.session.id, %failure, work = work.kind(), "not recorded");
                }
                AppendRollback::Again(work) => again.push(work),
            }
        }
        let goes_on = again.is_empty();
        for work in again.into_iter().rev() {
            inner.inbox.work.push_front(work);
        }
        goes_on
    }

    /// Ends the task with work left; it is tried again soon.
    fn stall(&mut self) {
        self.session.lock().residence.driving = false;
        retry_later(&self.hub, &self.session);
    }

    /// Begins the session as a continuation of another.
    async fn begin(&mut self, began: SessionStart, done: oneshot::Sender<bool>) -> bool {
        if self.load().await.is_err() {
            let _ = done.send(false);
            return true;
        }
        let Some(core) = &mut self.core else { return true };
        if core.born {
            let _ = done.send(false);
            return true;
        }
        let mut batch = AppendBatch::new(core, BatchContext::of(&self.hub.home));
        batch.begin(|| began);
        let AppendBatch { mut append, after, .. } = batch;
        core.complete(&mut append);
        let kept = self.keep(append).await;
        let _ = done.send(kept.is_ok());
        match kept {
            Ok(numbers) => publish::settle(self, after, numbers),
            Err(_) => self.core = None,
        }
        true
    }

    /// Gives the memory of the State back. Unless a few records make it again, it is written down.
    async fn evict(&mut self) -> bool {
        if self.core.as_ref().is_some_and(|core| core.unsaved() >= MIN_RECORDS_TO_SAVE) {
            self.save().await;
        }
        self.core = None;
        self.session.lock().drop_recent();
        true
    }

    /// Writes the State down, if something is new. What is not saved is read from the tail.
    async fn save(&mut self) {
        let Some(core) = &mut self.core else { return };
        let checkpoint = core.checkpoint();
        if checkpoint.is_some() {
            let append = RecordAppend { checkpoint, ..RecordAppend::default() };
            if let Err(failure) = self.keep(append).await {
                tracing::warn!(session = %self.session.id, %failure, "a state was not saved");
            }
        }
    }

    /// Forgets a record of this session, and what the State quotes of it. Done here, because
    /// nothing may be recorded in between.
    async fn erase(
        &mut self,
        record: RecordNumber,
        by: ForgetRequest,
    ) -> Result<ForgetResult, String> {
        self.load().await.map_err(|failure| failure.reason)?;
        let read = self.hub.home.readers.read(move |reader| reader.record(record)).await;
        let kept = read.map_err(|failure| failure.reason)?;
        let Some(core) = &self.core else { return Err("the session is gone".to_owned()) };
        if !core.state.is_idle() {
            return Err("its session is at work; try again when it rests".to_owned());
        }
        let mut state = core.state.to_value();
        if let Some(said) = kept.as_ref().and_then(|kept| session_fold::parse(kept.body.text()?)) {
            redact(&mut state, &said);
        }
        let session = self.session.id.as_str().into();
        let state = StateCheckpoint { session, state: state.to_string() };
        let seq = kept.as_ref().and_then(|kept| kept.seq);
        if let Some(seq) = seq {
            self.hub.home.buffers.forget(self.session.id.as_str(), Some(seq)).await?;
        }
        // Read again with what is left.
        self.core = None;
        self.session.lock().drop_recent();
        let forget = move |store: &mut RecordStore| store.forget_record(record, Some(&state), &by);
        admin::with_store(&self.hub, forget).await
    }

    /// Lets go of the session: what runs is canceled, what waits is dropped.
    async fn close(&mut self, done: oneshot::Sender<()>) -> bool {
        self.save().await;
        self.core = None;
        let mut inner = self.session.lock();
        inner.drop_recent();
        for worker in inner.open.workers.values() {
            worker.cancel.cancel();
        }
        drop(inner);
        let _ = done.send(());
        true
    }
}

impl Drop for SessionTask {
    /// A task that breaks off must not take its session with it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.undo(&EngineErrorCode::Internal.into());
            self.stall();
        }
    }
}

impl AppendRollback {
    fn of(work: &InboxItem) -> Option<AppendRollback> {
        match work {
            InboxItem::Signal(inbound) => Some(AppendRollback::Refuse {
                to: inbound.attachment,
                ticket: inbound.ticket,
                id: inbound.signal.id.clone(),
            }),
            InboxItem::Answer(answering) => match &answering.back {
                AnswerRoute::Shell(waiter, id) => Some(AppendRollback::Refuse {
                    to: waiter.attachment,
                    ticket: waiter.ticket,
                    id: id.clone(),
                }),
                // Its sender sees that nobody is left to tell it.
                AnswerRoute::To(_) => None,
            },
            work => work.again().map(AppendRollback::Again),
        }
    }
}

/// Tries again soon what could not be recorded.
fn retry_later(hub: &Arc<Hub>, session: &Arc<LiveSessionSlot>) {
    let (hub, session) = (Arc::clone(hub), Arc::clone(session));
    let tasks = hub.running.tasks.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(RECORD_RETRY_INTERVAL) => {}
            () = hub.running.quit.cancelled() => return,
        }
        let mut inner = session.lock();
        if !inner.inbox.work.is_empty() {
            hub.wake_drive(&session, &mut inner);
        }
    });
}
