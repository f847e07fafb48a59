//! The guard's policies: what may be done, what is asked for, what is refused.
//!
//! A set is made from the text of a `policy.org`, checked whole before it is used, and asked by
//! `decide`. It never changes: a session gets another one by an event. It asks nobody and reads
//! nothing; the daemon reads the file.
//!
//! In reading order:
//! - `schema.cedarschema`: what policies can speak about
//! - `default.org`: the set that is there when nobody wrote another
//! - `always.cedar`: what no set lifts
//! - `load`, `sections`, `example`: from text to a set, or to a list of faults with lines
//! - `access`: the same questions, asked by the daemon about a session as a whole
//! - `facts`, `world`: from a proposal to Cedar's terms
//! - `recorded`: facts as a decision was recorded with them, asked about again

mod access;
mod example;
mod facts;
mod installed;
mod load;
mod recorded;
mod sections;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cedar_policy::{Authorizer, Decision};

pub use self::access::Visited;
pub use self::example::Tried;
pub use self::facts::{Access, Facts};
pub(crate) use self::facts::{Around, Wanted, kind};
pub use self::installed::Installed;
pub use self::load::{BadPolicies, PolicyFault};
pub use self::recorded::{Recorded, Rehearsal};
use self::world::{Approved, Types, Untold, World};
use crate::hash::PolicyHash;

/// The text of the set that is there when nobody wrote another.
pub const DEFAULT_POLICY: &str = include_str!("policy/default.org");

static DEFAULT: LazyLock<Arc<Policies>> = LazyLock::new(|| {
    let set = Policies::from_org(DEFAULT_POLICY);
    Arc::new(set.expect("the default policies pass their own examples"))
});

/// A checked set of policies.
pub struct Policies {
    hash: PolicyHash,
    policies: Vec<Policy>,
    /// By action: a verdict costs what the policies of its own action cost.
    parts: BTreeMap<&'static str, cedar_policy::PolicySet>,
    types: Types,
}

/// One policy of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What a decision names it by.
    pub id: Box<str>,
    /// The heading it is under; empty for what no set lifts.
    pub title: Box<str>,
    /// What it means, in words.
    pub prose: Box<str>,
    /// The policy itself.
    pub text: Box<str>,
    /// The line of the file where its source block begins; 0 for what no set lifts.
    pub line: usize,
}

/// What a set says to a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Allow, ask or deny.
    pub word: Word,
    /// The policies that determine it; none when it is denied because nothing permits it.
    pub policies: Vec<Box<str>>,
    /// Why the policies could not be asked; a denial then.
    pub fault: Option<Box<str>>,
}

/// What becomes of a proposal, as far as the policies are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It may be done.
    Allow,
    /// It may be done if somebody says yes.
    Ask,
    /// It may not be done.
    Deny,
}

impl Policies {
    /// The set that is there when nobody wrote another.
    pub fn built_in() -> Arc<Self> {
        DEFAULT.clone()
    }

    /// The hash of its text.
    pub fn hash(&self) -> PolicyHash {
        self.hash
    }

    /// The version of the engine that reads it: another one may find otherwise.
    pub fn engine() -> String {
        format!("cedar-policy {}", cedar_policy::get_sdk_version())
    }

    /// Its policies, in the order of the file, those that no set lifts last.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Whether it may be done now; else whether it may be done after a yes; else not.
    ///
    /// Total: whatever goes wrong is a denial that says so.
    pub fn find(&self, facts: &Facts) -> Finding {
        self.found(facts).unwrap_or_else(|fault| Finding {
            word: Word::Deny,
            policies: Vec::new(),
            fault: Some(fault.into()),
        })
    }

    /// Whether it may be done without asking anybody: allow or deny.
    pub fn find_unapproved(&self, facts: &Facts) -> Finding {
        self.answered(facts, Approved::No)
    }

    /// Whether it may be done now that somebody said yes: allow or deny.
    pub fn find_approved(&self, facts: &Facts) -> Finding {
        self.answered(facts, Approved::Yes)
    }

    fn answered(&self, facts: &Facts, approved: Approved) -> Finding {
        let found = self.types.world(facts).and_then(|world| {
            let answer = self.answer(facts, &world, approved)?;
            let word = if answer.permits { Word::Allow } else { Word::Deny };
            Ok(Finding { word, policies: answer.policies, fault: None })
        });
        found.unwrap_or_else(|fault| Finding {
            word: Word::Deny,
            policies: Vec::new(),
            fault: Some(fault.into()),
        })
    }

    fn found(&self, facts: &Facts) -> Result<Finding, Untold> {
        let world = self.types.world(facts)?;
        let now = self.answer(facts, &world, Approved::No)?;
        if now.permits {
            return Ok(Finding { word: Word::Allow, policies: now.policies, fault: None });
        }
        let after = self.answer(facts, &world, Approved::Yes)?;
        let word = if after.permits { Word::Ask } else { Word::Deny };
        let policies = if after.policies.is_empty() { now.policies } else { after.policies };
        Ok(Finding { word, policies, fault: None })
    }

    fn answer(&self, facts: &Facts, world: &World, approved: Approved) -> Result<Answer, Untold> {
        let part = self.parts.get(facts.kind).ok_or("an action that the schema does not know")?;
        let request = world.request(facts, approved)?;
        let response = Authorizer::new().is_authorized(&request, part, &world.entities);
        let diagnostics = response.diagnostics();
        // Cedar passes over a policy that fails. A forbid that fails would then forbid nothing.
        if let Some(error) = diagnostics.errors().next() {
            return Err(error.to_string());
        }
        let mut policies: Vec<Box<str>> =
            diagnostics.reason().map(|id| AsRef::<str>::as_ref(id).into()).collect();
        policies.sort_unstable();
        Ok(Answer { permits: response.decision() == Decision::Allow, policies })
    }
}

/// What Cedar says to one question.
struct Answer {
    permits: bool,
    policies: Vec<Box<str>>,
}

/// Sets of the same text are the same.
impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl std::fmt::Debug for Policies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Policies({})", self.hash)
    }
}

impl Word {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Word::Allow => "allow",
            Word::Ask => "ask",
            Word::Deny => "deny",
        }
    }
}

#[cfg(test)]
mod tests;
