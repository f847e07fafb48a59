//! The scopes of a grant as they are offered: a sentence each, and what they would have matched.

use std::fmt::Write as _;

use bridle_history::rehearse::{ChangedDecision, RehearsalReport};
use bridle_loop::{GrantScope, GrantTerms};
use bridle_shell::screen::neutral_line;

use super::super::policy::rehearsed_text;
use super::PolicyPatch;
use crate::json::{object, quoted, strings};

/// Decisions that are named for each scope.
const MAX_NAMED: usize = 3;

/// One scope of a grant.
#[derive(Debug)]
pub(in crate::cmd) struct ScopeOffer {
    pub(super) scope: GrantScope,
    sentence: String,
    cedar: String,
    rehearsed: RehearsalReport,
    /// Decisions that its policy would have made otherwise.
    matched: usize,
    /// Some of them, for people.
    named: Vec<Box<str>>,
}

impl ScopeOffer {
    pub(super) fn new(
        scope: GrantScope,
        id: &str,
        terms: &GrantTerms,
        rehearsed: RehearsalReport,
    ) -> Self {
        let is_its = |it: &&ChangedDecision| it.policies.iter().any(|policy| **policy == *id);
        let matched = rehearsed.changed.iter().filter(is_its);
        let named = matched.clone().rev().take(MAX_NAMED).map(|it| {
            let about = if it.about.is_empty() { &it.target } else { &it.about };
            format!("record {} of {}: {} {about}", it.record, it.session, it.action).into()
        });
        let (named, matched) = (named.collect(), matched.count());
        let (sentence, cedar) = (terms.sentence(), terms.to_cedar());
        Self { scope, sentence, cedar, rehearsed, matched, named }
    }

    fn json(&self) -> String {
        object(&[
            ("scope", quoted(self.scope.word())),
            ("sentence", quoted(&self.sentence)),
            ("policy", quoted(&self.cedar)),
            ("decisions", self.rehearsed.decisions.to_string()),
            ("matched", self.matched.to_string()),
            ("examples", strings(&self.named)),
        ])
    }

    fn show(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "--scope {}: {}", self.scope.word(), neutral_line(&self.sentence));
        let (matched, all) = (self.matched, self.rehearsed.decisions);
        let _ = writeln!(text, "  would have matched {matched} of {all} recorded decisions");
        for it in &self.named {
            let _ = writeln!(text, "  {}", neutral_line(it));
        }
    }
}

impl PolicyPatch {
    /// The change for people: all scopes, the chosen one, its diff and its rehearsal.
    pub(in crate::cmd) fn shown(&self) -> String {
        let mut text = String::new();
        self.offers.iter().for_each(|offer| offer.show(&mut text));
        let Some(chosen) = self.offers.get(self.chosen) else { return text };
        let _ = writeln!(
            text,
            "\nChosen scope: {}. Change to the policy file:\n\n{}",
            chosen.scope.word(),
            self.diff
        );
        let _ = write!(text, "With this grant, {}", rehearsed_text(&chosen.rehearsed));
        text
    }

    /// The change for programs.
    pub(in crate::cmd) fn json(&self, id: &str, is_written: bool) -> String {
        let scopes: Vec<String> = self.offers.iter().map(ScopeOffer::json).collect();
        let chosen = self.offers.get(self.chosen).map(ScopeOffer::json);
        object(&[
            ("approval", quoted(id)),
            ("file", quoted(&self.file.display().to_string())),
            ("chosen", chosen.unwrap_or_else(|| "null".to_owned())),
            ("scopes", format!("[{}]", scopes.join(","))),
            ("diff", quoted(&self.diff)),
            ("written", is_written.to_string()),
        ])
    }
}
