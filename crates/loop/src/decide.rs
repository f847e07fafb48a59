//! Third stage: whether a proposal may be carried out.
//!
//! The only door to an actuator: an [`Order`] can be made in this file and nowhere else, and an
//! actuator takes nothing but an order. Rules are asked in a fixed order, the policies last; what
//! they say is kept for the record. What needs somebody's yes becomes an [`Intent`], which no
//! actuator takes; after the yes it is judged again, and the order is made of the very same value.
//! What a proposal says about its own standing is dropped unread.

mod clean;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::action::{Action, NoAction};
use crate::effect::{
    By, CheckResult, Checked, Code, Decision, Question, Rejection, Rule, Ruling, Verdict,
};
use crate::event::{Actuator, Asker, Place, Proposal};
use crate::field::{Fields, Plist, Unreadable, name, required};
use crate::hash::ActionHash;
use crate::ids::Name;
use crate::policy::{Access, Around, Facts, Finding, Policies, Wanted, Word, kind};
use crate::state::{State, Turn};
use crate::weight::weight;

/// The target of what is said to the one who asked.
pub(crate) const ASKER: &str = "asker";

/// The daemon itself, which is always there.
const SYSTEM: &str = "system";

/// How many targets a refusal lists.
const MAX_LISTED: usize = 32;

/// The longest name of a target or an action, in bytes: rulings are kept, and name both.
const MAX_NAME: usize = 64;

/// What was decided about one proposal.
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    pub(crate) way: Result<Way, Rejection>,
}

/// How a proposal goes on that was not denied.
pub(crate) enum Way {
    /// It is carried out.
    Do(Order),
    /// Somebody is asked.
    Ask(Intent),
}

/// Judges one proposal.
pub(crate) fn judge(state: &State, turn: &Turn, by: By, proposal: Proposal) -> Judged {
    let (payload, dropped) = clean::clean(by, proposal.payload);
    let payload = Arc::new(payload);
    let mut case = Case {
        state,
        turn,
        by,
        payload: payload.clone(),
        action: payload.get("action").and_then(Name::of),
        target: proposal.target,
        checked: Vec::with_capacity(Rule::ALL.len()),
        facts: None,
        policies: Vec::new(),
    };
    let (verdict, reason, way) = match case.ask() {
        Ok((reason, way @ Way::Do(_))) => (Verdict::Allow, reason, Ok(way)),
        Ok((reason, way @ Way::Ask(_))) => (Verdict::Ask, reason, Ok(way)),
        Err((code, reason)) => (Verdict::Deny(code), reason, Err(code)),
    };
    let Case { action, target, checked, facts, policies, .. } = case;
    let (action, target) = (action.filter(is_short), target.filter(is_short));
    let reason: Box<str> = reason.into();
    let way = way.map_err(|code| Rejection {
        target: target.clone(),
        action: action.clone(),
        code,
        reason: reason.clone(),
    });
    let rule = checked.last().map_or(Rule::Policy, |last| last.rule);
    let payload = if rule == Rule::Size { Arc::new(Value::Nil) } else { payload };
    let ruling = Ruling { turn: turn.id, by, target, action, rule, policies, verdict, reason };
    let ruling = Arc::new(ruling);
    let explanation = proposal.explanation;
    let proposal = None;
    let decision = Decision { ruling, payload, proposal, explanation, checked, dropped, facts };
    Judged { decision, way }
}

/// Judges what somebody said yes to, as things are now.
pub(crate) fn judge_approved(
    state: &State,
    question: &Question,
    by: &str,
) -> (Decision, Result<Order, Box<str>>) {
    let Allowed { action, target, place, payload } = &*question.intent.allowed;
    let Question { by: proposer, asker, intent, .. } = question;
    let (facts, found) = strictest(state, *proposer, asker, intent, Policies::find_approved);
    let mut policies = Vec::new();
    let judged = match supported(state, action, target, *place) {
        Err((_, reason)) => Err(reason),
        Ok(()) => {
            policies.clone_from(&found.policies);
            match found.word {
                Word::Allow => Ok(format!("`{by}` said yes")),
                Word::Ask | Word::Deny => Err(why_not(action, &found)),
            }
        }
    };
    let (verdict, result, reason) = match &judged {
        Ok(reason) => (Verdict::Allow, CheckResult::Allow, reason),
        Err(reason) => (Verdict::Deny(Code::Refused), CheckResult::Deny, reason),
    };
    let ruling = Ruling {
        turn: question.turn,
        by: question.by,
        target: Some(target.clone()),
        action: Some(action.name()),
        rule: Rule::Approval,
        policies,
        verdict,
        reason: reason.as_str().into(),
    };
    let decision = Decision {
        ruling: Arc::new(ruling),
        payload: payload.clone(),
        proposal: None,
        explanation: None,
        checked: vec![Checked { rule: Rule::Approval, result }],
        dropped: Vec::new(),
        facts: Some(Box::new(facts)),
    };
    let allowed = question.intent.allowed.clone();
    (decision, judged.map(|_| Order { allowed }).map_err(Into::into))
}

/// Judges whether somebody may answer a question.
pub(crate) fn judge_answer(state: &State, question: &Question, from: &Asker) -> Finding {
    policies_of(state, &answer_facts(state, question, from), Policies::find)
}

/// Judges whether a thinker may be asked; else why not.
pub(crate) fn judge_thought(state: &State, turn: &Turn) -> Result<(), Box<Decision>> {
    let asker = &turn.signal.from;
    let facts = Facts::think(&around(state, By::Asker, asker, "think"));
    let found = policies_of(state, &facts, Policies::find);
    if found.word == Word::Allow {
        return Ok(());
    }
    let reason = match (&found.fault, found.policies.join("`, `")) {
        (Some(fault), _) => format!("the policies could not be asked: {fault}"),
        (None, none) if none.is_empty() => "no rule allows thinking about that".to_owned(),
        (None, policies) => format!("`{policies}` forbids thinking about that"),
    };
    let ruling = Ruling {
        turn: turn.id,
        by: By::Asker,
        target: None,
        action: Some(Name::of_word("think")),
        rule: Rule::Policy,
        policies: found.policies,
        verdict: Verdict::Deny(Code::Refused),
        reason: reason.into(),
    };
    Err(Box::new(Decision {
        ruling: Arc::new(ruling),
        payload: Arc::new(Value::Nil),
        proposal: None,
        explanation: None,
        checked: vec![Checked { rule: Rule::Policy, result: CheckResult::Deny }],
        dropped: Vec::new(),
        facts: Some(Box::new(facts)),
    }))
}

/// Judges whether somebody may join, see or steer a session.
pub(crate) fn judge_access(state: &State, who: &Asker, access: Access) -> Finding {
    let facts = Facts::access(&around(state, By::Asker, who, access.word()), access);
    policies_of(state, &facts, Policies::find)
}

/// What the policies are told about an answer.
pub(crate) fn answer_facts(state: &State, question: &Question, from: &Asker) -> Facts {
    let Allowed { action, target, place, payload } = &*question.intent.allowed;
    let wanted = Wanted { action, target, place: *place, payload, protected: false };
    Facts::approve(&around(state, By::Asker, from, kind(action)), &wanted)
}

fn around<'a>(state: &'a State, by: By, asker: &'a Asker, kind: &str) -> Around<'a> {
    Around {
        by,
        asker,
        session: &state.session,
        session_owner: state.owner.as_deref().unwrap_or_default(),
        now: state.now,
        counts: state.budget.counts(state.now, &asker.principal, kind),
    }
}

fn facts(state: &State, by: By, asker: &Asker, intent: &Intent) -> Facts {
    let Allowed { action, target, place, payload } = &*intent.allowed;
    let protected = state.policy.as_ref().is_some_and(|installed| installed.protects(action));
    let wanted = Wanted { action, target, place: *place, payload, protected };
    Facts::of(&around(state, by, asker, kind(action)), &wanted)
}

/// Asks the policies about each file that is changed: what is said to one of them holds for all. With the
/// facts that led to it.
fn strictest(
    state: &State,
    by: By,
    asker: &Asker,
    intent: &Intent,
    find: fn(&Policies, &Facts) -> Finding,
) -> (Facts, Finding) {
    let facts = facts(state, by, asker, intent);
    let found = policies_of(state, &facts, find);
    let Some(path) = intent.action().elsewhere() else { return (facts, found) };
    let there = facts.about(path);
    let also = policies_of(state, &there, find);
    if also.word > found.word { (there, also) } else { (facts, found) }
}

/// Asks the policies of the session; while they are not here, everything is denied.
fn policies_of(state: &State, facts: &Facts, find: fn(&Policies, &Facts) -> Finding) -> Finding {
    let set = match &state.policy {
        None => Some(Policies::default_set()),
        Some(installed) => installed.set(),
    };
    match set {
        Some(set) => find(set, facts),
        None => Finding {
            word: Word::Deny,
            policies: Vec::new(),
            fault: Some("the policies of the session are not here".into()),
        },
    }
}

fn why_not(action: &Action, found: &Finding) -> String {
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

fn is_short(name: &Name) -> bool {
    name.as_str().len() <= MAX_NAME
}

/// A refusal: its code and its reason.
type Denial = (Code, String);

/// A proposal before the rules.
struct Case<'c> {
    state: &'c State,
    turn: &'c Turn,
    by: By,
    payload: Arc<Value>,
    /// What it says it does, if it says so.
    action: Option<Name>,
    /// Where it says it goes; once the rules have found out, where it goes.
    target: Option<Name>,
    checked: Vec<Checked>,
    /// What the policies were told, once they were asked.
    facts: Option<Box<Facts>>,
    policies: Vec<Box<str>>,
}

impl Case<'_> {
    /// Asks the rules in their order: the reason not to deny it and how it goes on, or the denial.
    fn ask(&mut self) -> Result<(String, Way), Denial> {
        let action = self.well_formed();
        let action = self.passes(Rule::WellFormed, action)?;
        let size = self.size();
        self.passes(Rule::Size, size)?;
        let target = self.target(&action);
        let (target, place) = self.passes(Rule::Target, target)?;
        self.target = Some(target.clone());
        let supported = supported(self.state, &action, &target, place);
        self.passes(Rule::Action, supported)?;
        let budget = self.budget();
        self.passes(Rule::Budget, budget)?;
        let payload = self.payload.clone();
        let allowed = Arc::new(Allowed { action, target, place, payload });
        self.policy(Intent { allowed })
    }

    /// Notes what a rule said that can only object.
    fn passes<T>(&mut self, rule: Rule, answer: Result<T, Denial>) -> Result<T, Denial> {
        let result = if answer.is_ok() { CheckResult::Pass } else { CheckResult::Deny };
        self.checked.push(Checked { rule, result });
        answer
    }

    /// Asks the policies.
    fn policy(&mut self, intent: Intent) -> Result<(String, Way), Denial> {
        let from = &self.turn.signal.from;
        let (facts, found) = strictest(self.state, self.by, from, &intent, Policies::find);
        self.facts = Some(Box::new(facts));
        self.policies.clone_from(&found.policies);
        let result = match found.word {
            Word::Allow => CheckResult::Allow,
            Word::Ask => CheckResult::Ask,
            Word::Deny => CheckResult::Deny,
        };
        self.checked.push(Checked { rule: Rule::Policy, result });
        let action = intent.action();
        let touches = action.touches().words();
        match found.word {
            Word::Allow => {
                let Intent { allowed } = intent;
                Ok((["it touches ", touches].concat(), Way::Do(Order { allowed })))
            }
            Word::Ask => {
                if let Err(denial) = self.room_to_ask(&intent) {
                    return self.passes(Rule::Budget, Err(denial));
                }
                let (name, risk) = (action.name(), action.risk().word());
                let reason = format!("`{name}` ({risk}) touches {touches}, and needs a yes");
                Ok((reason, Way::Ask(intent)))
            }
            Word::Deny => Err((Code::Refused, why_not(action, &found))),
        }
    }

    fn room_to_ask(&self, intent: &Intent) -> Result<(), Denial> {
        let open = &self.state.questions;
        let from = &self.turn.signal.from;
        if open.len() < self.state.limits.questions
            || open.values().any(|open| open.is_about(intent, self.by, from))
        {
            return Ok(());
        }
        Err((Code::Overloaded, format!("{} questions await their answer already", open.len())))
    }

    fn well_formed(&self) -> Result<Action, Denial> {
        let action = Action::from_payload(&self.payload).map_err(|fault| {
            let code = match fault {
                NoAction::NoPlist | NoAction::Unnamed => Code::Unsupported,
                NoAction::Argument { .. } => Code::InvalidValue,
            };
            (code, fault.to_string())
        })?;
        if let Some(fault) = action.fault(&self.payload) {
            return Err((Code::Refused, fault.to_owned()));
        }
        let least = self.state.limits.schedule_min_ms;
        match &action {
            Action::Schedule(schedule) => match schedule.fault(self.state.now, least) {
                Some(reason) => Err((Code::InvalidValue, reason)),
                None => Ok(action),
            },
            _ => Ok(action),
        }
    }

    fn size(&self) -> Result<(), Denial> {
        let (bytes, limit) = (weight(&self.payload), self.state.limits.payload);
        if bytes > limit {
            let reason = format!("a proposal of {bytes} bytes, expected at most {limit}");
            return Err((Code::Refused, reason));
        }
        if !self.action.iter().chain(&self.target).all(is_short) {
            let reason = format!("a longer name than {MAX_NAME} bytes");
            return Err((Code::Refused, reason));
        }
        Ok(())
    }

    /// Where it goes: what it says, or what is meant when it says nothing.
    fn target(&self, action: &Action) -> Result<(Name, Place), Denial> {
        let own = self.turn.signal.from.shell.as_ref();
        let is_message = matches!(action, Action::Message { .. });
        let is_own = |name: &Name| name.as_str() == ASKER || Some(name) == own;
        if is_message && self.target.as_ref().is_none_or(is_own) {
            return Ok((Name::of_word(ASKER), Place::Shell));
        }
        let has_shell =
            |own: &&Name| actuator(self.state, own).is_some() && !action.is_for_system();
        let wanted = match (&self.target, own.filter(has_shell)) {
            (Some(wanted), _) => wanted.clone(),
            (None, Some(own)) => own.clone(),
            (None, None) => Name::of_word(SYSTEM),
        };
        if wanted.as_str() == SYSTEM {
            return Ok((wanted, Place::Host));
        }
        match actuator(self.state, &wanted) {
            Some(actuator) => Ok((wanted, actuator.place)),
            None => Err((Code::UnknownTarget, self.no_such(&wanted))),
        }
    }

    fn no_such(&self, wanted: &Name) -> String {
        let mut names: Vec<&str> =
            self.state.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
        names.push(SYSTEM);
        names.sort_unstable();
        names.dedup();
        let more = names.len().saturating_sub(MAX_LISTED);
        names.truncate(MAX_LISTED);
        let listed = names.join("`, `");
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("no target `{wanted}`, expected one of `{listed}`{and_more}")
    }

    fn budget(&self) -> Result<(), Denial> {
        let limits = &self.state.limits;
        if self.turn.allowed >= limits.acts {
            let reason = format!("the turn has had its {} acts", limits.acts);
            return Err((Code::Refused, reason));
        }
        if self.state.acts.len() >= limits.outstanding {
            let reason = format!("{} acts await their outcome already", limits.outstanding);
            return Err((Code::Overloaded, reason));
        }
        Ok(())
    }
}

/// The actuator of this name. What lives in the daemon cannot be replaced by a shell that calls
/// itself the same.
fn actuator<'s>(state: &'s State, name: &Name) -> Option<&'s Actuator> {
    let mut named = state.actuators.iter().filter(|actuator| actuator.name == *name);
    let first = named.clone().next();
    named.find(|actuator| actuator.place == Place::Host).or(first)
}

/// Whether the target can do it at all.
fn supported(state: &State, action: &Action, target: &Name, place: Place) -> Result<(), Denial> {
    let name = action.name();
    let actuator = actuator(state, target).filter(|actuator| actuator.place == place);
    let is_listed = actuator.is_some_and(|actuator| actuator.actions.contains(&name));
    let takes_all = actuator.is_some_and(|actuator| actuator.actions.is_empty());
    let is_supported = match action {
        _ if action.is_for_system() => target.as_str() == SYSTEM,
        Action::Message { .. } if target.as_str() == ASKER => true,
        _ if action.is_for_host() => place == Place::Host && is_listed,
        Action::Other(_) => is_listed,
        _ if target.as_str() == SYSTEM => is_listed,
        _ => is_listed || takes_all,
    };
    if is_supported {
        return Ok(());
    }
    Err((Code::Unsupported, format!("`{target}` has no action `{name}`")))
}

/// A proposal that was allowed: what an actuator carries out.
///
/// Nobody outside of this crate's third stage can make one:
///
/// ```compile_fail,E0451
/// fn forge(target: bridle_loop::Name) -> bridle_loop::Order {
///     bridle_loop::Order { allowed: std::sync::Arc::new(target) }
/// }
/// ```
///
/// Reading one is possible for everybody:
///
/// ```
/// fn read(order: &bridle_loop::Order) -> (&bridle_loop::Action, &bridle_loop::Name) {
///     (order.action(), order.target())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    allowed: Arc<Allowed>,
}

/// A proposal that needs somebody's yes. No actuator takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    allowed: Arc<Allowed>,
}

#[derive(Debug, PartialEq)]
struct Allowed {
    action: Action,
    target: Name,
    place: Place,
    payload: Arc<Value>,
}

impl Order {
    /// What to do, with its arguments.
    pub fn action(&self) -> &Action {
        &self.allowed.action
    }

    /// The actuator.
    pub fn target(&self) -> &Name {
        &self.allowed.target
    }

    /// Where the actuator lives.
    pub fn place(&self) -> Place {
        self.allowed.place
    }

    /// The payload that was judged, which is the payload to send.
    pub fn payload(&self) -> &Value {
        &self.allowed.payload
    }

    /// The order as a plist.
    pub fn to_value(&self) -> Value {
        self.put(Plist::new()).done()
    }

    pub(crate) fn put<F: Fields>(&self, fields: F) -> F {
        self.allowed.put(fields)
    }

    /// Reads an order back that a state holds. Whoever can write a state can write anything.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Unreadable> {
        Ok(Self { allowed: Arc::new(Allowed::from_value(value)?) })
    }
}

impl Intent {
    /// What is to be done, with its arguments.
    pub fn action(&self) -> &Action {
        &self.allowed.action
    }

    /// The actuator.
    pub fn target(&self) -> &Name {
        &self.allowed.target
    }

    /// Where the actuator lives.
    pub fn place(&self) -> Place {
        self.allowed.place
    }

    /// The payload that was judged.
    pub fn payload(&self) -> &Arc<Value> {
        &self.allowed.payload
    }

    /// What was ordered, to be asked about before it is done again.
    pub(crate) fn of(order: &Order) -> Self {
        Self { allowed: order.allowed.clone() }
    }

    /// What a yes is bound to: the hash of the canonical text of target, place and payload.
    pub fn hash(&self) -> ActionHash {
        let Allowed { target, place, payload, .. } = &*self.allowed;
        ActionHash::of_action(target, *place, payload)
    }

    pub(crate) fn put<F: Fields>(&self, fields: F) -> F {
        self.allowed.put(fields)
    }

    /// Reads an intent back that a state holds.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Unreadable> {
        Ok(Self { allowed: Arc::new(Allowed::from_value(value)?) })
    }
}

impl Allowed {
    fn put<F: Fields>(&self, fields: F) -> F {
        fields
            .put_word("target", self.target.as_str())
            .put_word("place", self.place.word())
            .put_value("payload", &self.payload)
    }

    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let payload = required(value, "payload")?;
        let action = Action::from_payload(payload)
            .map_err(|_| Unreadable::new("payload", "the payload of an action"))?;
        let payload = Arc::new(payload.clone());
        Ok(Self {
            action,
            target: name(value, "target")?,
            place: Place::from_value(value)?,
            payload,
        })
    }
}
