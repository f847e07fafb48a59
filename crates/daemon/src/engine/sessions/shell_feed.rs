//! What one attached shell is owed: events after its cursor, receipts, refusals, status, deltas.
//!
//! Feeds live inside their session, under its lock; the connection pulls through
//! `attached_shell`. A feed holds no events of its own while its shell keeps up: they come from the
//! session's recent ring, and from pages of the record when the shell is behind it. What is rare
//! is boxed, so that ten thousand idle feeds stay small.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bridle_loop::KeywordName;
use bridle_sexp::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::sessions::live_stream::{LiveStream, StreamCursor};
use crate::engine::stream::AttachRole;
use crate::engine::stream::{
    AttachRequest, AttachmentId, EventView, OutboundItem, SessionStatus, ShellOffer, StreamEvent,
    StreamMode,
};

/// Drawings a second of a shell that did not say.
const DEFAULT_RENDERS_PER_SECOND: u64 = 10;

/// The fastest drawing that is believed, a second: a frame of a usual screen.
const MAX_RENDERS_PER_SECOND: u64 = 60;

/// A page of the record on its way from another thread.
pub(in crate::engine) type Reading = JoinHandle<Result<Vec<Arc<StreamEvent>>, EngineError>>;

/// One attached shell.
#[derive(Debug)]
pub(in crate::engine) struct ShellFeed {
    pub(in crate::engine) id: AttachmentId,
    pub(in crate::engine) who: Principal,
    pub(in crate::engine) role: AttachRole,
    pub(in crate::engine) mode: StreamMode,
    /// Whether it is handed its own messages and the answers to them, and reads nothing else: it
    /// came to say something, and only what others said has happened since.
    pub(in crate::engine) own_only: bool,
    /// The last number given to the shell.
    pub(in crate::engine) cursor: u64,
    /// The head when it joined: what is later is live.
    pub(in crate::engine) joined: u64,
    /// Stamp of its last message; the most recently active shell is asked first.
    pub(in crate::engine) active: u64,
    pub(in crate::engine) about: Box<ShellProfile>,
    drawing: FeedDrawing,
    waker: Option<Waker>,
    rare: Option<Box<FeedExtras>>,
}

/// Drawing of a shell: what it shows, and when it may be sent more.
#[derive(Debug, Default)]
struct FeedDrawing {
    /// Status that it was last sent.
    told: SessionStatus,
    /// Earliest time of the next status or delta.
    next: Option<Instant>,
}

/// Profile of a shell, as it gave it in its hello.
#[derive(Debug)]
pub(in crate::engine) struct ShellProfile {
    pub(in crate::engine) client: Option<Box<str>>,
    pub(in crate::engine) shell: Option<KeywordName>,
    pub(in crate::engine) locale: Option<Box<str>>,
    pub(in crate::engine) time_zone: Option<Box<str>>,
    /// Whether it wants to hear that a message is recorded.
    pub(in crate::engine) receipts: bool,
    pub(in crate::engine) actuators: Vec<ShellOffer>,
    /// Least time between two drawings.
    interval: Duration,
}

/// State that most feeds do not have most of the time.
#[derive(Debug, Default)]
struct FeedExtras {
    /// Receipts, refusals and offers, in their order.
    direct: VecDeque<OutboundItem>,
    /// Messages of a client without hello that wait for their one answer.
    tickets: VecDeque<ReplyTicket>,
    /// Numbers of its own messages and of the answers to them, not sent yet; in their order.
    own: VecDeque<u64>,
    /// Events read from the record.
    page: VecDeque<Arc<StreamEvent>>,
    reading: Option<Reading>,
    /// Parts of the texts in the making that it was shown.
    streams: Vec<StreamCursor>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Reason why there will be nothing more.
    gone: Option<EngineError>,
}

/// A message that waits for its one answer.
#[derive(Debug)]
struct ReplyTicket {
    number: u64,
    answer: Option<OutboundItem>,
}

impl ShellFeed {
    /// A feed for a shell that joins a session at `head`.
    pub(in crate::engine) fn new(
        id: AttachmentId,
        who: Principal,
        want: AttachRequest,
        head: u64,
    ) -> ShellFeed {
        let rate =
            want.render_rate.unwrap_or(DEFAULT_RENDERS_PER_SECOND).clamp(1, MAX_RENDERS_PER_SECOND);
        ShellFeed {
            id,
            who,
            role: want.role,
            mode: want.mode,
            own_only: want.mode == StreamMode::Follow && want.cursor.is_none(),
            cursor: want.cursor.map_or(head, |cursor| cursor.min(head)),
            joined: head,
            // Coming is the first thing it does.
            active: id.0,
            about: Box::new(ShellProfile {
                client: want.client,
                shell: want.shell,
                locale: want.locale,
                time_zone: want.time_zone,
                receipts: want.receipts,
                actuators: want.actuators,
                interval: Duration::from_millis(1000 / rate),
            }),
            drawing: FeedDrawing::default(),
            waker: None,
            rare: None,
        }
    }

    /// Tells whether this shell carries out what is asked of `target`.
    pub(in crate::engine) fn offers(&self, target: &KeywordName) -> bool {
        self.role == AttachRole::Controller
            && self.mode == StreamMode::Stream
            && (self.about.shell.as_ref() == Some(target)
                || self.about.actuators.iter().any(|offer| offer.name == *target))
    }

    /// Everything that this shell carries out; what it describes comes first.
    pub(in crate::engine) fn offered(&self) -> impl Iterator<Item = ShellOffer> {
        let can = self.role == AttachRole::Controller && self.mode == StreamMode::Stream;
        let described = self.about.actuators.iter().filter(|offer| offer.spec.is_some());
        let bare = self.about.actuators.iter().filter(|offer| offer.spec.is_none());
        let kind = self.about.shell.iter().cloned().map(ShellOffer::bare);
        described.chain(bare).cloned().chain(kind).filter(move |_| can)
    }

    /// Wakes the connection, if it waits.
    pub(in crate::engine) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Keeps the way to wake the connection.
    pub(in crate::engine) fn wait(&mut self, cx: &Context<'_>) {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
    }

    /// Adds something that is sent before anything else.
    pub(in crate::engine) fn push(&mut self, out: OutboundItem) {
        self.rare().direct.push_back(out);
        self.wake();
    }

    /// Says that nothing more comes after what is owed now.
    pub(in crate::engine) fn end(&mut self, why: EngineError) {
        self.rare().gone = Some(why);
        self.wake();
    }

    /// Notes a message whose one answer must come in its turn.
    pub(in crate::engine) fn expect(&mut self, number: u64) {
        self.rare().tickets.push_back(ReplyTicket { number, answer: None });
    }

    /// Gives a message its answer; it leaves when those before it have left.
    pub(in crate::engine) fn answer(&mut self, number: u64, out: OutboundItem) {
        let tickets = &mut self.rare().tickets;
        if let Some(ticket) = tickets.iter_mut().find(|ticket| ticket.number == number) {
            ticket.answer = Some(out);
            self.wake();
        }
    }

    /// Refuses a message: in its turn, or at once for a shell that reads a stream.
    pub(in crate::engine) fn refuse(
        &mut self,
        ticket: Option<u64>,
        id: Option<Value>,
        failure: EngineError,
    ) {
        let out = OutboundItem::Refused { id, failure };
        match ticket {
            Some(number) => self.answer(number, out),
            None => self.push(out),
        }
    }

    /// Notes that an event is of this shell, or for it. The shell may come to it long after it has
    /// left the ring.
    pub(in crate::engine) fn note_own(&mut self, event: &Arc<StreamEvent>) {
        if self.own_only {
            self.push(OutboundItem::Event {
                event: Arc::clone(event),
                view: EventView::Own,
                live: true,
            });
        } else if self.mode != StreamMode::Answers {
            self.rare().own.push_back(event.seq);
        }
    }

    /// Has it read everything from here on: something happened that nobody said.
    pub(in crate::engine) fn read_from(&mut self, seq: u64) {
        if std::mem::take(&mut self.own_only) {
            self.cursor = seq.saturating_sub(1);
        }
    }

    /// Tells whether the event of this number is of this shell, or for it; none before it is
    /// asked about any more.
    pub(in crate::engine) fn take_own(&mut self, seq: u64) -> bool {
        let Some(rare) = &mut self.rare else { return false };
        while rare.own.front().is_some_and(|own| *own < seq) {
            rare.own.pop_front();
        }
        rare.own.pop_front_if(|own| *own == seq).is_some()
    }

    /// Forgets a stream that is over; one whose text was shown and is not said is taken back.
    pub(in crate::engine) fn end_stream(&mut self, stream: &LiveStream, is_said: bool) {
        let Some(rare) = &mut self.rare else { return };
        let place = rare.streams.iter().position(|cursor| cursor.effect == stream.effect);
        let Some(cursor) = place.map(|place| rare.streams.swap_remove(place)) else { return };
        if !is_said && cursor.has_text() {
            self.push(OutboundItem::Voided { turn: stream.turn, thought: stream.effect });
        }
    }

    /// Whether a stream has something that this shell was not shown.
    fn lacks(&self, stream: &LiveStream) -> bool {
        let cursors = self.rare.as_ref().map(|rare| &*rare.streams).unwrap_or_default();
        let cursor = cursors.iter().find(|cursor| cursor.effect == stream.effect);
        stream.has_more(&cursor.copied().unwrap_or(StreamCursor::start(stream.effect)))
    }

    /// The next piece of a stream.
    fn next_piece(&mut self, streams: &[LiveStream]) -> Option<OutboundItem> {
        streams.iter().find_map(|stream| {
            let cursors = &mut self.rare().streams;
            let known = cursors.iter().position(|cursor| cursor.effect == stream.effect);
            let place = known.unwrap_or_else(|| {
                cursors.push(StreamCursor::start(stream.effect));
                cursors.len() - 1
            });
            stream.next(&mut cursors[place]).map(OutboundItem::Delta)
        })
    }

    /// Takes the next item that goes before numbered events.
    pub(in crate::engine) fn next_direct(&mut self) -> Option<OutboundItem> {
        let rare = self.rare.as_mut()?;
        if let Some(out) = rare.direct.pop_front() {
            return Some(out);
        }
        if rare.tickets.front().is_some_and(|ticket| ticket.answer.is_some()) {
            return rare.tickets.pop_front().and_then(|ticket| ticket.answer);
        }
        None
    }

    /// The next event of the page held, if it is the one after the cursor.
    pub(in crate::engine) fn next_of_page(&mut self) -> Option<Arc<StreamEvent>> {
        let page = &mut self.rare.as_mut()?.page;
        while page.front().is_some_and(|event| event.seq <= self.cursor) {
            page.pop_front();
        }
        page.pop_front_if(|event| event.seq == self.cursor + 1)
    }

    /// Brings the page that is being read, when it has come.
    pub(in crate::engine) fn poll_page(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<bool, EngineError>> {
        let Some(rare) = &mut self.rare else { return Poll::Ready(Ok(false)) };
        let Some(reading) = &mut rare.reading else { return Poll::Ready(Ok(false)) };
        let page = match Pin::new(reading).poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(page)) => page,
            Poll::Ready(Err(error)) => {
                tracing::error!(%error, "a page of the record could not be read");
                Err(EngineErrorCode::Internal.into())
            }
        };
        rare.reading = None;
        rare.page.extend(page?);
        Poll::Ready(Ok(true))
    }

    /// Returns the start of the next page, when it is time to read that: the shell has taken
    /// half of this one, and there is more up to `head`.
    pub(in crate::engine) fn wants_page(&self, page: usize, head: u64) -> Option<u64> {
        let rare = self.rare.as_ref().filter(|rare| rare.reading.is_none())?;
        let last = rare.page.back()?.seq;
        (rare.page.len() <= page / 2 && last < head).then_some(last)
    }

    /// Begins to read a page.
    pub(in crate::engine) fn read(&mut self, reading: Reading) {
        self.rare().reading = Some(reading);
    }

    /// Status or delta, when the shell may draw; otherwise sees to it that the task wakes.
    pub(in crate::engine) fn poll_drawing(
        &mut self,
        cx: &mut Context<'_>,
        now: SessionStatus,
        streams: &[LiveStream],
    ) -> Poll<OutboundItem> {
        let has_delta =
            self.mode != StreamMode::Answers && streams.iter().any(|stream| self.lacks(stream));
        let is_news = self.mode != StreamMode::Answers && self.drawing.told != now;
        if !is_news && !has_delta {
            if let Some(rare) = &mut self.rare {
                rare.timer = None;
            }
            return Poll::Pending;
        }
        if let Some(next) = self.drawing.next.filter(|next| *next > Instant::now()) {
            let timer = self.rare().timer.get_or_insert_with(|| Box::pin(sleep_until(next)));
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        if let Some(rare) = &mut self.rare {
            rare.timer = None;
        }
        // News and text go out together.
        if !(is_news && has_delta) {
            self.drawing.next = Some(Instant::now() + self.about.interval);
        }
        if is_news {
            self.drawing.told = now;
            return Poll::Ready(OutboundItem::Status(now));
        }
        match self.next_piece(streams) {
            Some(piece) => Poll::Ready(piece),
            None => Poll::Pending,
        }
    }

    /// The last word, when everything else is said.
    pub(in crate::engine) fn last_word(&mut self) -> Option<EngineError> {
        self.rare.as_mut()?.gone.take()
    }

    /// Gives back the memory of what is over.
    pub(in crate::engine) fn tidy(&mut self) {
        let is_over = |rare: &FeedExtras| {
            rare.direct.is_empty()
                && rare.tickets.is_empty()
                && rare.own.is_empty()
                && rare.page.is_empty()
                && rare.reading.is_none()
                && rare.streams.is_empty()
                && rare.gone.is_none()
                && rare.timer.is_none()
        };
        if self.rare.as_deref().is_some_and(is_over) {
            self.rare = None;
        }
    }

    fn rare(&mut self) -> &mut FeedExtras {
        self.rare.get_or_insert_default()
    }
}
