//! Forgetting: unreadable afterward, in every file, and still verifiable.

use std::fs;

use bridle_record::{
    AppendRefusal, MessageReceipt, NewOpenEffect, RecordAppend, RecordBody, RecordNumber,
    StateCheckpoint, StoreError, WakeTime, hash_text,
};
use rusqlite::Connection;

use crate::support::{Bed, WHO, begin, by, turn};

/// Whether these bytes are in any file of the record.
fn on_disk(bed: &Bed, bytes: &[u8]) -> bool {
    fs::read_dir(bed.dir.path()).unwrap().any(|file| {
        fs::read(file.unwrap().path()).unwrap().windows(bytes.len()).any(|w| w == bytes)
    })
}

fn key_of(bed: &Bed, session: i64) -> Vec<u8> {
    let connection = Connection::open(bed.file()).unwrap();
    let sql = "SELECT key FROM session_key WHERE session = ?1";
    connection.query_row(sql, [session], |row| row.get(0)).unwrap()
}

fn salt_of(bed: &Bed, number: i64) -> Vec<u8> {
    let connection = Connection::open(bed.file()).unwrap();
    let sql = "SELECT substr(salts, 1 + 16 * (?1 - first), 16) FROM salt WHERE first <= ?1
               ORDER BY first DESC LIMIT 1";
    connection.query_row(sql, [number], |row| row.get(0)).unwrap()
}

/// A session with something in every table.
fn busy(name: &str, secret: &str) -> RecordAppend {
    let mut turn = turn(name, 1, secret);
    let message = hash_text("the-client");
    turn.drafts[0].receipt = Some(MessageReceipt { message, body: hash_text(secret) });
    RecordAppend {
        opened: vec![NewOpenEffect { session: name.into(), effect: 1, deadline: None }],
        checkpoint: Some(StateCheckpoint {
            session: name.into(),
            state: format!("(:said {secret:?})"),
        }),
        wake: Some(WakeTime { session: name.into(), at: Some(5) }),
        ..turn
    }
}

#[test]
fn a_forgotten_session_is_unreadable_and_verifiable() {
    let mut bed = Bed::with_sessions(&["a", "b"]);
    let secret = "the secret of a";
    let large = format!("{secret} {}", "x".repeat(9000));
    bed.commit(&[busy("a", secret), busy("b", "of b"), turn("a", 3, &large)]);
    let (key, other) = (key_of(&bed, 1), key_of(&bed, 2));
    assert!(on_disk(&bed, &key), "the search finds what is there");
    assert!(!on_disk(&bed, secret.as_bytes()), "no plain text even before");
    assert!(!on_disk(&bed, hash_text(secret).as_bytes()), "nor a hash to guess it by");

    let forgotten = bed.store.forget_session("a", &by(9)).unwrap();
    assert!(forgotten.scrubbed);
    assert!(!on_disk(&bed, &key));
    assert!(on_disk(&bed, &other));

    for record in bed.all() {
        let erased = record.body == RecordBody::Erased;
        assert_eq!(erased, &*record.session == "a", "record {}", record.number);
    }
    let said = bed.reader().record(forgotten.number).unwrap().unwrap();
    assert_eq!((&*said.kind, &*said.principal, said.at), ("forgot", WHO, 9));
    assert_eq!((said.body.text(), said.cause), (Some("(:session \"a\")"), Some(RecordNumber(1))));

    let loaded = bed.reader().load("a", 1).unwrap();
    assert!(loaded.session.forgotten);
    assert_eq!((loaded.checkpoint, loaded.open.len(), loaded.receipts.len()), (None, 0, 0));
    let waiting = bed.reader().open_sessions().unwrap();
    assert_eq!(waiting.iter().map(|w| &*w.session).collect::<Vec<_>>(), ["b"]);
    let verified = bed.reader().verify(None, &mut |_, _| ()).unwrap();
    assert_eq!((verified.erased, verified.sessions), (11, 2));
}

#[test]
fn keys_leave_no_trace_among_many() {
    let mut bed = Bed::new();
    let names: Vec<_> = (0..300).map(|n| format!("s{n}")).collect();
    for chunk in names.chunks(7) {
        bed.commit(&chunk.iter().map(|name| begin(name)).collect::<Vec<_>>());
    }
    // In an order that makes pages of every table full, sparse and empty.
    for session in (0..300).step_by(10).chain((5..300).step_by(10)) {
        let key = key_of(&bed, i64::from(session) + 1);
        assert!(on_disk(&bed, &key));
        assert!(bed.store.forget_session(&format!("s{session}"), &by(9)).unwrap().scrubbed);
        assert!(!on_disk(&bed, &key), "session {session}");
    }
    assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().erased, 60);
}

#[test]
fn one_record_is_forgotten_alone() {
    let mut bed = Bed::with_sessions(&["a"]);
    bed.commit(&[busy("a", "secret"), turn("a", 3, &"long".repeat(3000))]);
    let (key, salt) = (key_of(&bed, 1), salt_of(&bed, 2));
    let state = StateCheckpoint { session: "a".into(), state: "(:said nil)".into() };
    let forgotten = bed.store.forget_record(RecordNumber(2), Some(&state), &by(9)).unwrap();
    assert!(forgotten.scrubbed && on_disk(&bed, &key) && !on_disk(&bed, &salt));
    bed.store.forget_record(RecordNumber(7), None, &by(9)).unwrap();

    let erased: Vec<_> = bed
        .all()
        .into_iter()
        .filter(|r| r.body == RecordBody::Erased)
        .map(|r| r.number.0)
        .collect();
    assert_eq!(erased, [2, 7]);
    let loaded = bed.reader().load("a", 1).unwrap();
    assert_eq!(loaded.receipts, []);
    assert_eq!(loaded.checkpoint.unwrap().1, "(:said nil)");
    assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().erased, 2);
    // And then all of it.
    bed.store.forget_session("a", &by(9)).unwrap();
    assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().erased, 11);
}

#[test]
fn what_cannot_be_forgotten_says_why() {
    let mut bed = Bed::with_sessions(&["a", "b"]);
    bed.store.forget_session("a", &by(9)).unwrap();
    bed.store.forget_record(RecordNumber(2), None, &by(9)).unwrap();
    let before = bed.store.head().unwrap();
    let session = |bed: &mut Bed, name| bed.store.forget_session(name, &by(9)).unwrap_err();
    let record =
        |bed: &mut Bed, n| bed.store.forget_record(RecordNumber(n), None, &by(9)).unwrap_err();
    assert!(matches!(session(&mut bed, "a"), StoreError::AlreadyForgotten(_)));
    assert!(matches!(session(&mut bed, "none"), StoreError::NoSession(_)));
    assert!(matches!(session(&mut bed, ""), StoreError::NotSealed(_)));
    assert!(matches!(record(&mut bed, 1), StoreError::AlreadyForgotten(_)));
    assert!(matches!(record(&mut bed, 2), StoreError::AlreadyForgotten(_)));
    assert!(matches!(record(&mut bed, 3), StoreError::NotSealed(_)));
    assert!(matches!(record(&mut bed, 99), StoreError::NoRecord(RecordNumber(99))));
    assert_eq!(bed.store.head().unwrap(), before);
}

#[test]
fn a_forgotten_name_is_free_again() {
    let mut bed = Bed::with_sessions(&["a"]);
    bed.commit(&[turn("a", 1, "old")]);
    bed.store.forget_session("a", &by(9)).unwrap();
    assert_eq!(bed.refusal(turn("a", 3, "too late")), AppendRefusal::Forgotten("a".into()));
    bed.commit(&[begin("a"), turn("a", 1, "new")]);
    let stream = bed.reader().stream("a", 0, 9).unwrap();
    assert_eq!(stream[0].body.text(), Some("(:text \"new\")"));
    assert_eq!(stream.len(), 2);
    let rows = bed.reader().sessions().unwrap();
    assert_eq!(rows.iter().map(|row| row.forgotten).collect::<Vec<_>>(), [true, false]);
    bed.reader().verify(None, &mut |_, _| ()).unwrap();
}
