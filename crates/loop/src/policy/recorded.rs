//! Decisions as they were recorded, and what another set would have said to them.
//!
//! Called by the daemon's history, for `bridle policy rehearse` and for the diff of a grant. Nothing
//! follows from it: a rehearsal makes no order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bridle_sexp::Value;

use super::edited::EditFacts;
use super::facts::{Facts, MESSAGE, OTHER, is_act};
use super::sieve::{How, Named, Number};
use super::{Finding, Policies, Word};
use crate::field::Unreadable;
use crate::hash::ActionDigits;
use crate::ids::{SessionId, Time};

/// Different facts that a rehearsal remembers; beyond it, the same is judged again.
const MAX_REMEMBERED: usize = 65_536;

/// What the policies were told about one proposal, and what they said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    facts: Facts,
    approved: bool,
    word: Word,
}

impl Recorded {
    /// Reads the body of a `decided` record; nothing when the policies were not asked.
    ///
    /// # Errors
    /// When the body is not what this version writes.
    pub fn read(session: &SessionId, at: Time, body: &Value) -> Result<Option<Self>, Unreadable> {
        Self::read_with(body, || Facts::recorded(session, at, body))
    }

    fn read_with(
        body: &Value,
        facts: impl FnOnce() -> Result<Facts, Unreadable>,
    ) -> Result<Option<Self>, Unreadable> {
        match said(body).filter(|_| body.get("facts").is_some()) {
            None => Ok(None),
            Some((approved, word)) => Ok(Some(Self { facts: facts()?, approved, word })),
        }
    }

    /// What the policies were told.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What they said.
    pub fn word(&self) -> Word {
        self.word
    }
}

/// Whether somebody had said yes, and what the policies said: the last rule of that kind counts.
fn said(body: &Value) -> Option<(bool, Word)> {
    let checked = body.get("checked").and_then(Value::elements).unwrap_or_default();
    let mut pairs = checked.chunks_exact(2).rev();
    let is_policy = |rule: &Value| rule.is_keyword("policy") || rule.is_keyword("approval");
    let pair = pairs.find(|pair| is_policy(&pair[0]))?;
    let word = match pair[1].as_keyword()? {
        "allow" => Word::Allow,
        "ask" => Word::Ask,
        _ => Word::Deny,
    };
    Some((pair[0].is_keyword("approval"), word))
}

/// A set that is asked about many recorded decisions. What cannot make a difference to it is not
/// looked at, so most of them are the same to it and are judged once.
pub struct Rehearsal<'p> {
    set: &'p Policies,
    /// By action: what its policies name.
    named: BTreeMap<&'static str, Named>,
    remembered: HashMap<(Facts, bool), Finding>,
}

impl<'p> Rehearsal<'p> {
    /// Begins one.
    pub fn new(set: &'p Policies) -> Self {
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
        at: Time,
        body: &Value,
    ) -> Result<Option<Recorded>, Unreadable> {
        let names_hash = |kind: &str| self.names_hash(kind);
        Recorded::read_with(body, || Facts::recorded_for(session, at, body, names_hash))
    }

    /// Whether its policies may name the hash of what is said. A decision that names a proposal is read
    /// only with the payload in its place then.
    pub fn names_texts(&self) -> bool {
        self.names_hash(MESSAGE)
    }

    /// Whether the policies for an action may name its hash.
    fn names_hash(&self, kind: &str) -> bool {
        let nothing = How::With(BTreeSet::new());
        self.named.get(kind).is_none_or(|named| named.hash != nothing)
    }

    /// What the set says to the same question.
    pub fn find(&mut self, recorded: &Recorded) -> Finding {
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
        if found.word == Word::Ask && !is_act(facts.kind) {
            found.word = Word::Deny;
        }
        if self.remembered.len() < MAX_REMEMBERED {
            self.remembered.insert(key, found.clone());
        }
        found
    }
}

/// Puts one value in the place of all that these policies cannot tell apart.
fn blind(named: &Named, facts: &mut Facts) {
    if !named.session {
        facts.session = SessionId::parse(OTHER).expect("a session's name");
    }
    if !named.edit {
        facts.edit = EditFacts::default();
    }
    // The empty one stands for all that are not named, unless it is named itself.
    let is_blind =
        |hash: &str, hashes: &BTreeSet<Box<str>>| !hashes.contains(hash) && !hashes.contains("");
    if matches!(&named.hash, How::With(hashes) if is_blind(facts.hash.as_str(), hashes)) {
        facts.hash = ActionDigits::default();
    }
    let numbers = [
        (Number::Now, &mut facts.now),
        (Number::Minute, &mut facts.minute),
        (Number::Weekday, &mut facts.weekday),
        (Number::SessionHour, &mut facts.counts.session),
        (Number::AskerHour, &mut facts.counts.asker),
        (Number::ActionHour, &mut facts.counts.action),
    ];
    for (name, number) in numbers {
        if let How::With(numbers) = named.number(name) {
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
