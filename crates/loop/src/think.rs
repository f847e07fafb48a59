//! Second stage: who is asked what to do, and what becomes of what they say.
//!
//! Called by `step` when a turn begins and when a thinker answers, and by `act` when outcomes or
//! vetoes go back to be thought about. A thinker only ever proposes; what it says goes to `act`,
//! which asks `decide`.

use std::sync::Arc;

use crate::act::{self, ProposalBatch};
use crate::approve;
use crate::consult::{self, ConsultStage, HeldProposals};
use crate::decide;
use crate::effect::{Effect, Effects, ProposalAuthor, RefusalCode};
use crate::event::{Draft, Proposal, ReflexAdvice, SignalKind, ThinkerFault};
use crate::ids::{EffectId, TurnId};
use crate::parked_turn;
use crate::state::{
    QueuedSignal, RunningTurn, SessionState, StageClosing, TurnContinuation, TurnStage,
};
use crate::turn_budget;

/// Begins the turn of a signal, beside the one that may think or as that one.
pub(crate) fn begin(
    state: &mut SessionState,
    waiting: QueuedSignal,
    is_beside: bool,
    out: &mut Effects,
) {
    if parked_turn::is_continuing(&waiting.signal) {
        return parked_turn::resume(state, waiting, is_beside, out);
    }
    state.turns = state.turns.saturating_add(1);
    let turn = RunningTurn::new(TurnId(state.turns), waiting, state.now);
    let turn = RunningTurn { is_beside, ..turn };
    if turn.signal.kind == SignalKind::Request {
        let asked = Proposal::new(turn.signal.target.clone(), turn.signal.payload.clone());
        // What a skill asks for while it carries out an order is not what the asker wants.
        let by = match turn.signal.from.is_skill() {
            true => ProposalAuthor::Thinker,
            false => ProposalAuthor::Asker,
        };
        return act::carry(state, turn, by, vec![asked].into(), out);
    }
    consult(state, turn, out);
}

/// Asks the reflex thinkers first.
pub(crate) fn consult(state: &mut SessionState, turn: RunningTurn, out: &mut Effects) {
    consult::ask(state, turn, ConsultStage::Perceive, out);
}

/// Takes the advice of the reflex thinkers.
pub(crate) fn consulted(
    state: &mut SessionState,
    effect: EffectId,
    advice: ReflexAdvice,
    out: &mut Effects,
) {
    let Some(mut turn) = awaiting(state, TurnStage::Consulting(effect)) else { return };
    let asked_at = std::mem::take(&mut turn.asked_at);
    if let Some(held) = turn.held.take() {
        consult::withhold(&mut turn, &advice);
        let (held, findings) = (HeldProposals::clone(&held), Some(&*advice.findings));
        return act::carry_judged(state, turn, held, findings, out);
    }
    if let Err(reason) = consult::object(&mut turn, &advice) {
        turn.rejected.push(Arc::new(consult::rejection(&reason)));
        return act::refuse(state, &turn, out);
    }
    if asked_at == ConsultStage::Think {
        return ask_thinker(state, turn, out);
    }
    if advice.thinker.is_some() {
        turn.thinker = advice.thinker;
    }
    if turn.closing == StageClosing::Asked {
        turn.closing = StageClosing::Clear;
        return act::carry(state, turn, ProposalAuthor::Reflex, advice.proposals.into(), out);
    }
    // What follows a failed turn is nothing to think about, and may be what the owner wants of old.
    let is_after = turn.signal.kind == SignalKind::Failed;
    turn.next =
        if advice.think && !is_after { TurnContinuation::Think } else { TurnContinuation::Answer };
    let by =
        if advice.standing && is_after { ProposalAuthor::Asker } else { ProposalAuthor::Reflex };
    act::carry(state, turn, by, advice.proposals.into(), out);
}

/// Takes a thinker's draft.
pub(crate) fn drafted(
    state: &mut SessionState,
    effect: EffectId,
    draft: Result<Draft, ThinkerFault>,
    out: &mut Effects,
) {
    let Some(mut turn) = awaiting(state, TurnStage::Thinking(effect)) else { return };
    match draft {
        Ok(draft) => {
            turn.next = TurnContinuation::Answer;
            turn.begin_round(effect, &draft);
            turn.budget.spend(&draft);
            let Draft { text, calls, .. } = draft;
            let batch = ProposalBatch { thought: Some(effect), text, proposals: calls };
            act::carry(state, turn, ProposalAuthor::Thinker, batch, out);
        }
        // What was done before stays done: a fault here says nothing about it.
        Err(fault) => act::fail(state, &turn, &fault, out),
    }
}

/// Goes on when no act of the turn is awaited any more.
pub(crate) fn go_on(state: &mut SessionState, mut turn: RunningTurn, out: &mut Effects) {
    match turn.next {
        TurnContinuation::Answer if turn.closing == StageClosing::Due => {
            turn.closing = StageClosing::Asked;
            return consult(state, turn, out);
        }
        TurnContinuation::Answer => return act::answer(state, &turn, out),
        TurnContinuation::Refuse => return act::refuse(state, &turn, out),
        TurnContinuation::ThinkAgain if turn.tries >= state.limits.tries_of_turn() => {
            return act::refuse(state, &turn, out);
        }
        TurnContinuation::Think | TurnContinuation::ThinkAgain | TurnContinuation::ThinkDeeper => {}
    }
    let Some(mut turn) = turn_budget::check(state, turn, out) else { return };
    if turn.next == TurnContinuation::ThinkDeeper {
        turn.depth += 1;
    }
    if turn.is_beside {
        turn.stage = TurnStage::Ready;
        return state.put_turn(turn);
    }
    ask(state, turn, out);
}

/// Asks a thinker, if the policies let it be asked.
pub(crate) fn ask(state: &mut SessionState, turn: RunningTurn, out: &mut Effects) {
    if let Err(decision) = decide::judge_thought(state, &turn) {
        let reason = decision.ruling.reason.clone();
        approve::record(state, *decision, out);
        return act::give_up(state, &turn, RefusalCode::Refused, &reason, out);
    }
    if consult::is_wanted(state, ConsultStage::Think) {
        return consult::ask(state, turn, ConsultStage::Think, out);
    }
    ask_thinker(state, turn, out);
}

/// Asks a thinker: nobody objects.
fn ask_thinker(state: &mut SessionState, mut turn: RunningTurn, out: &mut Effects) {
    let id = state.take_effect();
    turn.stage = TurnStage::Thinking(id);
    out.push(Effect::Think { id, prompt: state.prompt(&turn) });
    state.put_turn(turn);
}

/// Takes the turn out of the state if it waits for just this.
fn awaiting(state: &mut SessionState, stage: TurnStage) -> Option<RunningTurn> {
    state.take_turn(|turn| turn.stage == stage)
}
