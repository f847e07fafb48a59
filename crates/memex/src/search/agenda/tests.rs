//! Days and what stands under them.

use std::sync::Arc;

use super::{AgendaRequest, AgendaStanding, MAX_AGENDA_DAYS};
use crate::{MemexCatalog, MemexFolder, PrivateAccess, ReadRules, StampKind, WallMinute, survey};

fn moment(text: &str) -> WallMinute {
    WallMinute::parse(text).expect(text)
}

fn catalog(org: &str, name: &str) -> (tempfile::TempDir, MemexCatalog) {
    let dir = tempfile::tempdir().unwrap();
    let (folder, state) = (dir.path().join("org"), dir.path().join("state"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&state).unwrap();
    std::fs::write(folder.join(name), org).unwrap();
    let rules = ReadRules { private_tags: vec!["private".to_owned()], ..ReadRules::default() };
    survey::index(&folder, &rules, &state, |_| ()).unwrap();
    let memex = Arc::new(MemexFolder::open(&folder, rules).unwrap());
    let catalog = MemexCatalog::open(&state, memex).unwrap();
    (dir, catalog)
}

/// The agenda as lines `DAY KIND STANDING TITLE`.
fn lines(org: &str, from: &str, to: &str, now: &str, access: PrivateAccess) -> Vec<String> {
    let (_dir, catalog) = catalog(org, "a.org");
    let asked = AgendaRequest { from: moment(from), to: moment(to), now: moment(now) };
    let page = catalog.agenda(&asked, access).unwrap();
    assert!(!page.is_cut);
    let line = |entry: &super::AgendaEntry| {
        let standing = match entry.standing {
            AgendaStanding::OnDay => String::new(),
            AgendaStanding::Overdue(days) => format!(" -{days}"),
            AgendaStanding::Upcoming(days) => format!(" +{days}"),
        };
        let kind = match entry.kind {
            StampKind::Scheduled => 's',
            StampKind::Deadline => 'd',
            _ => 'a',
        };
        format!("{} {kind}{standing} {}", &entry.day.to_string()[5..10], entry.object.title)
    };
    page.entries.iter().map(line).collect()
}

/// Checks the agenda of a week from Monday the 16th, on Thursday the 19th of November 2026.
fn check(org: &str, expected: &[&str]) {
    let owner = PrivateAccess::Owner;
    assert_eq!(
        lines(org, "2026-11-16", "2026-11-22", "2026-11-19 10:00", owner),
        expected,
        "{org}"
    );
}

#[test]
fn plans_stand_under_their_day_and_under_today_when_they_are_late() {
    check("* TODO A\nSCHEDULED: <2026-11-20 Fri>\n", &["11-20 s A"]);
    check("* TODO A\nSCHEDULED: <2026-11-17 Tue>\n", &["11-19 s -2 A"]);
    check("* TODO A\nDEADLINE: <2025-11-19 Wed>\n", &["11-19 d -365 A"]);
    check("* TODO A\nDEADLINE: <2026-11-25 Wed>\n", &["11-19 d +6 A"]);
    check("* TODO A\nDEADLINE: <2026-11-25 Wed -2d>\n", &[]);
    check("* TODO A\nDEADLINE: <2027-11-25 Thu>\n", &[]);
    check("* DONE A\nSCHEDULED: <2026-11-17 Tue>\n", &[]);
    check("* TODO A :ARCHIVE:\nSCHEDULED: <2026-11-20 Fri>\n", &[]);
}

#[test]
fn appointments_are_of_every_day_they_touch_and_never_late() {
    check("* A\n<2026-11-17 Tue 10:00-11:00>\n", &["11-17 a A"]);
    check("* A\n<2026-11-15 Sun>--<2026-11-17 Tue>\n", &["11-16 a A", "11-17 a A"]);
    check("* A\n[2026-11-17 Tue]\n", &[]);
    check(
        "* Late\n<2026-11-20 Fri 15:00>\n* Early\n<2026-11-20 Fri 09:00>\n* All\n<2026-11-20 Fri>\n",
        &["11-20 a Early", "11-20 a Late", "11-20 a All"],
    );
}

#[test]
fn what_comes_again_comes_in_the_span() {
    let days = ["11-16", "11-17", "11-18", "11-19", "11-20", "11-21", "11-22"];
    let daily: Vec<String> = days.iter().map(|day| format!("{day} a A")).collect();
    let daily: Vec<&str> = daily.iter().map(String::as_str).collect();
    check("* A\n<2020-01-01 Wed +1d>\n", &daily);
    check("* A\n<2020-01-01 Wed +1h>\n", &daily);
    check("* A\n<2026-11-04 Wed +1w>\n", &["11-18 a A"]);
    check("* A\n<2024-05-17 Fri +1m>\n", &["11-17 a A"]);
    check("* A\n<1950-11-21 Tue +1y>\n", &["11-21 a A"]);
    // A plan that was not kept is late, and comes again.
    check("* TODO A\nSCHEDULED: <2026-11-14 Sat +1w>\n", &["11-19 s -5 A", "11-21 s A"]);
}

#[test]
fn what_is_private_is_for_the_owner() {
    let org = "* TODO Known\nSCHEDULED: <2026-11-20 Fri>\n* TODO Secret :private:\nSCHEDULED: <2026-11-20 Fri>\n";
    let day = "2026-11-20";
    let seen = lines(org, day, day, day, PrivateAccess::Public);
    assert_eq!(seen, ["11-20 s Known"]);
    assert_eq!(lines(org, day, day, day, PrivateAccess::Owner).len(), 2);
}

#[test]
fn an_agenda_has_an_end() {
    let (_dir, catalog) = catalog("* A\n", "a.org");
    let from = moment("2026-01-01");
    let asked = |days: i64| AgendaRequest {
        from,
        to: WallMinute(from.0 + days * super::DAY_MINUTES),
        now: from,
    };
    let fits = |days| catalog.agenda(&asked(days), PrivateAccess::Owner).is_ok();
    assert!(fits(MAX_AGENDA_DAYS - 1) && !fits(MAX_AGENDA_DAYS) && !fits(-1));
}
