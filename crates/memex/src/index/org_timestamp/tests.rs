//! Dates as they are written, and the spans that they fall into.

use super::{DateSpan, StampKind, WallMinute, all, read};

fn moment(text: &str) -> WallMinute {
    WallMinute::parse(text).expect(text)
}

fn dates(from: &str, to: &str) -> DateSpan {
    let to = moment(to).end_of_day();
    DateSpan { from: moment(from), to, kinds: Vec::new(), warnings: true }
}

/// Days of November 2026 on which a date counts.
fn check(stamp: &str, kind: StampKind, expect: &[u8]) {
    let (stamp, _) = read(stamp.as_bytes(), kind).expect(stamp);
    let on = |day: &u8| {
        let day = format!("2026-11-{day:02}");
        dates(&day, &day).has(&stamp)
    };
    let found: Vec<u8> = (1..=30).filter(on).collect();
    assert_eq!(found, expect, "{stamp:?}");
}

#[test]
fn a_date_counts_on_its_day_and_a_range_on_all_of_its_days() {
    check("<2026-11-15 Sun>", StampKind::Scheduled, &[15]);
    check("<2026-11-15 Sun 10:00>", StampKind::Active, &[15]);
    check("<2026-11-15 Sun 10:00-12:00>", StampKind::Active, &[15]);
    check("<2026-11-15 Sun>--<2026-11-18 Wed>", StampKind::Active, &[15, 16, 17, 18]);
    check("<2026-11-15 日 10:00>", StampKind::Active, &[15]);
}

#[test]
fn repeaters_come_again() {
    check("<2026-11-02 Mon +1w>", StampKind::Scheduled, &[2, 9, 16, 23, 30]);
    check("<2020-01-06 Mon ++1w>", StampKind::Scheduled, &[2, 9, 16, 23, 30]);
    check("<2026-11-27 Fri .+2d/4d>", StampKind::Scheduled, &[27, 29]);
    check("<2026-08-15 Sat +1m>", StampKind::Scheduled, &[15]);
    check("<2001-11-07 Wed +1y>", StampKind::Scheduled, &[7]);
    check("<2026-11-07 Sat +0d>", StampKind::Scheduled, &[7]);
}

#[test]
fn a_deadline_is_warned_of() {
    let fortnight: Vec<u8> = (6..=20).collect();
    check("<2026-11-20 Fri>", StampKind::Deadline, &fortnight);
    check("<2026-11-20 Fri -2d>", StampKind::Deadline, &[18, 19, 20]);
    check("<2026-11-20 Fri -2d>", StampKind::Scheduled, &[20]);
    check("<2026-10-20 Tue +1m -1d>", StampKind::Deadline, &[19, 20]);
}

#[test]
fn dates_are_found_in_text() {
    let text = "at <2026-11-15 Sun> and [2026-11-16 Mon 9:30], not <2026-13-01> or [1/2] <x> [";
    let found = all(text.as_bytes(), 10);
    let kinds: Vec<StampKind> = found.iter().map(|stamp| stamp.kind).collect();
    assert_eq!(kinds, [StampKind::Active, StampKind::Inactive]);
    assert_eq!(found[1].start, moment("2026-11-16 09:30"));
    assert_eq!(all(&b"<2026-11-15>".repeat(100), 64).len(), 64);
}

#[test]
fn moments_are_read_and_written() {
    for text in ["1970-01-01", "2000-02-29", "2026-11-15 10:30", "9999-12-31 23:59", "0000-01-01"] {
        assert_eq!(moment(text).to_string(), text);
    }
    assert_eq!(moment("1970-01-01"), WallMinute(0));
    for bad in
        ["", "2026", "2026-02-30", "2026-1-1", "2026-11-15x", "2026-11-15 24:00", "é026-11-15"]
    {
        assert_eq!(WallMinute::parse(bad), None, "{bad}");
    }
}
