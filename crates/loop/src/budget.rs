//! How often something was done in the last hour: what budgets in policies count.
//!
//! Part of the state; counted when an order is made, read when a proposal is judged. An hour is cut
//! into spans of five minutes: an act is counted for at least an hour and at most five minutes
//! longer, and a budget is never exceeded. What is said to the asker is not counted.

use std::collections::BTreeMap;

use bridle_sexp::Value;

use crate::field::{Plist, Unreadable, list, text};
use crate::ids::Time;

/// Length of a span, in milliseconds.
const SPAN_MS: i64 = 5 * 60 * 1_000;

/// Spans that count: an hour, and the one that has just begun.
const SPANS: i64 = 13;

/// Askers of a session that are counted one by one; further ones share a count.
const MAX_ASKERS: usize = 64;

const SESSION: &str = "session";
const ASKER: &str = "asker:";
const OTHERS: &str = "asker";
const ACTION: &str = "action:";

/// The counters of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    windows: BTreeMap<Box<str>, Window>,
}

/// Acts of the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Counts {
    pub(crate) session: i64,
    /// Of this asker in the session.
    pub(crate) asker: i64,
    /// Of this action in the session.
    pub(crate) action: i64,
}

/// Acts by span.
type Window = BTreeMap<i64, i64>;

impl Budget {
    /// What was done in the hour before now.
    pub(crate) fn counts(&self, now: Time, asker: &str, action: &str) -> Counts {
        let count = |key: &str| self.windows.get(key).map_or(0, |window| recent(window, now));
        Counts {
            session: count(SESSION),
            asker: count(&self.asker_key(asker)),
            action: count(&format!("{ACTION}{action}")),
        }
    }

    /// Counts one act.
    pub(crate) fn add(&mut self, now: Time, asker: &str, action: &'static str) {
        self.windows.retain(|_, window| recent(window, now) > 0);
        let keys = [SESSION.into(), self.asker_key(asker), format!("{ACTION}{action}")];
        for key in keys {
            let window = self.windows.entry(key.into()).or_default();
            window.retain(|span, _| *span > first(now));
            let count = window.entry(now.0.div_euclid(SPAN_MS)).or_default();
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn to_values(&self) -> impl Iterator<Item = Value> {
        self.windows.iter().map(|(key, window)| {
            let spans = window.iter().flat_map(|(span, count)| [*span, *count]).map(Value::int);
            Plist::new().put("of", &**key).put("spans", Value::list(spans)).done()
        })
    }

    pub(crate) fn from_value(state: &Value, key: &'static str) -> Result<Self, Unreadable> {
        let windows = list(state, key, |window| {
            let expected = Unreadable::new("spans", "spans and counts");
            let number = |number: &Value| number.as_i64().ok_or(expected);
            let numbers: Vec<i64> = list(window, "spans", number)?;
            let spans = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            Ok((text(window, "of")?, spans))
        });
        Ok(Self { windows: windows?.into_iter().collect() })
    }

    fn asker_key(&self, asker: &str) -> String {
        let key = format!("{ASKER}{asker}");
        let askers = self.windows.keys().filter(|key| key.starts_with(ASKER)).count();
        if askers < MAX_ASKERS || self.windows.contains_key(&*key) { key } else { OTHERS.into() }
    }
}

/// The last span that no longer counts.
fn first(now: Time) -> i64 {
    now.0.div_euclid(SPAN_MS).saturating_sub(SPANS)
}

fn recent(window: &Window, now: Time) -> i64 {
    window
        .range(first(now).saturating_add(1)..)
        .fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

#[cfg(test)]
mod tests;
