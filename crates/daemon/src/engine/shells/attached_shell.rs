//! A connection's hold on a session: what it sends in, what it takes out.
//!
//! Made when a shell attaches; dropping it detaches. Everything that it may be owed lives in its
//! `ShellFeed`, under the session's lock.

use crate::engine::shells::join::read_page;
use std::sync::Arc;
use std::task::{Context, Poll};

use bridle_loop::{
    ActionHash, ApprovalAnswer, ApprovalChoice, EffectId, SessionAccess, SessionId, Signal,
    SignalSender,
};
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::byte_budget::InFlightBytes;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::{NOT_ASKED, RefusedAttempt};
use crate::engine::home::unsaved_buffers::holder;
use crate::engine::hub::Hub;
use crate::engine::queries::query::ApprovalReply;
use crate::engine::sessions::inbound_message::{self, InboundMessage, MessageNewness, ShellSignal};
use crate::engine::sessions::inbox_item::{AnswerRoute, ApprovalAnswering, InboxItem};
use crate::engine::sessions::live_session::{
    GuardQuestion, LiveSessionSlot, ReplyWaiter, SlotState,
};
use crate::engine::stream::AttachRole;
use crate::engine::stream::{
    AttachSnapshot, AttachmentId, EventView, OutboundItem, StreamEvent, StreamEventKind, StreamMode,
};

/// Reason that an observer gets who speaks.
const ONLY_WATCHES: &str = "this shell attached as an observer; attach as a controller to speak";

/// Consequence of a shell's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseEffect {
    /// Nothing that its sender hears of.
    Silently,
    /// An answer, like any message.
    Answered,
}

/// A yes or a no that comes with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ApprovalVerdict {
    /// The question.
    pub(crate) effect: u64,
    pub(crate) answer: ApprovalChoice,
    /// Hash of the action that was seen.
    pub(crate) hash: ActionHash,
}

impl ApprovalVerdict {
    fn answered(self, signal: &Signal, who: &Principal) -> ApprovalAnswer {
        let from = SignalSender { client: signal.from.client.clone(), ..who.asker() };
        ApprovalAnswer {
            approval: EffectId(self.effect),
            hash: Some(self.hash),
            answer: self.answer,
            from,
            id: signal.id.clone(),
            always: None,
        }
    }
}

/// A shell attached to a session.
#[derive(Debug)]
pub(crate) struct AttachedShell {
    hub: Arc<Hub>,
    session: Arc<LiveSessionSlot>,
    id: AttachmentId,
}

impl AttachedShell {
    /// Wraps a feed that has just joined.
    pub(in crate::engine) fn new(
        hub: Arc<Hub>,
        session: Arc<LiveSessionSlot>,
        id: AttachmentId,
    ) -> AttachedShell {
        AttachedShell { hub, session, id }
    }

    /// The session's name.
    pub(crate) fn session(&self) -> &SessionId {
        &self.session.id
    }

    /// Takes a message in: it will be recorded, and then answered. Its `load` is held until it is recorded.
    ///
    /// # Errors
    /// When it cannot be taken now or by this shell; nothing will come of it.
    pub(crate) fn admit(
        &self,
        signal: ShellSignal,
        load: InFlightBytes,
    ) -> Result<(), EngineError> {
        self.take_in(signal, load, MessageNewness::Any, &[])
    }

    /// Takes a message in that brings answers to questions of the guard: they and it are
    /// recorded together or not at all, and once. Whether an answer counts is for the session to
    /// say.
    ///
    /// # Errors
    /// As for [`AttachedShell::admit`].
    pub(crate) fn admit_answering(
        &self,
        signal: ShellSignal,
        verdicts: &[ApprovalVerdict],
        load: InFlightBytes,
    ) -> Result<(), EngineError> {
        self.take_in(signal, load, MessageNewness::Any, verdicts)
    }

    /// Takes a message in that must have come before: one that has not is refused with
    /// `unknown-id`, and nothing comes of it.
    ///
    /// # Errors
    /// As for [`AttachedShell::admit`].
    pub(crate) fn admit_again(
        &self,
        signal: ShellSignal,
        load: InFlightBytes,
    ) -> Result<(), EngineError> {
        self.take_in(signal, load, MessageNewness::Repeat, &[])
    }

    /// Tells whether a turn is about the signal of this number, as far as it is known.
    pub(crate) fn is_about(&self, turn: u64, seq: u64) -> bool {
        self.session.lock().known.thought == Some((turn, seq))
    }

    fn take_in(
        &self,
        signal: ShellSignal,
        load: InFlightBytes,
        newness: MessageNewness,
        verdicts: &[ApprovalVerdict],
    ) -> Result<(), EngineError> {
        self.hub.running.check_open()?;
        let mut inner = self.session.lock();
        if let Some(gone) = &inner.gone {
            return Err(gone.clone());
        }
        inner.check_room(self.hub.limits.inbox)?;
        let active = self.hub.directory.stamp();
        let Some(feed) = inner.feed(self.id) else { return Err(EngineErrorCode::Internal.into()) };
        if feed.role == AttachRole::Observer {
            return Err(EngineError::because(EngineErrorCode::NotPermitted, ONLY_WATCHES));
        }
        if newness == MessageNewness::Any {
            self.hub.home.record.spending.check(&feed.who, self.hub.home.now())?;
        }
        feed.active = active;
        let ticket = (feed.mode == StreamMode::Answers).then_some(active);
        let inbound = inbound_message::read(signal, feed, ticket, load);
        // What a token is not for, it does not even try.
        let may = feed.who.permits(SessionAccess::Approve);
        let verdicts = verdicts.iter().filter(|_| may);
        let answers = verdicts.map(|verdict| verdict.answered(&inbound.signal, &feed.who));
        let answers = answers.collect();
        let inbound = InboundMessage { newness, answers, ..inbound };
        if let Some(ticket) = ticket {
            feed.expect(ticket);
        }
        inner.inbox.signals += 1;
        inner.inbox.work.push_back(InboxItem::Signal(Box::new(inbound)));
        self.hub.wake_drive(&self.session, &mut inner);
        Ok(())
    }

    /// Takes a shell's answer to a request: the id of the request, and the payload of the answer.
    ///
    /// # Errors
    /// When nothing was asked under its id, or this shell may not answer.
    pub(crate) fn respond(
        &self,
        id: Option<&Value>,
        payload: &Value,
    ) -> Result<ResponseEffect, EngineError> {
        self.hub.running.check_open()?;
        let unknown = || EngineError::because(EngineErrorCode::UnknownId, NOT_ASKED);
        let effect = id.and_then(|id| inbound_message::effect_of(id, &self.session.id));
        let mut inner = self.session.lock();
        if let Some(effect) = effect.filter(|effect| inner.open.questions.contains_key(effect)) {
            return self.decide(&mut inner, effect, id, payload);
        }
        let active = self.hub.directory.stamp();
        let feed = inner.feed(self.id).ok_or_else(unknown)?;
        if feed.role == AttachRole::Observer && effect.is_some() {
            return Err(EngineError::because(EngineErrorCode::NotPermitted, ONLY_WATCHES));
        }
        feed.active = active;
        let who = feed.who.clone();
        let effect = effect.filter(|effect| inner.may_answer(*effect, self.id, &who));
        let Some(effect) = effect else {
            let is_stale = who.is_owner();
            let tried = || self.hub.forbid(&who, RefusedAttempt::Answer(id));
            return Err(if is_stale { unknown() } else { tried() });
        };
        // Taken out at once: a second answer to the same request finds nothing.
        inner.open.requests.remove(&effect).ok_or_else(unknown)?;
        let outcome = inbound_message::outcome_of(payload);
        inner.inbox.work.push_back(InboxItem::Outcome { effect, outcome, principal: who.name() });
        self.hub.wake_drive(&self.session, &mut inner);
        Ok(ResponseEffect::Silently)
    }

    /// Takes a shell's answer to a question of the guard. Whether it counts is for the session to
    /// say: the first one does, if its sender may.
    fn decide(
        &self,
        inner: &mut SlotState,
        effect: u64,
        id: Option<&Value>,
        payload: &Value,
    ) -> Result<ResponseEffect, EngineError> {
        let reply = ApprovalReply::of(payload)?;
        inner.check_room(self.hub.limits.inbox)?;
        let active = self.hub.directory.stamp();
        let Some(feed) = inner.feed(self.id) else { return Err(EngineErrorCode::Internal.into()) };
        if feed.role == AttachRole::Observer {
            return Err(EngineError::because(EngineErrorCode::NotPermitted, ONLY_WATCHES));
        }
        // One that does not count is recorded as well.
        self.hub.home.record.spending.check(&feed.who, self.hub.home.now())?;
        feed.active = active;
        let ticket = (feed.mode == StreamMode::Answers).then_some(active);
        if let Some(ticket) = ticket {
            feed.expect(ticket);
        }
        let answered = reply.answered(effect, &feed.who, id.cloned());
        let back = AnswerRoute::Shell(ReplyWaiter { attachment: self.id, ticket }, id.cloned());
        inner.inbox.signals += 1;
        inner
            .inbox
            .work
            .push_back(InboxItem::Answer(Box::new(ApprovalAnswering { answered, back })));
        self.hub.wake_drive(&self.session, inner);
        Ok(ResponseEffect::Answered)
    }

    /// The next thing to send, in order; otherwise the task is woken when there is one.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<OutboundItem> {
        let mut inner = self.session.lock();
        let status = inner.status;
        let Some(feed) = inner.feed(self.id) else { return Poll::Pending };
        feed.wait(cx);
        if let Some(out) = feed.next_direct() {
            return Poll::Ready(out);
        }
        if feed.mode != StreamMode::Answers {
            match self.poll_event(&mut inner, cx) {
                Poll::Ready(Ok(Some(out))) => return Poll::Ready(out),
                Poll::Ready(Ok(None)) => {}
                Poll::Ready(Err(failure)) => return Poll::Ready(OutboundItem::Gone(failure)),
                // Status and deltas wait as well: they belong after what is being read.
                Poll::Pending => return Poll::Pending,
            }
        }
        // Taken out meanwhile, so that the feed can be used.
        let streams = std::mem::take(&mut inner.streams);
        let drawn = inner.feed(self.id).map(|feed| feed.poll_drawing(cx, status, &streams));
        inner.streams = streams;
        if let Some(Poll::Ready(out)) = drawn {
            return Poll::Ready(out);
        }
        let Some(feed) = inner.feed(self.id) else { return Poll::Pending };
        if let Some(why) = feed.last_word() {
            return Poll::Ready(OutboundItem::Gone(why));
        }
        feed.tidy();
        Poll::Pending
    }

    /// Returns session, head and status, for the answer to a hello.
    pub(crate) fn snapshot(&self) -> AttachSnapshot {
        let mut inner = self.session.lock();
        let role = inner.feed(self.id).map_or(AttachRole::Observer, |feed| feed.role);
        let session = self.session.id.clone();
        let (status, load) = (inner.status, inner.load);
        AttachSnapshot { session, seq: inner.events.head, status, load, role }
    }

    /// The next numbered event: from the page, from the ring, or from the record.
    fn poll_event(
        &self,
        inner: &mut SlotState,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<OutboundItem>, EngineError>> {
        let mut has_read = false;
        loop {
            let head = inner.events.head;
            let Some(feed) = inner.feed(self.id) else { return Poll::Ready(Ok(None)) };
            if feed.own_only || feed.cursor >= head {
                return Poll::Ready(Ok(None));
            }
            let next = feed.cursor + 1;
            if let Some(event) = feed.next_of_page() {
                self.read_ahead(inner, head);
                return Poll::Ready(Ok(Some(self.show(inner, event))));
            }
            if let Some(event) = inner.recent(next) {
                return Poll::Ready(Ok(Some(self.show(inner, event))));
            }
            if has_read {
                tracing::error!(session = %self.session.id, seq = next, "an event is not there");
                return Poll::Ready(Err(EngineErrorCode::Internal.into()));
            }
            let Some(feed) = inner.feed(self.id) else { return Poll::Ready(Ok(None)) };
            match feed.poll_page(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(failure)) => return Poll::Ready(Err(failure)),
                Poll::Ready(Ok(true)) => has_read = true,
                Poll::Ready(Ok(false)) => {
                    let after = feed.cursor;
                    feed.read(read_page(&self.hub, &self.session.id, after));
                }
            }
        }
    }

    /// Tells whether this shell is to do something about an event.
    fn is_asked(&self, inner: &mut SlotState, event: &StreamEvent) -> bool {
        if event.kind == StreamEventKind::Act {
            return inner.is_asked(self.id, event.seq);
        }
        if event.kind != StreamEventKind::Ask {
            return false;
        }
        let Some(GuardQuestion { question, .. }) = inner.question(event.seq).cloned() else {
            return false;
        };
        let feed = inner.feed(self.id);
        feed.is_some_and(|feed| self.session.may_be_asked(&self.hub.home, feed, &question))
    }

    /// Reads the next page while the shell takes this one.
    fn read_ahead(&self, inner: &mut SlotState, head: u64) {
        let page = self.hub.limits.page;
        let Some(after) = inner.feed(self.id).and_then(|feed| feed.wants_page(page, head)) else {
            return;
        };
        if inner.recent(after + 1).is_none()
            && let Some(feed) = inner.feed(self.id)
        {
            feed.read(read_page(&self.hub, &self.session.id, after));
        }
    }

    /// Moves the cursor over an event and says how it concerns this shell.
    fn show(&self, inner: &mut SlotState, event: Arc<StreamEvent>) -> OutboundItem {
        let asked = self.is_asked(inner, &event);
        let Some(feed) = inner.feed(self.id) else {
            return OutboundItem::Event { event, view: EventView::Other, live: false };
        };
        feed.cursor = event.seq;
        let of_this = feed.take_own(event.seq);
        let of_client =
            !of_this && feed.about.client.as_deref().is_some_and(|it| names(&event, it));
        // What the same client said on another connection is news to this one.
        let live = event.seq > feed.joined && !of_client;
        let is_own = of_this || of_client;
        let view = match (asked, is_own) {
            (true, _) => EventView::Asked,
            (false, true) => EventView::Own,
            (false, false) => EventView::Other,
        };
        OutboundItem::Event { event, view, live }
    }
}

/// Tells whether a signal is of this client, or an answer for it.
fn names(event: &StreamEvent, client: &str) -> bool {
    let Some(body) = event.body.as_deref().filter(|body| body.contains(client)) else {
        return false;
    };
    let Ok(tree) = bridle_loop::reader().read_one(body) else { return false };
    let whom = match event.kind {
        StreamEventKind::Signal => tree.root().get("from").and_then(|from| from.get("client")),
        StreamEventKind::Say => tree.root().get("client"),
        StreamEventKind::Act
        | StreamEventKind::Acted
        | StreamEventKind::Ask
        | StreamEventKind::Answered
        | StreamEventKind::Settled => None,
    };
    whom.and_then(|whom| whom.as_str()).is_some_and(|whom| whom == client)
}

impl Drop for AttachedShell {
    fn drop(&mut self) {
        let mut inner = self.session.lock();
        let shell = inner.feed(self.id).map(|feed| feed.about.shell.clone());
        inner.leave(self.id);
        let is_unused = inner.is_unused();
        // Of two of a kind nobody knows whose buffers are whose.
        let left = shell.filter(|shell| inner.feeds.iter().all(|feed| feed.about.shell != *shell));
        drop(inner);
        if let Some(shell) = left {
            // Its buffers went with it, or will be reported again.
            self.hub.home.buffers.left(|| holder(&self.session.id, shell.as_ref()));
        }
        // Whoever makes it unused later sees to it then.
        if is_unused {
            self.hub.sweep(&self.session.id);
        }
    }
}
