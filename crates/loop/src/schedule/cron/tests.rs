//! Fields, words, steps; days of a month and of a week; what is no expression.

use bridle_sexp::civil_date::days_from_civil;

use super::CronExpression;

/// The minute of a date.
fn minute(text: &str) -> i64 {
    let numbers: Vec<i64> =
        text.split(['-', ' ', ':']).map(|number| number.parse().unwrap()).collect();
    let [year, month, day, hour, minute] = *numbers else { panic!("`{text}` is no date") };
    days_from_civil(year, month, day) * 24 * 60 + hour * 60 + minute
}

fn check(cron: &str, from: &str, expect: &[&str]) {
    let cron = CronExpression::parse(cron).expect("an expression");
    let mut at = minute(from);
    for expect in expect {
        let next = cron.next(at, i64::MAX).expect("a next time");
        assert_eq!(next, minute(expect), "{} after {from}: {expect}", cron.text());
        at = next + 1;
    }
}

#[test]
fn fields_are_numbers_words_ranges_and_steps() {
    let from = "2026-11-19 14:03"; // a Thursday
    check("* * * * *", from, &["2026-11-19 14:03", "2026-11-19 14:04"]);
    check("*/20 * * * *", from, &["2026-11-19 14:20", "2026-11-19 14:40", "2026-11-19 15:00"]);
    check("5/25 14 * * *", from, &["2026-11-19 14:05", "2026-11-19 14:30", "2026-11-19 14:55"]);
    check("0 7 * * 1-5", from, &["2026-11-20 07:00", "2026-11-23 07:00"]);
    check("0 7 * * mon-FRI", from, &["2026-11-20 07:00", "2026-11-23 07:00"]);
    check("30 18 * * 7", from, &["2026-11-22 18:30"]);
    check("30 18 * * sun", from, &["2026-11-22 18:30"]);
    check("0 9,17 * feb,Mar *", from, &["2027-02-01 09:00", "2027-02-01 17:00"]);
    check("0 0 31 * *", from, &["2026-12-31 00:00", "2027-01-31 00:00", "2027-03-31 00:00"]);
    check("@daily", from, &["2026-11-20 00:00"]);
    check("@hourly", from, &["2026-11-19 15:00"]);
    check("@weekly", from, &["2026-11-22 00:00"]);
    check("@monthly", from, &["2026-12-01 00:00"]);
    check("@yearly", from, &["2027-01-01 00:00"]);
    // One of two fields of days is enough, unless one begins with a star.
    check("0 0 1 * fri", from, &["2026-11-20 00:00", "2026-11-27 00:00", "2026-12-01 00:00"]);
    check("0 0 */2 * fri", from, &["2026-11-27 00:00", "2026-12-11 00:00"]);
}

#[test]
fn a_day_that_does_not_come_within_a_year_is_none() {
    let cron = CronExpression::parse("0 0 30 feb *").unwrap();
    assert_eq!(cron.next(0, i64::MAX), None);
    let leap = CronExpression::parse("0 0 29 2 *").unwrap();
    assert_eq!(leap.next(minute("2026-03-01 00:00"), i64::MAX), None);
    assert_eq!(leap.next(minute("2028-01-01 00:00"), i64::MAX), Some(minute("2028-02-29 00:00")));
    assert_eq!(leap.next(minute("2028-01-01 00:00"), minute("2028-02-29 00:00")), None);
}

#[test]
fn what_is_no_expression_says_what_was_expected() {
    for (text, expect) in [
        ("", "with 0 fields, expected five"),
        ("0 7 * *", "with 4 fields"),
        ("0 0 7 * * *", "with 6 fields"),
        ("60 * * * *", "`60` as the minute"),
        ("* 24 * * *", "`24` as the hour"),
        ("* * 0 * *", "`0` as the day of the month"),
        ("* * * 13 *", "words such as `jan`"),
        ("* * * * 8", "`8` as the day of the week"),
        ("*/0 * * * *", "`*/0` as the minute"),
        ("5-1 * * * *", "`5-1` as the minute"),
        ("1, * * * *", "`` as the minute"),
        ("+1 * * * *", "`+1` as the minute"),
        ("* * L * *", "`L` as the day"),
        ("* * * * 1#2", "`1#2` as the day"),
        ("@reboot", "with 1 fields"),
        ("99999999999 * * * *", "`99999999999` as the minute"),
    ] {
        let fault = CronExpression::parse(text).expect_err(text);
        assert!(fault.contains(expect), "{text}: {fault}");
    }
    assert!(CronExpression::parse(&"1,".repeat(400)).is_err());
}
