//! An append is durable: everybody may hear of it, and its effects are carried out.
//!
//! Called by the drive task alone, after the commit and never before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bridle_host::Host;
use bridle_loop::{ActuatorLocation, ConsultQuestion, Effect, Order, ThinkerPrompt};
use bridle_record::AppendNumbers;
use tokio::sync::oneshot;

use crate::engine::commit::batch::PostCommit;
use crate::engine::commit::session_task::SessionTask;
use crate::engine::sessions::inbox_item::{AnswerRoute, InboxItem};
use crate::engine::sessions::live_session::{GuardQuestion, RingCapacity, ShellRequest, SlotState};
use crate::engine::sessions::loaded_session::LoadedSession;
use crate::engine::stream::{AttachmentId, OutboundItem, StreamEvent, StreamEventKind};
use crate::engine::workers::{self, OrderJob};
use crate::metrics::EngineMetrics;

/// Work to begin when the session's lock is released.
enum DeferredStart {
    Stop(u64),
    Consult(u64, ConsultQuestion),
    Think(u64, ThinkerPrompt),
    Execute(OrderJob),
}

/// Publishes, tells, and begins what is to be done.
pub(in crate::engine) fn settle(
    desk: &mut SessionTask,
    after: Vec<PostCommit>,
    numbers: Option<AppendNumbers>,
) {
    let Some(core) = &mut desk.core else { return };
    // Before anybody hears of it: whoever was told that something is planned finds it in the list.
    desk.hub.home.schedules.note(&core.state);
    let mut inner = desk.session.lock();
    let room = RingCapacity::of(&desk.hub.limits);
    let acts = BTreeMap::new();
    let mut settling = PublishContext {
        inner: &mut inner,
        core,
        numbers,
        room,
        metrics: desk.hub.metrics(),
        acts,
        callers: BTreeMap::new(),
        begin: Vec::new(),
        said: BTreeSet::new(),
        host: desk.hub.home.host_ref(),
        is_stopping: desk.hub.running.is_stopping(),
    };
    for after in after {
        settling.one(after);
    }
    let (begin, said) = (settling.begin, settling.said);
    drop_what_is_over(&mut inner, core, &said);
    inner.status = core.status();
    inner.load = core.state.workload();
    inner.offer_requests();
    inner.wake_all();
    drop(inner);
    let next = core.state.next_deadline().map(|time| time.0);
    desk.hub.directory.wakes.set(&desk.session.id, next);
    for begin in begin {
        match begin {
            DeferredStart::Stop(effect) => {
                if let Some(worker) = desk.session.lock().open.workers.get(&effect) {
                    worker.cancel.cancel();
                }
            }
            DeferredStart::Consult(effect, question) => {
                workers::consult(&desk.hub, &desk.session, effect, question);
            }
            DeferredStart::Think(effect, prompt) => {
                workers::think(&desk.hub, &desk.session, effect, prompt);
            }
            DeferredStart::Execute(ordered) => workers::execute(&desk.hub, &desk.session, ordered),
        }
    }
}

struct PublishContext<'a> {
    inner: &'a mut SlotState,
    core: &'a mut LoadedSession,
    numbers: Option<AppendNumbers>,
    room: RingCapacity,
    metrics: &'a EngineMetrics,
    /// Intents just published, by their number: shells are asked with them.
    acts: BTreeMap<u64, Arc<StreamEvent>>,
    /// Those who answered from elsewhere, by the number of their answer.
    callers: BTreeMap<u64, oneshot::Sender<Arc<StreamEvent>>>,
    begin: Vec<DeferredStart>,
    /// Thoughts whose text is said.
    said: BTreeSet<u64>,
    host: &'a Host,
    /// Whether the daemon stops: what has not begun waits for the next start.
    is_stopping: bool,
}

impl PublishContext<'_> {
    fn one(&mut self, after: PostCommit) {
        match after {
            PostCommit::Publish { draft, seq, at, kind, body, answers } => {
                let record = self.number(draft);
                let origin = self.origin(kind, answers.unwrap_or(seq));
                let event = StreamEvent { seq, record, at, kind, body: Some(body), origin };
                let event = Arc::new(event);
                if matches!(kind, StreamEventKind::Act | StreamEventKind::Ask) {
                    self.acts.insert(seq, Arc::clone(&event));
                }
                self.count(kind, answers);
                if let Some(back) = answers.and_then(|seq| self.callers.remove(&seq)) {
                    // Whoever asked may have gone.
                    let _ = back.send(Arc::clone(&event));
                }
                self.inner.publish(event, answers, self.room);
            }
            PostCommit::Await { seq, waiter, load } => {
                // Recorded: from here on it is the session's.
                drop(load);
                self.inner.open.waiters.insert(seq, waiter);
            }
            PostCommit::Tell { seq, back: AnswerRoute::Shell(waiter, _) } => {
                self.inner.open.waiters.insert(seq, waiter);
            }
            PostCommit::Tell { seq, back: AnswerRoute::To(caller) } => {
                self.callers.insert(seq, caller);
            }
            PostCommit::Repeat { to } => {
                if let Some(feed) = self.inner.feed(to) {
                    feed.push(OutboundItem::Repeat);
                }
            }
            PostCommit::Receipt { to, id, seq } => {
                if let Some(feed) = self.inner.feed(to) {
                    feed.push(OutboundItem::Receipt { id, seq });
                }
            }
            PostCommit::Refuse { inbound, failure } => {
                if let Some(feed) = self.inner.feed(inbound.attachment) {
                    feed.refuse(inbound.ticket, inbound.signal.id, failure);
                }
            }
            PostCommit::Carry { effect, draft } => {
                let record = draft.map(|draft| self.number(draft));
                self.carry(*effect, record);
            }
            PostCommit::Execute { effect } => self.execute(effect),
            PostCommit::Said { thought } => {
                self.said.insert(thought);
            }
        }
    }

    fn count(&self, kind: StreamEventKind, answers: Option<u64>) {
        match (kind, answers) {
            (StreamEventKind::Signal, _) => self.metrics.admitted.inc(),
            (StreamEventKind::Say, Some(_)) => self.metrics.answers.inc(),
            (StreamEventKind::Ask, _) => self.metrics.asked.inc(),
            (StreamEventKind::Answered, _) => self.metrics.answered.inc(),
            _ => return,
        };
    }

    /// The record that a draft became.
    fn number(&self, draft: usize) -> u64 {
        self.numbers.and_then(|numbers| numbers.get(draft)).map_or(0, |number| number.0)
    }

    /// The attachment that a signal is of, or that its answer is for.
    fn origin(&self, kind: StreamEventKind, signal: u64) -> Option<AttachmentId> {
        match kind {
            StreamEventKind::Signal | StreamEventKind::Say => {
                self.inner.open.waiters.get(&signal).map(|waiter| waiter.attachment)
            }
            StreamEventKind::Act
            | StreamEventKind::Acted
            | StreamEventKind::Ask
            | StreamEventKind::Answered
            | StreamEventKind::Settled => None,
        }
    }

    /// Takes an effect on its way: to a thinker, to a shell, or to its recorded start.
    fn carry(&mut self, effect: Effect, record: Option<u64>) {
        match effect {
            Effect::Consult { id, context, subject } => {
                note_intent(self.core, id.0, record);
                if self.core.awaits(id.0) && !self.is_stopping {
                    let question = ConsultQuestion { context, subject };
                    self.begin.push(DeferredStart::Consult(id.0, question));
                }
            }
            Effect::Think { id, prompt } => {
                note_intent(self.core, id.0, record);
                // It may have been given up later in the same batch.
                if !self.core.awaits(id.0) || self.is_stopping {
                    return;
                }
                match self.host.is_paid(&prompt) {
                    true => self.inner.inbox.work.push_back(InboxItem::Start { effect: id.0 }),
                    false => self.begin.push(DeferredStart::Think(id.0, prompt)),
                }
            }
            Effect::Act { id, seq, order, .. } => {
                note_intent(self.core, id.0, record);
                if self.core.awaits(id.0) {
                    self.ask(id.0, seq.0, &order);
                }
            }
            Effect::Ask { id, seq, question } => {
                note_intent(self.core, id.0, record);
                if self.core.awaits(id.0)
                    && let Some(event) = self.acts.remove(&seq.0)
                {
                    self.inner.open.questions.insert(id.0, GuardQuestion { event, question });
                }
            }
            Effect::Stop { id } => self.begin.push(DeferredStart::Stop(id.0)),
            Effect::Decided(_)
            | Effect::Settled { .. }
            | Effect::Say(_)
            | Effect::Finish { .. } => {}
        }
    }

    fn ask(&mut self, effect: u64, seq: u64, order: &Order) {
        match order.place() {
            ActuatorLocation::Host if self.is_stopping => {}
            ActuatorLocation::Host => self.inner.inbox.work.push_back(InboxItem::Start { effect }),
            ActuatorLocation::Shell => {
                let Some(event) = self.acts.remove(&seq) else { return };
                let target = order.target().clone();
                self.inner
                    .open
                    .requests
                    .insert(effect, ShellRequest { target, event, asked: None });
            }
        }
    }

    fn execute(&mut self, effect: u64) {
        let found = self.core.state.outstanding().into_iter().find(|(id, _)| id.0 == effect);
        if let Some((id, Effect::Think { prompt, .. })) = found {
            return self.begin.push(DeferredStart::Think(id.0, prompt));
        }
        if let Some((id, Effect::Act { order, turn, .. })) = found {
            let record = self.core.open.get(&effect).copied().flatten().unwrap_or(0);
            let asker = self.core.state.asker_of(id);
            let principal = asker.map(|asker| asker.principal.clone()).unwrap_or_default();
            self.begin.push(DeferredStart::Execute(OrderJob {
                effect,
                order,
                turn,
                record,
                principal,
            }));
        }
    }
}

fn note_intent(core: &mut LoadedSession, effect: u64, record: Option<u64>) {
    if let (Some(slot), Some(record)) = (core.open.get_mut(&effect), record) {
        *slot = Some(record);
    }
}

/// Cancels workers and takes back requests that nobody waits for any more.
fn drop_what_is_over(inner: &mut SlotState, core: &LoadedSession, said: &BTreeSet<u64>) {
    inner.end_streams(|effect| !core.awaits(effect), said);
    for (effect, worker) in &inner.open.workers {
        if !core.awaits(*effect) {
            worker.cancel.cancel();
        }
    }
    inner.open.requests.retain(|effect, _| core.awaits(*effect));
    inner.open.questions.retain(|effect, _| core.awaits(*effect));
}
