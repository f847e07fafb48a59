//! Work of one session becomes one append: events, the effects that follow, inline results.
//!
//! Used by the drive task. Nothing is carried out here that anybody could notice: reflex
//! thinkers are asked, because their answers are harmless and belong into the same commit;
//! everything else is noted in `after`, to be done when the append is durable.
//!
//! long: the steps of one append stand together.

mod registration;

use crate::engine::home::Home;
use bridle_host::{CrashOutcome, Host, HostCatalog, ProposalPlace};
use bridle_jail::{SecretRedactor, SecretStore};
use bridle_loop::{
    ActuatorLocation, AnsweredBody, Decision, Effect, EffectId, Event, FinishBody, Order, Outcome,
    PrincipalTallies, ProposalAuthor, RecordKind, ReflexAdvice, SayBody, Seq, SessionLimits,
    SessionStart, SessionState, SessionWorkload, SharedText, ShownBody, SignalContext, SignalKind,
    StartedBody, TextDigest, ThinkerFault, TimerTick, UnixMillis, Utterance, Verdict, step,
};
use bridle_record::{
    MessageReceipt, NewRecord, NewSessionRow, RecordAppend, RecordCause, SharedPart,
};
use bridle_sexp::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, MutexGuard};

use crate::access::principal::Principal;
use crate::byte_budget::InFlightBytes;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::action_catalog::ActionCatalog;
use crate::engine::home::guard::{GuardState, PolicyGuard};
use crate::engine::home::principal_usage::{Act, PrincipalUsageSums};
use crate::engine::home::schedules::ScheduleList;
use crate::engine::home::secret_mask::mask_event;
use crate::engine::home::unsaved_buffers::{BufferChange, BufferReport, holder};
use crate::engine::sessions::inbound_message::{InboundMessage, MessageNewness};
use crate::engine::sessions::inbox_item::{AnswerRoute, ApprovalAnswering, InboxItem};
use crate::engine::sessions::live_session::ReplyWaiter;
use crate::engine::sessions::loaded_session::{AdmittedMessage, LoadedSession, void_body};
use crate::engine::stream::{AttachmentId, ShellOffer, StreamEventKind};

/// The principal of what the engine itself does.
const ENGINE: &str = "engine";

/// Reason for a turn whose thought was begun before a restart and has no draft.
const LOST_THOUGHT: &str = "the thought was lost in a restart and may have been paid for; the record has what it \
                            showed, in parts of the kind `shown`";

/// Outcome of an order that was called off before it began.
const STOPPED_BEFORE: &str = "stopped before it began";

/// Reason for a message whose id was used with another body.
const CONFLICT: &str = "this id was used before with another body; use a new one";

/// Reason for a message that was to be a repeat, and is none.
const NOT_KNOWN: &str = "no message of this id is known";

/// Reason for a message that would have to wait behind too many others.
fn no_room(state: &SessionState) -> EngineError {
    let SessionWorkload { waiting, parked, .. } = state.workload();
    let limit = state.limits().queue;
    let parked = match parked {
        0 => String::new(),
        count => format!(", and {count} turns wait for approval"),
    };
    let reason = format!(
        "no room for one more message: {waiting} of this session wait for their turn, of at most {limit}{parked}; \
         send it again later"
    );
    EngineError::because(EngineErrorCode::Overloaded, reason)
}

/// Work for when the append is durable, in order.
#[derive(Debug)]
pub(in crate::engine) enum PostCommit {
    /// A numbered event: shells may see it.
    Publish {
        draft: usize,
        seq: u64,
        at: i64,
        kind: StreamEventKind,
        body: Box<str>,
        answers: Option<u64>,
    },
    /// Waiter for the answer to the signal of this number.
    Await { seq: u64, waiter: ReplyWaiter, load: InFlightBytes },
    /// Waiter for the outcome of the answer of this number.
    Tell { seq: u64, back: AnswerRoute },
    /// A shell wants to know that its message is recorded.
    Receipt { to: AttachmentId, id: Option<Value>, seq: u64 },
    /// A message came again: it has no answer of its own.
    Repeat { to: AttachmentId },
    /// A message is refused.
    Refuse { inbound: Box<InboundMessage>, failure: EngineError },
    /// An effect to carry out, and the draft of its intent; `None` for one that was left open.
    Carry { effect: Box<Effect>, draft: Option<usize> },
    /// An order whose start is recorded.
    Execute { effect: u64 },
    /// The text that a thought has shown is said.
    Said { thought: u64 },
}

/// Services that a batch is made with.
#[derive(Clone)]
pub(in crate::engine) struct BatchContext<'a> {
    pub(in crate::engine) host: &'a Host,
    /// Actuators of the host, and what they can do.
    pub(in crate::engine) catalog: Arc<HostCatalog>,
    /// Descriptions of actions that the record has.
    pub(in crate::engine) actions: &'a ActionCatalog,
    pub(in crate::engine) guard: &'a PolicyGuard,
    pub(in crate::engine) usage: &'a PrincipalUsageSums,
    pub(in crate::engine) schedules: &'a ScheduleList,
    pub(in crate::engine) secrets: &'a SecretStore,
    /// The present, in milliseconds since 1970.
    pub(in crate::engine) at: i64,
}

impl<'a> BatchContext<'a> {
    /// The services of a home, now.
    pub(in crate::engine) fn of(home: &'a Home) -> BatchContext<'a> {
        BatchContext {
            host: home.host_ref(),
            catalog: home.host_ref().catalog(),
            actions: &home.abilities.actions,
            guard: &home.guard,
            usage: &home.usage,
            schedules: &home.schedules,
            secrets: &home.secrets,
            at: home.now(),
        }
    }
}

/// An append in the making.
pub(in crate::engine) struct AppendBatch<'a> {
    pub(in crate::engine) core: &'a mut LoadedSession,
    services: BatchContext<'a>,
    /// The policies that hold.
    present: Arc<GuardState>,
    at: i64,
    /// Mask of the secrets of the home.
    secrets: Arc<SecretRedactor>,
    /// The name of the session, for all its drafts.
    session: Arc<str>,
    pub(in crate::engine) append: RecordAppend,
    pub(in crate::engine) after: Vec<PostCommit>,
    /// Acts that were added to the sums.
    pub(in crate::engine) acts: Vec<Act>,
    /// Reports of messages about buffers.
    pub(in crate::engine) changes: Vec<BufferChange>,
    /// Descriptions of actions that are recorded with it.
    pub(in crate::engine) described: Vec<TextDigest>,
}

impl<'a> AppendBatch<'a> {
    /// An empty batch.
    pub(in crate::engine) fn new(
        core: &'a mut LoadedSession,
        services: BatchContext<'a>,
    ) -> AppendBatch<'a> {
        let session = core.state.session().as_str().into();
        AppendBatch {
            core,
            present: services.guard.present(),
            at: services.at,
            secrets: services.secrets.redactor(),
            services,
            session,
            append: RecordAppend::default(),
            after: Vec::new(),
            acts: Vec::new(),
            changes: Vec::new(),
            described: Vec::new(),
        }
    }

    /// Begins the session, unless it has begun.
    pub(in crate::engine) fn begin(&mut self, began: impl FnOnce() -> SessionStart) {
        if self.core.born {
            return;
        }
        let began = began();
        let owner = began.owner.clone();
        let name = self.core.state.session().as_str().into();
        self.append.session = Some(NewSessionRow { name, owner: owner.clone(), at: self.at });
        self.core.born = true;
        self.event(Event::Began(began), RecordCause::None, &owner);
    }

    /// Brings a session of an older version of the loop up to date, before anything is added to it. What follows from
    /// that is recorded as well: a signal that waited may find room now.
    pub(in crate::engine) fn upgrade(&mut self, limits: &SessionLimits) {
        let (at, is_folded) = (UnixMillis(self.at), self.core.is_folded);
        if self.core.state.upgrade(at, limits, is_folded).is_none() {
            return;
        }
        // Before the digest is taken: it is that of the State behind the event, whatever comes between.
        self.install();
        if let Some(event) = self.core.state.upgrade(at, limits, is_folded) {
            self.event(event, RecordCause::None, ENGINE);
        }
    }

    /// Adds what one piece of work leads to.
    pub(in crate::engine) fn add(&mut self, work: InboxItem, offers: &[ShellOffer]) {
        match work {
            InboxItem::Signal(inbound) => self.signal(inbound, offers),
            InboxItem::Answer(answering) => self.answer(*answering),
            InboxItem::Outcome { effect, outcome, principal } => {
                let cause = self.core.intent(effect);
                let effect = EffectId(effect);
                self.event(Event::Acted { effect, outcome }, cause, &principal);
            }
            // Advice or a thought that nobody waits for any more leaves no trace.
            InboxItem::Consulted { effect, .. } | InboxItem::Drafted { effect, .. }
                if !self.core.awaits(effect) => {}
            InboxItem::Consulted { effect, mut advice } => {
                self.services.schedules.inform(&self.core.state, self.at, &mut advice.proposals);
                let cause = self.core.intent(effect);
                let effect = EffectId(effect);
                self.event(Event::Consulted { effect, advice }, cause, ENGINE);
            }
            InboxItem::Drafted { effect, mut draft } => {
                if let Ok(draft) = &mut draft {
                    self.services.schedules.inform(&self.core.state, self.at, &mut draft.calls);
                }
                let cause = self.core.intent(effect);
                let effect = EffectId(effect);
                self.event(Event::Drafted { effect, draft }, cause, ENGINE);
            }
            InboxItem::Shown { effect, offset, text } => self.shown(effect, offset, &text),
            InboxItem::Start { effect } => self.start(effect),
            InboxItem::Tick(tick) => {
                let due = self.core.state.next_deadline().is_some_and(|time| time.0 <= self.at);
                if due || tick == TimerTick::Heartbeat {
                    self.event(Event::Tick(tick), RecordCause::None, ENGINE);
                }
            }
            // Nothing of it is left: it was answered while this was on its way.
            InboxItem::Withdraw { seq, .. } if !self.core.state.can_withdraw(seq) => {}
            InboxItem::Withdraw { seq, how, principal } => {
                self.event(Event::Withdrawn { seq, how }, RecordCause::None, &principal);
            }
            // Whoever asked may have left.
            InboxItem::Ongoing(back) => drop(back.send(self.core.state.withdrawable())),
            // The drive task does these itself.
            InboxItem::Recover(_)
            | InboxItem::Begin { .. }
            | InboxItem::Evict
            | InboxItem::Erase { .. }
            | InboxItem::Reach(_)
            | InboxItem::Close(_) => {}
        }
    }

    /// Takes up what a session left open when it was last in memory, `busy` effects excepted.
    pub(in crate::engine) fn take_up(&mut self, busy: &BTreeSet<u64>) {
        for (id, effect) in self.core.state.outstanding() {
            if busy.contains(&id.0) {
                continue;
            }
            match &effect {
                Effect::Consult { context, subject, .. }
                    if self.services.host.answers_at_once(context, subject) =>
                {
                    let advice = self.consult(context);
                    let cause = self.core.intent(id.0);
                    self.event(Event::Consulted { effect: id, advice }, cause, ENGINE);
                }
                Effect::Think { .. } if self.core.started.contains(&id.0) => self.lose(id),
                // Of a shell only where the record was repaired, and its answer may be lost.
                Effect::Act { order, .. } if self.core.started.contains(&id.0) => {
                    self.take_up_begun(id, order);
                }
                Effect::Act { order, .. } if order.place() == ActuatorLocation::Shell => {}
                Effect::Act { .. } | Effect::Think { .. } | Effect::Consult { .. } => {
                    self.after.push(PostCommit::Carry { effect: Box::new(effect), draft: None });
                }
                // Requests to shells stay open; the session has them already.
                _ => {}
            }
        }
    }

    /// A thought that was begun and may have been paid for: it is told, and not asked again.
    fn lose(&mut self, id: EffectId) {
        let fault = ThinkerFault { reason: LOST_THOUGHT.into(), retryable: true };
        let cause = self.core.intent(id.0);
        self.event(Event::Drafted { effect: id, draft: Err(fault) }, cause, ENGINE);
    }

    /// An order that was begun, and whose end was never recorded. Some actuators can tell how it
    /// ended; of others nobody knows.
    fn take_up_begun(&mut self, id: EffectId, order: &Order) {
        let record = self.core.open.get(&id.0).copied().flatten().unwrap_or(0);
        let outcome = match self.services.host.crash_outcome(order, record) {
            CrashOutcome::Ended(outcome) => outcome,
            CrashOutcome::NotDone => return self.after.push(PostCommit::Execute { effect: id.0 }),
            CrashOutcome::Unknown => Outcome::UnknownOutcome,
        };
        let cause = self.core.intent(id.0);
        self.event(Event::Acted { effect: id, outcome }, cause, ENGINE);
    }

    fn consult(&self, context: &SignalContext) -> ReflexAdvice {
        let mut advice = self.services.host.consult(context);
        let owner = self.core.state.owner().unwrap_or_default();
        let readers = Principal::readership(&context.signal.from, owner);
        let around = ProposalPlace { session: &self.session, readers };
        self.services.host.prepare(&mut advice.proposals, around);
        self.services.schedules.inform(&self.core.state, self.at, &mut advice.proposals);
        advice
    }

    /// A message of a shell: known already, or recorded now.
    fn signal(&mut self, inbound: Box<InboundMessage>, offers: &[ShellOffer]) {
        let receipt = inbound.receipt();
        if let Some(MessageReceipt { message, body }) = receipt
            && let Some(known) = self.core.receipts.find(message, self.at)
        {
            return self.known(inbound, known, body);
        }
        if inbound.newness == MessageNewness::Repeat {
            let failure = EngineError::because(EngineErrorCode::UnknownId, NOT_KNOWN);
            return self.after.push(PostCommit::Refuse { inbound, failure });
        }
        if !self.core.state.has_room_for(&inbound.signal) {
            // A receipt is for what was taken: this is new when it comes again.
            let failure = no_room(&self.core.state);
            return self.after.push(PostCommit::Refuse { inbound, failure });
        }
        registration::register(self, offers);
        registration::register_consultants(self);
        let InboundMessage {
            mut signal,
            attachment,
            ticket,
            wants_receipt,
            load,
            answers,
            ast,
            ..
        } = *inbound;
        for answered in answers {
            let cause = self.core.intent(answered.approval.0);
            let principal = answered.from.principal.clone();
            self.event(Event::Answered(answered), cause, &principal);
        }
        if signal.kind == SignalKind::Request {
            let target = signal.target.clone();
            self.services.schedules.inform_one(
                &self.core.state,
                self.at,
                target.as_ref(),
                &mut signal.payload,
            );
        }
        let seq = self.core.state.next_seq().0;
        if let Some(MessageReceipt { message, body }) = receipt {
            self.core.receipts.note(message, AdmittedMessage { body, seq, at: self.at });
            self.core.unanswered.insert(seq, message);
        }
        if wants_receipt {
            let id = signal.id.clone();
            self.after.push(PostCommit::Receipt { to: attachment, id, seq });
        }
        self.after.push(PostCommit::Await {
            seq,
            waiter: ReplyWaiter { attachment, ticket },
            load,
        });
        let principal = signal.from.principal.clone();
        let owner = self.core.state.owner().unwrap_or_default();
        let holder = holder(self.core.state.session(), signal.from.shell.as_ref());
        let saying = BufferReport { seq, owner, by: &principal, at: self.at, holder: &holder };
        self.changes.extend(BufferChange::of(signal.kind, &signal.payload, ast, saying));
        // What is recorded before the message has no receipt.
        let draft = self.event(Event::Signal(Arc::new(signal)), RecordCause::None, &principal);
        self.append.drafts[draft].receipt = receipt;
    }

    /// An answer to a question of the guard; the session judges whether it counts.
    fn answer(&mut self, answering: ApprovalAnswering) {
        if !self.core.born {
            return;
        }
        let ApprovalAnswering { answered, back } = answering;
        let seq = self.core.state.next_seq().0;
        self.after.push(PostCommit::Tell { seq, back });
        let cause = self.core.intent(answered.approval.0);
        let principal = answered.from.principal.clone();
        self.event(Event::Answered(answered), cause, &principal);
    }

    /// A message that came before: the same receipt, or a conflict.
    fn known(
        &mut self,
        inbound: Box<InboundMessage>,
        known: AdmittedMessage,
        body: bridle_record::RecordHash,
    ) {
        if known.body != body {
            let failure = EngineError::because(EngineErrorCode::IdConflict, CONFLICT);
            self.after.push(PostCommit::Refuse { inbound, failure });
            return;
        }
        let (to, id) = (inbound.attachment, inbound.signal.id);
        if inbound.wants_receipt {
            self.after.push(PostCommit::Receipt { to, id, seq: known.seq });
        }
        self.after.push(PostCommit::Repeat { to });
    }

    /// Records that an order is about to be carried out, or a thought to be asked that costs something.
    fn start(&mut self, effect: u64) {
        if self.core.state.is_stopping(EffectId(effect)) && !self.core.started.contains(&effect) {
            let outcome = Outcome::Failed(STOPPED_BEFORE.into());
            let cause = self.core.intent(effect);
            let effect = EffectId(effect);
            self.event(Event::Acted { effect, outcome }, cause, ENGINE);
            return;
        }
        if !self.core.awaits(effect) || !self.core.started.insert(effect) {
            return;
        }
        let session: Box<str> = self.core.state.session().as_str().into();
        let body = StartedBody::write(EffectId(effect));
        let kind = RecordKind::Started.word();
        let draft = NewRecord::new(&session, kind, self.at, ENGINE, body);
        self.append.drafts.push(draft.caused_by(self.core.intent(effect)));
        self.append.started.push((session, effect));
        self.after.push(PostCommit::Execute { effect });
    }

    /// Records text that a thought has shown, unless it is over: then its draft has the text.
    fn shown(&mut self, effect: u64, offset: usize, text: &str) {
        if !self.core.awaits(effect) {
            return;
        }
        let offset = u64::try_from(offset).unwrap_or(u64::MAX);
        let body = ShownBody::write(EffectId(effect), offset, text);
        let kind = RecordKind::Shown.word();
        let draft = NewRecord::new(&self.session, kind, self.at, ENGINE, body);
        self.append.drafts.push(draft.caused_by(self.core.intent(effect)));
    }

    /// Sees to it that the session is judged by what holds now.
    fn install(&mut self) {
        let present = Arc::clone(&self.present);
        if self.core.state.is_judged_by(&present.installed) {
            return;
        }
        if !self.services.guard.is_recorded() {
            // It could not be recorded when it was installed.
            self.append.drafts.push(present.draft(self.at, ENGINE));
        }
        let event = Event::PolicyInstalled(present.installed.clone());
        self.record_event(&event, None, RecordCause::None, ENGINE);
        step(&mut self.core.state, UnixMillis(self.at), event);
    }

    /// Steps through an event and what reflexes make of it; the draft of the event.
    fn event(&mut self, event: Event, cause: RecordCause, principal: &str) -> usize {
        if !matches!(event, Event::Began(_)) {
            self.install();
        }
        let mut events = VecDeque::from([(event, cause, None)]);
        let mut principal = principal;
        let mut first = None;
        while let Some((mut event, cause, question)) = events.pop_front() {
            mask_event(&mut event, &self.secrets);
            let held = self.count(&event);
            let at = self.record_event(&event, question.as_ref(), cause, principal);
            drop(question);
            first = first.or(Some(at));
            let thought = match &event {
                Event::Drafted { effect, draft: Ok(_) } => Some(effect.0),
                _ => None,
            };
            let effects = step(&mut self.core.state, UnixMillis(self.at), event);
            if let Some(thought) = thought.filter(|_| says_all(&effects)) {
                self.after.push(PostCommit::Said { thought });
            }
            self.add_up(&effects, held);
            if self.is_refused(at, &effects) {
                self.mark_refused(at);
            }
            let mut finish = None;
            for effect in effects {
                // Answered at once, so it is recorded with its answer.
                if let Effect::Consult { id, context, subject } = &effect
                    && self.services.host.answers_at_once(context, subject)
                {
                    let advice = self.consult(context);
                    let event = Event::Consulted { effect: *id, advice };
                    events.push_back((event, RecordCause::Earlier(at), Some(effect)));
                    continue;
                }
                let draft = self.record_effect(&effect, at);
                if let Effect::Say(_) = effect {
                    self.share(at, draft);
                }
                match effect {
                    Effect::Consult { .. }
                    | Effect::Think { .. }
                    | Effect::Act { .. }
                    | Effect::Stop { .. }
                    | Effect::Ask { .. } => {
                        let effect = Box::new(effect);
                        self.after.push(PostCommit::Carry { effect, draft: Some(draft) });
                    }
                    Effect::Finish { .. } => finish = Some(draft),
                    Effect::Decided(_) | Effect::Settled { .. } | Effect::Say(_) => {}
                }
            }
            if let Some(draft) = finish {
                self.mark(draft);
            }
            principal = ENGINE;
        }
        first.unwrap_or_default()
    }

    /// Tells the State what those who may be judged now did elsewhere, if its policies look at that.
    /// Nobody else is judged by the same until what follows is added.
    fn count(&mut self, event: &Event) -> Option<MutexGuard<'a, PrincipalTallies>> {
        if !self.core.state.budgets_askers() {
            return None;
        }
        let (sums, at) = (self.services.usage.lock(), UnixMillis(self.at));
        for asker in self.core.state.askers(event) {
            let counted = sums.elsewhere(at, &asker, &self.core.state);
            if self.core.state.is_news(at, &counted) {
                let event = Event::Counted(counted);
                self.record_event(&event, None, RecordCause::None, ENGINE);
                step(&mut self.core.state, at, event);
            }
        }
        Some(sums)
    }

    /// Adds what was decided to the sums.
    fn add_up(&mut self, effects: &[Effect], held: Option<MutexGuard<'a, PrincipalTallies>>) {
        let decisions = effects.iter().filter_map(|effect| match effect {
            Effect::Decided(decision) => decision.counts_for(),
            _ => None,
        });
        let mut decisions = decisions.peekable();
        if decisions.peek().is_none() {
            return;
        }
        let (mut sums, at) =
            (held.unwrap_or_else(|| self.services.usage.lock()), UnixMillis(self.at));
        for asker in decisions {
            sums.add(at, asker);
            self.acts.push((at, asker.into()));
        }
    }

    /// Whether an answer to a question, as it was just recorded, counts for nothing.
    fn is_refused(&self, draft: usize, effects: &[Effect]) -> bool {
        let NewRecord { kind, seq: Some(seq), .. } = self.append.drafts[draft] else {
            return false;
        };
        if kind != RecordKind::Answered.word() {
            return false;
        }
        effects.iter().any(|effect| match effect {
            Effect::Say(said) => {
                let status = said.payload.get("status");
                said.answers == Some(Seq(seq)) && status.is_some_and(|it| it.is_keyword("error"))
            }
            _ => false,
        })
    }

    /// Notes with an answer that it counts for nothing: to whoever reads the stream it would look
    /// like the one that does.
    fn mark_refused(&mut self, draft: usize) {
        let body = &mut self.append.drafts[draft].body;
        *body = AnsweredBody::uncounted(body);
        let published = self.after.iter_mut().rev().find_map(|after| match after {
            PostCommit::Publish { draft: of, body, .. } if *of == draft => Some(body),
            _ => None,
        });
        if let Some(body) = published {
            *body = AnsweredBody::uncounted(body).into();
        }
    }

    /// Records an event, and the question in it that it answers at once.
    fn record_event(
        &mut self,
        event: &Event,
        question: Option<&Effect>,
        cause: RecordCause,
        principal: &str,
    ) -> usize {
        let seq = self.core.state.seq_of(event).map(|seq| seq.0);
        let text = match question {
            Some(question) => event.to_text_with(question),
            None => event.to_text(),
        };
        self.record(event.kind(), text, seq, cause, principal)
    }

    /// Shares the text of a proposal with the words that were said from it: it may be long.
    fn share(&mut self, event: usize, said: usize) {
        let [proposed, told] = [event, said].map(|draft| &*self.append.drafts[draft].body);
        if let Some(SharedText { in_event: from, in_said: at, bytes }) =
            SayBody::shared_text(proposed, told)
        {
            self.append.drafts[event].shared = Some(SharedPart { from, with: said, at, bytes });
        }
    }

    fn record_effect(&mut self, effect: &Effect, event: usize) -> usize {
        let seq = effect.seq().map(|seq| seq.0);
        let cause = RecordCause::Earlier(event);
        let draft = self.record(effect.kind(), effect.to_text(), seq, cause, ENGINE);
        if let (Effect::Say(said), Some(PostCommit::Publish { answers, .. })) =
            (effect, self.after.last_mut())
        {
            *answers = said.answers.map(|seq| seq.0);
        }
        if let Effect::Say(said) = effect {
            self.settle_receipt(said, draft);
        }
        draft
    }

    /// Takes back the receipt of a message whose answer says "try again later": it is new when it
    /// comes again.
    fn settle_receipt(&mut self, said: &Utterance, draft: usize) {
        let answered = said.answers.and_then(|seq| self.core.unanswered.remove(&seq.0));
        let is_retryable = said.payload.get("retryable").is_some_and(|flag| !flag.is_nil());
        let Some(message) = answered.filter(|_| is_retryable) else { return };
        let (body, at) = (void_body(), self.at);
        let seq = self.append.drafts[draft].seq.unwrap_or_default();
        self.core.receipts.note(message, AdmittedMessage { body, seq, at });
        self.append.drafts[draft].receipt = Some(MessageReceipt { message, body });
    }

    /// Adds a draft; a numbered one is published when it is durable.
    fn record(
        &mut self,
        kind: RecordKind,
        body: String,
        seq: Option<u64>,
        cause: RecordCause,
        principal: &str,
    ) -> usize {
        let draft = self.append.drafts.len();
        if let (Some(seq), Some(kind)) = (seq, StreamEventKind::of(kind)) {
            let body = body.as_str().into();
            let at = self.at;
            self.after.push(PostCommit::Publish { draft, seq, at, kind, body, answers: None });
        }
        let session = Arc::clone(&self.session);
        let principal = match principal {
            ENGINE => Cow::Borrowed(ENGINE),
            other => Cow::Owned(other.to_owned()),
        };
        let at = self.at;
        let (kind, receipt, shared) = (kind.word(), None, None);
        let draft_of =
            NewRecord { session, seq, at, cause, principal, kind, body, receipt, shared };
        self.append.drafts.push(draft_of);
        draft
    }

    /// Notes the hash of the State with the end of a turn, for replay to compare. Not in a record of its
    /// own: a record is a twentieth of what a prompt costs, however little it says.
    fn mark(&mut self, finish: usize) {
        let digest = self.core.state.digest();
        FinishBody::add_state_digest(&mut self.append.drafts[finish].body, &digest);
    }
}

/// Whether what a thinker wanted to say is said: nothing of it was refused or has to be asked for.
fn says_all(effects: &[Effect]) -> bool {
    effects.iter().all(|effect| match effect {
        Effect::Decided(Decision { ruling, .. }) => {
            let is_text = ruling.by == ProposalAuthor::Thinker
                && ruling.action.as_ref().is_some_and(|action| action.as_str() == "message");
            !is_text || ruling.verdict == Verdict::Allow
        }
        _ => true,
    })
}
