//! One proposal and the policies of its action: which of them are asked, and what they say.
//!
//! Called for each verdict. A policy that its sieve settles is not asked. The others are asked one
//! by one; what does not look at `context.approved` is asked once for both questions, and so is what
//! does not apply to the one in which it would rather apply. What comes out is what Cedar says to the
//! whole set: the tests compare both.

mod condition;

use std::sync::OnceLock;

use cedar_policy::{Authorizer, Effect, Entities, PolicySet, Request, pst};

use self::condition::PolicyCondition;

use super::cedar_request::{ApprovalQuestion, CedarRequest, Untold};
use super::facts::PolicyFacts;
use super::prefilter::{ApprovalDirection, NamedFacts, PolicyPrefilter, PrefilterInput};
use super::{GuardPolicies, PolicyEntry};

/// A policy of a set, ready to be asked.
#[derive(Debug)]
pub(super) struct CompiledPolicy {
    pub(super) sieve: PolicyPrefilter,
    pub(super) named: NamedFacts,
    effect: Effect,
    sway: ApprovalDirection,
    /// None if it is too long to be looked into.
    syntax: Option<pst::Policy>,
    /// Made when it is first asked: most policies of most sets never are.
    condition: OnceLock<Option<PolicyCondition>>,
    /// A set of nothing else.
    alone: PolicySet,
}

/// The policies that can be about one action, by their places in the whole set, in order.
#[derive(Debug, Default)]
pub(super) struct ActionPartition {
    /// Those that say the same to both questions.
    steady: Vec<usize>,
    /// Those that may not.
    swayed: Vec<usize>,
}

/// Answer of Cedar to one question.
pub(super) struct CedarAnswer {
    pub(super) permits: bool,
    pub(super) policies: Vec<Box<str>>,
}

/// The policies that apply, by their places.
#[derive(Default)]
struct ApplicablePolicies {
    permits: Vec<usize>,
    forbids: Vec<usize>,
    /// The first policy that failed, and how.
    fault: Option<(usize, String)>,
}

/// A proposal that is being judged.
pub(super) struct PolicyCase<'c> {
    set: &'c GuardPolicies,
    facts: &'c PolicyFacts,
    part: &'c ActionPartition,
    /// Made when a policy is asked: often none is.
    world: Option<CedarRequest>,
    /// Part that does not depend on the question, once it was asked for.
    steady: Option<ApplicablePolicies>,
    /// Those of the others that may still apply with a yes, once they were asked without.
    left: Option<Vec<usize>>,
}

impl CompiledPolicy {
    pub(super) fn new(policy: &cedar_policy::Policy, text: &str) -> Self {
        let syntax = if PolicyPrefilter::takes(text) { policy.to_pst().ok() } else { None };
        let (sieve, named, sway) = match &syntax {
            Some(syntax) => (
                PolicyPrefilter::of(syntax),
                NamedFacts::of(syntax.body()),
                ApprovalDirection::of(syntax.body()),
            ),
            None => {
                (PolicyPrefilter::default(), NamedFacts::everything(), ApprovalDirection::Either)
            }
        };
        let mut alone = PolicySet::new();
        alone.add(policy.clone()).expect("the first of its set, and no template");
        let effect = policy.effect();
        Self { sieve, named, effect, sway, syntax, condition: OnceLock::new(), alone }
    }

    fn condition(&self) -> Option<&PolicyCondition> {
        let make = || PolicyCondition::of(self.syntax.as_ref()?.body());
        self.condition.get_or_init(make).as_ref()
    }

    /// Whether it applies, in a part that is about its action.
    fn applies(
        &self,
        world: &mut CedarRequest,
        facts: &PolicyFacts,
        approved: ApprovalQuestion,
    ) -> Result<bool, Untold> {
        let (request, entities) = world.question(facts, approved)?;
        let quick = self.condition().and_then(|condition| condition.holds(request, entities));
        quick.map_or_else(|| self.applies_as_policy(request, entities), Ok)
    }

    /// The long way: for what has no expression, and for the words of a failure.
    fn applies_as_policy(&self, request: &Request, entities: &Entities) -> Result<bool, Untold> {
        let response = Authorizer::new().is_authorized(request, &self.alone, entities);
        match response.diagnostics().errors().next() {
            Some(error) => Err(error.to_string()),
            None => Ok(response.diagnostics().reason().next().is_some()),
        }
    }
}

impl ActionPartition {
    /// Adds a policy, in the order of the set.
    pub(super) fn add(&mut self, place: usize, rule: &CompiledPolicy) {
        let group = if rule.named.approved { &mut self.swayed } else { &mut self.steady };
        group.push(place);
    }

    /// Facts that its policies name.
    pub(super) fn named(&self, rules: &[CompiledPolicy]) -> NamedFacts {
        let mut named = NamedFacts::default();
        for place in self.steady.iter().chain(&self.swayed) {
            named.add(&rules[*place].named);
        }
        named
    }
}

impl<'c> PolicyCase<'c> {
    pub(super) fn new(set: &'c GuardPolicies, facts: &'c PolicyFacts) -> Result<Self, Untold> {
        let part = set.parts.get(facts.kind).ok_or("an action that the schema does not know")?;
        Ok(Self { set, facts, part, world: None, steady: None, left: None })
    }

    /// One of the two questions.
    pub(super) fn answer(&mut self, approved: ApprovalQuestion) -> Result<CedarAnswer, Untold> {
        let part = self.part;
        let steady = match self.steady.take() {
            Some(said) => said,
            None => self.ask(&part.steady, approved)?,
        };
        let swayed = match (approved, self.left.take()) {
            (ApprovalQuestion::No, _) => self.ask_first()?,
            (ApprovalQuestion::Yes, Some(left)) => self.ask(&left, approved)?,
            (ApprovalQuestion::Yes, None) => self.ask(&part.swayed, approved)?,
        };
        let answer = steady.answer(&swayed, &self.set.policies);
        self.steady = Some(steady);
        answer
    }

    fn ask(
        &mut self,
        places: &[usize],
        approved: ApprovalQuestion,
    ) -> Result<ApplicablePolicies, Untold> {
        let mut said = ApplicablePolicies::default();
        for place in places {
            let applies = match self.settles(*place, approved) {
                Some(applies) => Ok(applies),
                None => self.applies(*place, approved)?,
            };
            said.take(*place, &self.set.rules[*place], applies);
        }
        Ok(said)
    }

    /// Asks those that a yes may move, without one, and finds out which of them a yes can matter to.
    fn ask_first(&mut self) -> Result<ApplicablePolicies, Untold> {
        let (mut said, mut left) = (ApplicablePolicies::default(), Vec::new());
        for place in &self.part.swayed {
            let (place, rule) = (*place, &self.set.rules[*place]);
            if let Some(applies) = self.settles(place, ApprovalQuestion::No) {
                said.take(place, rule, Ok(applies));
                left.push(place);
                continue;
            }
            // What does not apply with a yes does not apply without.
            if rule.sway == ApprovalDirection::Up
                && self.applies(place, ApprovalQuestion::Yes)? == Ok(false)
            {
                continue;
            }
            let applies = self.applies(place, ApprovalQuestion::No)?;
            if rule.sway != ApprovalDirection::Down || applies != Ok(false) {
                left.push(place);
            }
            said.take(place, rule, applies);
        }
        self.left = Some(left);
        Ok(said)
    }

    /// Whether a policy applies, if that can be told without asking it.
    fn settles(&self, place: usize, approved: ApprovalQuestion) -> Option<bool> {
        self.set.rules[place].sieve.settles(&PrefilterInput { facts: self.facts, approved })
    }

    /// Whether a policy applies, or how it failed.
    fn applies(
        &mut self,
        place: usize,
        approved: ApprovalQuestion,
    ) -> Result<Result<bool, Untold>, Untold> {
        let world = match &mut self.world {
            Some(world) => world,
            none => none.insert(self.set.types.world(self.facts)?),
        };
        Ok(self.set.rules[place].applies(world, self.facts, approved))
    }
}

impl ApplicablePolicies {
    fn take(&mut self, place: usize, rule: &CompiledPolicy, applies: Result<bool, Untold>) {
        match applies {
            Ok(true) if rule.effect == Effect::Permit => self.permits.push(place),
            Ok(true) => self.forbids.push(place),
            Ok(false) => {}
            Err(why) => self.fail(place, why),
        }
    }

    fn fail(&mut self, place: usize, why: String) {
        if self.fault.as_ref().is_none_or(|(first, _)| place < *first) {
            self.fault = Some((place, why));
        }
    }

    /// Answer of both together: a forbid wins, and nothing is permitted that no policy permits.
    fn answer(&self, other: &Self, policies: &[PolicyEntry]) -> Result<CedarAnswer, Untold> {
        // Cedar passes over a policy that fails. A forbid that fails would then forbid nothing.
        let faults = self.fault.iter().chain(&other.fault);
        if let Some((_, why)) = faults.min_by_key(|(place, _)| *place) {
            return Err(why.clone());
        }
        let forbids = || self.forbids.iter().chain(&other.forbids);
        let permitting = || self.permits.iter().chain(&other.permits);
        let permits = forbids().next().is_none() && permitting().next().is_some();
        let id = |place: &usize| policies[*place].id.clone();
        let mut ids: Vec<Box<str>> =
            if permits { permitting().map(id).collect() } else { forbids().map(id).collect() };
        ids.sort_unstable();
        Ok(CedarAnswer { permits, policies: ids })
    }
}

#[cfg(test)]
mod tests;
