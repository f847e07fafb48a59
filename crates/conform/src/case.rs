//! A case: one requirement, how it is checked, and what can be found.
//!
//! Kits make lists of these, `run` goes through them. What was sent and received is not here: the
//! peer notes it while the check runs.

use std::fmt;

/// Force of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequirementLevel {
    /// Whoever does not keep to it does not speak the protocol.
    Must,
    /// Whoever does not keep to it needs a reason.
    Should,
    /// Binds whoever offers this part of the protocol.
    Profile(&'static str),
}

impl fmt::Display for RequirementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequirementLevel::Must => f.write_str("MUST"),
            RequirementLevel::Should => f.write_str("SHOULD"),
            RequirementLevel::Profile(name) => f.write_str(name),
        }
    }
}

/// Result of a check.
pub type Checked = Result<(), CheckFinding>;

/// Reason why a check did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckFinding {
    /// The peer does not keep to the requirement: what was expected, and what came instead.
    Fault(String),
    /// The peer does not offer what the requirement is about, so it does not bind.
    Unoffered(String),
}

impl CheckFinding {
    /// A fault.
    pub fn fault(what: impl Into<String>) -> CheckFinding {
        CheckFinding::Fault(what.into())
    }

    /// Finding for something that is not offered.
    pub fn unoffered(what: impl Into<String>) -> CheckFinding {
        CheckFinding::Unoffered(what.into())
    }
}

/// A requirement and its check.
pub struct ConformanceCase<P> {
    /// Name of the case, for good: `F-03`.
    pub id: &'static str,
    /// Force of the requirement.
    pub level: RequirementLevel,
    /// Section that states it.
    pub section: &'static str,
    /// Requirement, in a sentence.
    pub title: &'static str,
    /// Harm to people when it is not kept.
    pub why: &'static str,
    /// Finds out.
    pub check: Box<dyn Fn(&mut P) -> Checked>,
}

impl<P> ConformanceCase<P> {
    /// A case.
    pub fn new(
        id: &'static str,
        level: RequirementLevel,
        section: &'static str,
        title: &'static str,
        why: &'static str,
        check: impl Fn(&mut P) -> Checked + 'static,
    ) -> ConformanceCase<P> {
        ConformanceCase { id, level, section, title, why, check: Box::new(check) }
    }
}

impl<P> fmt::Debug for ConformanceCase<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("id", &self.id).field("title", &self.title).finish()
    }
}
