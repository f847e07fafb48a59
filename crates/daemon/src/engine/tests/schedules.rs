//! Schedules have a least interval, a number, an end, times of a clock on a wall, and are listed and paused.

use bridle_loop::MAX_SCHEDULES_PER_PRINCIPAL;
use bridle_sexp::Value;

use super::rig::{Rig, Shell, owner, stranger};
use crate::engine::home::schedules::MAX_SCHEDULE_LIFE_MS;
use crate::engine::{DaemonQuery, StreamEventKind};

async fn plan(shell: &Shell, id: i64, rest: &str) -> Value {
    shell.send(&format!(
        "(:type :REQUEST :id {id} :target :system :payload (:action :schedule :payload (:sensor :x) {rest}))"
    ));
    shell.body(StreamEventKind::Say).await
}

fn word<'v>(said: &'v Value, key: &str) -> &'v Value {
    said.get("payload").and_then(|payload| payload.get(key)).unwrap_or(&Value::Nil)
}

async fn listed(rig: &Rig) -> Vec<Value> {
    let told = crate::engine::ask_daemon(rig.hub.clone(), owner(), DaemonQuery::Schedules, None)
        .await
        .expect("a list");
    told.get("schedules").and_then(Value::elements).unwrap_or_default().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_principal_has_so_many_schedules_in_all_its_sessions() {
    let rig = Rig::start().await;
    let mut planned = 0;
    for session in 0..12 {
        let name = format!("s{session}");
        let shell = rig.try_join(stranger(), &name, |_| {}).await.expect("attached");
        for number in 0..4 {
            // What the daemon counts is not the asker's to say.
            let rest = format!(":name \"p{number}\" :every 60000 :elsewhere 0");
            let said = plan(&shell, number, &rest).await;
            planned += usize::from(word(&said, "status").is_keyword("success"));
        }
    }
    assert_eq!(planned, MAX_SCHEDULES_PER_PRINCIPAL);
    // Another principal has its own.
    let mine = rig.join("mine", |_| {}).await;
    let said = plan(&mine, 1, ":name \"tea\" :in 60000").await;
    assert!(word(&said, "status").is_keyword("success"), "{said}");
    assert_eq!(listed(&rig).await.len(), MAX_SCHEDULES_PER_PRINCIPAL + 1);
    let rig = rig.restart().await;
    let all = listed(&rig).await;
    assert_eq!(all.len(), MAX_SCHEDULES_PER_PRINCIPAL + 1);
    let first = all.iter().find(|row| row.get("every").is_some()).expect("one that comes again");
    assert_eq!(first.get("left").and_then(Value::as_i64), Some(1000));
    // Who takes one back may plan another.
    let shell = rig.try_join(stranger(), "s0", |_| {}).await.expect("attached");
    assert!(
        !word(&plan(&shell, 10, ":name \"new\" :in 60000").await, "status").is_keyword("success")
    );
    shell.send(
        "(:type :REQUEST :id 11 :target :system :payload (:action :unschedule :name \"p0\"))",
    );
    shell.body(StreamEventKind::Say).await;
    assert!(
        word(&plan(&shell, 12, ":name \"new\" :in 60000").await, "status").is_keyword("success")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_has_a_least_interval_and_an_end() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    let said = plan(&shell, 1, ":name \"a\" :every 59999").await;
    assert!(word(&said, "code").is_keyword("invalid-value"), "{said}");
    for (id, times, given) in [(2, "", 1000), (3, ":times 5", 5), (4, ":times 1000000", 1000)] {
        let said = plan(&shell, id, &format!(":name \"a\" :every 60000 {times}")).await;
        let result = word(&said, "result").get("times").and_then(Value::as_i64);
        assert_eq!(result, Some(given), "{said}");
    }
    for bad in [":times 0", ":times -1", ":times \"x\""] {
        let said = plan(&shell, 5, &format!(":name \"a\" :every 60000 {bad}")).await;
        assert!(word(&said, "code").is_keyword("invalid-value"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_ends_after_its_longest_life_unless_it_ends_before() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    let end = |said: &Value| {
        let result = word(said, "result");
        let due = result.get("due").and_then(Value::as_i64).expect("a first time");
        result.get("until").and_then(Value::as_i64).map(|until| until - due)
    };
    // The first time is a minute after the planning, from which the end is counted.
    let longest = MAX_SCHEDULE_LIFE_MS - 60_000;
    for (id, until) in [(1, ""), (2, ":until nil"), (3, ":until 9000000000000000000")] {
        let said = plan(&shell, id, &format!(":name \"a\" :every 60000 {until}")).await;
        assert_eq!(end(&said), Some(longest), "{said}");
    }
    let said = plan(&shell, 4, ":name \"b\" :in 60000").await;
    assert_eq!(end(&said), None, "it ends when it has fired: {said}");
    let soon =
        listed(&rig).await[0].get("due").and_then(Value::as_i64).expect("a time") + 3_600_000;
    for when in [":every 60000", ":in 60000"] {
        let said = plan(&shell, 5, &format!(":name \"c\" {when} :until {soon}")).await;
        let until = word(&said, "result").get("until").and_then(Value::as_i64);
        assert_eq!(until, Some(soon), "{said}");
    }
    let too_late = format!(":in {}", MAX_SCHEDULE_LIFE_MS + 1);
    for bad in [":in 60000 :until 1", ":every 60000 :until \"soon\"", &too_late] {
        let said = plan(&shell, 6, &format!(":name \"d\" {bad}")).await;
        assert!(word(&said, "code").is_keyword("invalid-value"), "{bad}: {said}");
    }
    let all = listed(&rig.restart().await).await;
    let ends: Vec<Option<i64>> = ["a", "b", "c"]
        .iter()
        .map(|name| all.iter().find(|row| row.get("name").and_then(Value::as_str) == Some(name)))
        .map(|row| row.expect("it is planned").get("until").and_then(Value::as_i64))
        .collect();
    assert!(ends[0] > Some(soon) && ends[1..] == [None, Some(soon)], "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cron_expression_is_read_in_the_time_zone_that_it_names() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    // What the asker says about a zone is not what the daemon knows.
    let said = plan(
        &shell,
        1,
        ":name \"brief\" :cron \"0 7 * * *\" :zone \"Asia/Kolkata\" :offsets ((0 0)) :missed :skip",
    )
    .await;
    let due = word(&said, "result").get("due").and_then(Value::as_i64).expect("a first time");
    let zone = jiff::tz::TimeZone::get("Asia/Kolkata").expect("a zone of this machine");
    let local = zone.to_datetime(jiff::Timestamp::from_millisecond(due).expect("a time"));
    assert_eq!((local.hour(), local.minute(), local.second()), (7, 0, 0), "{said}");
    assert_eq!(word(&said, "result").get("times").and_then(Value::as_i64), Some(10_000));
    for (id, bad) in [
        (2, ":cron \"0 7 * * *\" :zone \"Mars/Olympus\" :offsets ((0 0))"),
        (3, ":cron \"0 7 * * *\" :zone \"../../etc/passwd\""),
        (4, ":cron \"0 7 * *\""),
        (5, ":cron \"0 7 * * *\" :every 60000"),
        (6, ":cron \"0 0 31 2 *\""),
        (7, ":cron \"0 7 * * *\" :missed :twice"),
    ] {
        let said = plan(&shell, id, &format!(":name \"bad\" {bad}")).await;
        assert!(word(&said, "code").is_keyword("invalid-value"), "{bad}: {said}");
    }
    // Without a zone it is that of the machine, and the record names it.
    plan(&shell, 8, ":name \"own\" :cron \"@hourly\"").await;
    let all = listed(&rig.restart().await).await;
    let row = |name| {
        let is_it = |row: &&Value| row.get("name").and_then(Value::as_str) == Some(name);
        all.iter().find(is_it).expect("a schedule")
    };
    let brief = row("brief");
    assert_eq!(brief.get("cron").and_then(Value::as_str), Some("0 7 * * *"));
    assert_eq!(brief.get("zone").and_then(Value::as_str), Some("Asia/Kolkata"));
    assert_eq!(brief.get("due").and_then(Value::as_i64), Some(due));
    assert!(brief.get("missed").is_some_and(|it| it.is_keyword("skip")), "{brief}");
    assert!(row("own").get("zone").and_then(Value::as_str).is_some_and(|zone| !zone.is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_schedule_stays_paused_over_a_restart() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    plan(&shell, 1, ":name \"tea\" :cron \"* * * * *\" :zone \"UTC\"").await;
    let change = |shell: &Shell, id: i64, action: &str| {
        shell.send(&format!(
            "(:type :REQUEST :id {id} :target :system :payload (:action :{action} :name \"tea\"))"
        ));
    };
    change(&shell, 2, "pause-schedule");
    let said = shell.body(StreamEventKind::Say).await;
    assert!(word(&said, "result").get("paused").is_some(), "{said}");
    let rig = rig.restart().await;
    let all = listed(&rig).await;
    assert!(all.len() == 1 && all[0].get("paused").is_some(), "{all:?}");
    let shell = rig.join("work", |_| {}).await;
    change(&shell, 3, "resume-schedule");
    let said = shell.body(StreamEventKind::Say).await;
    assert!(word(&said, "status").is_keyword("success"), "{said}");
    assert!(listed(&rig).await[0].get("paused").is_none());
}
