//! Unit tests of the counters.

use super::{Budget, Counts, MAX_ASKERS, SPAN_MS};
use crate::ids::Time;

const HOUR_MS: i64 = 60 * 60 * 1_000;

#[test]
fn an_act_counts_for_an_hour() {
    let mut budget = Budget::default();
    budget.add(Time(0), "a", "eval");
    budget.add(Time(SPAN_MS), "b", "eval");
    let counts = |at| budget.counts(Time(at), "a", "eval");
    assert_eq!(counts(SPAN_MS), Counts { session: 2, asker: 1, action: 2 });
    assert_eq!(counts(HOUR_MS), Counts { session: 2, asker: 1, action: 2 });
    assert_eq!(counts(HOUR_MS + SPAN_MS), Counts { session: 1, asker: 0, action: 1 });
    assert_eq!(counts(HOUR_MS + 2 * SPAN_MS), Counts::default());
    assert_eq!(budget.counts(Time(0), "c", "log"), Counts { session: 2, asker: 0, action: 0 });
}

#[test]
fn askers_beyond_the_limit_share_a_count() {
    let mut budget = Budget::default();
    for number in 0..=MAX_ASKERS + 1 {
        budget.add(Time(0), &format!("uid:{number}"), "eval");
    }
    assert_eq!(budget.counts(Time(0), "uid:0", "eval").asker, 1);
    assert_eq!(budget.counts(Time(0), "uid:9999", "eval").asker, 2);
    assert!(budget.windows.len() <= MAX_ASKERS + 3);
}
