//! Unit tests of the counters.

use super::{BudgetCounters, HourlyCounts, MAX_ASKERS, MAX_PRINCIPALS, PrincipalTallies, SPAN_MS};
use crate::event::PrincipalUsage;
use crate::ids::{SessionId, UnixMillis};
use crate::state::SessionState;

const HOUR_MS: i64 = 60 * 60 * 1_000;

#[test]
fn an_act_counts_for_an_hour() {
    let mut budget = BudgetCounters::default();
    budget.add(UnixMillis(0), "a", "eval");
    budget.add(UnixMillis(SPAN_MS), "b", "eval");
    let counts = |at| budget.counts(UnixMillis(at), "a", "eval");
    assert_eq!(counts(SPAN_MS), HourlyCounts { session: 2, asker: 1, action: 2 });
    assert_eq!(counts(HOUR_MS), HourlyCounts { session: 2, asker: 1, action: 2 });
    assert_eq!(counts(HOUR_MS + SPAN_MS), HourlyCounts { session: 1, asker: 0, action: 1 });
    assert_eq!(counts(HOUR_MS + 2 * SPAN_MS), HourlyCounts::default());
    assert_eq!(
        budget.counts(UnixMillis(0), "c", "log"),
        HourlyCounts { session: 2, asker: 0, action: 0 }
    );
}

#[test]
fn askers_beyond_the_limit_share_a_count() {
    let mut budget = BudgetCounters::default();
    for number in 0..=MAX_ASKERS + 1 {
        budget.add(UnixMillis(0), &format!("uid:{number}"), "eval");
    }
    assert_eq!(budget.counts(UnixMillis(0), "uid:0", "eval").asker, 1);
    assert_eq!(budget.counts(UnixMillis(0), "uid:9999", "eval").asker, 2);
    assert!(budget.windows.len() <= MAX_ASKERS + 3);
}

fn counted(principal: &str, spans: &[(i64, i64)]) -> PrincipalUsage {
    PrincipalUsage { principal: principal.into(), spans: spans.to_vec() }
}

#[test]
fn what_was_done_elsewhere_counts_for_its_asker_alone_and_for_an_hour() {
    let mut budget = BudgetCounters::default();
    budget.add(UnixMillis(0), "a", "eval");
    let told = counted("a", &[(0, 2), (1, 3)]);
    assert!(budget.is_news(UnixMillis(0), &told));
    budget.learn(UnixMillis(0), &told);
    assert!(!budget.is_news(UnixMillis(0), &told));
    let asker = |budget: &BudgetCounters, at, who| budget.counts(UnixMillis(at), who, "eval").asker;
    assert_eq!(asker(&budget, 0, "a"), 6);
    assert_eq!(asker(&budget, 0, "b"), 0);
    assert_eq!(budget.counts(UnixMillis(0), "a", "eval").session, 1, "of this session");
    assert_eq!(asker(&budget, HOUR_MS + SPAN_MS, "a"), 3);
    assert!(
        !budget.is_news(UnixMillis(HOUR_MS + SPAN_MS), &counted("a", &[(1, 3)])),
        "the rest is old"
    );
    budget.learn(UnixMillis(0), &counted("a", &[(0, 5)]));
    assert_eq!(asker(&budget, 0, "a"), 6, "the latest word replaces the one before");
    budget.learn(UnixMillis(0), &counted("a", &[]));
    assert_eq!(asker(&budget, 0, "a"), 1);
    assert!(!budget.is_news(UnixMillis(0), &counted("b", &[])), "nothing is no news");
}

#[test]
fn too_many_who_did_something_elsewhere_share_the_most_of_any() {
    let mut budget = BudgetCounters::default();
    for number in 0..MAX_ASKERS {
        budget.learn(UnixMillis(0), &counted(&format!("uid:{number}"), &[(0, 1)]));
    }
    budget.learn(UnixMillis(0), &counted("x", &[(0, 7)]));
    budget.learn(UnixMillis(0), &counted("y", &[(0, 2)]));
    assert!(!budget.is_news(UnixMillis(0), &counted("y", &[(0, 2)])), "it is told once");
    let asker = |who| budget.counts(UnixMillis(0), who, "eval").asker;
    assert_eq!((asker("uid:0"), asker("x"), asker("y")), (1, 7, 7));
    assert_eq!(budget.windows.len(), MAX_ASKERS + 1);
}

#[test]
fn sums_are_of_all_sessions_but_the_one_that_asks() {
    let mut here = SessionState::new(SessionId::parse("here").unwrap());
    here.budget.add(UnixMillis(0), "a", "eval");
    let mut sums = PrincipalTallies::default();
    for _ in 0..3 {
        sums.add(UnixMillis(0), "a");
    }
    sums.add(UnixMillis(SPAN_MS), "a");
    let elsewhere = |sums: &PrincipalTallies, who| sums.elsewhere(UnixMillis(SPAN_MS), who, &here);
    assert_eq!(elsewhere(&sums, "a"), counted("a", &[(0, 2), (1, 1)]));
    assert_eq!(elsewhere(&sums, "b"), counted("b", &[]));
    sums.take_back(UnixMillis(SPAN_MS), "a");
    assert_eq!(elsewhere(&sums, "a"), counted("a", &[(0, 2)]));
    assert_eq!(sums.elsewhere(UnixMillis(2 * HOUR_MS), "a", &here), counted("a", &[]));
}

#[test]
fn principals_beyond_the_limit_share_a_sum_and_old_ones_make_room() {
    let here = SessionState::new(SessionId::parse("here").unwrap());
    let mut sums = PrincipalTallies::default();
    for number in 0..MAX_PRINCIPALS + 2 {
        sums.add(UnixMillis(0), &format!("uid:{number}"));
    }
    assert_eq!(sums.elsewhere(UnixMillis(0), "uid:0", &here).spans, [(0, 1)]);
    assert_eq!(sums.elsewhere(UnixMillis(0), "somebody", &here).spans, [(0, 2)]);
    assert!(sums.windows.len() <= MAX_PRINCIPALS + 1);
    sums.add(UnixMillis(2 * HOUR_MS), "late");
    assert_eq!(sums.windows.len(), 1);
}
