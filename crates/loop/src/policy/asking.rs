//! One proposal and the policies of its action: which of them are asked, and what they say.
//!
//! Called for each verdict. A policy that its sieve settles is not asked. The few that are left are
//! asked one by one, many at once; what does not look at `context.approved` is asked once for both
//! questions. What comes out is what Cedar says to the whole set: the tests compare both.

use cedar_policy::{Authorizer, Effect, PolicySet};

use super::facts::Facts;
use super::sieve::{Named, Sieve, Told};
use super::world::{Approved, Untold, World};
use super::{Policies, Policy};

/// So many policies are asked one by one; more of them cost less when the whole part is asked.
const FEW: usize = 6;

/// A policy of a set, ready to be asked.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) sieve: Sieve,
    pub(super) named: Named,
    effect: Effect,
    /// A set of nothing else.
    alone: PolicySet,
}

/// The policies that can be about one action.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Those that say the same to both questions.
    steady: Group,
    swayed: Group,
}

#[derive(Debug, Default)]
struct Group {
    /// Where they are in the whole set, in order.
    places: Vec<usize>,
    whole: PolicySet,
}

/// What Cedar says to one question.
pub(super) struct Answer {
    pub(super) permits: bool,
    pub(super) policies: Vec<Box<str>>,
}

/// The policies that apply, by their places.
#[derive(Clone, Default)]
struct Said {
    permits: Vec<usize>,
    forbids: Vec<usize>,
    /// The first policy that failed, and how.
    fault: Option<(usize, String)>,
}

/// A proposal that is being judged.
pub(super) struct Case<'c> {
    set: &'c Policies,
    facts: &'c Facts,
    part: &'c Part,
    /// Made when a policy is asked: often none is.
    world: Option<World>,
    /// What does not depend on the question, once it was asked for.
    steady: Option<Said>,
}

impl Rule {
    pub(super) fn new(policy: &cedar_policy::Policy, text: &str) -> Self {
        let syntax = if Sieve::takes(text) { policy.to_pst().ok() } else { None };
        let (sieve, named) = match &syntax {
            Some(syntax) => (Sieve::of(syntax), Named::of(syntax.body())),
            None => (Sieve::default(), Named::everything()),
        };
        let mut alone = PolicySet::new();
        alone.add(policy.clone()).expect("the first of its set, and no template");
        Self { sieve, named, effect: policy.effect(), alone }
    }
}

impl Part {
    /// Adds a policy, in the order of the set.
    pub(super) fn add(&mut self, place: usize, rule: &Rule, policy: &cedar_policy::Policy) {
        let group = if rule.named.approved { &mut self.swayed } else { &mut self.steady };
        group.places.push(place);
        group.whole.add(policy.clone()).expect("ids are unique in the whole set");
    }

    /// What its policies name.
    pub(super) fn named(&self, rules: &[Rule]) -> Named {
        let mut named = Named::default();
        for place in self.steady.places.iter().chain(&self.swayed.places) {
            named.add(&rules[*place].named);
        }
        named
    }
}

impl<'c> Case<'c> {
    pub(super) fn new(set: &'c Policies, facts: &'c Facts) -> Result<Self, Untold> {
        let part = set.parts.get(facts.kind).ok_or("an action that the schema does not know")?;
        Ok(Self { set, facts, part, world: None, steady: None })
    }

    /// One of the two questions.
    pub(super) fn answer(&mut self, approved: Approved) -> Result<Answer, Untold> {
        let part = self.part;
        let mut said = match &self.steady {
            Some(said) => said.clone(),
            None => {
                let said = self.ask(&part.steady, approved)?;
                self.steady = Some(said.clone());
                said
            }
        };
        said.add(self.ask(&part.swayed, approved)?);
        said.answer(&self.set.policies)
    }

    fn ask(&mut self, group: &Group, approved: Approved) -> Result<Said, Untold> {
        let told = Told { facts: self.facts, approved };
        let rules = &self.set.rules;
        let (mut said, mut asked) = (Said::default(), Vec::new());
        for place in group.places.iter().copied() {
            match rules[place].sieve.settles(&told) {
                Some(true) => said.apply(place, rules[place].effect),
                Some(false) => {}
                None => asked.push(place),
            }
        }
        if asked.is_empty() {
            return Ok(said);
        }
        let world = match &mut self.world {
            Some(world) => world,
            none => none.insert(self.set.types.world(self.facts)?),
        };
        let request = world.request(self.facts, approved)?;
        if asked.len() > FEW {
            // Those that are settled are asked along.
            said = Said::default();
        }
        let authorizer = Authorizer::new();
        let mut ask = |set: &PolicySet, places: &[usize]| {
            let response = authorizer.is_authorized(&request, set, &world.entities);
            said.take(&response, places, &self.set.policies);
        };
        if asked.len() <= FEW {
            for place in asked {
                ask(&rules[place].alone, &[place]);
            }
        } else {
            ask(&group.whole, &group.places);
        }
        Ok(said)
    }
}

impl Said {
    fn apply(&mut self, place: usize, effect: Effect) {
        match effect {
            Effect::Permit => self.permits.push(place),
            Effect::Forbid => self.forbids.push(place),
        }
    }

    fn take(&mut self, response: &cedar_policy::Response, places: &[usize], policies: &[Policy]) {
        let place_of = |id: &cedar_policy::PolicyId| {
            let id: &str = id.as_ref();
            places.iter().copied().find(|place| *policies[*place].id == *id)
        };
        let diagnostics = response.diagnostics();
        let applied = match response.decision() {
            cedar_policy::Decision::Allow => &mut self.permits,
            cedar_policy::Decision::Deny => &mut self.forbids,
        };
        applied.extend(diagnostics.reason().filter_map(place_of));
        for error in diagnostics.errors() {
            let cedar_policy::AuthorizationError::PolicyEvaluationError(failed) = error;
            // One that nobody knows would be no policy of this set.
            let place = place_of(failed.policy_id()).unwrap_or(usize::MAX);
            self.fail(place, error.to_string());
        }
    }

    fn fail(&mut self, place: usize, why: String) {
        if self.fault.as_ref().is_none_or(|(first, _)| place < *first) {
            self.fault = Some((place, why));
        }
    }

    fn add(&mut self, other: Self) {
        self.permits.extend(other.permits);
        self.forbids.extend(other.forbids);
        if let Some((place, why)) = other.fault {
            self.fail(place, why);
        }
    }

    /// A forbid wins, and nothing is permitted that no policy permits.
    fn answer(self, policies: &[Policy]) -> Result<Answer, Untold> {
        // Cedar passes over a policy that fails. A forbid that fails would then forbid nothing.
        if let Some((_, why)) = self.fault {
            return Err(why);
        }
        let permits = self.forbids.is_empty() && !self.permits.is_empty();
        let applied = if permits { self.permits } else { self.forbids };
        let mut ids: Vec<Box<str>> =
            applied.into_iter().map(|place| policies[place].id.clone()).collect();
        ids.sort_unstable();
        Ok(Answer { permits, policies: ids })
    }
}

#[cfg(test)]
mod tests;
