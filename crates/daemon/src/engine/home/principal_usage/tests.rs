//! Unit tests of counting again.

use bridle_loop::{SessionId, SessionState, UnixMillis};
use bridle_record::{
    NewRecord, NewSessionRow, RecordAppend, RecordReader, RecordStore, StoreOptions,
};
use tempfile::TempDir;

use super::PrincipalUsageSums;

const MINUTE: i64 = 60_000;

fn decided(asker: &str, verdict: &str, target: &str, kind: &str) -> String {
    format!(
        "(:turn 1 :by :asker :target :{target} :action :{kind} :verdict :{verdict} :facts (:asker \
         \"{asker}\" :kind :{kind}))"
    )
}

/// Acts of somebody in the hour before `now`, by what a record of these decisions says.
fn check(decisions: &[(i64, String)], now: i64, asker: &str, expect: i64) {
    let directory = TempDir::new().unwrap();
    let mut store = RecordStore::open(directory.path(), &StoreOptions::default()).unwrap();
    let session = Some(NewSessionRow { name: "a".into(), owner: "uid:1".into(), at: 0 });
    let drafts =
        decisions.iter().map(|(at, body)| NewRecord::new("a", "decided", *at, "x", body.clone()));
    store
        .commit(&[RecordAppend { session, drafts: drafts.collect(), ..RecordAppend::default() }])
        .unwrap();
    let sums =
        PrincipalUsageSums::read(&RecordReader::open(directory.path()).unwrap(), now).unwrap();
    let other = SessionState::new(SessionId::parse("other").unwrap());
    let counted = sums.lock().elsewhere(UnixMillis(now), asker, &other);
    assert_eq!(counted.spans.iter().map(|(_, count)| count).sum::<i64>(), expect, "{counted:?}");
}

#[test]
fn what_was_allowed_in_the_last_hour_is_counted_again() {
    let decisions = [
        (0, decided("uid:1", "allow", "log", "log")),
        (MINUTE, decided("uid:1", "allow", "log", "log")),
        (80 * MINUTE, decided("uid:1", "allow", "log", "log")),
        (81 * MINUTE, decided("uid:1", "deny", "log", "log")),
        (81 * MINUTE, decided("uid:1", "ask", "emacs", "eval")),
        (81 * MINUTE, decided("uid:1", "allow", "asker", "message")),
        (81 * MINUTE, decided("uid:1", "allow", "system", "approve")),
        (81 * MINUTE, decided("uid:2", "allow", "log", "log")),
        (82 * MINUTE, decided("uid:1", "allow", "emacs", "message")),
        (82 * MINUTE, "(:turn 1 :verdict :allow)".to_owned()),
    ];
    check(&decisions, 90 * MINUTE, "uid:1", 2);
    check(&decisions, 90 * MINUTE, "uid:2", 1);
    check(&decisions, 90 * MINUTE, "uid:3", 0);
    check(&decisions[..2], 2 * MINUTE, "uid:1", 2);
    check(&decisions, 200 * MINUTE, "uid:1", 0);
    check(&[], 0, "uid:1", 0);
}
