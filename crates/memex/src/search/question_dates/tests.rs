//! Days as people name them, on Wednesday 2026-11-18.

use super::read_dates;
use crate::index::org_timestamp::WallMinute;

fn check(text: &str, expect: Option<(&str, &str)>) {
    let words: Vec<&str> = text.split(' ').collect();
    let now = WallMinute::parse("2026-11-18 12:00").unwrap();
    let found = read_dates(&words, now).map(|dates| {
        let day = |minute: WallMinute| minute.to_string()[..10].to_owned();
        (day(dates.span.from), day(dates.span.to))
    });
    let found = found.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
    assert_eq!(found, expect, "{text}");
}

#[test]
fn days_weeks_months_years_and_seasons_are_resolved() {
    for (text, from, to) in [
        ("what did I do yesterday", "2026-11-17", "2026-11-17"),
        ("plans for tomorrow", "2026-11-19", "2026-11-19"),
        ("what happened last week", "2026-11-09", "2026-11-15"),
        ("the next weekend", "2026-11-28", "2026-11-29"),
        ("who came last May", "2026-05-01", "2026-05-31"),
        ("who came last december", "2025-12-01", "2025-12-31"),
        ("next January then", "2027-01-01", "2027-01-31"),
        ("the trip in 2024", "2024-01-01", "2024-12-31"),
        ("the trip in May 2023", "2023-05-01", "2023-05-31"),
        ("the trip in December", "2025-12-01", "2025-12-31"),
        ("on 8 May 2023 we", "2023-05-08", "2023-05-08"),
        ("on May 8th 2023 we", "2023-05-08", "2023-05-08"),
        ("on 1 December", "2025-12-01", "2025-12-01"),
        ("on 2026 02 03 we", "2026-02-03", "2026-02-03"),
        ("last Monday", "2026-11-16", "2026-11-16"),
        ("next wednesday", "2026-11-25", "2026-11-25"),
        ("on Sunday", "2026-11-15", "2026-11-15"),
        ("two weeks ago", "2026-11-01", "2026-11-07"),
        ("3 days ago", "2026-11-15", "2026-11-15"),
        ("a year ago", "2025-01-01", "2025-12-31"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last summer", "2026-06-01", "2026-08-31"),
        ("last winter", "2025-12-01", "2026-02-28"),
        ("met in May", "2026-05-01", "2026-05-31"),
    ] {
        check(text, Some((from, to)));
    }
}

#[test]
fn words_that_only_look_like_days_are_none() {
    for text in [
        "you may go",
        "may I",
        "march on",
        "second thoughts",
        "31 apples",
        "last name",
        "in general",
        "on 2026 13 40",
    ] {
        check(text, None);
    }
}
