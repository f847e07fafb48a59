//! Second stage: who is asked what to do, and what becomes of what they say.
//!
//! Called by `step` when a turn begins and when a thinker answers, and by `act` when outcomes or
//! vetoes go back to be thought about. A thinker only ever proposes; what it says goes to `act`,
//! which asks `decide`.

use crate::act;
use crate::approve;
use crate::decide;
use crate::effect::{By, Code, Effect, Effects};
use crate::event::{Advice, Draft, Fault, Proposal, SignalKind};
use crate::ids::{EffectId, TurnId};
use crate::park;
use crate::state::{Next, Stage, State, Turn, Waiting};

/// Begins the turn of a signal.
pub(crate) fn begin(state: &mut State, waiting: Waiting, out: &mut Effects) {
    if park::is_continuing(&waiting.signal) {
        return park::resume(state, waiting, out);
    }
    state.turns = state.turns.saturating_add(1);
    let turn = Turn::new(TurnId(state.turns), waiting, state.now);
    if turn.signal.kind == SignalKind::Request {
        let asked = Proposal {
            target: turn.signal.target.clone(),
            payload: turn.signal.payload.clone(),
            explanation: None,
            then_think: false,
        };
        return act::carry(state, turn, By::Asker, vec![asked], out);
    }
    consult(state, turn, out);
}

/// Asks the reflex thinkers first.
pub(crate) fn consult(state: &mut State, mut turn: Turn, out: &mut Effects) {
    let id = state.take_effect();
    turn.stage = Stage::Consulting(id);
    out.push(Effect::Consult { id, context: state.context(&turn) });
    state.turn = Some(turn);
}

/// Takes the advice of the reflex thinkers.
pub(crate) fn consulted(state: &mut State, effect: EffectId, advice: Advice, out: &mut Effects) {
    let Some(mut turn) = awaiting(state, Stage::Consulting(effect)) else { return };
    // What follows a failed turn is nothing to think about, and may be what the owner wants of old.
    let is_after = turn.signal.kind == SignalKind::Failed;
    turn.next = if advice.think && !is_after { Next::Think } else { Next::Answer };
    let by = if advice.standing && is_after { By::Asker } else { By::Reflex };
    act::carry(state, turn, by, advice.proposals, out);
}

/// Takes a thinker's draft.
pub(crate) fn drafted(
    state: &mut State,
    effect: EffectId,
    draft: Result<Draft, Fault>,
    out: &mut Effects,
) {
    let Some(mut turn) = awaiting(state, Stage::Thinking(effect)) else { return };
    match draft {
        Ok(draft) => {
            turn.next = Next::Answer;
            act::carry(state, turn, By::Thinker, draft.proposals, out);
        }
        // What was done before stays done: a fault here says nothing about it.
        Err(fault) => act::fail(state, &turn, &fault, out),
    }
}

/// Goes on when no act of the turn is awaited any more.
pub(crate) fn go_on(state: &mut State, mut turn: Turn, out: &mut Effects) {
    match turn.next {
        Next::Answer => return act::answer(state, &turn, out),
        Next::Refuse => return act::refuse(state, &turn, out),
        Next::Think => {}
        Next::ThinkAgain if turn.tries >= state.limits.tries => {
            return act::refuse(state, &turn, out);
        }
        Next::ThinkAgain => {}
        Next::ThinkDeeper if turn.depth >= state.limits.depth => {
            let message = format!("stopped after {} rounds of outcomes", turn.depth);
            return act::give_up(state, &turn, Code::Refused, &message, out);
        }
        Next::ThinkDeeper => turn.depth += 1,
    }
    if let Err(decision) = decide::judge_thought(state, &turn) {
        let reason = decision.ruling.reason.clone();
        approve::record(state, *decision, out);
        return act::give_up(state, &turn, Code::Refused, &reason, out);
    }
    let id = state.take_effect();
    turn.stage = Stage::Thinking(id);
    out.push(Effect::Think { id, prompt: state.prompt(&turn) });
    state.turn = Some(turn);
}

/// Takes the turn out of the state if it waits for just this.
fn awaiting(state: &mut State, stage: Stage) -> Option<Turn> {
    state.turn.take_if(|turn| turn.stage == stage)
}
