//! Third stage: whether a proposal may be carried out.
//!
//! The only door to an actuator: an [`Order`] can be made in this file and nowhere else, and an
//! actuator takes nothing but an order. Rules are asked in a fixed order and the first that allows
//! or denies decides; every answer is kept for the record. What a proposal says about its own
//! standing is dropped unread.

mod clean;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::action::{Action, NoAction, Risk, When};
use crate::effect::{By, CheckResult, Checked, Code, Decision, Rejection, Rule, Ruling, Verdict};
use crate::event::{Actuator, Place, Proposal};
use crate::field::{Plist, Unreadable, name, required};
use crate::ids::Name;
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
    pub(crate) order: Result<Order, Rejection>,
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
        checked: Vec::new(),
    };
    let (verdict, reason, order) = match case.ask() {
        Ok((reason, order)) => (Verdict::Allow, reason, Ok(order)),
        Err((code, reason)) => (Verdict::Deny(code), reason, Err(code)),
    };
    let Case { action, target, checked, .. } = case;
    let (action, target) = (action.filter(is_short), target.filter(is_short));
    let reason: Box<str> = reason.into();
    let order = order.map_err(|code| Rejection {
        target: target.clone(),
        action: action.clone(),
        code,
        reason: reason.clone(),
    });
    let rule = checked.last().map_or(Rule::Default, |last| last.rule);
    let payload = if rule == Rule::Size { Arc::new(Value::Nil) } else { payload };
    let ruling = Ruling { turn: turn.id, by, target, action, rule, verdict, reason };
    let explanation = proposal.explanation;
    let decision = Decision { ruling: Arc::new(ruling), payload, explanation, checked, dropped };
    Judged { decision, order }
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
}

impl Case<'_> {
    /// Asks the rules in their order: the reason to allow it and the order, or the denial.
    fn ask(&mut self) -> Result<(String, Order), Denial> {
        let action = self.well_formed();
        let action = self.passes(Rule::WellFormed, action)?;
        let size = self.size();
        self.passes(Rule::Size, size)?;
        let target = self.target(&action);
        let (target, place) = self.passes(Rule::Target, target)?;
        self.target = Some(target.clone());
        let supported = self.supported(&action, &target, place);
        self.passes(Rule::Action, supported)?;
        let budget = self.budget();
        self.passes(Rule::Budget, budget)?;
        let reason = self.allowed(&action)?;
        let payload = self.payload.clone();
        let order = Order { allowed: Arc::new(Allowed { action, target, place, payload }) };
        Ok((reason, order))
    }

    /// Notes what a rule said that can only object.
    fn passes<T>(&mut self, rule: Rule, answer: Result<T, Denial>) -> Result<T, Denial> {
        let result = if answer.is_ok() { CheckResult::Pass } else { CheckResult::Deny };
        self.checked.push(Checked { rule, result });
        answer
    }

    /// Asks the rules that can allow; what none of them allows is denied.
    fn allowed(&mut self, action: &Action) -> Result<String, Denial> {
        let touches = action.touches().words();
        let asks = self.by == By::Asker && self.turn.signal.from.owner;
        let rules = [
            (Rule::Safe, action.risk() == Risk::Safe, format!("it touches {touches}")),
            (
                Rule::OwnerAsks,
                asks && action.is_administration(),
                "an owner asks for administration".into(),
            ),
        ];
        for (rule, holds, reason) in rules {
            let result = if holds { CheckResult::Allow } else { CheckResult::Pass };
            self.checked.push(Checked { rule, result });
            if holds {
                return Ok(reason);
            }
        }
        self.checked.push(Checked { rule: Rule::Default, result: CheckResult::Deny });
        let risk = action.risk().word();
        let reason =
            format!("`{}` ({risk}) touches {touches}, and no rule allows that", action.name());
        Err((Code::Refused, reason))
    }

    fn well_formed(&self) -> Result<Action, Denial> {
        let action = Action::from_payload(&self.payload).map_err(|fault| {
            let code = match fault {
                NoAction::NoPlist | NoAction::Unnamed => Code::Unsupported,
                NoAction::Argument { .. } => Code::InvalidValue,
            };
            (code, fault.to_string())
        })?;
        let least = self.state.limits.schedule_min_ms;
        match &action {
            Action::Schedule(schedule) if matches!(schedule.when, When::Every(ms) if ms < least) => {
                let reason = format!("`:every` of a schedule, expected at least {least} ms");
                Err((Code::InvalidValue, reason))
            }
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
            return Ok((Name::new(ASKER), Place::Shell));
        }
        let has_shell = |own: &&Name| self.actuator(own).is_some() && !action.is_for_system();
        let wanted = match (&self.target, own.filter(has_shell)) {
            (Some(wanted), _) => wanted.clone(),
            (None, Some(own)) => own.clone(),
            (None, None) => Name::new(SYSTEM),
        };
        if wanted.as_str() == SYSTEM {
            return Ok((wanted, Place::Host));
        }
        match self.actuator(&wanted) {
            Some(actuator) => Ok((wanted, actuator.place)),
            None => Err((Code::UnknownTarget, self.no_such(&wanted))),
        }
    }

    /// The actuator of this name. What lives in the daemon cannot be replaced by a shell that calls
    /// itself the same.
    fn actuator(&self, name: &Name) -> Option<&Actuator> {
        let mut named = self.state.actuators.iter().filter(|actuator| actuator.name == *name);
        let first = named.clone().next();
        named.find(|actuator| actuator.place == Place::Host).or(first)
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

    /// Whether the target can do it at all.
    fn supported(&self, action: &Action, target: &Name, place: Place) -> Result<(), Denial> {
        let name = action.name();
        let actuator = self.actuator(target).filter(|actuator| actuator.place == place);
        let is_listed = actuator.is_some_and(|actuator| actuator.actions.contains(&name));
        let takes_all = actuator.is_some_and(|actuator| actuator.actions.is_empty());
        let is_supported = match action {
            _ if action.is_for_system() => target.as_str() == SYSTEM,
            Action::Message { .. } if target.as_str() == ASKER => true,
            Action::Tally { .. } => place == Place::Host && is_listed,
            Action::Other(_) => is_listed,
            _ if target.as_str() == SYSTEM => is_listed,
            _ => is_listed || takes_all,
        };
        if is_supported {
            return Ok(());
        }
        Err((Code::Unsupported, format!("`{target}` has no action `{name}`")))
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

    pub(crate) fn put(&self, plist: Plist) -> Plist {
        plist
            .put("target", self.target().to_value())
            .put("place", self.place().to_value())
            .put("payload", self.payload().clone())
    }

    /// Reads an order back that a state holds. Whoever can write a state can write anything.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let payload = required(value, "payload")?;
        let action = Action::from_payload(payload)
            .map_err(|_| Unreadable::new("payload", "the payload of an action"))?;
        let target = name(value, "target")?;
        let place = Place::from_value(value)?;
        let payload = Arc::new(payload.clone());
        Ok(Self { allowed: Arc::new(Allowed { action, target, place, payload }) })
    }
}
