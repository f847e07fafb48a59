//! The scopes of a grant as they are offered: a sentence each, and what they would have matched.

use bridle_history::rehearse::{ChangedDecision, RehearsalReport};
use bridle_loop::{GrantScope, GrantTerms};
use bridle_sexp::Value;

/// Decisions that are named for each scope.
const MAX_NAMED: usize = 3;

/// One scope of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeOffer {
    /// The scope.
    pub scope: GrantScope,
    /// Sentence about what it permits.
    pub sentence: String,
    /// Text of the permit.
    pub cedar: String,
    /// Decisions that it was tried on.
    pub decisions: u64,
    /// Decisions that would have come out otherwise with it.
    pub changed: usize,
    /// Decisions that its permit would have determined.
    pub matched: usize,
    /// Some of them, for people.
    pub named: Vec<Box<str>>,
}

impl ScopeOffer {
    pub(super) fn new(
        scope: GrantScope,
        id: &str,
        terms: &GrantTerms,
        rehearsed: &RehearsalReport,
    ) -> Self {
        let is_its = |it: &&ChangedDecision| it.policies.iter().any(|policy| **policy == *id);
        let matched = rehearsed.changed.iter().filter(is_its);
        let named = matched.clone().rev().take(MAX_NAMED).map(|it| {
            let about = if it.about.is_empty() { &it.target } else { &it.about };
            format!("record {} of {}: {} {about}", it.record, it.session, it.action).into()
        });
        let (named, matched) = (named.collect(), matched.count());
        let (decisions, changed) = (rehearsed.decisions, rehearsed.changed.len());
        let (sentence, cedar) = (terms.sentence(), terms.to_cedar());
        Self { scope, sentence, cedar, decisions, changed, matched, named }
    }

    /// Returns it as a plist.
    pub fn to_value(&self) -> Value {
        let count = |number: usize| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
        Value::plist([
            ("scope", Value::keyword(self.scope.word())),
            ("sentence", Value::str(self.sentence.as_str())),
            ("policy", Value::str(self.cedar.as_str())),
            ("decisions", Value::int(i64::try_from(self.decisions).unwrap_or(i64::MAX))),
            ("changed", count(self.changed)),
            ("matched", count(self.matched)),
            ("examples", Value::list(self.named.iter().map(|named| Value::str(&**named)))),
        ])
    }
}
