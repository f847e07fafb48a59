//! One session in memory: its inbox, the shells attached to it, what happened lately.
//!
//! Everything is under one lock, held for moments and never across an await. A drive task
//! exists only while the inbox has work (see `session_task`); the State of the loop is lent to it, and
//! is absent while the session is evicted.

use crate::config::EngineLimits;
use crate::engine::error::EngineErrorCode;
use crate::engine::home::Home;
use bridle_loop::{SessionAccess, SessionWorkload};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bridle_loop::{ApprovalRequest, KeywordName, SessionId};

use crate::access::principal::Principal;
use crate::engine::error::EngineError;
use crate::engine::home::guard::GuardState;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::live_stream::LiveStream;
use crate::engine::sessions::loaded_session::LoadedSession;
use crate::engine::sessions::shell_feed::ShellFeed;
use crate::engine::stream::AttachRole;
use crate::engine::stream::{
    AttachmentId, OutboundItem, PieceChannel, SessionStatus, StreamEvent, StreamMode,
};
use bridle_host::CancelFlag;

/// Policies know the time to the second.
const SECOND_MS: i64 = 1_000;

/// A session that somebody is attached to, or that has something to do.
#[derive(Debug)]
pub(in crate::engine) struct LiveSessionSlot {
    pub(in crate::engine) id: SessionId,
    /// The principal that made it.
    pub(in crate::engine) owner: Arc<str>,
    inner: Mutex<SlotState>,
}

/// State of a session that the lock guards.
#[derive(Debug, Default)]
pub(in crate::engine) struct SlotState {
    pub(in crate::engine) inbox: SessionInbox,
    pub(in crate::engine) residence: SlotResidence,
    /// State and what belongs to it; absent while evicted or lent to the drive task.
    pub(in crate::engine) core: Option<Box<LoadedSession>>,
    pub(in crate::engine) events: LatestEvents,
    /// Shells, in the order of their ids.
    pub(in crate::engine) feeds: Vec<ShellFeed>,
    /// Whether a shell came whose offers the State may not know.
    pub(in crate::engine) newcomers: bool,
    pub(in crate::engine) open: OpenWork,
    pub(in crate::engine) status: SessionStatus,
    /// Number of its turns and signals, by what they do.
    pub(in crate::engine) load: SessionWorkload,
    /// Texts in the making.
    pub(in crate::engine) streams: Vec<LiveStream>,
    pub(in crate::engine) known: RecentAnswers,
    /// Reason why nothing is taken any more.
    pub(in crate::engine) gone: Option<EngineError>,
}

/// Bounded queue in front of a session.
#[derive(Debug, Default)]
pub(in crate::engine) struct SessionInbox {
    /// Work in its order; no capacity while empty.
    pub(in crate::engine) work: VecDeque<InboxItem>,
    /// Messages of shells among the work.
    pub(in crate::engine) signals: usize,
}

/// Reasons why a session stays in memory.
#[derive(Debug, Default)]
pub(in crate::engine) struct SlotResidence {
    /// Handles on this session beside its shells.
    pub(in crate::engine) pins: usize,
    /// Whether a drive task has this session.
    pub(in crate::engine) driving: bool,
    /// Stamp of the directory when it last came to rest.
    pub(in crate::engine) stamp: u64,
    /// Whether its State was in memory the last time that it came to rest.
    pub(in crate::engine) rested: bool,
}

/// Latest events of a session, and their number.
#[derive(Debug, Default)]
pub(in crate::engine) struct LatestEvents {
    /// The last number given.
    pub(in crate::engine) head: u64,
    /// Whether the record did not know the session when it was made, and nothing was recorded since.
    pub(in crate::engine) unborn: bool,
    ring: EventRing,
}

/// Work of a session that waits for somebody else.
#[derive(Debug, Default)]
pub(in crate::engine) struct OpenWork {
    /// Requests to shells that wait for an answer, by effect.
    pub(in crate::engine) requests: BTreeMap<u64, ShellRequest>,
    /// Questions of the guard that wait for an answer, by effect.
    pub(in crate::engine) questions: BTreeMap<u64, GuardQuestion>,
    /// Work that runs outside, by effect.
    pub(in crate::engine) workers: BTreeMap<u64, CancellableWorker>,
    /// Senders that wait for an answer, by the number of their signal.
    pub(in crate::engine) waiters: BTreeMap<u64, ReplyWaiter>,
}

/// Answers that were found lately, to be given again.
#[derive(Debug, Default)]
pub(in crate::engine) struct RecentAnswers {
    /// Shell that was let in last.
    let_in: Option<Box<AdmittedShell>>,
    /// The turn that was last thought about, and the number of its signal.
    pub(in crate::engine) thought: Option<(u64, u64)>,
    /// Words of its owner, as far as somebody wanted to know.
    pub(in crate::engine) words: OwnerWords,
}

/// Words of a session's owner, without what they quote, the oldest first.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct OwnerWords {
    /// Last record that was looked at.
    pub(in crate::engine) after: u64,
    pub(in crate::engine) texts: VecDeque<Arc<str>>,
}

/// A worker that can be told to stop.
#[derive(Debug)]
pub(in crate::engine) struct CancellableWorker {
    pub(in crate::engine) cancel: CancelFlag,
    /// Whether it costs something: it has longer to end when the daemon stops.
    pub(in crate::engine) is_paid: bool,
}

/// Shell that was let in.
#[derive(Debug)]
pub(in crate::engine) struct AdmittedShell {
    pub(in crate::engine) who: Principal,
    pub(in crate::engine) role: AttachRole,
    /// Seconds since 1970.
    pub(in crate::engine) at: i64,
    /// The policies that said so.
    pub(in crate::engine) by: Weak<GuardState>,
}

/// A request to a shell.
#[derive(Debug)]
pub(in crate::engine) struct ShellRequest {
    pub(in crate::engine) target: KeywordName,
    pub(in crate::engine) event: Arc<StreamEvent>,
    /// The shell that is asked; `None` while none is there that could be.
    pub(in crate::engine) asked: Option<AttachmentId>,
}

/// A question of the guard.
#[derive(Clone, Debug)]
pub(in crate::engine) struct GuardQuestion {
    pub(in crate::engine) event: Arc<StreamEvent>,
    pub(in crate::engine) question: Arc<ApprovalRequest>,
}

/// Sender of a signal.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct ReplyWaiter {
    pub(in crate::engine) attachment: AttachmentId,
    /// Its place in the order of answers, for a client without hello.
    pub(in crate::engine) ticket: Option<u64>,
}

impl LiveSessionSlot {
    /// A session with nothing in it but its last number.
    pub(in crate::engine) fn new(id: SessionId, owner: Arc<str>, head: u64) -> LiveSessionSlot {
        let events = LatestEvents { head, ..LatestEvents::default() };
        let inner = SlotState { events, ..SlotState::default() };
        LiveSessionSlot { id, owner, inner: Mutex::new(inner) }
    }

    /// A session that the record does not know.
    pub(in crate::engine) fn unborn(id: SessionId, owner: Arc<str>) -> LiveSessionSlot {
        let events = LatestEvents { unborn: true, ..LatestEvents::default() };
        let inner = SlotState { events, ..SlotState::default() };
        LiveSessionSlot { id, owner, inner: Mutex::new(inner) }
    }

    /// Takes the lock. A panic elsewhere leaves nothing half done that matters: the State is
    /// read from the record again.
    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether somebody may join a session in a role. Whoever comes again within the second is
    /// told the same by the same policies: nothing that they look at is another.
    pub(in crate::engine) fn admits(&self, home: &Home, who: &Principal, role: AttachRole) -> bool {
        let (at, present) = (home.now().div_euclid(SECOND_MS), home.guard.present());
        let is_same = |last: &AdmittedShell| {
            last.at == at
                && last.role == role
                && last.who == *who
                && std::ptr::eq(last.by.as_ptr(), Arc::as_ptr(&present))
        };
        if self.lock().known.let_in.as_deref().is_some_and(is_same) {
            return true;
        }
        let may = |access| home.may(who, access, &self.id, &self.owner);
        let may_join = may(SessionAccess::Attach)
            && may(SessionAccess::Observe)
            && (role == AttachRole::Observer || may(SessionAccess::Control));
        if may_join {
            let last = AdmittedShell { who: who.clone(), role, at, by: Arc::downgrade(&present) };
            self.lock().known.let_in = Some(Box::new(last));
        }
        may_join
    }

    /// Shows open questions to shells that may answer and are past their numbers: to one, or all.
    pub(in crate::engine) fn offer_questions(
        &self,
        home: &Home,
        inner: &mut SlotState,
        questions: &[GuardQuestion],
        only: Option<AttachmentId>,
    ) {
        for feed in inner.feeds.iter_mut().filter(|feed| only.is_none_or(|id| feed.id == id)) {
            for GuardQuestion { event, question } in questions {
                if feed.cursor >= event.seq && self.may_be_asked(home, feed, question) {
                    feed.push(OutboundItem::Offer(Arc::clone(event)));
                }
            }
        }
    }

    /// Tells whether a shell is asked a question, or only sees that it is asked.
    pub(in crate::engine) fn may_be_asked(
        &self,
        home: &Home,
        feed: &ShellFeed,
        question: &ApprovalRequest,
    ) -> bool {
        feed.mode == StreamMode::Stream
            && feed.role == AttachRole::Controller
            && home.may_answer(&feed.who, question, &self.id, &self.owner)
    }

    /// Tells whether somebody may see this session.
    pub(in crate::engine) fn is_visible_to(&self, home: &Home, who: &Principal) -> bool {
        home.may(who, SessionAccess::Observe, &self.id, &self.owner)
    }
}

impl SlotState {
    /// Checks that one more message may wait, of at most `most`.
    pub(in crate::engine) fn check_room(&self, most: usize) -> Result<(), EngineError> {
        if self.inbox.signals < most {
            return Ok(());
        }
        let text = format!("{most} messages of this session wait already; send it again later");
        Err(EngineError::because(EngineErrorCode::Overloaded, text))
    }

    /// The feed of an attachment.
    pub(in crate::engine) fn feed(&mut self, id: AttachmentId) -> Option<&mut ShellFeed> {
        let place = self.feeds.binary_search_by_key(&id, |feed| feed.id).ok()?;
        self.feeds.get_mut(place)
    }

    /// Adds a feed; ids only grow, so the order holds.
    pub(in crate::engine) fn join(&mut self, feed: ShellFeed) {
        // A client that comes back may be here before its old connection is known to be dead:
        // what that one was asked is asked of the new one.
        let client = feed.about.client.as_ref();
        let (requests, feeds) = (&mut self.open.requests, &self.feeds);
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
    pub(in crate::engine) fn leave(&mut self, id: AttachmentId) {
        self.feeds.retain(|feed| feed.id != id);
        self.feeds.shrink_to(1);
        for request in self.open.requests.values_mut() {
            if request.asked == Some(id) {
                request.asked = None;
            }
        }
        self.offer_requests();
    }

    /// Tells whether the session can be forgotten by the daemon, though not by the record.
    pub(in crate::engine) fn is_unused(&self) -> bool {
        self.residence.pins == 0
            && self.feeds.is_empty()
            && self.inbox.work.is_empty()
            && !self.residence.driving
            && self.core.is_none()
            && self.open.is_empty()
    }

    /// Makes an event known: to the ring, to who asked, to everybody.
    pub(in crate::engine) fn publish(
        &mut self,
        event: Arc<StreamEvent>,
        answers: Option<u64>,
        room: RingCapacity,
    ) {
        self.events.head = event.seq;
        let waiter = answers.and_then(|seq| self.open.waiters.remove(&seq));
        if let Some(ReplyWaiter { attachment, ticket: Some(ticket) }) = waiter
            && let Some(feed) = self.feed(attachment)
        {
            let event = Arc::clone(&event);
            feed.answer(
                ticket,
                OutboundItem::Event {
                    event,
                    view: crate::engine::stream::EventView::Own,
                    live: true,
                },
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
        self.events.ring.push(event, room);
    }

    /// Wakes every connection that reads a stream; those that are handed their own are awake.
    pub(in crate::engine) fn wake_all(&mut self) {
        let reads = |feed: &&mut ShellFeed| feed.mode != StreamMode::Answers && !feed.own_only;
        self.feeds.iter_mut().filter(reads).for_each(ShellFeed::wake);
    }

    /// The event of this number, if it is recent.
    pub(in crate::engine) fn recent(&self, seq: u64) -> Option<Arc<StreamEvent>> {
        self.events.ring.get(seq)
    }

    /// Forgets recent events; shells that are behind read the record.
    pub(in crate::engine) fn drop_recent(&mut self) {
        self.events.ring = EventRing::default();
    }

    /// Asks the most recently active shell that offers it, for each request nobody has.
    pub(in crate::engine) fn offer_requests(&mut self) {
        let SlotState { open, feeds, .. } = self;
        for request in open.requests.values_mut().filter(|request| request.asked.is_none()) {
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
    pub(in crate::engine) fn is_asked(&self, id: AttachmentId, seq: u64) -> bool {
        self.open
            .requests
            .values()
            .any(|request| request.event.seq == seq && request.asked == Some(id))
    }

    /// The open question with this number.
    pub(in crate::engine) fn question(&self, seq: u64) -> Option<&GuardQuestion> {
        self.open.questions.values().find(|asking| asking.event.seq == seq)
    }

    /// Tells whether this shell may say what became of a request: an owner always, others only
    /// of what they are asked themselves, on this connection or another.
    pub(in crate::engine) fn may_answer(
        &self,
        effect: u64,
        id: AttachmentId,
        who: &Principal,
    ) -> bool {
        let Some(request) = self.open.requests.get(&effect) else { return true };
        let is_of = |asked: AttachmentId| {
            asked == id || self.feeds.iter().any(|feed| feed.id == asked && feed.who == *who)
        };
        who.is_owner() || request.asked.is_some_and(is_of)
    }

    /// Shows text of something in the making; returns how many bytes are too old to be shown to anybody who
    /// comes later.
    pub(in crate::engine) fn show_piece(
        &mut self,
        (turn, effect): (u64, u64),
        channel: impl Into<PieceChannel>,
        text: &str,
    ) -> usize {
        // A word of somebody who was called off comes too late.
        if !self.open.workers.contains_key(&effect) {
            return 0;
        }
        let known = self.streams.iter().position(|stream| stream.effect == effect);
        let place = known.unwrap_or_else(|| {
            self.streams.push(LiveStream::new(effect, turn));
            self.streams.len() - 1
        });
        let gone = self.streams[place].push(channel.into(), text);
        let reads = |feed: &&mut ShellFeed| feed.mode != StreamMode::Answers;
        self.feeds.iter_mut().filter(reads).for_each(ShellFeed::wake);
        gone
    }

    /// Forgets the streams of what is over. `said` are the thoughts whose text is said now.
    pub(in crate::engine) fn end_streams(
        &mut self,
        is_over: impl Fn(u64) -> bool,
        said: &BTreeSet<u64>,
    ) {
        let streams = std::mem::take(&mut self.streams);
        for stream in streams {
            if !is_over(stream.effect) {
                self.streams.push(stream);
                continue;
            }
            let is_said = said.contains(&stream.effect);
            self.feeds.iter_mut().for_each(|feed| feed.end_stream(&stream, is_said));
        }
    }
}

impl OpenWork {
    /// Tells whether nothing is open that keeps a session in memory; a sender that waits has a shell here.
    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.questions.is_empty() && self.workers.is_empty()
    }
}

/// Capacity of a ring.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct RingCapacity {
    pub(in crate::engine) events: usize,
    pub(in crate::engine) bytes: usize,
}

impl RingCapacity {
    /// Capacity that the settings give.
    pub(in crate::engine) fn of(limits: &EngineLimits) -> RingCapacity {
        RingCapacity { events: limits.recent, bytes: limits.recent_bytes }
    }
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
