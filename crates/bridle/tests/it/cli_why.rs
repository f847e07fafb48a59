//! `bridle why` and `bridle effects`: decisions and deeds from the record.

use bridle_loop::Outcome;
use bridle_sexp::Value;

use crate::harness::Home;
use crate::written::Written;

/// The same for people, where it is as late as in UTC.
const AT_LOCAL: &str = "1970-01-01 00:00:01 +00:00";

const EVAL: &str = "(:action :eval :code \"(save-buffer)\")";

/// A home whose record is: 1 began, 2 registered, 3 signal, 4 decided, 5 ask, 6 answered, 7 decided
/// (who may answer), 8 say, 9 decided (the yes), 10 act, 11 acted, and what was said at the end.
fn home(outcome: Outcome) -> Home {
    let home = Home::new();
    let mut written = Written::new(&home);
    let mut asked = written.asked("work", EVAL);
    written.allowed(&mut asked, outcome);
    home
}

#[test]
fn every_record_of_an_act_leads_to_its_decisions() {
    let home = home(Outcome::Done(Value::T));
    for record in ["5", "6", "9", "10", "11"] {
        let done = home.run(&["why", record]);
        assert_eq!((done.code, &*done.stderr), (0, ""), "{record}");
        let parts: &[&str] = match record {
            "5" => &["record 4, "],
            _ => &["record 4, ", "record 6, ", "uid:7 answered allow", "record 9, "],
        };
        for part in parts {
            assert!(done.stdout.contains(part), "{part} in why {record}: {}", done.stdout);
        }
        for part in [
            "ask, eval to emacs, proposed by asker for uid:7",
            "dangerous: Dangerous things are refused unless approved",
            "what: (:action :eval :code \"(save-buffer)\")",
            ":risk :dangerous",
        ] {
            assert!(done.stdout.contains(part), "{part} in why {record}: {}", done.stdout);
        }
    }
}

#[test]
fn why_for_programs() {
    let home = home(Outcome::Done(Value::T));
    let done = home.run(&["why", "10", "--json"]);
    let why: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(why["kind"], "act");
    assert_eq!(why["answers"][0]["principal"], "uid:7");
    let records: Vec<u64> = why["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|decided| decided["record"].as_u64().unwrap())
        .collect();
    assert_eq!(records, [4, 7, 9]);
    assert_eq!(why["decisions"][0]["policies"][0]["id"], "dangerous");
}

#[test]
fn what_was_never_decided_has_no_why() {
    let home = home(Outcome::Done(Value::T));
    let done = home.run(&["why", "1"]);
    assert_eq!((done.code, &*done.stdout), (66, ""));
    assert!(done.stderr.starts_with("error: no decision led to record 1, a `began`"));
    let done = home.run(&["why", "4711"]);
    assert_eq!(done.code, 66, "{}", done.stderr);
}

#[test]
fn a_signal_leads_to_what_was_decided_about_it() {
    let home = home(Outcome::Done(Value::T));
    let done = home.run(&["why", "3"]);
    assert!(done.stdout.contains("record 4, "), "{}{}", done.stdout, done.stderr);
}

#[test]
fn effects_have_their_three_moments() {
    let home = home(Outcome::Done(Value::T));
    home.run(&["effects"]).prints(&format!(
        "  work-2  eval to emacs  done\n    intent  record 10 {AT_LOCAL}\n    \
         outcome record 11 {AT_LOCAL} by uid:7\n"
    ));
    home.run(&["effects", "--open"]).prints("no open effects\n");
    let done = home.run(&["effects", "--json", "--session", "work"]);
    let entry: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&entry["intent"]["record"], &entry["started"]),
        (&10.into(), &serde_json::Value::Null)
    );
    assert_eq!(entry["outcome"], "done");
    assert_eq!(home.run(&["effects", "--session", "nobody"]).code, 66);
}

#[test]
fn an_unknown_outcome_is_marked_and_stays_open() {
    let home = home(Outcome::UnknownOutcome);
    let done = home.run(&["effects", "--open"]);
    assert!(
        done.stdout.starts_with("! work-2  eval to emacs  unknown-outcome\n"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.ends_with("1 with an unknown outcome, marked with !\n"));
}

#[test]
fn a_failed_act_has_its_reason() {
    let home = home(Outcome::Failed("no space left\u{1b}[2J".into()));
    let done = home.run(&["effects"]);
    assert!(done.stdout.starts_with("  work-2  eval to emacs  failed\n"), "{}", done.stdout);
    let reason = done.stdout.lines().find(|line| line.starts_with("    reason  ")).unwrap();
    assert!(reason.starts_with("    reason  no space left"), "{reason:?}");
    assert!(!done.stdout.contains('\u{1b}'), "{:?}", done.stdout);
    let done = home.run(&["effects", "--json"]);
    let entry: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(entry["reason"], "no space left\u{1b}[2J");
    for record in ["10", "11"] {
        let done = home.run(&["why", record]);
        let ended = "record 11: outcome `failed`: no space left";
        assert!(done.stdout.contains(ended), "{record}: {}", done.stdout);
        assert!(!done.stdout.contains('\u{1b}'), "{:?}", done.stdout);
        let done = home.run(&["why", record, "--json"]);
        let why: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(why["effect"]["reason"], "no space left\u{1b}[2J", "{record}");
    }
    // Where nothing failed there is no reason.
    let home = self::home(Outcome::Done(Value::T));
    assert!(!home.run(&["effects"]).stdout.contains("reason"));
    assert!(home.run(&["why", "11"]).stdout.contains("record 11: outcome `done`\n"));
}
