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
//! - `facts`, `edit_facts`, `cedar_request`: from a proposal to Cedar's terms
//! - `asking`, `prefilter`: which policies are asked about it, and which cannot be about it
//! - `grant`: a permit made of the facts of a question, and the sentence for it
//! - `recorded`: facts as a decision was recorded with them, asked about again

mod access;
mod asking;
mod cedar_request;
mod depth;
mod edit_facts;
mod example;
mod facts;
mod grant;
mod installed;
mod load;
mod prefilter;
mod recorded;
mod sections;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

pub use self::access::VisitedSession;
use self::asking::{ActionPartition, CompiledPolicy, PolicyCase};
use self::cedar_request::{ApprovalQuestion, CedarTypes, Untold};
pub use self::example::ExampleResult;
pub use self::facts::{PolicyFacts, SessionAccess};
pub(crate) use self::facts::{ProposalCircumstances, RequestedAction, kind};
pub use self::grant::{GrantScope, GrantTerms, grant_scopes};
pub use self::installed::InstalledPolicies;
pub use self::load::{InvalidPolicies, PolicyFault};
pub use self::recorded::{PolicyRehearsal, RecordedJudgment};
use crate::hash::PolicyHash;

/// The text of the set that is there when nobody wrote another.
pub const DEFAULT_POLICY: &str = include_str!("policy/default.org");

/// Stack of a thread that reads a set, in bytes: twice what the deepest policy takes that is read at all, in a
/// build without optimization.
pub const LOADER_STACK_BYTES: usize = 64 << 20;

/// Stack of a thread that asks a set, in bytes.
pub const JUDGE_STACK_BYTES: usize = 8 << 20;

static DEFAULT: LazyLock<Arc<GuardPolicies>> = LazyLock::new(|| {
    // Their types and examples are checked by the tests: nobody waits for that at a start.
    Arc::new(GuardPolicies::unchecked(DEFAULT_POLICY))
});

/// A checked set of policies.
pub struct GuardPolicies {
    hash: PolicyHash,
    policies: Vec<PolicyEntry>,
    /// In the same order.
    rules: Vec<CompiledPolicy>,
    /// By action: a verdict looks at the policies of its own action.
    parts: BTreeMap<&'static str, ActionPartition>,
    types: CedarTypes,
    /// Whether one of them looks at what an asker did in all sessions.
    budgets_askers: bool,
}

/// One policy of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyEntry {
    /// Id by which a decision names it.
    pub id: Box<str>,
    /// The heading it is under; empty for what no set lifts.
    pub title: Box<str>,
    /// Meaning, in words.
    pub prose: Box<str>,
    /// The policy itself.
    pub text: Box<str>,
    /// The line of the file where its source block begins; 0 for what no set lifts.
    pub line: usize,
}

/// Answer of a set to a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFinding {
    /// Allow, ask or deny.
    pub word: PolicyVerdict,
    /// The policies that determine it; none when it is denied because nothing permits it.
    pub policies: Vec<Box<str>>,
    /// Reason why the policies could not be asked; a denial then.
    pub fault: Option<Box<str>>,
}

/// Answer of the policies; the stricter the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyVerdict {
    /// Allowed.
    Allow,
    /// Allowed if somebody says yes.
    Ask,
    /// Denied.
    Deny,
}

impl GuardPolicies {
    /// The set that is there when nobody wrote another.
    pub fn built_in() -> Arc<Self> {
        DEFAULT.clone()
    }

    /// Built-in policies for those who only look: no session counts a reference that all of them share.
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
    pub fn policies(&self) -> &[PolicyEntry] {
        &self.policies
    }

    /// Whether one of its policies looks at what an asker did in all sessions.
    pub(crate) fn budgets_askers(&self) -> bool {
        self.budgets_askers
    }

    /// Whether it may be done now; else whether it may be done after a yes; else not.
    ///
    /// Total: whatever goes wrong is a denial that says so.
    pub fn find(&self, facts: &PolicyFacts) -> PolicyFinding {
        self.found(facts).unwrap_or_else(PolicyFinding::untold)
    }

    /// Whether it may be done without asking anybody: allow or deny.
    pub fn find_unapproved(&self, facts: &PolicyFacts) -> PolicyFinding {
        self.answered(facts, ApprovalQuestion::No)
    }

    /// Whether it may be done now that somebody said yes: allow or deny.
    pub fn find_approved(&self, facts: &PolicyFacts) -> PolicyFinding {
        self.answered(facts, ApprovalQuestion::Yes)
    }

    fn answered(&self, facts: &PolicyFacts, approved: ApprovalQuestion) -> PolicyFinding {
        let answer = PolicyCase::new(self, facts).and_then(|mut case| case.answer(approved));
        match answer {
            Ok(answer) => {
                let word = if answer.permits { PolicyVerdict::Allow } else { PolicyVerdict::Deny };
                PolicyFinding { word, policies: answer.policies, fault: None }
            }
            Err(fault) => PolicyFinding::untold(fault),
        }
    }

    fn found(&self, facts: &PolicyFacts) -> Result<PolicyFinding, Untold> {
        let mut case = PolicyCase::new(self, facts)?;
        let now = case.answer(ApprovalQuestion::No)?;
        if now.permits {
            return Ok(PolicyFinding {
                word: PolicyVerdict::Allow,
                policies: now.policies,
                fault: None,
            });
        }
        let after = case.answer(ApprovalQuestion::Yes)?;
        let word = if after.permits { PolicyVerdict::Ask } else { PolicyVerdict::Deny };
        let policies = if after.policies.is_empty() { now.policies } else { after.policies };
        Ok(PolicyFinding { word, policies, fault: None })
    }
}

impl PolicyFinding {
    /// Denies what cannot be judged.
    fn untold(fault: Untold) -> Self {
        Self { word: PolicyVerdict::Deny, policies: Vec::new(), fault: Some(fault.into()) }
    }
}

/// Sets of the same text are the same.
impl PartialEq for GuardPolicies {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl std::fmt::Debug for GuardPolicies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Policies({})", self.hash)
    }
}

impl PolicyVerdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            PolicyVerdict::Allow => "allow",
            PolicyVerdict::Ask => "ask",
            PolicyVerdict::Deny => "deny",
        }
    }
}

#[cfg(test)]
mod tests;
