//! An append is durable: everybody may hear of it, and its effects are carried out.
//!
//! Called by the drive task alone, after the commit and never before.

use std::collections::BTreeMap;
use std::sync::Arc;

use bridle_loop::{Effect, Order, Place, Prompt};
use bridle_store::Numbers;
use tokio::sync::oneshot;

use super::batch::After;
use super::core::Core;
use super::drive::Desk;
use super::session::{Asking, Inner, Request, Room};
use super::terms::{AttachmentId, Kind, Out, StreamEvent};
use super::work::{Back, Work};
use super::workers::{self, Ordered};
use crate::metrics::EngineMetrics;

/// Work to begin when the session's lock is released.
enum Begin {
    Think(u64, Prompt),
    Execute(Ordered),
}

/// Publishes, tells, and begins what is to be done.
pub(super) fn settle(desk: &mut Desk, after: Vec<After>, numbers: Option<Numbers>) {
    let Some(core) = &mut desk.core else { return };
    // Before anybody hears of it: whoever was told that something is planned finds it in the list.
    desk.hub.plans.note(&core.state);
    let mut inner = desk.session.lock();
    let room = desk.hub.room();
    let acts = BTreeMap::new();
    let mut settling = Settling {
        inner: &mut inner,
        core,
        numbers,
        room,
        metrics: desk.hub.metrics(),
        acts,
        callers: BTreeMap::new(),
        begin: Vec::new(),
    };
    for after in after {
        settling.one(after);
    }
    let begin = settling.begin;
    drop_what_is_over(&mut inner, core);
    inner.status = core.status();
    inner.offer_requests();
    inner.wake_all();
    drop(inner);
    let next = core.state.next_deadline().map(|time| time.0);
    desk.hub.wakes.set(&desk.session.id, next);
    for begin in begin {
        match begin {
            Begin::Think(effect, prompt) => {
                workers::think(&desk.hub, &desk.session, effect, prompt);
            }
            Begin::Execute(ordered) => workers::execute(&desk.hub, &desk.session, ordered),
        }
    }
}

struct Settling<'a> {
    inner: &'a mut Inner,
    core: &'a mut Core,
    numbers: Option<Numbers>,
    room: Room,
    metrics: &'a EngineMetrics,
    /// Intents just published, by their number: shells are asked with them.
    acts: BTreeMap<u64, Arc<StreamEvent>>,
    /// Those who answered from elsewhere, by the number of their answer.
    callers: BTreeMap<u64, oneshot::Sender<Arc<StreamEvent>>>,
    begin: Vec<Begin>,
}

impl Settling<'_> {
    fn one(&mut self, after: After) {
        match after {
            After::Publish { draft, seq, at, kind, body, answers } => {
                let record = self.number(draft);
                let origin = self.origin(kind, answers.unwrap_or(seq));
                let event = StreamEvent { seq, record, at, kind, body: Some(body), origin };
                let event = Arc::new(event);
                if matches!(kind, Kind::Act | Kind::Ask) {
                    self.acts.insert(seq, Arc::clone(&event));
                }
                self.count(kind, answers);
                if let Some(back) = answers.and_then(|seq| self.callers.remove(&seq)) {
                    // Whoever asked may have gone.
                    let _ = back.send(Arc::clone(&event));
                }
                self.inner.publish(event, answers, self.room);
            }
            After::Await { seq, waiter, load } => {
                // Recorded: from here on it is the session's.
                drop(load);
                self.inner.waiters.insert(seq, waiter);
            }
            After::Tell { seq, back: Back::Shell(waiter, _) } => {
                self.inner.waiters.insert(seq, waiter);
            }
            After::Tell { seq, back: Back::To(caller) } => {
                self.callers.insert(seq, caller);
            }
            After::Repeat { to } => {
                if let Some(feed) = self.inner.feed(to) {
                    feed.push(Out::Repeat);
                }
            }
            After::Receipt { to, id, seq } => {
                if let Some(feed) = self.inner.feed(to) {
                    feed.push(Out::Receipt { id, seq });
                }
            }
            After::Refuse { inbound, failure } => {
                if let Some(feed) = self.inner.feed(inbound.attachment) {
                    feed.refuse(inbound.ticket, inbound.id, failure);
                }
            }
            After::Carry { effect, draft } => {
                let record = draft.map(|draft| self.number(draft));
                self.carry(*effect, record);
            }
            After::Execute { effect } => self.execute(effect),
        }
    }

    fn count(&self, kind: Kind, answers: Option<u64>) {
        match (kind, answers) {
            (Kind::Signal, _) => self.metrics.admitted.inc(),
            (Kind::Say, Some(_)) => self.metrics.answers.inc(),
            (Kind::Ask, _) => self.metrics.asked.inc(),
            (Kind::Answered, _) => self.metrics.answered.inc(),
            _ => return,
        };
    }

    /// The record that a draft became.
    fn number(&self, draft: usize) -> u64 {
        self.numbers.and_then(|numbers| numbers.get(draft)).map_or(0, |number| number.0)
    }

    /// The attachment that a signal is of, or that its answer is for.
    fn origin(&self, kind: Kind, signal: u64) -> Option<AttachmentId> {
        match kind {
            Kind::Signal | Kind::Say => {
                self.inner.waiters.get(&signal).map(|waiter| waiter.attachment)
            }
            Kind::Act | Kind::Acted | Kind::Ask | Kind::Answered | Kind::Settled => None,
        }
    }

    /// Takes an effect on its way: to a thinker, to a shell, or to its recorded start.
    fn carry(&mut self, effect: Effect, record: Option<u64>) {
        match effect {
            Effect::Think { id, prompt } => {
                note_intent(self.core, id.0, record);
                // It may have been given up later in the same batch.
                if self.core.awaits(id.0) {
                    self.begin.push(Begin::Think(id.0, prompt));
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
                    self.inner.questions.insert(id.0, Asking { event, question });
                }
            }
            Effect::Consult { .. }
            | Effect::Decided(_)
            | Effect::Settled { .. }
            | Effect::Say(_)
            | Effect::Finish { .. } => {}
        }
    }

    fn ask(&mut self, effect: u64, seq: u64, order: &Order) {
        match order.place() {
            Place::Host => self.inner.inbox.push_back(Work::Start { effect }),
            Place::Shell => {
                let Some(event) = self.acts.remove(&seq) else { return };
                let target = order.target().clone();
                self.inner.requests.insert(effect, Request { target, event, asked: None });
            }
        }
    }

    fn execute(&mut self, effect: u64) {
        let found = self.core.state.outstanding().into_iter().find(|(id, _)| id.0 == effect);
        if let Some((id, Effect::Act { order, turn, .. })) = found {
            let record = self.core.open.get(&effect).copied().flatten().unwrap_or(0);
            let asker = self.core.state.asker_of(id);
            let principal = asker.map(|asker| asker.principal.clone()).unwrap_or_default();
            self.begin.push(Begin::Execute(Ordered { effect, order, turn, record, principal }));
        }
    }
}

fn note_intent(core: &mut Core, effect: u64, record: Option<u64>) {
    if let (Some(slot), Some(record)) = (core.open.get_mut(&effect), record) {
        *slot = Some(record);
    }
}

/// Cancels workers and takes back requests that nobody waits for any more.
fn drop_what_is_over(inner: &mut Inner, core: &Core) {
    for (effect, worker) in &inner.workers {
        if !core.awaits(*effect) {
            worker.cancel.cancel();
        }
    }
    inner.requests.retain(|effect, _| core.awaits(*effect));
    inner.questions.retain(|effect, _| core.awaits(*effect));
}
