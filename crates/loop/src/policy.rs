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
//! - `load`, `sections`, `depth`, `example`: from text to a set, or to a list of faults with lines
//! - `access`: the same questions, asked by the daemon about a session as a whole
//! - `facts`, `edited`, `world`: from a proposal to Cedar's terms
//! - `asking`, `sieve`: which policies are asked about it, and which cannot be about it
//! - `grant`: a permit made of the facts of a question, and the sentence for it
//! - `recorded`: facts as a decision was recorded with them, asked about again

mod access;
mod asking;
mod depth;
mod edited;
mod example;
mod facts;
mod grant;
mod installed;
mod load;
mod recorded;
mod sections;
mod sieve;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

pub use self::access::Visited;
use self::asking::{Case, Part, Rule};
pub use self::example::Tried;
pub use self::facts::{Access, Facts};
pub(crate) use self::facts::{Around, Wanted, kind};
pub use self::grant::{GrantScope, GrantTerms};
pub use self::installed::Installed;
pub use self::load::{BadPolicies, PolicyFault};
pub use self::recorded::{Recorded, Rehearsal};
use self::world::{Approved, Types, Untold};
use crate::hash::PolicyHash;

/// The text of the set that is there when nobody wrote another.
pub const DEFAULT_POLICY: &str = include_str!("policy/default.org");

/// Stack of a thread that reads a set, in bytes: twice what the deepest policy takes that is read at all, in a
/// build without optimization.
pub const LOADER_STACK_BYTES: usize = 64 << 20;

/// Stack of a thread that asks a set, in bytes.
pub const JUDGE_STACK_BYTES: usize = 8 << 20;

static DEFAULT: LazyLock<Arc<Policies>> = LazyLock::new(|| {
    // Their types and examples are checked by the tests: nobody waits for that at a start.
    Arc::new(Policies::unchecked(DEFAULT_POLICY))
});

/// A checked set of policies.
pub struct Policies {
    hash: PolicyHash,
    policies: Vec<Policy>,
    /// In the same order.
    rules: Vec<Rule>,
    /// By action: a verdict looks at the policies of its own action.
    parts: BTreeMap<&'static str, Part>,
    types: Types,
    /// Whether one of them looks at what an asker did in all sessions.
    budgets_askers: bool,
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

/// What becomes of a proposal, as far as the policies are concerned; the stricter the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The same, for those who only look: all sessions share it, and would count each look.
    pub(crate) fn default_set() -> &'static Self {
        &DEFAULT
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

    /// Whether one of its policies looks at what an asker did in all sessions.
    pub(crate) fn budgets_askers(&self) -> bool {
        self.budgets_askers
    }

    /// Whether it may be done now; else whether it may be done after a yes; else not.
    ///
    /// Total: whatever goes wrong is a denial that says so.
    pub fn find(&self, facts: &Facts) -> Finding {
        self.found(facts).unwrap_or_else(Finding::untold)
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
        let answer = Case::new(self, facts).and_then(|mut case| case.answer(approved));
        match answer {
            Ok(answer) => {
                let word = if answer.permits { Word::Allow } else { Word::Deny };
                Finding { word, policies: answer.policies, fault: None }
            }
            Err(fault) => Finding::untold(fault),
        }
    }

    fn found(&self, facts: &Facts) -> Result<Finding, Untold> {
        let mut case = Case::new(self, facts)?;
        let now = case.answer(Approved::No)?;
        if now.permits {
            return Ok(Finding { word: Word::Allow, policies: now.policies, fault: None });
        }
        let after = case.answer(Approved::Yes)?;
        let word = if after.permits { Word::Ask } else { Word::Deny };
        let policies = if after.policies.is_empty() { now.policies } else { after.policies };
        Ok(Finding { word, policies, fault: None })
    }
}

impl Finding {
    /// What cannot be judged is denied.
    fn untold(fault: Untold) -> Self {
        Self { word: Word::Deny, policies: Vec::new(), fault: Some(fault.into()) }
    }
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
