//! One session in memory: its inbox, the shells attached to it, what happened lately.
//!
//! Everything is under one lock, held for moments and never across an await. A drive task
//! exists only while the inbox has work (see `drive`); the State of the loop is lent to it, and
//! is absent while the session is evicted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bridle_loop::{ApprovalRequest, KeywordName, SessionId};

use super::error::EngineError;
use super::guard::GuardState;
use super::inbox_item::InboxItem;
use super::loaded_session::LoadedSession;
use super::shell_feed::ShellFeed;
use super::stream::AttachRole;
use super::stream::{AttachmentId, OutboundItem, SessionStatus, StreamEvent, StreamMode};
use super::workers::CancellableWorker;
use crate::access::principal::Principal;

/// A session that somebody is attached to, or that has something to do.
#[derive(Debug)]
pub(super) struct LiveSessionSlot {
    pub(super) id: SessionId,
    /// The principal that made it.
    pub(super) owner: Arc<str>,
    inner: Mutex<SlotState>,
}

/// State of a session that the lock guards.
#[derive(Debug, Default)]
pub(super) struct SlotState {
    /// Work in its order; no capacity while empty.
    pub(super) inbox: VecDeque<InboxItem>,
    /// Messages of shells among the work.
    pub(super) signals: usize,
    /// Handles on this session beside its shells.
    pub(super) pins: usize,
    /// Whether a drive task has this session.
    pub(super) driving: bool,
    /// State and what belongs to it; absent while evicted or lent to the drive task.
    pub(super) core: Option<Box<LoadedSession>>,
    /// Stamp of the directory when it last came to rest.
    pub(super) stamp: u64,
    /// Whether its State was in memory the last time that it came to rest.
    pub(super) rested: bool,
    /// The last number given.
    pub(super) head: u64,
    /// Whether the record did not know it when it was made, and nothing was recorded since.
    pub(super) unborn: bool,
    ring: EventRing,
    /// Shells, in the order of their ids.
    pub(super) feeds: Vec<ShellFeed>,
    /// Whether a shell came whose offers the State may not know.
    pub(super) newcomers: bool,
    /// Requests to shells that wait for an answer, by effect.
    pub(super) requests: BTreeMap<u64, ShellRequest>,
    /// Questions of the guard that wait for an answer, by effect.
    pub(super) questions: BTreeMap<u64, GuardQuestion>,
    /// Work that runs outside, by effect.
    pub(super) workers: BTreeMap<u64, CancellableWorker>,
    /// Senders that wait for an answer, by the number of their signal.
    pub(super) waiters: BTreeMap<u64, ReplyWaiter>,
    pub(super) status: SessionStatus,
    /// Shell that was let in last.
    pub(super) let_in: Option<Box<AdmittedShell>>,
    /// The turn that was last thought about, and the number of its signal.
    pub(super) thought: Option<(u64, u64)>,
    /// Reason why nothing is taken any more.
    pub(super) gone: Option<EngineError>,
}

/// Shell that was let in.
#[derive(Debug)]
pub(super) struct AdmittedShell {
    pub(super) who: Principal,
    pub(super) role: AttachRole,
    /// Seconds since 1970.
    pub(super) at: i64,
    /// The policies that said so.
    pub(super) by: Weak<GuardState>,
}

/// A request to a shell.
#[derive(Debug)]
pub(super) struct ShellRequest {
    pub(super) target: KeywordName,
    pub(super) event: Arc<StreamEvent>,
    /// The shell that is asked; `None` while none is there that could be.
    pub(super) asked: Option<AttachmentId>,
}

/// A question of the guard.
#[derive(Clone, Debug)]
pub(super) struct GuardQuestion {
    pub(super) event: Arc<StreamEvent>,
    pub(super) question: Arc<ApprovalRequest>,
}

/// Sender of a signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyWaiter {
    pub(super) attachment: AttachmentId,
    /// Its place in the order of answers, for a client without hello.
    pub(super) ticket: Option<u64>,
}

impl LiveSessionSlot {
    /// A session with nothing in it but its last number.
    pub(super) fn new(id: SessionId, owner: Arc<str>, head: u64) -> LiveSessionSlot {
        let inner = SlotState { head, ..SlotState::default() };
        LiveSessionSlot { id, owner, inner: Mutex::new(inner) }
    }

    /// A session that the record does not know.
    pub(super) fn unborn(id: SessionId, owner: Arc<str>) -> LiveSessionSlot {
        let inner = SlotState { unborn: true, ..SlotState::default() };
        LiveSessionSlot { id, owner, inner: Mutex::new(inner) }
    }

    /// Takes the lock. A panic elsewhere leaves nothing half done that matters: the State is
    /// read from the record again.
    pub(super) fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    /// The feed of an attachment.
    pub(super) fn feed(&mut self, id: AttachmentId) -> Option<&mut ShellFeed> {
        let place = self.feeds.binary_search_by_key(&id, |feed| feed.id).ok()?;
        self.feeds.get_mut(place)
    }

    /// Adds a feed; ids only grow, so the order holds.
    pub(super) fn join(&mut self, feed: ShellFeed) {
        // A client that comes back may be here before its old connection is known to be dead:
        // what that one was asked is asked of the new one.
        let client = feed.about.client.as_ref();
        let (requests, feeds) = (&mut self.requests, &self.feeds);
        for request in requests.values_mut() {
            let is_old = |old: &ShellFeed| client.is_some() && old.about.client.as_ref() == client;
            let was_asked = |id: &AttachmentId| feeds.iter().any(|f| f.id == *id && is_old(f));
            request.asked.take_if(|asked| was_asked(asked));
        }
        self.feeds.push(feed);
        self.newcomers = true;
        self.offer_requests();
    }

    /// Takes a feed out; what it was asked is asked of another.
    pub(super) fn leave(&mut self, id: AttachmentId) {
        self.feeds.retain(|feed| feed.id != id);
        self.feeds.shrink_to(1);
        for request in self.requests.values_mut() {
            if request.asked == Some(id) {
                request.asked = None;
            }
        }
        self.offer_requests();
    }

    /// Tells whether the session can be forgotten by the daemon, though not by the record.
    pub(super) fn is_unused(&self) -> bool {
        self.pins == 0
            && self.feeds.is_empty()
            && self.inbox.is_empty()
            && !self.driving
            && self.core.is_none()
            && self.requests.is_empty()
            && self.questions.is_empty()
            && self.workers.is_empty()
    }

    /// Makes an event known: to the ring, to who asked, to everybody.
    pub(super) fn publish(
        &mut self,
        event: Arc<StreamEvent>,
        answers: Option<u64>,
        room: RingCapacity,
    ) {
        self.head = event.seq;
        let waiter = answers.and_then(|seq| self.waiters.remove(&seq));
        if let Some(ReplyWaiter { attachment, ticket: Some(ticket) }) = waiter
            && let Some(feed) = self.feed(attachment)
        {
            let event = Arc::clone(&event);
            feed.answer(
                ticket,
                OutboundItem::Event { event, view: super::stream::EventView::Own, live: true },
            );
        }
        match event.origin {
            Some(id) => {
                if let Some(feed) = self.feed(id) {
                    feed.note_own(&event);
                }
            }
            None => self.feeds.iter_mut().for_each(|feed| feed.read_from(event.seq)),
        }
        if answers.is_some() {
            self.feeds.iter_mut().for_each(ShellFeed::drop_delta);
        }
        self.ring.push(event, room);
    }

    /// Wakes every connection that reads a stream; those that are handed their own are awake.
    pub(super) fn wake_all(&mut self) {
        let reads = |feed: &&mut ShellFeed| feed.mode != StreamMode::Answers && !feed.own_only;
        self.feeds.iter_mut().filter(reads).for_each(ShellFeed::wake);
    }

    /// The event of this number, if it is recent.
    pub(super) fn recent(&self, seq: u64) -> Option<Arc<StreamEvent>> {
        self.ring.get(seq)
    }

    /// Forgets recent events; shells that are behind read the record.
    pub(super) fn drop_recent(&mut self) {
        self.ring = EventRing::default();
    }

    /// Asks the most recently active shell that offers it, for each request nobody has.
    pub(super) fn offer_requests(&mut self) {
        let SlotState { requests, feeds, .. } = self;
        for request in requests.values_mut().filter(|request| request.asked.is_none()) {
            let able = feeds.iter_mut().filter(|feed| feed.offers(&request.target));
            let Some(feed) = able.max_by_key(|feed| (feed.active, feed.id)) else { continue };
            request.asked = Some(feed.id);
            // Otherwise it comes with its number, in its place.
            if feed.cursor >= request.event.seq {
                feed.push(OutboundItem::Offer(Arc::clone(&request.event)));
            }
        }
    }

    /// Tells whether this shell is asked to carry out the act with this number.
    pub(super) fn is_asked(&self, id: AttachmentId, seq: u64) -> bool {
        self.requests.values().any(|request| request.event.seq == seq && request.asked == Some(id))
    }

    /// The open question with this number.
    pub(super) fn question(&self, seq: u64) -> Option<&GuardQuestion> {
        self.questions.values().find(|asking| asking.event.seq == seq)
    }

    /// Tells whether this shell may say what became of a request: an owner always, others only
    /// of what they are asked themselves, on this connection or another.
    pub(super) fn may_answer(&self, effect: u64, id: AttachmentId, who: &Principal) -> bool {
        let Some(request) = self.requests.get(&effect) else { return true };
        let is_of = |asked: AttachmentId| {
            asked == id || self.feeds.iter().any(|feed| feed.id == asked && feed.who == *who)
        };
        who.is_owner() || request.asked.is_some_and(is_of)
    }

    /// Shows text of an answer in the making; returns how many bytes slow shells lost.
    pub(super) fn show_delta(&mut self, turn: u64, text: &str) -> usize {
        self.feeds.iter_mut().map(|feed| feed.add_delta(turn, text)).sum()
    }
}

/// Capacity of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingCapacity {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

/// The last events of a session, without a gap.
#[derive(Debug, Default)]
struct EventRing {
    events: VecDeque<Arc<StreamEvent>>,
    bytes: usize,
}

impl EventRing {
    fn push(&mut self, event: Arc<StreamEvent>, room: RingCapacity) {
        self.bytes += event.len();
        self.events.push_back(event);
        while self.events.len() > room.events || self.bytes > room.bytes {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    fn get(&self, seq: u64) -> Option<Arc<StreamEvent>> {
        let first = self.events.front()?.seq;
        let place = usize::try_from(seq.checked_sub(first)?).ok()?;
        self.events.get(place).filter(|event| event.seq == seq).cloned()
    }
}
