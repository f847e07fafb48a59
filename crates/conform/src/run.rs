//! Goes through the cases of a kit.
//!
//! Called by `bridle conform` and by tests with sloppy peers. Each case begins with a peer that
//! holds nothing of the one before.

use std::time::Instant;

use super::Kit;
use super::case::{Case, Finding, Level};
use super::expect::Expected;
use super::notes::Notes;
use super::report::{Ended, Outcome, Report};

/// The other side, as a kit talks to it.
pub trait Peer {
    /// Forgets connections and notes of the case before.
    fn begin(&mut self);
    /// Hands over what was sent and what came since.
    fn end(&mut self) -> Notes;
}

/// Which cases run, and which failures are known.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only cases whose id begins with one of these; empty: all.
    pub only: Vec<String>,
    /// Failures that are known.
    pub expected: Expected,
}

impl Options {
    fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|prefix| id.starts_with(prefix.as_str()))
    }
}

/// Runs the cases that are wanted; `watch` sees each result as it comes.
pub fn run<P: Peer>(
    kit: Kit,
    cases: &[Case<P>],
    peer: &mut P,
    options: &Options,
    watch: &mut dyn FnMut(&Outcome),
) -> Report {
    let mut outcomes = Vec::new();
    for case in cases.iter().filter(|case| options.wants(case.id)) {
        let outcome = one(case, peer, &options.expected);
        watch(&outcome);
        outcomes.push(outcome);
    }
    Report { kit, outcomes }
}

fn one<P: Peer>(case: &Case<P>, peer: &mut P, expected: &Expected) -> Outcome {
    let began = Instant::now();
    peer.begin();
    let checked = (case.check)(peer);
    let notes = peer.end();
    let known = expected.reason(case.id);
    let ended = match (checked, known) {
        (Ok(()), None) => Ended::Passed,
        (Ok(()), Some(reason)) => Ended::Stale(reason.to_owned()),
        // Only what a peer may leave out can be missing: the rest is a fault by its absence.
        (Err(Finding::Unoffered(what)), None) if case.level != Level::Must => {
            Ended::Unoffered(what)
        }
        (Err(Finding::Fault(what) | Finding::Unoffered(what)), None) => Ended::Failed(what),
        (Err(Finding::Fault(what) | Finding::Unoffered(what)), Some(reason)) => {
            Ended::Known { what, reason: reason.to_owned() }
        }
    };
    let Case { id, level, section, title, why, .. } = *case;
    Outcome { id, level, section, title, why, ended, notes, took: began.elapsed() }
}

#[cfg(test)]
mod tests;
