//! Fourth stage: what was allowed is sent out, outcomes come in, the turn is answered.
//!
//! Called by the other stages and by `step`. Every proposal, whoever made it, comes through
//! [`carry`] and from there to `decide`; every signal that got a turn leaves it through [`finish`],
//! which says its one answer.
//!
//! long: the ways in which a turn ends are one list.

mod answer;

use std::sync::Arc;

use bridle_sexp::Value;

pub(crate) use self::answer::{addressee, cut, error, noted, superseded};
use crate::action::Action;
use crate::approve::{self, ApprovalSubmission};
use crate::consult::{self, ConsultFinding, ConsultStage, HeldProposals, ProposalObjections};
use crate::decide::{self, JudgedProposal, Order, ProposalRoute};
use crate::effect::{
    ApprovalRequest, Deed, Effect, Effects, PastExchange, ProposalAuthor, ProposalRejection,
    RefusalCode, TurnEnd, Utterance,
};
use crate::event::{ActuatorLocation, Outcome, Proposal, SignalKind, SignalSender, ThinkerFault};
use crate::failed_turn;
use crate::ids::{EffectId, Seq, TurnId};
use crate::limits::SessionLimits;
use crate::parked_turn;
use crate::perceive;
use crate::plist_codec::{FieldSink, PlistBuilder};
use crate::policy;
use crate::privacy::Privacy;
use crate::schedule;
use crate::state::{
    OutcomeListener, OutcomeReturn, PendingAct, RunningTurn, SessionState, StageClosing,
    TurnContinuation, TurnStage,
};
use crate::stop;
use crate::summary;
use crate::think;
use crate::thought::{self, CallEnd, CallSlot};
use crate::value_size::weight;

/// Weight of a payload in bytes from which a verdict names the proposal instead.
const MIN_NAMED_PAYLOAD_BYTES: usize = 1 << 10;

/// Proposals of one event, to be judged in their order.
#[derive(Default)]
pub(crate) struct ProposalBatch {
    /// The thought that they come from.
    pub(crate) thought: Option<EffectId>,
    /// Text for the asker, judged like a proposal to say it.
    pub(crate) text: Box<str>,
    pub(crate) proposals: Vec<Proposal>,
}

impl From<Vec<Proposal>> for ProposalBatch {
    fn from(proposals: Vec<Proposal>) -> Self {
        Self { proposals, ..Self::default() }
    }
}

/// A proposal of a batch.
struct BatchItem {
    proposal: Proposal,
    /// Place by which the record names it.
    place: usize,
    /// Call of a round that it is.
    slot: Option<CallSlot>,
    /// Whether more follows before the answer.
    interim: bool,
    /// Whether the record can name it by its place.
    is_named: bool,
}

impl ProposalBatch {
    /// The text first, then the proposals in their order. The record names the text by the place behind
    /// all proposals, those beyond the limit included.
    fn items(self, text_place: usize) -> impl Iterator<Item = BatchItem> {
        let Self { thought, text, proposals } = self;
        let text = Some(text).filter(|text| !text.is_empty()).map(move |text| BatchItem {
            proposal: Proposal::message(&text),
            place: text_place,
            slot: None,
            interim: text_place > 0,
            is_named: true,
        });
        let calls = proposals.into_iter().enumerate().map(move |(place, proposal)| BatchItem {
            proposal,
            place,
            slot: thought.map(|thought| CallSlot { thought, place }),
            interim: false,
            is_named: true,
        });
        text.into_iter().chain(calls)
    }
}

/// Judges proposals in their order and carries out what is allowed.
pub(crate) fn carry(
    state: &mut SessionState,
    mut turn: RunningTurn,
    by: ProposalAuthor,
    batch: ProposalBatch,
    out: &mut Effects,
) {
    let ProposalBatch { thought, text, proposals } = batch;
    let held = HeldProposals { by, thought, text, proposals };
    let is_empty = held.text.is_empty() && held.proposals.is_empty();
    if is_empty || !consult::is_wanted(state, ConsultStage::Judge) {
        return carry_judged(state, turn, held, None, out);
    }
    turn.held = Some(Arc::new(held));
    consult::ask(state, turn, ConsultStage::Judge, out);
}

/// Judges proposals in their order, to which consultants had these objections; none where nobody was asked, and the
/// proposals are those of the event that is taken.
pub(crate) fn carry_judged(
    state: &mut SessionState,
    mut turn: RunningTurn,
    held: HeldProposals,
    findings: Option<&[ConsultFinding]>,
    out: &mut Effects,
) {
    let HeldProposals { by, thought, text, proposals } = held;
    let mut batch = ProposalBatch { thought, text, proposals };
    turn.stage = TurnStage::Acting;
    let before = turn.rejected.len();
    let text_place = batch.proposals.len();
    let excess = batch.proposals.split_off(text_place.min(state.limits.proposals)).len();
    let (looked_at, thought) = (batch.proposals.len(), batch.thought);
    for item in batch.items(text_place) {
        let place = item.place;
        let objections = ProposalObjections { findings: findings.unwrap_or_default(), place };
        // A verdict names a proposal of its own event; one that waited is in an earlier one.
        let is_named = findings.is_none();
        carry_one(state, &mut turn, by, BatchItem { is_named, ..item }, &objections, out);
    }
    if excess > 0 {
        let reason = format!(
            "{excess} proposals beyond the first {} were not looked at",
            state.limits.proposals
        );
        let rejection = ProposalRejection {
            target: None,
            action: None,
            code: RefusalCode::Refused,
            reason: reason.into(),
        };
        let rejection = Arc::new(rejection);
        for place in thought.iter().flat_map(|_| looked_at..looked_at + excess) {
            let slot = thought.map(|thought| CallSlot { thought, place });
            turn.end_call(slot.as_slice(), &CallEnd::Rejected(rejection.clone()));
        }
        turn.rejected.push(rejection);
    }
    if by == ProposalAuthor::Thinker
        && turn.rejected.len() == before
        && state.limits.vetoes_in_row > 0
    {
        turn.tries = 0;
    }
    if turn.rejected.len() > before {
        turn.tries = turn.tries.saturating_add(1);
        // A reflex proposes the same again: without a thinker there is nobody to learn from a veto.
        let is_thinkers = by == ProposalAuthor::Thinker && turn.signal.kind != SignalKind::Request;
        let can_learn = is_thinkers || turn.next != TurnContinuation::Answer;
        turn.next = if can_learn { TurnContinuation::ThinkAgain } else { TurnContinuation::Refuse };
    }
    settle(state, turn, out);
}

/// Judges a proposal and carries it out if it is allowed. A veto does not touch its siblings.
fn carry_one(
    state: &mut SessionState,
    turn: &mut RunningTurn,
    by: ProposalAuthor,
    item: BatchItem,
    objections: &ProposalObjections<'_>,
    out: &mut Effects,
) {
    let BatchItem { proposal, place, slot, interim, is_named } = item;
    let back =
        OutcomeReturn { then_think: proposal.wants_outcome(), slots: slot.into_iter().collect() };
    let JudgedProposal { mut decision, way } = decide::judge(state, turn, by, proposal, objections);
    // A long text stands where it was proposed, and in what is said or done: the verdict names it.
    let is_asked = by == ProposalAuthor::Asker || turn.signal.kind == SignalKind::Request;
    let is_as_proposed = is_named && !is_asked && decision.dropped.is_empty();
    let is_said = matches!(&way, Ok(ProposalRoute::Do(order)) if said(order).is_some());
    if is_as_proposed && (is_said || weight(&decision.payload) >= MIN_NAMED_PAYLOAD_BYTES) {
        decision.proposal = Some(place);
    }
    state.decisions.push(decision.ruling.clone(), state.limits.decisions);
    out.push(Effect::Decided(decision));
    if way.as_ref().is_ok_and(ProposalRoute::counts) {
        turn.allowed = turn.allowed.saturating_add(1);
    }
    match way {
        Ok(ProposalRoute::Do(order)) if interim => say_part(state, turn, &order, out),
        Ok(ProposalRoute::Do(order)) => {
            let job = DispatchedOrder { by, order, back, tell: Vec::new(), also: Vec::new() };
            perform(state, turn, job, out);
        }
        Ok(ProposalRoute::Ask(intent)) => {
            approve::ask(state, turn, ApprovalSubmission { by, intent, back }, out);
        }
        Err(rejection) => {
            let rejection = Arc::new(rejection);
            turn.end_call(&back.slots, &CallEnd::Rejected(rejection.clone()));
            turn.rejected.push(rejection);
        }
    }
}

/// Says what a thinker says beside its calls: a part of the turn, not its answer.
fn say_part(state: &mut SessionState, turn: &mut RunningTurn, order: &Order, out: &mut Effects) {
    let Some(text) = said(order) else { return };
    turn.parts = turn.parts.saturating_add(1);
    let payload = PlistBuilder::new()
        .put("status", Value::keyword("partial"))
        .put("action", Value::keyword("message"))
        .put("text", text)
        .put_number("turn", turn.id.0)
        .put_number("part", turn.parts);
    let to = turn.seq.map(|_| addressee(&turn.signal));
    let seq = state.take_seq();
    out.push(Effect::Say(Utterance { seq, answers: None, to, payload: payload.done() }));
}

/// Takes the outcome of an act.
pub(crate) fn acted(
    state: &mut SessionState,
    effect: EffectId,
    outcome: Outcome,
    out: &mut Effects,
) {
    let Some(pending) = state.acts.remove(&effect) else { return };
    // Its own place in the stream, also when its turn is over and nobody waits for it.
    let seq = state.take_seq();
    ended(state, &pending, outcome, Some(seq), out);
    resume(state, out);
}

/// Goes on with the turns that waited for acts or answers and have them.
pub(crate) fn resume(state: &mut SessionState, out: &mut Effects) {
    let waits = |turn: &&RunningTurn| matches!(turn.stage, TurnStage::Acting | TurnStage::Asking);
    let waiting: Vec<TurnId> = state.running().filter(waits).map(|turn| turn.id).collect();
    for id in waiting {
        if let Some(turn) = state.take_turn(|turn| turn.id == id) {
            settle(state, turn, out);
        }
    }
}

/// Ends what is overdue: acts first, then turns.
pub(crate) fn deadlines(state: &mut SessionState, out: &mut Effects) {
    let is_due = |pending: &PendingAct| pending.deadline <= state.now;
    let due: Vec<EffectId> =
        state.acts.iter().filter(|(_, pending)| is_due(pending)).map(|(id, _)| *id).collect();
    for id in due {
        if stop::overdue(state, id, out) {
            continue;
        }
        let Some(outcome) = state.acts.get(&id).map(|pending| overdue(&pending.order)) else {
            continue;
        };
        end(state, id, outcome, out);
    }
    approve::expire(state, out);
    let now = state.now;
    let is_due =
        |turn: &&RunningTurn| state.turn_deadline(turn).is_some_and(|deadline| deadline <= now);
    let due: Vec<TurnId> = state.running().filter(is_due).map(|turn| turn.id).collect();
    for id in due {
        if let Some(turn) = state.take_turn(|turn| turn.id == id) {
            give_up(state, &turn, RefusalCode::Expired, "the turn took too long", out);
        }
    }
    resume(state, out);
}

/// Outcome of an act whose time is over: a shell did not take it up in time; an actuator of the
/// host was told to begin, and may still be at it.
fn overdue(order: &Order) -> Outcome {
    match order.place() {
        ActuatorLocation::Shell => Outcome::Expired,
        ActuatorLocation::Host => Outcome::UnknownOutcome,
    }
}

/// Gives a turn up because the daemon says so.
pub(crate) fn cancelled(state: &mut SessionState, turn: TurnId, reason: &str, out: &mut Effects) {
    if let Some(turn) = state.take_turn(|current| current.id == turn) {
        give_up(state, &turn, RefusalCode::Cancelled, reason, out);
    }
}

/// Ends a turn because a later request takes its place.
pub(crate) fn supersede(state: &mut SessionState, turn: &RunningTurn, out: &mut Effects) {
    let acts: Vec<EffectId> =
        state.acts.iter().filter(|(_, act)| act.turn == turn.id).map(|(id, _)| *id).collect();
    for id in acts {
        end(state, id, Outcome::Superseded, out);
    }
    finish(state, turn, TurnEnd::Superseded, Some(superseded()), out);
}

/// Ends a turn early, with an error. Acts of the daemon are told to stop, those of shells go on; their
/// outcome is recorded when it comes.
pub(crate) fn give_up(
    state: &mut SessionState,
    turn: &RunningTurn,
    code: RefusalCode,
    why: &str,
    out: &mut Effects,
) {
    let stopped = stop::acts_of(state, turn, out);
    let payload = answer::with_parts(error(code, why), turn).put_list("stopping", stopped).done();
    finish(state, turn, answer::reason(code), Some(payload), out);
}

/// Ends a turn whose thinker failed.
pub(crate) fn fail(
    state: &mut SessionState,
    turn: &RunningTurn,
    fault: &ThinkerFault,
    out: &mut Effects,
) {
    let plist = answer::failure(RefusalCode::EngineFailed, &fault.reason, fault.retryable);
    let payload = answer::with_parts(plist, turn).done();
    finish(state, turn, TurnEnd::Failed, Some(payload), out);
}

/// Ends a turn of which something was not allowed.
pub(crate) fn refuse(state: &mut SessionState, turn: &RunningTurn, out: &mut Effects) {
    let (code, message) = match turn.rejected.last() {
        Some(last) if turn.signal.kind == SignalKind::Request || turn.tries <= 1 => {
            (last.code, last.reason.to_string())
        }
        Some(last) => {
            (RefusalCode::Refused, format!("refused after {} tries: {}", turn.tries, last.reason))
        }
        None => (RefusalCode::Refused, "refused".into()),
    };
    let payload = answer::with_parts(error(code, &message), turn).done();
    finish(state, turn, TurnEnd::Refused, Some(payload), out);
}

/// Ends a turn that went its way.
pub(crate) fn answer(state: &mut SessionState, turn: &RunningTurn, out: &mut Effects) {
    let open = turn.pending.iter().filter(|id| state.questions.contains_key(id));
    let waiting: Vec<EffectId> = open.copied().collect();
    let (reason, payload) = if !waiting.is_empty() {
        answer::pending(state, turn, &waiting)
    } else if turn.signal.kind == SignalKind::Request {
        answer::to_request(turn)
    } else {
        answer::to_event(turn)
    };
    finish(state, turn, reason, payload, out);
    parked_turn::park(state, turn);
}

/// Waits for the acts and questions of the turn, or goes on if there are none left.
pub(crate) fn settle(state: &mut SessionState, mut turn: RunningTurn, out: &mut Effects) {
    let acts = state.acts.values().any(|pending| pending.is_awaited_by(turn.id));
    let asks = state.questions.values().any(|open| open.turns.contains(&turn.id));
    let stage = if asks { TurnStage::Asking } else { TurnStage::Acting };
    if turn.stage == TurnStage::Asking && stage == TurnStage::Acting {
        turn.resumed = state.now;
    }
    turn.stage = stage;
    if acts || asks {
        state.put_turn(turn);
    } else {
        think::go_on(state, turn, out);
    }
}

/// An order on its way.
pub(crate) struct DispatchedOrder {
    pub(crate) by: ProposalAuthor,
    pub(crate) order: Order,
    pub(crate) back: OutcomeReturn,
    /// Listeners to the outcome beside the turn.
    pub(crate) tell: Vec<OutcomeListener>,
    /// Further turns that asked for the same, and have its outcome.
    pub(crate) also: Vec<TurnId>,
}

/// Carries out what was allowed: here, if it concerns only this session, else by an actuator.
pub(crate) fn perform(
    state: &mut SessionState,
    turn: &mut RunningTurn,
    job: DispatchedOrder,
    out: &mut Effects,
) {
    count(state, &turn.signal.from.principal, &job.order);
    if job.order.action().is_staged() {
        turn.closing = StageClosing::Due;
    }
    if let Some(text) = said(&job.order) {
        turn.said.push(text.into());
        for id in &job.also {
            if let Some(mut other) = state.take_turn(|turn| turn.id == *id) {
                other.said.push(text.into());
                state.put_turn(other);
            }
        }
        if !job.tell.is_empty() {
            let deed = deed(&job.order, told(text));
            tell_all(state, &job.tell, &deed, &job.back, out);
        }
        turn.end_call(&job.back.slots, &CallEnd::Said);
        if job.back.then_think {
            turn.think_deeper();
        }
        return;
    }
    if let Action::Directive(directive) = job.order.action() {
        turn.directives.push(Arc::new(directive.to_value()));
        turn.end_call(&job.back.slots, &CallEnd::Said);
        return;
    }
    if matches!(job.order.action(), Action::GoOn(request) if request.turn == turn.id.0) {
        return turn.budget.extend();
    }
    let label = state.shown_label(turn).max(turn.label(job.by));
    let Some(outcome) = perform_here(state, &job.order, label) else {
        return send(state, turn.id, &turn.signal.from, job, out);
    };
    let deed = deed(&job.order, outcome);
    tell_all(state, &job.tell, &deed, &job.back, out);
    note_in(state, &job.also, &deed, &job.back);
    note(turn, deed, &job.back, &state.limits);
}

/// Ends an approved act for which no turn waits any more.
pub(crate) fn perform_alone(
    state: &mut SessionState,
    question: &ApprovalRequest,
    job: DispatchedOrder,
    out: &mut Effects,
) {
    count(state, &question.asker.principal, &job.order);
    // Nobody knows any more what had been read.
    let Some(outcome) = perform_here(state, &job.order, Privacy::Secret) else {
        return send(state, question.turn, &question.asker, job, out);
    };
    let deed = deed(&job.order, outcome);
    tell_all(state, &job.tell, &deed, &job.back, out);
}

/// Says the outcome of something that was approved to all who do not wait for it.
pub(crate) fn tell_all(
    state: &mut SessionState,
    told: &[OutcomeListener],
    deed: &Deed,
    back: &OutcomeReturn,
    out: &mut Effects,
) {
    for told in told {
        tell(state, told, deed, out);
    }
    // All of them want the outcome of the same question.
    if let Some(told) = told.first() {
        parked_turn::note(state, told.approval, deed, back);
    }
}

fn tell(state: &mut SessionState, told: &OutcomeListener, deed: &Deed, out: &mut Effects) {
    let name = state.name_of(told.approval);
    let payload = answer::of_deed(deed).1.put("approval", name).done();
    let seq = state.take_seq();
    out.push(Effect::Say(Utterance { seq, answers: None, to: told.to.clone(), payload }));
}

/// Text that an order says to its asker; `None` for every other order.
fn said(order: &Order) -> Option<&str> {
    match order.action() {
        Action::Message { text } if order.target().as_str() == decide::ASKER => Some(text),
        _ => None,
    }
}

/// Counts an order for its asker, except one that only says something to them.
fn count(state: &mut SessionState, asker: &str, order: &Order) {
    if said(order).is_none() {
        state.budget.add(state.now, asker, policy::kind(order.action()));
    }
}

/// Carries out what concerns only this session; `label` is that of what its proposer had read.
fn perform_here(state: &mut SessionState, order: &Order, label: Privacy) -> Option<Outcome> {
    Some(match order.action() {
        Action::Message { text } if said(order).is_some() => told(text),
        Action::Schedule(request) => schedule::plan(state, request),
        Action::SetLimits(request) => {
            request.apply(&mut state.limits);
            state.front.reset();
            Outcome::Done(Value::plist([("limits", state.limits.to_value())]))
        }
        Action::Directive(directive) => {
            Outcome::Done(Value::plist([("directive", directive.to_value())]))
        }
        Action::GoOn(_) => Outcome::Failed("that turn is over".into()),
        Action::Compact(request) => summary::compact(state, request, label),
        Action::Release(request) => summary::release(state, request),
        Action::Unschedule { name } => schedule::remove(state, name),
        Action::PauseSchedule { name, is_paused } => schedule::pause(state, name, *is_paused),
        _ => return None,
    })
}

/// The outcome of what was said to the one who asked.
fn told(text: &str) -> Outcome {
    Outcome::Done(Value::plist([("text", Value::from(text))]))
}

fn deed(order: &Order, outcome: Outcome) -> Deed {
    Deed::of(order.target(), order.action().name(), outcome)
}

/// Sends an order out and awaits its outcome.
fn send(
    state: &mut SessionState,
    turn: TurnId,
    asker: &SignalSender,
    job: DispatchedOrder,
    out: &mut Effects,
) {
    let DispatchedOrder { by, order, back, tell, also } = job;
    let id = state.take_effect();
    let seq = state.take_seq();
    let deadline = state.now.after(stop::time_of(&order, &state.limits));
    let (asker, kept) = (asker.clone(), order.clone());
    let is_stopping = false;
    let pending =
        PendingAct { turn, seq, by, asker, order: kept, deadline, back, tell, also, is_stopping };
    state.acts.insert(id, pending);
    out.push(Effect::Act { id, seq, turn, order, deadline });
}

/// Ends an act without word from whoever was asked.
fn end(state: &mut SessionState, id: EffectId, outcome: Outcome, out: &mut Effects) {
    let Some(pending) = state.acts.remove(&id) else { return };
    out.push(Effect::Settled { id, seq: state.take_seq(), outcome: outcome.clone() });
    ended(state, &pending, outcome, None, out);
}

/// Tells all who want to know how an act ended; its turn, if it still runs, goes on elsewhere. `seq` is the
/// number under which the record has the outcome, if somebody reported it.
fn ended(
    state: &mut SessionState,
    pending: &PendingAct,
    outcome: Outcome,
    seq: Option<Seq>,
    out: &mut Effects,
) {
    if outcome == Outcome::UnknownOutcome {
        approve::ask_again(state, pending, out);
    }
    let mut deed = deed(&pending.order, outcome);
    deed.privacy = answer::label(&pending.order, &deed.outcome);
    deed.store(seq, &state.limits);
    tell_all(state, &pending.tell, &deed, &pending.back, out);
    note_in(state, &[pending.turn], &deed, &pending.back);
    note_in(state, &pending.also, &deed, &pending.back);
}

/// Notes how something ended in the turns that wait for it.
pub(crate) fn note_in(
    state: &mut SessionState,
    turns: &[TurnId],
    deed: &Deed,
    back: &OutcomeReturn,
) {
    for id in turns {
        if let Some(mut turn) = state.take_turn(|turn| turn.id == *id) {
            note(&mut turn, deed.clone(), back, &state.limits);
            state.put_turn(turn);
        }
    }
}

/// Notes how an act of the turn ended.
pub(crate) fn note(
    turn: &mut RunningTurn,
    deed: Deed,
    back: &OutcomeReturn,
    limits: &SessionLimits,
) {
    let outcome = match deed.outcome {
        // A request's result goes to its asker whole and is gone; a thinker's stays in the state, or at
        // least its place in the record.
        Outcome::Done(result) if turn.signal.kind != SignalKind::Request => {
            let bytes = weight(&result);
            let too_large = || PlistBuilder::new().put_number("too-large", bytes).done();
            Outcome::Done(match deed.stored {
                _ if bytes > limits.payload => too_large(),
                Some(_) => thought::excerpt(&result),
                None => result,
            })
        }
        Outcome::Denied(reason) => Outcome::Denied(cut(&reason, limits.history_text).into()),
        Outcome::Failed(reason) => Outcome::Failed(cut(&reason, limits.history_text).into()),
        other => other,
    };
    turn.end_with(Deed { outcome, ..deed }, back);
    if back.then_think {
        turn.think_deeper();
    }
}

/// Ends a turn: its one answer, if somebody waits for it or there is something to say, and why it
/// ended.
fn finish(
    state: &mut SessionState,
    turn: &RunningTurn,
    reason: TurnEnd,
    payload: Option<Value>,
    out: &mut Effects,
) {
    approve::withdraw(state, turn, out);
    failed_turn::follow(state, turn, reason);
    let payload = payload.map(|payload| failed_turn::told(state, turn, reason, payload));
    let is_wanted = |payload: &Value| match turn.seq {
        Some(_) => true,
        None => payload.get("text").is_some() || !perceive::is_beat(turn),
    };
    let payload = payload.filter(is_wanted);
    if let Some(payload) = payload {
        remember(state, turn, &payload);
        let to = turn.seq.map(|_| addressee(&turn.signal));
        let seq = state.take_seq();
        out.push(Effect::Say(Utterance { seq, answers: turn.seq, to, payload }));
    }
    out.push(Effect::Finish { turn: turn.id, reason });
}

/// Keeps what was asked and answered, if somebody said something.
fn remember(state: &mut SessionState, turn: &RunningTurn, payload: &Value) {
    let asked = turn.signal.payload.get("text").and_then(Value::as_str);
    let Some(asked) = asked.filter(|_| perceive::is_prompt(&turn.signal)) else { return };
    let said = ["text", "message"].iter().find_map(|key| payload.get(key)).and_then(Value::as_str);
    let limit = state.limits.history_text;
    let exchange = PastExchange {
        asked: cut(asked, limit).into(),
        said: cut(said.unwrap_or(""), limit).into(),
        privacy: turn.privacy,
    };
    summary::make_room(state);
    state.history.push(Arc::new(exchange), state.limits.history);
}
