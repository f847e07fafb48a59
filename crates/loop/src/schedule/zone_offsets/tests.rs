//! Days on which clocks are set: skipped and doubled hours, in zones that are known by heart.

use bridle_sexp::Value;

use super::{CronExpression, ZoneOffsets};
use crate::ids::UnixMillis;

/// 2026-03-29 01:00 UTC: clocks of Berlin go from 02:00 to 03:00.
const SPRING: i64 = 1_774_746_000_000;
/// 2026-10-25 01:00 UTC: they go from 03:00 to 02:00.
const AUTUMN: i64 = 1_792_890_000_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn berlin() -> ZoneOffsets {
    ZoneOffsets::new(vec![(0, 3_600), (SPRING, 7_200), (AUTUMN, 3_600)]).unwrap()
}

fn check(cron: &str, zone: &ZoneOffsets, after: i64, expect: &[i64]) {
    let cron = CronExpression::parse(cron).unwrap();
    let mut at = after;
    for expect in expect {
        let next = zone.next(&cron, UnixMillis(at)).expect("a next time").0;
        assert_eq!(
            next,
            *expect,
            "{} after {at}: off by {} min",
            cron.text(),
            (next - expect) / MINUTE
        );
        at = next;
    }
}

#[test]
fn a_time_of_the_day_stays_where_it_is_on_the_wall() {
    // 07:00 is 06:00 UTC in winter, 05:00 in summer.
    let before = SPRING - 5 * HOUR; // 20:00 UTC of the day before
    let first = SPRING + 4 * HOUR;
    check("0 7 * * *", &berlin(), before, &[first, first + DAY, first + 2 * DAY]);
    let first = AUTUMN + 5 * HOUR;
    check("0 7 * * *", &berlin(), AUTUMN - 5 * HOUR, &[first, first + DAY]);
}

#[test]
fn a_time_that_is_skipped_comes_as_the_clock_is_set() {
    let day_before = SPRING - DAY + 30 * MINUTE; // 02:30 on Saturday
    check(
        "30 2 * * *",
        &berlin(),
        day_before - 1,
        // Sunday has no 02:30; on Monday it is 00:30 UTC.
        &[day_before, SPRING, SPRING + DAY - HOUR + 30 * MINUTE],
    );
    // Several that are skipped come together, once.
    check("0,20,40 2 * * 0", &berlin(), SPRING - HOUR, &[SPRING, SPRING + 7 * DAY - HOUR]);
    // One that fits as the clock is set is the same one.
    check("0 2,3 * * *", &berlin(), SPRING - HOUR, &[SPRING, SPRING + DAY - HOUR]);
    // The first minute that is shown is not skipped.
    check("0 3 * * *", &berlin(), SPRING - HOUR, &[SPRING, SPRING + DAY]);
    check("59 1 * * *", &berlin(), SPRING - HOUR, &[SPRING - MINUTE, SPRING + DAY - HOUR - MINUTE]);
}

#[test]
fn a_time_that_is_shown_twice_comes_once() {
    let first = AUTUMN - 30 * MINUTE; // 02:30, for the first time
    check("30 2 * * *", &berlin(), first - HOUR, &[first, first + DAY + HOUR]);
    // After the first 02:59 there is no other 02:30.
    check("30 2 * * *", &berlin(), AUTUMN, &[first + DAY + HOUR]);
    check("0 3 * * *", &berlin(), first, &[AUTUMN + HOUR, AUTUMN + HOUR + DAY]);
}

#[test]
fn what_fits_in_every_hour_goes_by_real_time() {
    let half = 30 * MINUTE;
    check("30 * * * *", &berlin(), SPRING - HOUR, &[SPRING - half, SPRING + half]);
    check(
        "30 * * * *",
        &berlin(),
        AUTUMN - HOUR,
        &[AUTUMN - half, AUTUMN + half, AUTUMN + HOUR + half],
    );
    check(
        "*/15 * * * *",
        &berlin(),
        AUTUMN - 16 * MINUTE,
        &[AUTUMN - 15 * MINUTE, AUTUMN, AUTUMN + 15 * MINUTE],
    );
}

#[test]
fn half_hours_and_days_that_do_not_exist() {
    // Lord Howe: 30 minutes back on 2026-04-04 15:00 UTC, from +11 to +10:30.
    let change = 1_775_314_800_000;
    let lord_howe = ZoneOffsets::new(vec![(0, 39_600), (change, 37_800)]).unwrap();
    check(
        "45 1 * * *",
        &lord_howe,
        change - HOUR,
        &[change - 15 * MINUTE, change - 15 * MINUTE + DAY + 30 * MINUTE],
    );
    // Samoa had no 30 December 2011: from -10 to +14 at 2011-12-30 10:00 UTC.
    let change = 1_325_239_200_000;
    let samoa = ZoneOffsets::new(vec![(0, -36_000), (change, 50_400)]).unwrap();
    check(
        "0 12 * * *",
        &samoa,
        change - 13 * HOUR,
        &[change - 12 * HOUR, change, change + 12 * HOUR],
    );
}

#[test]
fn seconds_count_up_to_the_next_minute() {
    let utc = ZoneOffsets::new(vec![(0, 0)]).unwrap();
    check("* * * * *", &utc, 59_999, &[60_000, 120_000]);
    check("* * * * *", &utc, 60_000, &[120_000]);
    let cron = CronExpression::parse("* * * * *").unwrap();
    for end in [i64::MIN, i64::MAX - 1, i64::MAX] {
        let _ = utc.next(&cron, UnixMillis(end));
    }
}

#[test]
fn offsets_are_read_as_they_were_written_and_hostile_ones_are_not() {
    let value = berlin().to_value();
    assert_eq!(value.to_string(), "((0 3600) (1774746000000 7200) (1792890000000 3600))");
    assert_eq!(ZoneOffsets::from_value(&value), Ok(berlin()));
    let two = |one, other| vec![(one, 0), (other, 0)];
    for bad in [vec![], two(1, 1), two(2, 1), vec![(0, 100_000)], (0..65).map(|n| (n, 0)).collect()]
    {
        assert_eq!(ZoneOffsets::new(bad), None);
    }
    for bad in ["()", "nil", "((1))", "((1 2 3))", "(1 2)", "((\"a\" 1))", "7"] {
        let tree = crate::reader().read_one(bad).unwrap();
        let value: Value = tree.root().to_value();
        assert!(ZoneOffsets::from_value(&value).is_err(), "{bad}");
    }
}
