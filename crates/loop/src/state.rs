//! What a session remembers: a fold of its events and of nothing else.
//!
//! long: the fields are one list, and each has its writer beside it.
//!
//! Owned by whoever runs the session; changed only by [`crate::step()`]. Everything in it is bounded
//! by the session's limits, and all of it is written by `to_value`: two states with the same text
//! behave alike for ever.

mod hashed_history;
mod value;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bridle_sexp::Value;

pub(crate) use self::hashed_history::LazyText;
pub use self::hashed_history::{HashedEntry, SharedHistory};
use crate::budget::BudgetCounters;
use crate::consult::{self, ConsultFinding, ConsultStage, ConsultantRef, HeldProposals};
use crate::decide::{self, ApprovalIntent, Order};
use crate::effect::{
    Addressee, ApprovalRequest, Deed, Effect, PastExchange, ProposalAuthor, ProposalRejection,
    RememberedRuling, SignalContext, ThinkerPrompt,
};
use crate::event::{ActuatorRef, Draft, Event, PrincipalUsage, Signal, SignalSender};
use crate::hash::{PolicyHash, TextDigest};
use crate::ids::{EffectId, KeywordName, Seq, SessionId, TurnId, UnixMillis};
use crate::limits::SessionLimits;
use crate::parked_turn::ParkedTurn;
use crate::perceive;
use crate::policy::{GuardPolicies, InstalledPolicies, PolicyFinding, SessionAccess};
use crate::privacy::Privacy;
use crate::schedule::{PlannedSchedule, ScheduleFact};
use crate::side_turn::{self, SessionWorkload};
use crate::summary::ConversationSummary;
use crate::thought::{CallEnd, CallSlot, ModelRef, ThoughtRound};
use crate::turn_budget::TurnBudget;
use crate::value_size::weight;

/// Deeds of a turn that are kept with their results; of older ones only how they ended.
const MAX_WHOLE_DEEDS: usize = 16;

/// Weight in bytes of the finished rounds of a turn that are kept.
const MAX_KEPT_ROUNDS_BYTES: usize = 48 << 10;

/// The state of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionState {
    pub(crate) session: SessionId,
    /// The principal it belongs to; nobody before it began.
    pub(crate) owner: Option<Box<str>>,
    pub(crate) limits: SessionLimits,
    /// Version of the loop that steps through it.
    pub(crate) version: u32,
    /// The session and record that it was forked from.
    pub(crate) origin: Option<(SessionId, u64)>,
    /// The time of the last event; it never goes back.
    pub(crate) now: UnixMillis,
    /// The last number given, of each kind.
    pub(crate) seq: u64,
    pub(crate) turns: u64,
    pub(crate) effects: u64,
    pub(crate) actuators: Arc<[ActuatorRef]>,
    /// Consultants, each with the stages at which it is asked.
    pub(crate) consultants: Arc<[ConsultantRef]>,
    /// Place of the user.
    pub(crate) focus: Option<Arc<Value>>,
    pub(crate) history: SharedHistory<PastExchange>,
    /// Exchanges before those, a summary for each label.
    pub(crate) summaries: Arc<[ConversationSummary]>,
    pub(crate) decisions: SharedHistory<RememberedRuling>,
    pub(crate) schedules: BTreeMap<Box<str>, PlannedSchedule>,
    /// Acts whose outcome is awaited, those of past turns included.
    pub(crate) acts: BTreeMap<EffectId, PendingAct>,
    /// Questions whose answer is awaited, those of past turns included.
    pub(crate) questions: BTreeMap<EffectId, OpenApproval>,
    /// Turns that were answered and go on when their askers are back, by the number of the signal.
    pub(crate) parked: BTreeMap<Seq, ParkedTurn>,
    /// Ends of the last questions, to tell those who answer too late.
    pub(crate) resolved: VecDeque<ResolvedApproval>,
    /// Acts of the last hour.
    pub(crate) budget: BudgetCounters,
    /// Policies that judge it; the built-in ones before any were installed.
    pub(crate) policy: Option<InstalledPolicies>,
    /// Signals that wait for their turn.
    pub(crate) queue: VecDeque<QueuedSignal>,
    /// The turn that may think.
    pub(crate) turn: Option<RunningTurn>,
    /// Turns beside it, which do not think: they act, wait for somebody's yes, or wait until they may
    /// think.
    pub(crate) side: BTreeMap<TurnId, RunningTurn>,
    /// The beginning of its text: session, owner, limits and origin.
    pub(crate) front: LazyText,
    /// The text of the actuators.
    pub(crate) reach: LazyText,
    /// The text of what it is judged by.
    pub(crate) judged: LazyText,
    /// The text of the summaries.
    pub(crate) summed: LazyText,
}

/// An act whose outcome is awaited.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingAct {
    pub(crate) turn: TurnId,
    pub(crate) seq: Seq,
    /// Author of the proposal, and its asker.
    pub(crate) by: ProposalAuthor,
    pub(crate) asker: SignalSender,
    pub(crate) order: Order,
    pub(crate) deadline: UnixMillis,
    pub(crate) back: OutcomeReturn,
    /// Listeners to the outcome beside the turn: they got their answers while it was asked for.
    pub(crate) tell: Vec<OutcomeListener>,
    /// Further turns that wait for it: they asked for the same, and one yes was for all.
    pub(crate) also: Vec<TurnId>,
    /// Whether it was told to stop.
    pub(crate) is_stopping: bool,
}

impl PendingAct {
    /// Whether a turn waits for it.
    pub(crate) fn is_awaited_by(&self, turn: TurnId) -> bool {
        self.turn == turn || self.also.contains(&turn)
    }
}

/// The way of an outcome back into its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutcomeReturn {
    /// Whether the outcome goes back to think.
    pub(crate) then_think: bool,
    /// Calls that it answers: the same may be called twice, and is asked for once.
    pub(crate) slots: Vec<CallSlot>,
}

impl OutcomeReturn {
    /// Adds the wishes of somebody who wants the same.
    pub(crate) fn join(&mut self, other: Self) {
        self.then_think |= other.then_think;
        self.slots.extend(other.slots);
    }
}

/// Listener to the outcome of something that was approved; without an addressee, all are told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutcomeListener {
    pub(crate) approval: EffectId,
    pub(crate) to: Option<Addressee>,
}

/// A question whose answer is awaited.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenApproval {
    pub(crate) seq: Seq,
    pub(crate) question: Arc<ApprovalRequest>,
    /// Turns that wait for the answer; they do the same, so it is asked once and done once.
    pub(crate) turns: Vec<TurnId>,
    pub(crate) back: OutcomeReturn,
    /// Askers that do not wait, and are told the outcome.
    pub(crate) tell: Vec<Option<Addressee>>,
}

impl OpenApproval {
    /// Whether the same was proposed, by and for the same.
    pub(crate) fn is_about(
        &self,
        intent: &ApprovalIntent,
        by: ProposalAuthor,
        asker: &SignalSender,
    ) -> bool {
        self.question.by == by
            && self.question.asker.principal == asker.principal
            && self.question.asker.owner == asker.owner
            && self.question.intent.is_same(intent)
    }
}

/// End of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedApproval {
    pub(crate) approval: EffectId,
    pub(crate) how: ApprovalResolution,
    /// Answerer.
    pub(crate) by: Option<Box<str>>,
}

/// The ways in which a question ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalResolution {
    Allowed,
    Denied,
    Expired,
    Superseded,
}

/// A signal that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueuedSignal {
    /// None for a signal that came from time alone.
    pub(crate) seq: Option<Seq>,
    pub(crate) signal: Arc<Signal>,
    /// The weight of its payload, counted once.
    bytes: usize,
}

impl QueuedSignal {
    pub(crate) fn new(seq: Option<Seq>, signal: Arc<Signal>) -> Self {
        let bytes = weight(&signal.payload);
        Self { seq, signal, bytes }
    }

    /// Weight against the limit of the queue.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A turn that has begun and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningTurn {
    pub(crate) id: TurnId,
    pub(crate) seq: Option<Seq>,
    pub(crate) signal: Arc<Signal>,
    pub(crate) began: UnixMillis,
    /// Time at which its time began to count: again after each wait for somebody's yes.
    pub(crate) resumed: UnixMillis,
    pub(crate) stage: TurnStage,
    /// Whether it is beside the turn that may think.
    pub(crate) is_beside: bool,
    /// Whether a thinker is to be asked when the acts of this turn have ended.
    pub(crate) next: TurnContinuation,
    pub(crate) depth: u32,
    pub(crate) tries: u32,
    /// Proposals allowed so far.
    pub(crate) allowed: u32,
    /// Questions of this turn whose answer it does not wait for.
    pub(crate) pending: Vec<EffectId>,
    /// Texts for the asker, one part a message.
    pub(crate) said: Vec<Box<str>>,
    /// Directives of OpenHarness for the asker, beside those texts.
    pub(crate) directives: Vec<Arc<Value>>,
    pub(crate) rejected: Vec<Arc<ProposalRejection>>,
    pub(crate) results: Vec<Arc<Deed>>,
    /// Drafts and what became of their calls, as far as they fit.
    pub(crate) rounds: Vec<Arc<ThoughtRound>>,
    /// Rounds before those.
    pub(crate) forgotten: u64,
    /// Label of what it says: the strictest of its drafts.
    pub(crate) privacy: Privacy,
    /// Texts that were said before the answer.
    pub(crate) parts: u64,
    /// Standing of what waits on its stage.
    pub(crate) closing: StageClosing,
    /// Point of the turn at which consultants were asked last.
    pub(crate) asked_at: ConsultStage,
    /// Use of its budgets.
    pub(crate) budget: TurnBudget,
    /// Proposals that wait for their word.
    pub(crate) held: Option<Arc<HeldProposals>>,
    /// Targets that consultants withhold from it.
    pub(crate) withheld: Vec<ConsultFinding>,
    /// Thinker that is asked, if a consultant named one.
    pub(crate) thinker: Option<KeywordName>,
}

/// Standing of what a turn changed on its stage: asked about before the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StageClosing {
    /// Nothing waits there.
    #[default]
    Clear,
    /// Changes may wait there, and nobody was asked about them.
    Due,
    /// The host is asked what waits there.
    Asked,
}

/// Event that a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnStage {
    Consulting(EffectId),
    Thinking(EffectId),
    /// The outcomes of its acts.
    Acting,
    /// Answer of a person.
    Asking,
    /// The end of the turn that may think.
    Ready,
}

/// Continuation of a turn whose acts have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnContinuation {
    /// Answer.
    Answer,
    /// Answer that something was refused.
    Refuse,
    /// Ask a thinker, as the reflexes advised.
    Think,
    /// Ask a thinker what follows from the outcomes.
    ThinkDeeper,
    /// Ask a thinker for something else, because of a veto.
    ThinkAgain,
}

impl RunningTurn {
    pub(crate) fn new(id: TurnId, waiting: QueuedSignal, began: UnixMillis) -> Self {
        Self {
            id,
            seq: waiting.seq,
            signal: waiting.signal,
            began,
            resumed: began,
            stage: TurnStage::Acting,
            is_beside: false,
            next: TurnContinuation::Answer,
            depth: 0,
            tries: 0,
            allowed: 0,
            pending: Vec::new(),
            said: Vec::new(),
            directives: Vec::new(),
            rejected: Vec::new(),
            results: Vec::new(),
            rounds: Vec::new(),
            forgotten: 0,
            privacy: Privacy::default(),
            parts: 0,
            closing: StageClosing::Clear,
            asked_at: ConsultStage::Perceive,
            budget: TurnBudget::default(),
            held: None,
            withheld: Vec::new(),
            thinker: None,
        }
    }

    /// Label of what the author of a proposal had read.
    pub(crate) fn label(&self, by: ProposalAuthor) -> Privacy {
        match by {
            ProposalAuthor::Asker => Privacy::of_signal(&self.signal.payload),
            ProposalAuthor::Reflex | ProposalAuthor::Thinker => self.privacy,
        }
    }

    /// Model of the last draft.
    pub(crate) fn model(&self) -> Option<&Arc<ModelRef>> {
        self.rounds.last()?.model.as_ref()
    }

    /// Begins the round of a draft. Older rounds give way when they are too large together: the record has
    /// them.
    pub(crate) fn begin_round(&mut self, thought: EffectId, draft: &Draft) {
        let mut bytes = 0_usize;
        let fits = |round: &&Arc<ThoughtRound>| {
            bytes = bytes.saturating_add(round.weight());
            bytes <= MAX_KEPT_ROUNDS_BYTES
        };
        let kept = self.rounds.iter().rev().take_while(fits).count();
        let gone = self.rounds.len() - kept;
        self.rounds.drain(..gone);
        self.forgotten = self.forgotten.saturating_add(gone as u64);
        self.rounds.push(Arc::new(ThoughtRound::of(thought, draft)));
        self.privacy = self.privacy.max(draft.privacy);
    }

    /// Notes the end of calls in their rounds.
    pub(crate) fn end_call(&mut self, slots: &[CallSlot], end: &CallEnd) {
        for slot in slots {
            let mut rounds = self.rounds.iter_mut().rev();
            let Some(round) = rounds.find(|round| round.thought == slot.thought) else { continue };
            let Some(call) = Arc::make_mut(round).calls.get_mut(slot.place) else { continue };
            call.end = match end {
                CallEnd::Deed(deed) => CallEnd::Deed(Arc::new(Deed {
                    call: call.call.clone(),
                    arguments: call.arguments.clone(),
                    ..Deed::clone(deed)
                })),
                other => other.clone(),
            };
        }
    }

    /// Notes how an act of the turn ended.
    pub(crate) fn end_with(&mut self, deed: Deed, back: &OutcomeReturn) {
        let deed = Arc::new(deed);
        self.end_call(&back.slots, &CallEnd::Deed(deed.clone()));
        self.results.push(deed);
        let older = self.results.len().checked_sub(MAX_WHOLE_DEEDS + 1);
        if let Some(older) = older.and_then(|place| self.results.get_mut(place)) {
            *older = Arc::new(older.brief());
        }
    }

    /// An outcome is to be thought about. A veto counts as a try in any case.
    pub(crate) fn think_deeper(&mut self) {
        if self.next != TurnContinuation::ThinkAgain {
            self.next = TurnContinuation::ThinkDeeper;
        }
    }
}

impl SessionState {
    /// The state of a session to which nothing has happened.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            owner: None,
            limits: SessionLimits::default(),
            version: 0,
            origin: None,
            now: UnixMillis(0),
            seq: 0,
            turns: 0,
            effects: 0,
            actuators: Arc::new([]),
            consultants: Arc::new([]),
            focus: None,
            history: SharedHistory::default(),
            summaries: Arc::new([]),
            decisions: SharedHistory::default(),
            schedules: BTreeMap::new(),
            acts: BTreeMap::new(),
            questions: BTreeMap::new(),
            parked: BTreeMap::new(),
            resolved: VecDeque::new(),
            budget: BudgetCounters::default(),
            policy: None,
            queue: VecDeque::new(),
            turn: None,
            side: BTreeMap::new(),
            front: LazyText::default(),
            reach: LazyText::default(),
            judged: LazyText::default(),
            summed: LazyText::default(),
        }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The principal that the session belongs to; none before it began.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Its limits.
    pub fn limits(&self) -> &SessionLimits {
        &self.limits
    }

    /// The number that the next event of the stream gets.
    pub fn next_seq(&self) -> Seq {
        Seq(self.seq.saturating_add(1))
    }

    /// The number that this event will get, if it is one of the stream.
    pub fn seq_of(&self, event: &Event) -> Option<Seq> {
        match event {
            Event::Signal(_) | Event::Answered(_) => Some(self.next_seq()),
            Event::Acted { effect, .. } if self.acts.contains_key(effect) => Some(self.next_seq()),
            _ => None,
        }
    }

    /// Whether an answer to this effect is still awaited.
    pub fn awaits(&self, effect: EffectId) -> bool {
        let is_meant = |turn: &RunningTurn| {
            turn.stage == TurnStage::Consulting(effect) || turn.stage == TurnStage::Thinking(effect)
        };
        self.running().any(is_meant)
            || self.acts.contains_key(&effect)
            || self.questions.contains_key(&effect)
    }

    /// Whether something that was begun for this signal can still be given up.
    pub fn can_withdraw(&self, seq: Seq) -> bool {
        self.running().any(|turn| turn.seq == Some(seq))
            || self.queue.iter().any(|waiting| waiting.seq == Some(seq))
            || self.parked.contains_key(&seq)
    }

    /// The signals for which something was begun that can still be given up.
    pub fn withdrawable(&self) -> Vec<Seq> {
        let turn = self.running().filter_map(|turn| turn.seq);
        let queue = self.queue.iter().filter_map(|waiting| waiting.seq);
        turn.chain(queue).chain(self.parked.keys().copied()).collect()
    }

    /// The hash of the policies that it is judged by, if they are not here: until
    /// [`SessionState::supply`], everything is denied.
    pub fn wants_policies(&self) -> Option<PolicyHash> {
        self.policy.as_ref().and_then(InstalledPolicies::wanted)
    }

    /// The hash of the policies that it is judged by; none for the built-in ones.
    pub fn policies(&self) -> Option<PolicyHash> {
        self.policy.as_ref().map(InstalledPolicies::hash)
    }

    /// The name under which shells know a question or a request of this session.
    pub fn name_of(&self, effect: EffectId) -> String {
        format!("{}-{}", self.session, effect.0)
    }

    /// End of a question that is not too long ago, and who answered it.
    pub fn ending_of(&self, approval: EffectId) -> Option<(&'static str, Option<&str>)> {
        let known = self.resolved.iter().rev().find(|resolved| resolved.approval == approval)?;
        Some((known.how.word(), known.by.as_deref()))
    }

    /// Whether it is judged by exactly this.
    pub fn is_judged_by(&self, installed: &InstalledPolicies) -> bool {
        self.policy.as_ref() == Some(installed)
    }

    /// Whether it is judged by policies that look at what an asker did in all sessions.
    pub fn budgets_askers(&self) -> bool {
        let set = self.policy.as_ref().and_then(InstalledPolicies::set);
        set.is_some_and(GuardPolicies::budgets_askers)
    }

    /// Those on whose behalf something may be judged when this event is taken.
    pub fn askers(&self, event: &Event) -> BTreeSet<Box<str>> {
        let from = match event {
            Event::Signal(signal) => Some(&signal.from),
            Event::Answered(answered) => Some(&answered.from),
            _ => None,
        };
        let turn = self.running().map(|turn| &turn.signal.from);
        let queue = self.queue.iter().map(|waiting| &waiting.signal.from);
        let parked = self.parked.values().map(|kept| &kept.turn.signal.from);
        let questions = self.questions.values().map(|open| &open.question.asker);
        let askers = from.into_iter().chain(turn).chain(queue).chain(parked).chain(questions);
        askers.map(|asker| asker.principal.clone()).collect()
    }

    /// Whether this is something that it does not know.
    pub fn is_news(&self, at: UnixMillis, counted: &PrincipalUsage) -> bool {
        self.budget.is_news(self.now.max(at), counted)
    }

    /// Takes the policies that it is judged by, if they are the ones.
    pub fn supply(&mut self, set: &Arc<GuardPolicies>) {
        if let Some(installed) = &mut self.policy {
            installed.supply(set);
        }
    }

    /// Whether somebody may join, see or steer this session, as far as policies are concerned.
    pub fn may(&self, who: &SignalSender, access: SessionAccess) -> PolicyFinding {
        decide::judge_access(self, who, access)
    }

    /// The effects whose result is awaited, to be carried out again where that is possible.
    pub fn outstanding(&self) -> Vec<(EffectId, Effect)> {
        let thoughts = self.running().filter_map(|turn| match turn.stage {
            TurnStage::Consulting(id) => {
                let subject = consult::subject(self, turn);
                Some((id, Effect::Consult { id, context: self.context(turn), subject }))
            }
            TurnStage::Thinking(id) => Some((id, Effect::Think { id, prompt: self.prompt(turn) })),
            TurnStage::Acting | TurnStage::Asking | TurnStage::Ready => None,
        });
        let questions = self.questions.iter().map(|(id, open)| {
            (*id, Effect::Ask { id: *id, seq: open.seq, question: open.question.clone() })
        });
        let acts = self.acts.iter().map(|(id, pending)| {
            let PendingAct { turn, seq, order, deadline, .. } = pending.clone();
            (*id, Effect::Act { id: *id, seq, turn, order, deadline })
        });
        acts.chain(questions).chain(thoughts).collect()
    }

    /// Whether an act is to stop, or not to begin.
    pub fn is_stopping(&self, effect: EffectId) -> bool {
        self.acts.get(&effect).is_some_and(|pending| pending.is_stopping)
    }

    /// For whom an act is done whose outcome is awaited.
    pub fn asker_of(&self, effect: EffectId) -> Option<&SignalSender> {
        self.acts.get(&effect).map(|pending| &pending.asker)
    }

    /// Time at which `TimerTick::Deadline` is wanted next.
    pub fn next_deadline(&self) -> Option<UnixMillis> {
        let turns = self.running().filter_map(|turn| self.turn_deadline(turn));
        let questions = self.questions.values().map(|open| open.question.expires);
        let acts = self.acts.values().map(|pending| pending.deadline);
        let schedules = self.schedules.values().map(PlannedSchedule::wakes);
        turns.chain(acts).chain(questions).chain(schedules).min()
    }

    /// The turn that may think; else the first of those beside it.
    pub fn turn(&self) -> Option<TurnId> {
        self.running().next().map(|turn| turn.id)
    }

    /// All turns that have begun and not ended, the one that may think first.
    pub(crate) fn running(&self) -> impl Iterator<Item = &RunningTurn> {
        self.turn.iter().chain(self.side.values())
    }

    /// Takes out the first turn that is meant.
    pub(crate) fn take_turn(
        &mut self,
        is_meant: impl Fn(&RunningTurn) -> bool,
    ) -> Option<RunningTurn> {
        if let Some(turn) = self.turn.take_if(|turn| is_meant(turn)) {
            return Some(turn);
        }
        let id = self.side.values().find(|turn| is_meant(turn))?.id;
        self.side.remove(&id)
    }

    /// Puts a turn where it was taken from.
    pub(crate) fn put_turn(&mut self, turn: RunningTurn) {
        if turn.is_beside {
            self.side.insert(turn.id, turn);
        } else {
            self.turn = Some(turn);
        }
    }

    /// Exchanges that are kept, oldest first.
    pub fn history(&self) -> impl Iterator<Item = &PastExchange> {
        self.history.iter().map(|exchange| &**exchange)
    }

    /// Actuators that can be reached.
    pub fn actuators(&self) -> &[ActuatorRef] {
        &self.actuators
    }

    /// Consultants that are asked.
    pub fn consultants(&self) -> &[ConsultantRef] {
        &self.consultants
    }

    /// Tells whether a signal would find its place now; one that would not is not to be recorded.
    pub fn has_room_for(&self, signal: &Signal) -> bool {
        perceive::has_room_for(self, signal)
    }

    /// Schedules of this session.
    pub fn schedules(&self) -> impl ExactSizeIterator<Item = ScheduleFact> {
        self.schedules.iter().map(|(name, planned)| planned.fact(name))
    }

    /// Number of turns and signals, by what they do.
    pub fn workload(&self) -> SessionWorkload {
        side_turn::workload(self)
    }

    /// Signals of shells that wait for their answers, with their numbers.
    pub fn unanswered(&self) -> impl Iterator<Item = (Seq, &Signal)> {
        let turn = self.running().map(|turn| (turn.seq, &*turn.signal));
        let queue = self.queue.iter().map(|waiting| (waiting.seq, &*waiting.signal));
        turn.chain(queue).filter_map(|(seq, signal)| Some((seq?, signal)))
    }

    /// Whether nothing runs, waits or is awaited; schedules may still be due one day.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.side.is_empty()
            && self.queue.is_empty()
            && self.acts.is_empty()
            && self.questions.is_empty()
    }

    /// None while it waits for somebody's yes, since questions have a deadline of their own, and while it
    /// waits until it may think.
    pub(crate) fn turn_deadline(&self, turn: &RunningTurn) -> Option<UnixMillis> {
        let counts = !matches!(turn.stage, TurnStage::Asking | TurnStage::Ready);
        counts.then(|| turn.resumed.after(self.limits.turn_deadline_ms))
    }

    pub(crate) fn take_seq(&mut self) -> Seq {
        self.seq = self.seq.saturating_add(1);
        Seq(self.seq)
    }

    pub(crate) fn take_effect(&mut self) -> EffectId {
        self.effects = self.effects.saturating_add(1);
        EffectId(self.effects)
    }

    pub(crate) fn context(&self, turn: &RunningTurn) -> SignalContext {
        SignalContext {
            session: self.session.clone(),
            turn: turn.id,
            seq: turn.seq,
            at: turn.began,
            signal: turn.signal.clone(),
            focus: self.focus.clone(),
            history: self.history.clone(),
            summaries: self.summaries.clone(),
            decisions: self.decisions.clone(),
            actuators: consult::offered(self, turn),
            is_closing: turn.closing == StageClosing::Asked,
        }
    }

    /// Label of all that a thinker could have been shown.
    pub(crate) fn shown_label(&self, turn: &RunningTurn) -> Privacy {
        let past = self.history.iter().map(|exchange| exchange.privacy);
        let deeds = turn.results.iter().map(|deed| deed.privacy);
        let summaries = self.summaries.iter().map(|summary| summary.privacy);
        past.chain(summaries).chain(deeds).fold(turn.privacy, Privacy::max)
    }

    pub(crate) fn prompt(&self, turn: &RunningTurn) -> ThinkerPrompt {
        ThinkerPrompt {
            context: self.context(turn),
            depth: turn.depth,
            tries: turn.tries,
            rejected: turn.rejected.clone(),
            results: turn.results.clone(),
            rounds: turn.rounds.clone(),
            forgotten: turn.forgotten,
            catalog: self.catalog(),
            thinker: turn.thinker.clone(),
        }
    }

    /// The hash of what a thinker can ask for; none where no actuator describes its actions.
    fn catalog(&self) -> Option<TextDigest> {
        let is_described = self.actuators.iter().any(|actuator| actuator.specs.is_some());
        is_described.then(|| {
            let all = self.actuators.iter().map(|actuator| actuator.to_value().to_string());
            TextDigest::of(&all.collect::<String>())
        })
    }
}

#[cfg(test)]
mod tests;
