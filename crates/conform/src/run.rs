//! Goes through the cases of a kit.
//!
//! Called by `bridle conform` and by tests with sloppy peers. Each case begins with a peer that
//! holds nothing of the one before.

use std::time::Instant;

use super::KitKind;
use super::case::{CheckFinding, ConformanceCase, RequirementLevel};
use super::expect::ExpectedFailures;
use super::notes::CaseNotes;
use super::report::{CaseEnd, CaseOutcome, ConformanceReport};

/// The other side, as a kit talks to it.
pub trait KitPeer {
    /// Forgets connections and notes of the case before.
    fn begin(&mut self);
    /// Hands over what was sent and what came since.
    fn end(&mut self) -> CaseNotes;
}

/// Cases to run, and failures that are known.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Only cases whose id begins with one of these; empty: all.
    pub only: Vec<String>,
    /// Failures that are known.
    pub expected: ExpectedFailures,
}

impl RunOptions {
    fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|prefix| id.starts_with(prefix.as_str()))
    }
}

/// Runs the cases that are wanted; `watch` sees each result as it comes.
pub fn run<P: KitPeer>(
    kit: KitKind,
    cases: &[ConformanceCase<P>],
    peer: &mut P,
    options: &RunOptions,
    watch: &mut dyn FnMut(&CaseOutcome),
) -> ConformanceReport {
    let mut outcomes = Vec::new();
    for case in cases.iter().filter(|case| options.wants(case.id)) {
        let outcome = one(case, peer, &options.expected);
        watch(&outcome);
        outcomes.push(outcome);
    }
    ConformanceReport { kit, outcomes }
}

fn one<P: KitPeer>(
    case: &ConformanceCase<P>,
    peer: &mut P,
    expected: &ExpectedFailures,
) -> CaseOutcome {
    let began = Instant::now();
    peer.begin();
    let checked = (case.check)(peer);
    let notes = peer.end();
    let known = expected.reason(case.id);
    let ended = match (checked, known) {
        (Ok(()), None) => CaseEnd::Passed,
        (Ok(()), Some(reason)) => CaseEnd::Stale(reason.to_owned()),
        // Only what a peer may leave out can be missing: the rest is a fault by its absence.
        (Err(CheckFinding::Unoffered(what)), None) if case.level != RequirementLevel::Must => {
            CaseEnd::Unoffered(what)
        }
        (Err(CheckFinding::Fault(what) | CheckFinding::Unoffered(what)), None) => {
            CaseEnd::Failed(what)
        }
        (Err(CheckFinding::Fault(what) | CheckFinding::Unoffered(what)), Some(reason)) => {
            CaseEnd::Known { what, reason: reason.to_owned() }
        }
    };
    let ConformanceCase { id, level, section, title, why, .. } = *case;
    CaseOutcome { id, level, section, title, why, ended, notes, took: began.elapsed() }
}

#[cfg(test)]
mod tests;
