//! Decisions as they were recorded, and what another set would have said to them.
//!
//! Called by the daemon's history, for `bridle policy rehearse` and for the diff of a grant. Nothing
//! follows from it: a rehearsal makes no order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bridle_sexp::Value;

use super::edit_facts::EditFacts;
use super::facts::{MESSAGE, OTHER, PolicyFacts, ReachFacts, is_act};
use super::prefilter::{FactUsage, NamedFacts, PrefilterNumber};
use super::{GuardPolicies, PolicyFinding, PolicyVerdict};
use crate::hash::ActionDigits;
use crate::ids::{SessionId, UnixMillis};
use crate::plist_codec::UnreadableValue;
use crate::provenance::ProposalOrigin;

/// Different facts that a rehearsal remembers; beyond it, the same is judged again.
const MAX_REMEMBERED_FINDINGS: usize = 65_536;

/// Facts of one proposal, and the answer of the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedJudgment {
    facts: PolicyFacts,
    approved: bool,
    word: PolicyVerdict,
}

impl RecordedJudgment {
    /// Reads the body of a `decided` record; nothing when the policies were not asked.
    ///
    /// # Errors
    /// When the body is not what this version writes.
    pub fn read(
        session: &SessionId,
        at: UnixMillis,
        body: &Value,
    ) -> Result<Option<Self>, UnreadableValue> {
        Self::read_with(body, || PolicyFacts::recorded(session, at, body))
    }

    fn read_with(
        body: &Value,
        facts: impl FnOnce() -> Result<PolicyFacts, UnreadableValue>,
    ) -> Result<Option<Self>, UnreadableValue> {
        match said(body).filter(|_| body.get("facts").is_some()) {
            None => Ok(None),
            Some((approved, word)) => Ok(Some(Self { facts: facts()?, approved, word })),
        }
    }

    /// Facts that the policies were told.
    pub fn facts(&self) -> &PolicyFacts {
        &self.facts
    }

    /// Answer of the policies.
    pub fn word(&self) -> PolicyVerdict {
        self.word
    }
}

/// Whether somebody had said yes, and what the policies said: the last rule of that kind counts.
fn said(body: &Value) -> Option<(bool, PolicyVerdict)> {
    let checked = body.get("checked").and_then(Value::elements).unwrap_or_default();
    let mut pairs = checked.chunks_exact(2).rev();
    let is_policy = |rule: &Value| rule.is_keyword("policy") || rule.is_keyword("approval");
    let pair = pairs.find(|pair| is_policy(&pair[0]))?;
    let word = match pair[1].as_keyword()? {
        "allow" => PolicyVerdict::Allow,
        "ask" => PolicyVerdict::Ask,
        _ => PolicyVerdict::Deny,
    };
    Some((pair[0].is_keyword("approval"), word))
}

/// A set that is asked about many recorded decisions. What cannot make a difference to it is not
/// looked at, so most of them are the same to it and are judged once.
pub struct PolicyRehearsal<'p> {
    set: &'p GuardPolicies,
    /// By action: what its policies name.
    named: BTreeMap<&'static str, NamedFacts>,
    remembered: HashMap<(PolicyFacts, bool), PolicyFinding>,
}

impl<'p> PolicyRehearsal<'p> {
    /// Begins one.
    pub fn new(set: &'p GuardPolicies) -> Self {
        let parts = set.parts.iter();
        let named = parts.map(|(kind, part)| (*kind, part.named(&set.rules)));
        Self { set, named: named.collect(), remembered: HashMap::new() }
    }

    /// Reads the body of a `decided` record for this set: what its policies do not name is left out.
    /// Nothing when the policies were not asked.
    ///
    /// # Errors
    /// When the body is not what this version writes.
    pub fn read(
        &self,
        session: &SessionId,
        at: UnixMillis,
        body: &Value,
    ) -> Result<Option<RecordedJudgment>, UnreadableValue> {
        let names_hash = |kind: &str| self.names_hash(kind);
        RecordedJudgment::read_with(body, || {
            PolicyFacts::recorded_for(session, at, body, names_hash)
        })
    }

    /// Whether its policies may name the hash of what is said. A decision that names a proposal is read
    /// only with the payload in its place then.
    pub fn names_texts(&self) -> bool {
        self.names_hash(MESSAGE)
    }

    /// Whether the policies for an action may name its hash.
    fn names_hash(&self, kind: &str) -> bool {
        let nothing = FactUsage::With(BTreeSet::new());
        self.named.get(kind).is_none_or(|named| named.hash != nothing)
    }

    /// Answer of the set to the same question.
    pub fn find(&mut self, recorded: &RecordedJudgment) -> PolicyFinding {
        let mut facts = recorded.facts.clone();
        if let Some(named) = self.named.get(facts.kind) {
            blind(named, &mut facts);
        }
        let key = (facts, recorded.approved);
        if let Some(found) = self.remembered.get(&key) {
            return found.clone();
        }
        let (facts, approved) = &key;
        let mut found =
            if *approved { self.set.find_approved(facts) } else { self.set.find(facts) };
        // Access and thought need no yes: they are granted or not.
        if found.word == PolicyVerdict::Ask && !is_act(facts.kind) {
            found.word = PolicyVerdict::Deny;
        }
        if self.remembered.len() < MAX_REMEMBERED_FINDINGS {
            self.remembered.insert(key, found.clone());
        }
        found
    }
}

/// Puts one value in the place of all that these policies cannot tell apart.
fn blind(named: &NamedFacts, facts: &mut PolicyFacts) {
    if !named.session {
        facts.session = SessionId::parse(OTHER).expect("a session's name");
    }
    if !named.edit {
        facts.edit = EditFacts::default();
    }
    if !named.effect {
        facts.effect = Arc::default();
        facts.reach = ReachFacts::default();
        facts.origin = ProposalOrigin::default();
    }
    // The empty one stands for all that are not named, unless it is named itself.
    let is_blind =
        |hash: &str, hashes: &BTreeSet<Box<str>>| !hashes.contains(hash) && !hashes.contains("");
    if matches!(&named.hash, FactUsage::With(hashes) if is_blind(facts.hash.as_str(), hashes)) {
        facts.hash = ActionDigits::default();
    }
    let numbers = [
        (PrefilterNumber::Now, &mut facts.now),
        (PrefilterNumber::Minute, &mut facts.minute),
        (PrefilterNumber::Weekday, &mut facts.weekday),
        (PrefilterNumber::SessionHour, &mut facts.counts.session),
        (PrefilterNumber::AskerHour, &mut facts.counts.asker),
        (PrefilterNumber::ActionHour, &mut facts.counts.action),
    ];
    for (name, number) in numbers {
        if let FactUsage::With(numbers) = named.number(name) {
            *number = class(*number, numbers);
        }
    }
}

/// One number for all that compare alike with these numbers.
fn class(number: i64, numbers: &BTreeSet<i64>) -> i64 {
    match numbers.range(..=number).next_back() {
        Some(one) if *one == number => number,
        Some(below) => below.saturating_add(1),
        None => i64::MIN,
    }
}

#[cfg(test)]
mod tests;
