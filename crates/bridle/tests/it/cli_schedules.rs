//! `bridle schedule`: what sessions have planned is listed, added, paused, and taken back in its session.

use serde_json::Value;

use crate::harness::Home;

/// A home whose commands find the daemon of [`Home::up`].
fn home() -> Home {
    let home = Home::new();
    let socket = home.path("b.sock");
    home.write(".config/bridle/config.toml", format!("tcp = \"off\"\nunix = \"{socket}\"\n"));
    home
}

fn plan(home: &Home, session: &str, schedule: &str) {
    let form = format!(
        "(:type :REQUEST :target :system :payload (:action :schedule :payload (:sensor :x) {schedule}))"
    );
    let done = home.run(&["send", "--session", session, &form]);
    assert_eq!(done.code, 0, "{done:?}");
}

fn listed(home: &Home) -> Vec<Value> {
    let done = home.run(&["schedules", "--json"]);
    assert_eq!((done.code, &*done.stderr), (0, ""), "{done:?}");
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn schedules_are_listed_those_first_that_are_due_first() {
    let home = home();
    let _daemon = home.up(&[]);
    home.run(&["schedules"]).prints("no schedules\n");
    home.run(&["schedules", "--json"]).prints("");
    // An end that is too far is cut.
    plan(&home, "work", ":name \"pill\" :every 5400000 :times 7 :until 9000000000000000");
    plan(&home, "play", ":name \"tea\" :in 60000");
    let shown = home.run(&["schedules"]);
    let lines: Vec<Vec<&str>> =
        shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 3, "{shown:?}");
    assert_eq!(lines[0], ["NAME", "SESSION", "OWNER", "NEXT", "EVERY", "RUNS", "LEFT", "UNTIL"]);
    assert_eq!(
        (lines[1][0], lines[1][1], &lines[1][5..]),
        ("tea", "play", &["once", "1", "-"][..])
    );
    assert_eq!((lines[2][0], &lines[2][5..8]), ("pill", &["90", "min", "7"][..]), "{shown:?}");
    let rows = listed(&home);
    assert_eq!((&rows[0]["every-ms"], &rows[0]["until"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (rows[1]["every-ms"].as_u64(), rows[1]["runs-left"].as_u64()),
        (Some(5_400_000), Some(7))
    );
    let year = |key: &str| rows[1][key].as_str().unwrap()[..4].parse::<u32>().unwrap();
    assert!((1..=2).contains(&(year("until") - year("next"))), "about a year: {rows:?}");
    assert!(rows[1]["owner"].as_str().unwrap().starts_with("uid:"), "{rows:?}");
}

#[test]
fn a_schedule_is_taken_back_in_its_session() {
    let home = home();
    let _daemon = home.up(&[]);
    for (session, name) in [("work", "tea"), ("play", "tea"), ("play", "pill")] {
        plan(&home, session, &format!(":name \"{name}\" :every 3600000"));
    }
    let which = home.run(&["schedules", "rm", "tea"]);
    assert_eq!(which.code, 2, "{which:?}");
    assert!(which.stderr.contains("2 sessions have a schedule `tea`: play, work"), "{which:?}");
    assert!(which.stderr.ends_with("hint: choose one with --session SESSION\n"), "{which:?}");
    assert_eq!(listed(&home).len(), 3);
    home.run(&["schedules", "rm", "tea", "--session", "work"])
        .prints("removed schedule tea of session work\n");
    // The other is the only one now.
    home.run(&["schedules", "rm", "tea"]).prints("removed schedule tea of session play\n");
    for args in [&["schedules", "rm", "tea"][..], &["schedules", "rm", "pill", "--session", "work"]]
    {
        let none = home.run(args);
        assert_eq!(none.code, 66, "{none:?}");
        assert!(none.stderr.ends_with("hint: `bridle schedule` lists schedules\n"), "{none:?}");
    }
    let left = listed(&home);
    assert_eq!((left.len(), left[0]["name"].as_str()), (1, Some("pill")));
    // What was looked for in vain began no session.
    let sessions = home.run(&["sessions", "--json"]).stdout;
    assert_eq!(sessions.lines().count(), 2, "{sessions}");
}

#[test]
fn a_prompt_is_planned_paused_and_resumed() {
    let home = home();
    let _daemon = home.up(&[]);
    let added = home.run(&[
        "schedule",
        "add",
        "brief",
        "--cron",
        "0 7 * * 1-5",
        "--zone",
        "Europe/Berlin",
        "--missed",
        "skip",
        "what",
        "is on",
        "today?",
    ]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(
        added.stdout.starts_with("added schedule brief to session main, next run 2"),
        "{added:?}"
    );
    let rows = listed(&home);
    let row = &rows[0];
    assert_eq!(
        (row["cron"].as_str(), row["zone"].as_str(), row["missed"].as_str()),
        (Some("0 7 * * 1-5"), Some("Europe/Berlin"), Some("skip"))
    );
    assert_eq!((row["paused"].as_bool(), row["every-ms"].as_u64()), (Some(false), None));
    home.run(&["schedule", "pause", "brief"]).prints("paused schedule brief of session main\n");
    assert_eq!(listed(&home)[0]["paused"], true);
    let shown = home.run(&["schedule", "list"]).stdout;
    assert!(shown.contains("paused") && shown.contains("0 7 * * 1-5"), "{shown}");
    home.run(&["schedule", "resume", "brief"]).prints("resumed schedule brief of session main\n");
    assert_eq!(listed(&home)[0]["paused"], false);
    let bad = home.run(&["schedule", "add", "x", "--cron", "0 7 * *", "text"]);
    assert_ne!(bad.code, 0);
    assert!(bad.stderr.contains("expected five"), "{bad:?}");
    for args in [
        &["schedule", "add", "x", "text"][..],
        &["schedule", "add", "x", "--in", "5min"],
        &["schedule", "add", "x", "--in", "5min", "--every", "2h", "text"],
        &["schedule", "add", "x", "--in", "5 years", "text"],
        &["schedule", "add", "x", "--in", "5min", "--zone", "UTC", "text"],
    ] {
        assert_eq!(home.run(args).code, 2, "{args:?}");
    }
    let odd = home.run(&["schedule", "add", "x", "--in", "5min", "--payload", "(:sensor"]);
    assert_eq!(odd.code, 2, "{odd:?}");
    home.run(&["schedule", "rm", "brief"]).prints("removed schedule brief of session main\n");
}

#[test]
fn a_planned_prompt_is_answered_in_its_session() {
    let home = home();
    let _daemon = home.up(&[]);
    let added = home.run(&["schedule", "add", "soon", "--in", "1s", "/status"]);
    assert_eq!(added.code, 0, "{added:?}");
    let is_answered = || home.run(&["tail", "--session", "main"]).stdout.contains("up for");
    let mut looks = 0;
    while !is_answered() {
        looks += 1;
        assert!(looks < 600, "{:?}", home.run(&["tail", "--session", "main"]));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(listed(&home).is_empty(), "it was due once");
}
