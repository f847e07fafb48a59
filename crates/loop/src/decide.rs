//! Third stage: whether a proposal may be carried out.
//!
//! The only door to an actuator: an [`Order`] can be made in this file and nowhere else, and an
//! actuator takes nothing but an order. Rules are asked in a fixed order, the policies last; what
//! they say is kept for the record. What needs somebody's yes becomes an [`ApprovalIntent`], which no
//! actuator takes; after the yes it is judged again, and the order is made of the very same value.
//! What a proposal says about its own standing is dropped unread.
//!
//! long: the rules stand in the order in which they are asked.

mod clean;
mod only_action;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::action::{Action, CONTEXT, InvalidAction};
use crate::consult::ProposalObjections;
use crate::effect::{
    ApprovalRequest, CheckResult, Decision, DecisionRule, ProposalAuthor, ProposalRejection,
    RefusalCode, RememberedRuling, RuleCheck, Verdict,
};
use crate::event::{ActuatorLocation, ActuatorRef, Proposal, Signal, SignalKind, SignalSender};
use crate::hash::ActionHash;
use crate::ids::{KeywordName, TurnId};
use crate::plist_codec::{FieldSink, PlistBuilder, UnreadableValue, name, required};
use crate::policy::{
    GuardPolicies, PolicyFacts, PolicyFinding, PolicyVerdict, ProposalCircumstances,
    RequestedAction, SessionAccess, kind,
};
use crate::provenance::ProposalOrigin;
use crate::state::{QueuedSignal, RunningTurn, SessionState};
use crate::value_size::weight;

/// The target of what is said to the one who asked.
pub(crate) const ASKER: &str = "asker";

/// Key by which a thinker says that it could not read a call of its model, and why: nothing is done, and the reason
/// goes back.
pub const MALFORMED: &str = "malformed";

/// The daemon itself, which is always there.
const SYSTEM: &str = "system";

/// Word for what consultants made smaller, among what was dropped of a proposal.
const NARROWED: &str = "narrowed by a consultant";

/// Most targets that a refusal lists.
const MAX_LISTED_TARGETS: usize = 32;

/// The longest name of a target or an action, in bytes: rulings are kept, and name both.
const MAX_SHOWN_NAME_BYTES: usize = 64;

/// Decision about one proposal, and its consequence.
pub(crate) struct JudgedProposal {
    pub(crate) decision: Decision,
    pub(crate) way: Result<ProposalRoute, ProposalRejection>,
}

/// Consequence of a proposal that was not denied.
pub(crate) enum ProposalRoute {
    /// Carried out.
    Do(Order),
    /// Asked for.
    Ask(ApprovalIntent),
}

impl ProposalRoute {
    /// Whether it is one of the acts of its turn. To go on is none: a turn whose acts are used up would ask for
    /// ever.
    pub(crate) fn counts(&self) -> bool {
        let action = match self {
            Self::Do(order) => order.action(),
            Self::Ask(intent) => intent.action(),
        };
        !matches!(action, Action::GoOn(_))
    }
}

/// Judges one proposal.
pub(crate) fn judge(
    state: &SessionState,
    turn: &RunningTurn,
    by: ProposalAuthor,
    proposal: Proposal,
    objections: &ProposalObjections<'_>,
) -> JudgedProposal {
    let proposal = only_action::named(state, proposal);
    let (payload, mut dropped) = clean::clean(by, proposal.payload);
    let narrowed = objections.narrow(&payload);
    // The record has a payload that is not the one that was proposed.
    dropped.extend(matches!(narrowed, Ok(Some(_))).then(|| NARROWED.into()));
    let payload = Arc::new(narrowed.clone().ok().flatten().unwrap_or(payload));
    let origin = ProposalOrigin { provenance: proposal.provenance, privacy: turn.label(by) };
    let mut case = DecisionCase {
        state,
        turn,
        by,
        payload: payload.clone(),
        action: payload.get("action").and_then(KeywordName::of),
        target: proposal.target,
        checked: Vec::with_capacity(DecisionRule::ALL.len()),
        facts: None,
        policies: Vec::new(),
        objections,
        origin,
        narrowing: narrowed.err(),
    };
    let (verdict, reason, way) = match case.ask() {
        Ok((reason, way @ ProposalRoute::Do(_))) => (Verdict::Allow, reason, Ok(way)),
        Ok((reason, way @ ProposalRoute::Ask(_))) => (Verdict::Ask, reason, Ok(way)),
        Err((code, reason)) => (Verdict::Deny(code), reason, Err(code)),
    };
    let DecisionCase { action, target, checked, facts, policies, .. } = case;
    let (action, target) = (action.filter(is_short), target.filter(is_short));
    let reason: Box<str> = reason.into();
    let way = way.map_err(|code| ProposalRejection {
        target: target.clone(),
        action: action.clone(),
        code,
        reason: reason.clone(),
    });
    let rule = checked.last().map_or(DecisionRule::Policy, |last| last.rule);
    let payload = if rule == DecisionRule::Size { Arc::new(Value::Nil) } else { payload };
    let model = turn.model().filter(|_| by == ProposalAuthor::Thinker).cloned();
    let ruling = RememberedRuling {
        turn: turn.id,
        by,
        model,
        target,
        action,
        rule,
        policies,
        verdict,
        reason,
    };
    let ruling = Arc::new(ruling);
    let explanation = proposal.explanation;
    let proposal = None;
    let decision = Decision { ruling, payload, proposal, explanation, checked, dropped, facts };
    JudgedProposal { decision, way }
}

/// Judges a proposal that follows from how a question of a turn ended; the turn may be over.
pub(crate) fn judge_after(
    state: &SessionState,
    turn: TurnId,
    asker: &SignalSender,
    by: ProposalAuthor,
    proposal: Proposal,
) -> JudgedProposal {
    let signal = Signal {
        kind: SignalKind::Event,
        from: asker.clone(),
        id: None,
        target: None,
        payload: Value::Nil,
        dropped: Vec::new(),
        patient: false,
    };
    let waiting = QueuedSignal::new(None, Arc::new(signal));
    let turn = RunningTurn::new(turn, waiting, state.now);
    judge(state, &turn, by, proposal, &ProposalObjections::NONE)
}

/// Judges what somebody said yes to, as things are now.
pub(crate) fn judge_approved(
    state: &SessionState,
    question: &ApprovalRequest,
    by: &str,
) -> (Decision, Result<Order, Box<str>>) {
    let AllowedProposal { action, target, place, payload, .. } = &*question.intent.allowed;
    let ApprovalRequest { by: proposer, asker, intent, .. } = question;
    let (facts, found) = strictest(state, *proposer, asker, intent, GuardPolicies::find_approved);
    let mut policies = Vec::new();
    let judged = match supported(state, action, target, *place) {
        Err((_, reason)) => Err(reason),
        Ok(()) => {
            policies.clone_from(&found.policies);
            match found.word {
                PolicyVerdict::Allow => Ok(format!("`{by}` said yes")),
                PolicyVerdict::Ask | PolicyVerdict::Deny => Err(why_not(action, &found)),
            }
        }
    };
    let (verdict, result, reason) = match &judged {
        Ok(reason) => (Verdict::Allow, CheckResult::Allow, reason),
        Err(reason) => (Verdict::Deny(RefusalCode::Refused), CheckResult::Deny, reason),
    };
    let ruling = RememberedRuling {
        turn: question.turn,
        by: question.by,
        model: None,
        target: Some(target.clone()),
        action: Some(action.name()),
        rule: DecisionRule::Approval,
        policies,
        verdict,
        reason: reason.as_str().into(),
    };
    let decision = Decision {
        ruling: Arc::new(ruling),
        payload: payload.clone(),
        proposal: None,
        explanation: None,
        checked: vec![RuleCheck { rule: DecisionRule::Approval, result }],
        dropped: Vec::new(),
        facts: Some(Box::new(facts)),
    };
    let order = Order::of(&question.intent.allowed);
    (decision, judged.map(|_| order).map_err(Into::into))
}

/// Judges whether somebody may answer a question.
pub(crate) fn judge_answer(
    state: &SessionState,
    question: &ApprovalRequest,
    from: &SignalSender,
) -> PolicyFinding {
    policies_of(state, &answer_facts(state, question, from), GuardPolicies::find)
}

/// Judges whether a thinker may be asked; else why not.
pub(crate) fn judge_thought(state: &SessionState, turn: &RunningTurn) -> Result<(), Box<Decision>> {
    let asker = &turn.signal.from;
    let facts = PolicyFacts::think(&around(state, ProposalAuthor::Asker, asker, "think"));
    let found = policies_of(state, &facts, GuardPolicies::find);
    if found.word == PolicyVerdict::Allow {
        return Ok(());
    }
    let reason = match (&found.fault, found.policies.join("`, `")) {
        (Some(fault), _) => format!("the policies could not be asked: {fault}"),
        (None, none) if none.is_empty() => "no rule allows thinking about that".to_owned(),
        (None, policies) => format!("`{policies}` forbids thinking about that"),
    };
    let ruling = RememberedRuling {
        turn: turn.id,
        by: ProposalAuthor::Asker,
        model: None,
        target: None,
        action: Some(KeywordName::of_word("think")),
        rule: DecisionRule::Policy,
        policies: found.policies,
        verdict: Verdict::Deny(RefusalCode::Refused),
        reason: reason.into(),
    };
    Err(Box::new(Decision {
        ruling: Arc::new(ruling),
        payload: Arc::new(Value::Nil),
        proposal: None,
        explanation: None,
        checked: vec![RuleCheck { rule: DecisionRule::Policy, result: CheckResult::Deny }],
        dropped: Vec::new(),
        facts: Some(Box::new(facts)),
    }))
}

/// Judges whether somebody may join, see or steer a session.
pub(crate) fn judge_access(
    state: &SessionState,
    who: &SignalSender,
    access: SessionAccess,
) -> PolicyFinding {
    let facts =
        PolicyFacts::access(&around(state, ProposalAuthor::Asker, who, access.word()), access);
    policies_of(state, &facts, GuardPolicies::find)
}

/// Facts about an answer, for the policies.
pub(crate) fn answer_facts(
    state: &SessionState,
    question: &ApprovalRequest,
    from: &SignalSender,
) -> PolicyFacts {
    let AllowedProposal { action, target, place, payload, origin } = &*question.intent.allowed;
    let wanted =
        RequestedAction { action, target, place: *place, payload, protected: false, origin };
    PolicyFacts::approve(&around(state, ProposalAuthor::Asker, from, kind(action)), &wanted)
}

fn around<'a>(
    state: &'a SessionState,
    by: ProposalAuthor,
    asker: &'a SignalSender,
    kind: &str,
) -> ProposalCircumstances<'a> {
    ProposalCircumstances {
        by,
        asker,
        session: &state.session,
        session_owner: state.owner.as_deref().unwrap_or_default(),
        now: state.now,
        counts: state.budget.counts(state.now, &asker.principal, kind),
    }
}

fn facts(
    state: &SessionState,
    by: ProposalAuthor,
    asker: &SignalSender,
    intent: &ApprovalIntent,
) -> PolicyFacts {
    let AllowedProposal { action, target, place, payload, origin } = &*intent.allowed;
    let protected = state.policy.as_ref().is_some_and(|installed| installed.protects(action));
    let wanted = RequestedAction { action, target, place: *place, payload, protected, origin };
    PolicyFacts::of(&around(state, by, asker, kind(action)), &wanted)
}

/// Asks the policies about each file that is changed: what is said to one of them holds for all. With the
/// facts that led to it.
fn strictest(
    state: &SessionState,
    by: ProposalAuthor,
    asker: &SignalSender,
    intent: &ApprovalIntent,
    find: fn(&GuardPolicies, &PolicyFacts) -> PolicyFinding,
) -> (PolicyFacts, PolicyFinding) {
    let facts = facts(state, by, asker, intent);
    let found = policies_of(state, &facts, find);
    let Some(path) = intent.action().elsewhere() else { return (facts, found) };
    let there = facts.about(path);
    let also = policies_of(state, &there, find);
    if also.word > found.word { (there, also) } else { (facts, found) }
}

/// Asks the policies of the session; while they are not here, everything is denied.
fn policies_of(
    state: &SessionState,
    facts: &PolicyFacts,
    find: fn(&GuardPolicies, &PolicyFacts) -> PolicyFinding,
) -> PolicyFinding {
    let set = match &state.policy {
        None => Some(GuardPolicies::default_set()),
        Some(installed) => installed.set(),
    };
    match set {
        Some(set) => find(set, facts),
        None => PolicyFinding {
            word: PolicyVerdict::Deny,
            policies: Vec::new(),
            fault: Some("the policies of the session are not here".into()),
        },
    }
}

fn why_not(action: &Action, found: &PolicyFinding) -> String {
    if let Some(fault) = &found.fault {
        return format!("the policies could not be asked: {fault}");
    }
    let (name, risk, touches) = (action.name(), action.risk().word(), action.touches().words());
    let forbidden = match found.policies.join("`, `") {
        none if none.is_empty() => "no rule allows that".to_owned(),
        policies => format!("`{policies}` forbids that"),
    };
    format!("`{name}` ({risk}) touches {touches}, and {forbidden}")
}

fn is_short(name: &KeywordName) -> bool {
    name.as_str().len() <= MAX_SHOWN_NAME_BYTES
}

/// A refusal: its code and its reason.
type Denial = (RefusalCode, String);

/// A proposal before the rules.
struct DecisionCase<'c> {
    state: &'c SessionState,
    turn: &'c RunningTurn,
    by: ProposalAuthor,
    payload: Arc<Value>,
    /// Action that the proposal names.
    action: Option<KeywordName>,
    /// Target that the proposal names; once the rules have found out, the target that is meant.
    target: Option<KeywordName>,
    checked: Vec<RuleCheck>,
    /// Facts of the policies, once they were asked.
    facts: Option<Box<PolicyFacts>>,
    policies: Vec<Box<str>>,
    /// Objections of consultants.
    objections: &'c ProposalObjections<'c>,
    origin: ProposalOrigin,
    /// Reason why a narrowing is none.
    narrowing: Option<String>,
}

impl DecisionCase<'_> {
    /// Asks the rules in their order: the reason not to deny it and how it goes on, or the denial.
    fn ask(&mut self) -> Result<(String, ProposalRoute), Denial> {
        let action = self.well_formed();
        let action = self.passes(DecisionRule::WellFormed, action)?;
        let size = self.size();
        self.passes(DecisionRule::Size, size)?;
        let target = self.target(&action);
        let (target, place) = self.passes(DecisionRule::Target, target)?;
        self.target = Some(target.clone());
        let action = self.placed(action, &target, place)?;
        let supported = supported(self.state, &action, &target, place);
        self.passes(DecisionRule::Action, supported)?;
        let budget = self.budget(&action);
        self.passes(DecisionRule::Budget, budget)?;
        let veto = self.objections.veto(self.turn, &target);
        if let Some(reason) = veto.or_else(|| self.narrowing.take()) {
            let veto = Err((RefusalCode::Refused, reason));
            return self.passes(DecisionRule::Consultant, veto);
        }
        let payload = self.payload.clone();
        let origin = self.origin.clone();
        let allowed = Arc::new(AllowedProposal { action, target, place, payload, origin });
        self.policy(ApprovalIntent { allowed })
    }

    /// Notes what a rule said that can only object.
    fn passes<T>(&mut self, rule: DecisionRule, answer: Result<T, Denial>) -> Result<T, Denial> {
        let result = if answer.is_ok() { CheckResult::Pass } else { CheckResult::Deny };
        self.checked.push(RuleCheck { rule, result });
        answer
    }

    /// Asks the policies.
    fn policy(&mut self, intent: ApprovalIntent) -> Result<(String, ProposalRoute), Denial> {
        let from = &self.turn.signal.from;
        let (facts, found) = strictest(self.state, self.by, from, &intent, GuardPolicies::find);
        self.facts = Some(Box::new(facts));
        self.policies.clone_from(&found.policies);
        let result = match found.word {
            PolicyVerdict::Allow => CheckResult::Allow,
            PolicyVerdict::Ask => CheckResult::Ask,
            PolicyVerdict::Deny => CheckResult::Deny,
        };
        self.checked.push(RuleCheck { rule: DecisionRule::Policy, result });
        let action = intent.action();
        let touches = action.touches().words();
        let wants_yes = self.objections.wants_yes();
        match found.word {
            PolicyVerdict::Allow if let Some(reason) = wants_yes => {
                let result = CheckResult::Ask;
                self.checked.push(RuleCheck { rule: DecisionRule::Consultant, result });
                if let Err(denial) = self.room_to_ask(&intent) {
                    return self.passes(DecisionRule::Budget, Err(denial));
                }
                Ok((reason, ProposalRoute::Ask(intent)))
            }
            PolicyVerdict::Allow => Ok((
                ["it touches ", touches].concat(),
                ProposalRoute::Do(Order::of(&intent.allowed)),
            )),
            PolicyVerdict::Ask => {
                if let Err(denial) = self.room_to_ask(&intent) {
                    return self.passes(DecisionRule::Budget, Err(denial));
                }
                let (name, risk) = (action.name(), action.risk().word());
                let reason = format!("`{name}` ({risk}) touches {touches}, and needs a yes");
                Ok((reason, ProposalRoute::Ask(intent)))
            }
            PolicyVerdict::Deny => Err((RefusalCode::Refused, why_not(action, &found))),
        }
    }

    fn room_to_ask(&self, intent: &ApprovalIntent) -> Result<(), Denial> {
        let open = &self.state.questions;
        let from = &self.turn.signal.from;
        if open.len() < self.state.limits.questions
            || open.values().any(|open| open.is_about(intent, self.by, from))
        {
            return Ok(());
        }
        Err((
            RefusalCode::Overloaded,
            format!("{} questions await their answer already", open.len()),
        ))
    }

    /// The action as it is meant at its place.
    fn placed(
        &self,
        action: Action,
        target: &KeywordName,
        place: ActuatorLocation,
    ) -> Result<Action, Denial> {
        let placed = action.placed(&self.payload, target, place).map_err(|fault| denial(&fault))?;
        match placed.fault(&self.payload) {
            None => Ok(placed),
            Some(fault) => Err((RefusalCode::Refused, fault.to_owned())),
        }
    }

    fn well_formed(&self) -> Result<Action, Denial> {
        let flaw = self.payload.get(MALFORMED).filter(|_| self.by == ProposalAuthor::Thinker);
        if let Some(reason) = flaw {
            let reason = reason.as_str().unwrap_or("the call cannot be read");
            return Err((RefusalCode::InvalidValue, reason.to_owned()));
        }
        let action = Action::from_payload(&self.payload).map_err(|fault| denial(&fault))?;
        if let Some(fault) = action.fault(&self.payload) {
            return Err((RefusalCode::Refused, fault.to_owned()));
        }
        let least = self.state.limits.schedule_min_ms;
        match &action {
            Action::Schedule(schedule) => match schedule.fault(self.state.now, least) {
                Some(reason) => Err((RefusalCode::InvalidValue, reason)),
                None => Ok(action),
            },
            _ => Ok(action),
        }
    }

    fn size(&self) -> Result<(), Denial> {
        let (bytes, limit) = (weight(&self.payload), self.state.limits.payload);
        if bytes > limit {
            let reason = format!("a proposal of {bytes} bytes, expected at most {limit}");
            return Err((RefusalCode::Refused, reason));
        }
        if !self.action.iter().chain(&self.target).all(is_short) {
            let reason = format!("a longer name than {MAX_SHOWN_NAME_BYTES} bytes");
            return Err((RefusalCode::Refused, reason));
        }
        Ok(())
    }

    /// Target: the one that is named, or the one that is meant when none is.
    fn target(&self, action: &Action) -> Result<(KeywordName, ActuatorLocation), Denial> {
        let own = self.turn.signal.from.shell.as_ref();
        let is_message = matches!(action, Action::Message { .. } | Action::Directive(_));
        let is_own = |name: &KeywordName| name.as_str() == ASKER || Some(name) == own;
        if is_message && self.target.as_ref().is_none_or(is_own) {
            return Ok((KeywordName::of_word(ASKER), ActuatorLocation::Shell));
        }
        let has_shell =
            |own: &&KeywordName| actuator(self.state, own).is_some() && !action.is_for_system();
        let wanted = match (&self.target, own.filter(has_shell)) {
            (Some(wanted), _) => wanted.clone(),
            (None, Some(own)) => own.clone(),
            (None, None) if self.is_completed_here(action) => KeywordName::of_word(CONTEXT),
            (None, None) => KeywordName::of_word(SYSTEM),
        };
        if wanted.as_str() == SYSTEM {
            return Ok((wanted, ActuatorLocation::Host));
        }
        match actuator(self.state, &wanted) {
            Some(actuator) => Ok((wanted, actuator.place)),
            None => Err((RefusalCode::UnknownTarget, self.no_such(&wanted))),
        }
    }

    /// Whether it is the wish for completions, and the daemon has any.
    fn is_completed_here(&self, action: &Action) -> bool {
        let context = KeywordName::of_word(CONTEXT);
        let completes = |it: &ActuatorRef| it.actions.contains(&action.name());
        matches!(action, Action::Complete { .. })
            && actuator(self.state, &context).is_some_and(completes)
    }

    fn no_such(&self, wanted: &KeywordName) -> String {
        let mut names: Vec<&str> =
            self.state.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
        names.push(SYSTEM);
        names.sort_unstable();
        names.dedup();
        let more = names.len().saturating_sub(MAX_LISTED_TARGETS);
        names.truncate(MAX_LISTED_TARGETS);
        let listed = names.join("`, `");
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("no target `{wanted}`, expected one of `{listed}`{and_more}")
    }

    fn budget(&self, action: &Action) -> Result<(), Denial> {
        let limits = &self.state.limits;
        let most = self.turn.budget.extended(limits.acts);
        if self.turn.allowed >= most && !matches!(action, Action::GoOn(_)) {
            let reason = format!("the turn has had its {most} acts");
            return Err((RefusalCode::Refused, reason));
        }
        if self.state.acts.len() >= limits.outstanding {
            let reason = format!("{} acts await their outcome already", limits.outstanding);
            return Err((RefusalCode::Overloaded, reason));
        }
        Ok(())
    }
}

fn denial(fault: &InvalidAction) -> Denial {
    let code = match fault {
        InvalidAction::NoPlist | InvalidAction::Unnamed => RefusalCode::Unsupported,
        InvalidAction::Argument { .. } | InvalidAction::Cron(_) => RefusalCode::InvalidValue,
    };
    (code, fault.to_string())
}

/// The actuator of this name. What lives in the daemon cannot be replaced by a shell that calls
/// itself the same.
fn actuator<'s>(state: &'s SessionState, name: &KeywordName) -> Option<&'s ActuatorRef> {
    let mut named = state.actuators.iter().filter(|actuator| actuator.name == *name);
    let first = named.clone().next();
    named.find(|actuator| actuator.place == ActuatorLocation::Host).or(first)
}

/// Whether the target can do it at all.
fn supported(
    state: &SessionState,
    action: &Action,
    target: &KeywordName,
    place: ActuatorLocation,
) -> Result<(), Denial> {
    let name = action.name();
    let actuator = actuator(state, target).filter(|actuator| actuator.place == place);
    let is_listed = actuator.is_some_and(|actuator| actuator.actions.contains(&name));
    let takes_all = actuator.is_some_and(|actuator| actuator.actions.is_empty());
    let is_supported = match action {
        _ if action.is_for_system() => target.as_str() == SYSTEM,
        Action::Message { .. } | Action::Directive(_) if target.as_str() == ASKER => true,
        Action::Directive(_) => false,
        _ if action.is_for_host() => place == ActuatorLocation::Host && is_listed,
        Action::Other(_) => is_listed,
        _ if target.as_str() == SYSTEM => is_listed,
        _ => is_listed || takes_all,
    };
    if is_supported {
        return Ok(());
    }
    Err((RefusalCode::Unsupported, format!("`{target}` has no action `{name}`")))
}

/// A proposal that was allowed: what an actuator carries out.
///
/// Nobody outside of this crate's third stage can make one:
///
/// ```compile_fail,E0451
/// fn forge(target: bridle_loop::KeywordName) -> bridle_loop::Order {
///     bridle_loop::Order { allowed: std::sync::Arc::new(target) }
/// }
/// ```
///
/// Reading one is possible for everybody:
///
/// ```
/// fn read(order: &bridle_loop::Order) -> (&bridle_loop::Action, &bridle_loop::KeywordName) {
///     (order.action(), order.target())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    allowed: Arc<AllowedProposal>,
}

/// A proposal that needs somebody's yes. No actuator takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalIntent {
    allowed: Arc<AllowedProposal>,
}

#[derive(Debug, PartialEq)]
struct AllowedProposal {
    action: Action,
    target: KeywordName,
    place: ActuatorLocation,
    payload: Arc<Value>,
    /// No part of what a yes is bound to.
    origin: ProposalOrigin,
}

impl Order {
    /// The order of what was allowed. Its origin was judged, and is no part of it.
    fn of(allowed: &Arc<AllowedProposal>) -> Self {
        if allowed.origin == ProposalOrigin::default() {
            return Self { allowed: allowed.clone() };
        }
        let AllowedProposal { action, target, place, payload, .. } = &**allowed;
        let (action, target, payload) = (action.clone(), target.clone(), payload.clone());
        let origin = ProposalOrigin::default();
        let allowed = AllowedProposal { action, target, place: *place, payload, origin };
        Self { allowed: Arc::new(allowed) }
    }

    /// Action, with its arguments.
    pub fn action(&self) -> &Action {
        &self.allowed.action
    }

    /// The actuator.
    pub fn target(&self) -> &KeywordName {
        &self.allowed.target
    }

    /// Location of the actuator.
    pub fn place(&self) -> ActuatorLocation {
        self.allowed.place
    }

    /// The payload that was judged, which is the payload to send.
    pub fn payload(&self) -> &Value {
        &self.allowed.payload
    }

    /// The order as a plist.
    pub fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        self.allowed.put(fields)
    }

    /// Reads an order back that a state holds. Whoever can write a state can write anything.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self { allowed: Arc::new(AllowedProposal::from_value(value)?) })
    }
}

impl ApprovalIntent {
    /// Action, with its arguments.
    pub fn action(&self) -> &Action {
        &self.allowed.action
    }

    /// The actuator.
    pub fn target(&self) -> &KeywordName {
        &self.allowed.target
    }

    /// Location of the actuator.
    pub fn place(&self) -> ActuatorLocation {
        self.allowed.place
    }

    /// The payload that was judged.
    pub fn payload(&self) -> &Arc<Value> {
        &self.allowed.payload
    }

    /// Intent of the order, to be asked about before it is carried out again.
    pub(crate) fn of(order: &Order) -> Self {
        Self { allowed: order.allowed.clone() }
    }

    /// Whether the same would be done, whoever said its words first.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let key = |it: &AllowedProposal| (it.target.clone(), it.place);
        key(&self.allowed) == key(&other.allowed) && self.allowed.payload == other.allowed.payload
    }

    /// Hash that a yes is bound to: of the canonical text of target, place and payload.
    pub fn hash(&self) -> ActionHash {
        let AllowedProposal { target, place, payload, .. } = &*self.allowed;
        ActionHash::of_action(target, *place, payload)
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        self.allowed.put(fields)
    }

    /// Reads an intent back that a state holds.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self { allowed: Arc::new(AllowedProposal::from_value(value)?) })
    }
}

impl AllowedProposal {
    fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields
            .put_word("target", self.target.as_str())
            .put_word("place", self.place.word())
            .put_value("payload", &self.payload);
        self.origin.put(fields)
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let payload = required(value, "payload")?;
        let place = ActuatorLocation::from_value(value)?;
        let target = name(value, "target")?;
        let action = Action::from_payload(payload)
            .and_then(|action| action.placed(payload, &target, place))
            .map_err(|_| UnreadableValue::new("payload", "the payload of an action"))?;
        let payload = Arc::new(payload.clone());
        let origin = ProposalOrigin::from_value(value)?;
        Ok(Self { action, target, place, payload, origin })
    }
}
