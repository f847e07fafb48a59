//! `bridle replay`: the same again, or the first record that is not.

use crate::harness::Home;
use crate::written::Written;

#[test]
fn the_same_again() {
    let home = Home::new();
    Written::new(&home).session("a").session("b");
    let done = home.run(&["replay"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(done.stdout.starts_with("same: 2 sessions, 4 events, "), "{}", done.stdout);
    let json = home.run(&["replay", "--session", "a", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["sessions"], &json["events"]), (&1.into(), &2.into()));
    assert_eq!((&json["difference"], &json["states"]), (&serde_json::Value::Null, &1.into()));
}

#[test]
fn a_difference_exits_with_1_and_is_shown() {
    let home = Home::new();
    home.spoil_record();
    let mut written = Written::new(&home);
    let number = written.session("a").add("a", "finish", "(:turn 99 :reason :answered)").head();
    let done = home.run(&["replay"]);
    let shown = format!(
        "differs: record {number} of session a\n  expected finish no seq (:turn 99 :reason \
         :answered)\n  got      nothing\n"
    );
    assert_eq!((done.code, done.stderr.as_str()), (1, ""));
    assert!(done.stdout.ends_with(&shown), "{}", done.stdout);
    let json = home.run(&["replay", "--json"]);
    let json_value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &json_value["difference"]["record"]), (1, &number.into()));
    let before = (number - 1).to_string();
    assert_eq!(home.run(&["replay", "--to", &before]).code, 0);
}

#[test]
fn what_is_erased_is_skipped_and_said() {
    let home = Home::new();
    Written::new(&home).session("a").session("b");
    let state = home.path(".local/state/bridle");
    assert_eq!(home.run(&["forget", "a", "--yes", "--state", &state]).code, 0);
    let done = home.run(&["replay"]);
    assert_eq!(done.code, 0);
    assert!(done.stdout.starts_with("same: 1 session, "), "{}", done.stdout);
    assert!(done.stdout.ends_with("\nskipped, erased: 1 session\n"), "{}", done.stdout);
}
