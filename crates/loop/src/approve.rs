//! Between decide and act: what needs somebody's yes, until it has one.
//!
//! Called by `act` when a proposal is to be asked for, and by `step` when an answer comes. A question
//! is asked once however often the same is proposed meanwhile, the first answer counts, and what
//! follows from a yes is the very value that was judged. Nothing here makes an order: `decide` does,
//! after asking the policies again.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::act::{self, DispatchedOrder, error};
use crate::action::{Action, RiskLevel};
use crate::decide::{self, ApprovalIntent, JudgedProposal, ProposalRoute};
use crate::effect::{
    Addressee, ApprovalRequest, CheckResult, Decision, DecisionRule, Deed, Effect, Effects,
    ProposalAuthor, RefusalCode, RememberedRuling, RuleCheck, Utterance, Verdict,
};
use crate::event::{ApprovalAnswer, ApprovalChoice, Outcome, Proposal, SignalSender};
use crate::ids::{EffectId, KeywordName, Seq, TurnId};
use crate::parked_turn;
use crate::plist_codec::{FieldSink, PlistBuilder};
use crate::policy::PolicyVerdict;
use crate::state::{
    ApprovalResolution, OpenApproval, OutcomeListener, OutcomeReturn, PendingAct, ResolvedApproval,
    RunningTurn, SessionState,
};

/// Most ended questions that are remembered: those who answer later are told how it ended.
const MAX_RESOLVED_QUESTIONS: usize = 64;

/// Most listeners to the outcome of one question; all others see it in the stream.
const MAX_OUTCOME_LISTENERS: usize = 16;

/// Asks somebody, or joins the open question that asks the same.
pub(crate) fn ask(
    state: &mut SessionState,
    turn: &mut RunningTurn,
    asked: ApprovalSubmission,
    out: &mut Effects,
) {
    let ApprovalSubmission { by, intent, back } = asked;
    let asker = &turn.signal.from;
    let same = state.questions.iter().find(|(_, open)| open.is_about(&intent, by, asker));
    let id = match same {
        Some((id, _)) => *id,
        None => open(state, turn, by, intent, out),
    };
    let Some(open) = state.questions.get_mut(&id) else { return };
    open.back.join(back);
    if turn.signal.patient {
        if !open.turns.contains(&turn.id) {
            open.turns.push(turn.id);
        }
        return;
    }
    if !turn.pending.contains(&id) {
        turn.pending.push(id);
    }
    let to = turn.seq.map(|_| act::addressee(&turn.signal));
    if open.tell.len() < MAX_OUTCOME_LISTENERS && !open.tell.contains(&to) {
        open.tell.push(to);
    }
}

/// A proposal that needs a yes.
pub(crate) struct ApprovalSubmission {
    pub(crate) by: ProposalAuthor,
    pub(crate) intent: ApprovalIntent,
    pub(crate) back: OutcomeReturn,
}

/// Takes an answer.
pub(crate) fn answered(state: &mut SessionState, answered: &ApprovalAnswer, out: &mut Effects) {
    let seq = state.take_seq();
    // An answer that comes after the time is too late, also when nobody has looked at the clock.
    expire(state, out);
    let id = answered.approval;
    let taken = admit(state, answered, out).and_then(|()| {
        let open = state.questions.remove(&id);
        open.ok_or_else(|| late(state, id))
    });
    match taken {
        Err(refusal) => reply(state, seq, answered, refusal, out),
        Ok(open) => {
            let how = match answered.answer {
                ApprovalChoice::Allow => ApprovalResolution::Allowed,
                ApprovalChoice::Deny => ApprovalResolution::Denied,
            };
            resolved(state, id, how, Some(&answered.from.principal));
            let told = PlistBuilder::new()
                .put("status", Value::keyword("success"))
                .put("action", Value::keyword("approve"))
                .put("approval", state.name_of(id))
                .put("answer", Value::keyword(answered.answer.word()))
                .put_some("always", answered.always);
            reply(state, seq, answered, told.done(), out);
            follow(state, id, open, answered, out);
        }
    }
    act::resume(state, out);
}

/// Ends the questions whose time is over.
pub(crate) fn expire(state: &mut SessionState, out: &mut Effects) {
    let now = state.now;
    end_all(state, |open| open.question.expires <= now, ApprovalResolution::Expired, out);
    parked_turn::expire(state);
}

/// Ends all questions: whoever interrupts does not want them answered.
pub(crate) fn withdraw_all(state: &mut SessionState, out: &mut Effects) {
    end_all(state, |_| true, ApprovalResolution::Superseded, out);
}

/// Ends the questions that nobody but this turn, which ends, wants to have answered.
pub(crate) fn withdraw(state: &mut SessionState, turn: &RunningTurn, out: &mut Effects) {
    for open in state.questions.values_mut() {
        open.turns.retain(|waiting| *waiting != turn.id);
    }
    let is_nobodys = |open: &OpenApproval| open.turns.is_empty() && open.tell.is_empty();
    end_all(state, is_nobodys, ApprovalResolution::Superseded, out);
}

/// Asks whether something is to be done again of which nobody knows whether it was done. What is
/// harmless is not worth a question, and nothing is ever done again by itself.
pub(crate) fn ask_again(state: &mut SessionState, pending: &PendingAct, out: &mut Effects) {
    let action = pending.order.action();
    if action.risk() == RiskLevel::Safe || state.questions.len() >= state.limits.questions {
        return;
    }
    let (name, target) = (action.name(), pending.order.target());
    let text = format!(
        "`{name}` of `{target}` was begun, and nobody knows whether it was done; do it again?"
    );
    let question = ApprovalRequest {
        turn: pending.turn,
        text: text.into(),
        intent: ApprovalIntent::of(&pending.order),
        by: pending.by,
        asker: pending.asker.clone(),
        who: Vec::new(),
        expires: state.now.after(state.limits.approval_ms),
    };
    let id = put(state, question, out);
    if let Some(open) = state.questions.get_mut(&id) {
        // No turn waits for it; all are told what becomes of it.
        open.tell.push(None);
    }
}

fn open(
    state: &mut SessionState,
    turn: &RunningTurn,
    by: ProposalAuthor,
    intent: ApprovalIntent,
    out: &mut Effects,
) -> EffectId {
    let question = ApprovalRequest {
        turn: turn.id,
        text: text(by, &intent).into(),
        intent,
        by,
        asker: turn.signal.from.clone(),
        who: Vec::new(),
        expires: state.now.after(state.limits.approval_ms),
    };
    put(state, question, out)
}

/// Puts a question to whoever may answer it.
fn put(state: &mut SessionState, mut question: ApprovalRequest, out: &mut Effects) -> EffectId {
    let id = state.take_effect();
    let seq = state.take_seq();
    question.who = who(state, &question);
    let question = Arc::new(question);
    out.push(Effect::Ask { id, seq, question: question.clone() });
    let open = OpenApproval {
        seq,
        question,
        turns: Vec::new(),
        back: OutcomeReturn::default(),
        tell: Vec::new(),
    };
    state.questions.insert(id, open);
    id
}

/// Target whose acts leave for good.
const MAIL: &str = "mail";

/// The question in words. No word of it comes from whoever proposed.
fn text(by: ProposalAuthor, intent: &ApprovalIntent) -> String {
    let who = match by {
        ProposalAuthor::Asker => "the asker",
        ProposalAuthor::Reflex => "a reflex",
        ProposalAuthor::Thinker => "the thinker",
    };
    let (action, target) = (intent.action(), intent.target());
    let (touches, risk) = (action.touches().words(), action.risk().word());
    let more = circumstances(action, target.as_str());
    format!("{who} wants `{}` of `{target}`, which touches {touches} ({risk}){more}", action.name())
}

/// The layer of the jail that a run is in, and whether nobody can take it back.
fn circumstances(action: &Action, target: &str) -> String {
    const FOR_GOOD: &str = "; it cannot be undone";
    match action {
        Action::Exec(run) => {
            let layer = match &*run.facts.layer {
                "" => String::new(),
                layer => format!(", in the jail, layer {layer}"),
            };
            let sends =
                if run.network.is_empty() { "" } else { "; what hosts are sent cannot be undone" };
            layer + sends
        }
        Action::Http(request) if !matches!(request.method, "get" | "head") => FOR_GOOD.to_owned(),
        Action::Net { .. } => FOR_GOOD.to_owned(),
        // Nothing here knows more of a mail than its target.
        Action::Other(_) if target == MAIL => FOR_GOOD.to_owned(),
        _ => String::new(),
    }
}

/// Principals known to the session that may answer.
fn who(state: &SessionState, question: &ApprovalRequest) -> Vec<Box<str>> {
    let asker = &question.asker;
    let owner = state.owner.as_deref().filter(|owner| **owner != *asker.principal);
    // Who owns the daemon is not known here: whoever has a key or an account may. Whoever answers is
    // judged by what the daemon knows then.
    let has_name = |owner: &str| owner.contains(':');
    let owner =
        owner.map(|owner| SignalSender { owner: has_name(owner), ..SignalSender::new(owner) });
    let known = owner.iter().chain([asker]);
    let may = |who: &&SignalSender| {
        decide::judge_answer(state, question, who).word == PolicyVerdict::Allow
    };
    known.filter(may).map(|who| who.principal.clone()).collect()
}

/// Whether an answer counts; else what its sender is told.
fn admit(
    state: &mut SessionState,
    answered: &ApprovalAnswer,
    out: &mut Effects,
) -> Result<(), Value> {
    let Some(open) = state.questions.get(&answered.approval) else {
        return Err(late(state, answered.approval));
    };
    let question = open.question.clone();
    let hash = question.intent.hash();
    if answered.hash.is_some_and(|seen| seen != hash) {
        let message = format!("the answer is to something else: `{hash}` was asked for");
        return Err(error(RefusalCode::Refused, &message).done());
    }
    let found = decide::judge_answer(state, &question, &answered.from);
    let principal = &answered.from.principal;
    let (verdict, result, reason) = if found.word == PolicyVerdict::Allow {
        (Verdict::Allow, CheckResult::Allow, format!("`{principal}` may answer"))
    } else {
        let reason = format!("`{principal}` may not answer this question");
        (Verdict::Deny(RefusalCode::Refused), CheckResult::Deny, reason)
    };
    let ruling = Arc::new(RememberedRuling {
        turn: question.turn,
        by: ProposalAuthor::Asker,
        model: None,
        target: Some(question.intent.target().clone()),
        action: Some(KeywordName::new("approve")),
        rule: DecisionRule::Policy,
        // A yes that would itself need a yes is no yes, and no policy forbids it.
        policies: if found.word == PolicyVerdict::Ask { Vec::new() } else { found.policies },
        verdict,
        reason: reason.as_str().into(),
    });
    let payload = PlistBuilder::new()
        .put_number("approval", answered.approval.0)
        .put("answer", Value::keyword(answered.answer.word()))
        .put("hash", hash.to_string());
    record(
        state,
        Decision {
            ruling,
            payload: Arc::new(payload.done()),
            proposal: None,
            explanation: None,
            checked: vec![RuleCheck { rule: DecisionRule::Policy, result }],
            dropped: Vec::new(),
            facts: Some(Box::new(decide::answer_facts(state, &question, &answered.from))),
        },
        out,
    );
    match verdict {
        Verdict::Allow => Ok(()),
        _ => Err(error(RefusalCode::Refused, &reason).done()),
    }
}

/// Answers somebody whose question is not open.
fn late(state: &SessionState, id: EffectId) -> Value {
    let name = state.name_of(id);
    let known = state.resolved.iter().rev().find(|resolved| resolved.approval == id);
    let (code, message) = match known {
        None => (RefusalCode::Refused, format!("no question `{name}`")),
        Some(ResolvedApproval { how: ApprovalResolution::Expired, .. }) => {
            (RefusalCode::Expired, format!("question `{name}` has expired"))
        }
        Some(ResolvedApproval { how, by, .. }) => {
            let by = by.as_ref().map(|by| format!(" by `{by}`")).unwrap_or_default();
            (RefusalCode::Refused, format!("question `{name}` was {}{by} already", how.word()))
        }
    };
    let how = known.map(|known| Value::keyword(known.how.word()));
    let by = known.and_then(|known| known.by.as_deref());
    error(code, &message).put("approval", name).put_some("how", how).put_text("by", by).done()
}

/// Carries on after an answer that counts.
fn follow(
    state: &mut SessionState,
    id: EffectId,
    open: OpenApproval,
    answered: &ApprovalAnswer,
    out: &mut Effects,
) {
    let by = &answered.from.principal;
    if answered.answer == ApprovalChoice::Deny {
        return end(state, id, &open, &Outcome::Denied(format!("denied by `{by}`").into()), out);
    }
    let (decision, order) = decide::judge_approved(state, &open.question, by);
    record(state, decision, out);
    let order = match order {
        Ok(order) => order,
        Err(reason) => return end(state, id, &open, &Outcome::Denied(reason), out),
    };
    let tell = open.tell.into_iter().map(|to| OutcomeListener { approval: id, to }).collect();
    let runs = |id: &TurnId| state.running().any(|turn| turn.id == *id);
    let mut waiting: Vec<TurnId> = open.turns.into_iter().filter(runs).collect();
    let first = (!waiting.is_empty()).then(|| waiting.remove(0));
    let (by, back) = (open.question.by, open.back);
    let job = DispatchedOrder { by, order, back, tell, also: waiting };
    match state.take_turn(|turn| Some(turn.id) == first) {
        Some(mut turn) => {
            act::perform(state, &mut turn, job, out);
            state.put_turn(turn);
        }
        None => act::perform_alone(state, &open.question, job, out),
    }
}

fn end_all(
    state: &mut SessionState,
    is_over: impl Fn(&OpenApproval) -> bool,
    how: ApprovalResolution,
    out: &mut Effects,
) {
    let outcome = match how {
        ApprovalResolution::Expired => Outcome::Expired,
        _ => Outcome::Superseded,
    };
    let over = state.questions.iter().filter(|(_, open)| is_over(open)).map(|(id, _)| *id);
    for id in over.collect::<Vec<_>>() {
        let Some(open) = state.questions.remove(&id) else { continue };
        resolved(state, id, how, None);
        end(state, id, &open, &outcome, out);
    }
}

/// Ends a question without an act.
fn end(
    state: &mut SessionState,
    id: EffectId,
    open: &OpenApproval,
    outcome: &Outcome,
    out: &mut Effects,
) {
    out.push(Effect::Settled { id, seq: state.take_seq(), outcome: outcome.clone() });
    let intent = &open.question.intent;
    let deed = Deed::of(intent.target(), intent.action().name(), outcome.clone());
    let tell = open.tell.iter().map(|to| OutcomeListener { approval: id, to: to.clone() });
    act::tell_all(state, &tell.collect::<Vec<_>>(), &deed, &open.back, out);
    act::note_in(state, &open.turns, &deed, &open.back);
    if matches!(outcome, Outcome::Denied(_) | Outcome::Expired) {
        discard(state, &open.question, out);
    }
}

/// Has the stage thrown away whose changes nobody wants: judged like any other proposal.
fn discard(state: &mut SessionState, question: &ApprovalRequest, out: &mut Effects) {
    let Action::Stage(refused) = question.intent.action() else { return };
    let payload = PlistBuilder::new()
        .put("action", Value::keyword("discard"))
        .put("stage", &*refused.stage)
        .done();
    let proposal = Proposal::new(Some(question.intent.target().clone()), payload);
    let by = ProposalAuthor::Reflex;
    let JudgedProposal { decision, way } =
        decide::judge_after(state, question.turn, &question.asker, by, proposal);
    record(state, decision, out);
    let Ok(ProposalRoute::Do(order)) = way else { return };
    let (back, tell, also) = (OutcomeReturn::default(), Vec::new(), Vec::new());
    let job = DispatchedOrder { by, order, back, tell, also };
    act::perform_alone(state, question, job, out);
}

fn resolved(
    state: &mut SessionState,
    approval: EffectId,
    how: ApprovalResolution,
    by: Option<&str>,
) {
    state.resolved.push_back(ResolvedApproval { approval, how, by: by.map(Into::into) });
    while state.resolved.len() > MAX_RESOLVED_QUESTIONS {
        state.resolved.pop_front();
    }
}

/// Keeps a decision that is about no proposal.
pub(crate) fn record(state: &mut SessionState, decision: Decision, out: &mut Effects) {
    state.decisions.push(decision.ruling.clone(), state.limits.decisions);
    out.push(Effect::Decided(decision));
}

/// Tells the one who answered what became of the answer.
fn reply(
    state: &mut SessionState,
    seq: Seq,
    answered: &ApprovalAnswer,
    payload: Value,
    out: &mut Effects,
) {
    let to = Addressee { client: answered.from.client.clone(), id: answered.id.clone() };
    let seq_of_reply = state.take_seq();
    out.push(Effect::Say(Utterance {
        seq: seq_of_reply,
        answers: Some(seq),
        to: Some(to),
        payload,
    }));
}
