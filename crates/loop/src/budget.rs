//! How often something was done in the last hour: what budgets in policies count.
//!
//! Part of the state; counted when an order is made, read when a proposal is judged. An hour is cut
//! into spans of five minutes: an act is counted for at least an hour and at most five minutes
//! longer, and a budget is never exceeded. What is said to the asker is not counted. What an asker did
//! in other sessions is not known here: the daemon adds it up, with [`PrincipalTallies`], and tells it as an
//! event.

use std::collections::BTreeMap;

use bridle_sexp::Value;

use crate::effect::{Decision, Verdict};
use crate::event::PrincipalUsage;
use crate::ids::UnixMillis;
use crate::plist_codec::{FieldSink, UnreadableValue, list, spans, text};
use crate::policy::PolicyFacts;
use crate::state::SessionState;

/// Length of a span, in milliseconds.
const SPAN_MS: i64 = 5 * 60 * 1_000;

/// Spans that count: an hour, and the one that has just begun.
const SPANS_PER_HOUR: i64 = 13;

/// Askers of a session that are counted one by one; further ones share a count.
const MAX_ASKERS: usize = 64;

const SESSION: &str = "session";
const ASKER: &str = "asker:";
const OTHERS: &str = "asker";
const ACTION: &str = "action:";
const ELSEWHERE: &str = "elsewhere:";
const OTHERS_ELSEWHERE: &str = "elsewhere";

/// Principals whose acts the daemon adds up one by one; further ones share a count.
const MAX_PRINCIPALS: usize = 4_096;

/// The counters of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BudgetCounters {
    windows: BTreeMap<Box<str>, Window>,
}

/// Acts of the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct HourlyCounts {
    pub(crate) session: i64,
    /// Of this asker, in all sessions.
    pub(crate) asker: i64,
    /// Of this action in the session.
    pub(crate) action: i64,
}

/// Acts by span.
pub(crate) type Window = BTreeMap<i64, i64>;

impl BudgetCounters {
    /// Acts in the hour before now.
    pub(crate) fn counts(&self, now: UnixMillis, asker: &str, action: &str) -> HourlyCounts {
        // Most sessions only talk.
        if self.windows.is_empty() {
            return HourlyCounts::default();
        }
        let count = |key: &str| self.windows.get(key).map_or(0, |window| recent(window, now));
        HourlyCounts {
            session: count(SESSION),
            asker: count(&self.asker_key(asker)).saturating_add(count(&self.elsewhere_key(asker))),
            action: count(&[ACTION, action].concat()),
        }
    }

    /// Counts one act.
    pub(crate) fn add(&mut self, now: UnixMillis, asker: &str, action: &'static str) {
        self.windows.retain(|_, window| recent(window, now) > 0);
        let keys = [SESSION.into(), self.asker_key(asker), format!("{ACTION}{action}")];
        for key in keys {
            add(self.windows.entry(key.into()).or_default(), now);
        }
    }

    /// Takes what an asker did in other sessions.
    pub(crate) fn learn(&mut self, now: UnixMillis, counted: &PrincipalUsage) {
        self.windows.retain(|_, window| recent(window, now) > 0);
        let (key, window) = self.learned(now, counted);
        if window.is_empty() {
            self.windows.remove(&*key);
        } else {
            self.windows.insert(key.into(), window);
        }
    }

    /// Whether that is not known yet.
    pub(crate) fn is_news(&self, now: UnixMillis, counted: &PrincipalUsage) -> bool {
        let (key, window) = self.learned(now, counted);
        let known = self.windows.get(&*key).into_iter().flatten();
        !known.filter(|(span, _)| **span > first(now)).eq(&window)
    }

    /// Acts of this asker here, by span, as far as they are counted apart.
    pub(crate) fn here(&self, asker: &str) -> Window {
        self.windows.get(&*format!("{ASKER}{asker}")).cloned().unwrap_or_default()
    }

    fn learned(&self, now: UnixMillis, counted: &PrincipalUsage) -> (String, Window) {
        let key = self.elsewhere_key(&counted.principal);
        let mut window: Window =
            counted.spans.iter().copied().filter(|(span, _)| *span > first(now)).collect();
        // Those who share a count share the most that was told of any of them.
        if key == OTHERS_ELSEWHERE
            && let Some(known) = self.windows.get(OTHERS_ELSEWHERE)
        {
            for (span, count) in known.range(first(now).saturating_add(1)..) {
                let most = window.entry(*span).or_default();
                *most = (*most).max(*count);
            }
        }
        (key, window)
    }

    /// Adds all windows to a plist.
    pub(crate) fn put<F: FieldSink>(&self, fields: F, key: &'static str) -> F {
        fields.put_each(key, &self.windows, |inside, (of, window)| {
            let spans = window.iter().flat_map(|(span, count)| [*span, *count]);
            inside.put_str("of", of).put_ints("spans", spans)
        })
    }

    pub(crate) fn from_value(state: &Value, key: &'static str) -> Result<Self, UnreadableValue> {
        let windows = list(state, key, |window| {
            Ok((text(window, "of")?, spans(window, "spans")?.into_iter().collect()))
        });
        Ok(Self { windows: windows?.into_iter().collect() })
    }

    fn asker_key(&self, asker: &str) -> String {
        self.own_key(ASKER, asker, OTHERS)
    }

    fn elsewhere_key(&self, asker: &str) -> String {
        self.own_key(ELSEWHERE, asker, OTHERS_ELSEWHERE)
    }

    /// The key of one asker, or the one that is shared when there are too many.
    fn own_key(&self, prefix: &str, asker: &str, shared: &str) -> String {
        let key = [prefix, asker].concat();
        let counted = self.windows.keys().filter(|key| key.starts_with(prefix)).count();
        if counted < MAX_ASKERS || self.windows.contains_key(&*key) { key } else { shared.into() }
    }
}

/// Acts of principals in all sessions of a daemon: the sums behind [`PrincipalUsage`]. Kept by the daemon,
/// beside its sessions, and made anew of the record when it starts.
#[derive(Debug, Default)]
pub struct PrincipalTallies {
    windows: BTreeMap<Box<str>, Window>,
}

impl PrincipalTallies {
    /// Whether a decision of this time can still count.
    pub fn counts_at(now: UnixMillis, at: UnixMillis) -> bool {
        at.0.div_euclid(SPAN_MS) > first(now)
    }

    /// Counts one act of a principal.
    pub fn add(&mut self, at: UnixMillis, principal: &str) {
        let key = self.key(at, principal);
        add(self.windows.entry(key.into()).or_default(), at);
    }

    /// Counts what a recorded decision let be done.
    pub fn add_recorded(&mut self, at: UnixMillis, decided: &Value) {
        if let Some(principal) = PolicyFacts::counted_for(decided) {
            self.add(at, &principal);
        }
    }

    /// Takes back an act that was counted and came to nothing.
    pub fn take_back(&mut self, at: UnixMillis, principal: &str) {
        let key = self.key(at, principal);
        let span = at.0.div_euclid(SPAN_MS);
        if let Some(count) = self.windows.get_mut(key).and_then(|window| window.get_mut(&span)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Acts of a principal in other sessions than this one.
    pub fn elsewhere(
        &self,
        now: UnixMillis,
        principal: &str,
        here: &SessionState,
    ) -> PrincipalUsage {
        let here = here.budget.here(principal);
        let all = self.windows.get(principal).or_else(|| self.windows.get(OTHERS));
        let spans = all.into_iter().flat_map(|all| all.range(first(now).saturating_add(1)..));
        let spans = spans.map(|(span, count)| {
            let here = here.get(span).copied().unwrap_or_default();
            (*span, count.saturating_sub(here))
        });
        PrincipalUsage {
            principal: principal.into(),
            spans: spans.filter(|(_, n)| *n > 0).collect(),
        }
    }

    /// The key of a principal, or the one that is shared when there are too many.
    fn key<'k>(&mut self, now: UnixMillis, principal: &'k str) -> &'k str {
        if self.windows.len() >= MAX_PRINCIPALS && !self.windows.contains_key(principal) {
            self.windows.retain(|_, window| recent(window, now) > 0);
            if self.windows.len() >= MAX_PRINCIPALS {
                return OTHERS;
            }
        }
        principal
    }
}

impl Decision {
    /// Principal whose budget it counts against, if it allows something.
    pub fn counts_for(&self) -> Option<&str> {
        let facts = self.facts.as_ref().filter(|_| self.ruling.verdict == Verdict::Allow)?;
        facts.is_counted().then(|| facts.asker())
    }
}

fn add(window: &mut Window, now: UnixMillis) {
    window.retain(|span, _| *span > first(now));
    let count = window.entry(now.0.div_euclid(SPAN_MS)).or_default();
    *count = count.saturating_add(1);
}

/// The last span that no longer counts.
fn first(now: UnixMillis) -> i64 {
    now.0.div_euclid(SPAN_MS).saturating_sub(SPANS_PER_HOUR)
}

fn recent(window: &Window, now: UnixMillis) -> i64 {
    window
        .range(first(now).saturating_add(1)..)
        .fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

#[cfg(test)]
mod tests;
