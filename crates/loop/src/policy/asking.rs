//! One proposal and the policies of its action: which of them are asked, and what they say.
//!
//! Called for each verdict. A policy that its sieve settles is not asked. The others are asked one
//! by one; what does not look at `context.approved` is asked once for both questions. What comes out
//! is what Cedar says to the whole set: the tests compare both.

mod condition;

use std::sync::OnceLock;

use cedar_policy::{Authorizer, Effect, PolicySet, pst};

use self::condition::Condition;

use super::facts::Facts;
use super::sieve::{Named, Sieve, Told};
use super::world::{Approved, Question, Untold, World};
use super::{Policies, Policy};

/// A policy of a set, ready to be asked.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) sieve: Sieve,
    pub(super) named: Named,
    effect: Effect,
    /// None if it is too long to be looked into.
    syntax: Option<pst::Policy>,
    /// Made when it is first asked: most policies of most sets never are.
    condition: OnceLock<Option<Condition>>,
    /// A set of nothing else.
    alone: PolicySet,
}

/// The policies that can be about one action, by their places in the whole set, in order.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Those that say the same to both questions.
    steady: Vec<usize>,
    swayed: Vec<usize>,
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
        let effect = policy.effect();
        Self { sieve, named, effect, syntax, condition: OnceLock::new(), alone }
    }

    fn condition(&self) -> Option<&Condition> {
        let make = || Condition::of(self.syntax.as_ref()?.body());
        self.condition.get_or_init(make).as_ref()
    }

    /// Whether it applies, in a part that is about its action.
    fn applies(&self, question: &Question<'_>) -> Result<bool, Untold> {
        let quick = self.condition().and_then(|condition| condition.holds(question));
        quick.map_or_else(|| self.applies_as_policy(question), Ok)
    }

    /// The long way: for what has no expression, and for the words of a failure.
    fn applies_as_policy(&self, question: &Question<'_>) -> Result<bool, Untold> {
        let response =
            Authorizer::new().is_authorized(&question.request, &self.alone, question.entities);
        match response.diagnostics().errors().next() {
            Some(error) => Err(error.to_string()),
            None => Ok(response.diagnostics().reason().next().is_some()),
        }
    }
}

impl Part {
    /// Adds a policy, in the order of the set.
    pub(super) fn add(&mut self, place: usize, rule: &Rule) {
        let group = if rule.named.approved { &mut self.swayed } else { &mut self.steady };
        group.push(place);
    }

    /// What its policies name.
    pub(super) fn named(&self, rules: &[Rule]) -> Named {
        let mut named = Named::default();
        for place in self.steady.iter().chain(&self.swayed) {
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

    fn ask(&mut self, places: &[usize], approved: Approved) -> Result<Said, Untold> {
        let told = Told { facts: self.facts, approved };
        let rules = &self.set.rules;
        let (mut said, mut asked) = (Said::default(), Vec::new());
        for place in places.iter().copied() {
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
        let question = world.question(self.facts, approved)?;
        for place in asked {
            match rules[place].applies(&question) {
                Ok(true) => said.apply(place, rules[place].effect),
                Ok(false) => {}
                Err(why) => said.fail(place, why),
            }
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
