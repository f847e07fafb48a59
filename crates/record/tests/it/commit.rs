//! What a commit keeps, and what it refuses.

use bridle_record::{
    AppendRefusal, MessageReceipt, NewOpenEffect, NewRecord, OpenEffectRow, ReceiptRow,
    RecordAppend, RecordBody, RecordCause, RecordNumber, StateCheckpoint, StoreError, WakeTime,
    WakingSession, hash_text,
};

use crate::support::{Bed, WHO, begin, open, turn};

fn draft(session: &str, at: i64) -> RecordAppend {
    RecordAppend {
        drafts: vec![NewRecord::new(session, "log", at, WHO, "()")],
        ..RecordAppend::default()
    }
}

fn receipt(seq: u64) -> MessageReceipt {
    let message = hash_text(&format!("message {seq}"));
    MessageReceipt { message, body: hash_text(&format!("body {seq}")) }
}

fn admitted(session: &str, seqs: std::ops::Range<u64>, at: i64) -> RecordAppend {
    let signal =
        |seq| NewRecord::new(session, "signal", at, WHO, "()").numbered(seq).known_by(receipt(seq));
    RecordAppend { drafts: seqs.map(signal).collect(), ..RecordAppend::default() }
}

#[test]
fn what_is_handed_in_is_what_is_read() {
    let mut bed = Bed::with_sessions(&["main"]);
    let numbers = bed.commit(&[turn("main", 1, "hello"), draft("", 7)]);
    assert_eq!(numbers[0].iter().map(|n| n.0).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    assert_eq!((numbers[1].last(), numbers[1].get(1)), (Some(RecordNumber(7)), None));

    let records = bed.all();
    let signal = &records[1];
    assert_eq!((&*signal.session, &*signal.kind, &*signal.principal), ("main", "signal", WHO));
    assert_eq!((signal.seq, signal.at, signal.version, signal.cause), (Some(1), 1, 1, None));
    assert_eq!(signal.body, RecordBody::Text("(:text \"hello\")".into()));
    assert_eq!((records[4].seq, records[4].cause), (Some(2), Some(RecordNumber(2))));
    assert_eq!((&*records[6].session, records[6].seq), ("", None));
    for pair in records.windows(2) {
        assert_eq!(pair[1].prev, pair[0].hash);
    }
    let head = bed.store.head().unwrap();
    assert_eq!((head.number, head.hash), (RecordNumber(7), records[6].hash));
    assert_eq!(bed.reader().head().unwrap(), head);
    assert_eq!(bed.store.latest_at().unwrap(), 7);
}

#[test]
fn large_bodies_come_back_whole() {
    let mut bed = Bed::with_sessions(&["main"]);
    for bytes in [0, 4079, 4080, 4081, 100_000, 3_000_000] {
        let body = "x".repeat(bytes);
        let append = |session| RecordAppend {
            drafts: vec![NewRecord::new(session, "log", 9, WHO, body.clone())],
            ..RecordAppend::default()
        };
        let numbers = bed.commit(&[append("main"), append("")]);
        for number in numbers {
            let record = bed.reader().record(number.last().unwrap()).unwrap().unwrap();
            assert_eq!(record.body, RecordBody::Text(body.clone()), "{bytes} bytes");
        }
    }
    bed.reader().verify(None, &mut |_, _| ()).unwrap();
}

#[test]
fn a_refused_append_names_its_rule_and_keeps_nothing() {
    let mut bed = Bed::with_sessions(&["main"]);
    bed.commit(&[turn("main", 1, "hello")]);
    let before = bed.store.head().unwrap();
    let named = |name: &str| begin(name);
    let with_seq = |seq| RecordAppend {
        drafts: vec![NewRecord::new("main", "say", 9, WHO, "()").numbered(seq)],
        ..RecordAppend::default()
    };
    let with_cause = |cause| RecordAppend {
        drafts: vec![NewRecord::new("main", "say", 9, WHO, "()").caused_by(cause)],
        ..RecordAppend::default()
    };
    let main = || Box::<str>::from("main");
    let cases = [
        (named(""), AppendRefusal::BadName("".into())),
        (named("a b"), AppendRefusal::BadName("a b".into())),
        (named("main"), AppendRefusal::SessionExists(main())),
        (draft("other", 9), AppendRefusal::NoSession("other".into())),
        (draft("main", 0), AppendRefusal::Backward { session: main(), last: 1, got: 0 }),
        (with_seq(2), AppendRefusal::Seq { session: main(), expected: 3, got: 2 }),
        (with_seq(4), AppendRefusal::Seq { session: main(), expected: 3, got: 4 }),
        (with_cause(RecordCause::Number(RecordNumber(0))), AppendRefusal::Cause { draft: 0 }),
        (with_cause(RecordCause::Number(RecordNumber(7))), AppendRefusal::Cause { draft: 0 }),
        (with_cause(RecordCause::Earlier(0)), AppendRefusal::Cause { draft: 0 }),
        (
            RecordAppend {
                drafts: vec![NewRecord::new("", "log", 9, WHO, "()").numbered(1)],
                ..RecordAppend::default()
            },
            AppendRefusal::Daemon("stream"),
        ),
        (
            RecordAppend {
                drafts: vec![NewRecord::new("main", "log", 9, WHO, "()").known_by(receipt(1))],
                ..RecordAppend::default()
            },
            AppendRefusal::Receipt { draft: 0 },
        ),
    ];
    for (append, expected) in cases {
        assert_eq!(bed.refusal(append), expected);
    }
    let long = "n".repeat(65);
    assert_eq!(bed.refusal(named(&long)), AppendRefusal::BadName(long.into()));
    assert_eq!(bed.store.head().unwrap(), before);
    // The store goes on as if nothing had been asked.
    bed.commit(&[turn("main", 3, "again"), named(&"n".repeat(64))]);
    bed.reader().verify(None, &mut |_, _| ()).unwrap();
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let mut bed = Bed::with_sessions(&["main"]);
    let limit = bridle_record::writer::MAX_BODY;
    let mut append = draft("main", 9);
    append.drafts[0].body = " ".repeat(limit + 1);
    assert_eq!(bed.refusal(append), AppendRefusal::TooLarge { limit, got: limit + 1 });
}

#[test]
fn the_daemons_own_records_wait_for_each_other() {
    let mut bed = Bed::new();
    bed.commit(&[draft("", 20), draft("", 10)]);
    let times: Vec<_> = bed.all().iter().map(|record| record.at).collect();
    assert_eq!(times, [20, 20]);
    bed.reader().verify(None, &mut |_, _| ()).unwrap();
}

#[test]
fn effects_are_open_until_they_are_closed() {
    let mut bed = Bed::with_sessions(&["main", "idle"]);
    let effects = |ids: &[u64]| ids.iter().map(|id| ("main".into(), *id)).collect::<Vec<_>>();
    let open = |effect, deadline| NewOpenEffect { session: "main".into(), effect, deadline };
    bed.commit(&[RecordAppend {
        opened: vec![open(1, Some(50)), open(2, None), open(3, None)],
        closed: effects(&[2, 77]),
        ..RecordAppend::default()
    }]);
    bed.commit(&[RecordAppend { started: effects(&[3]), ..RecordAppend::default() }]);
    let loaded = bed.reader().load("main", 0).unwrap();
    let row = |effect, started, deadline| OpenEffectRow { effect, started, deadline };
    assert_eq!(loaded.open, [row(1, false, Some(50)), row(3, true, None)]);
    let waiting = |open, wake| WakingSession { session: "main".into(), open, wake };
    assert_eq!(bed.reader().open_sessions().unwrap(), [waiting(2, None)]);

    let wake = |at| Some(WakeTime { session: "main".into(), at });
    bed.commit(&[RecordAppend {
        closed: effects(&[1, 3]),
        wake: wake(Some(99)),
        ..RecordAppend::default()
    }]);
    assert_eq!(bed.reader().open_sessions().unwrap(), [waiting(0, Some(99))]);
    bed.commit(&[RecordAppend { wake: wake(None), ..RecordAppend::default() }]);
    assert_eq!(bed.reader().open_sessions().unwrap(), []);
}

#[test]
fn loading_starts_at_the_last_state() {
    let mut bed = Bed::with_sessions(&["main", "other"]);
    assert_eq!(bed.reader().load("main", 0).unwrap().tail.len(), 1);
    let with_state = |seq, state: &str| RecordAppend {
        checkpoint: Some(StateCheckpoint { session: "main".into(), state: state.into() }),
        ..turn("main", seq, "hello")
    };
    bed.commit(&[with_state(1, "(:state 1)"), turn("other", 1, "not this one")]);
    bed.commit(&[turn("main", 3, "later")]);
    let loaded = bed.reader().load("main", 0).unwrap();
    assert_eq!(loaded.checkpoint, Some((RecordNumber(7), "(:state 1)".into())));
    assert_eq!(loaded.tail.iter().map(|r| r.number.0).collect::<Vec<_>>(), [13, 14, 15, 16, 17]);
    assert_eq!((loaded.session.head_seq, loaded.session.records), (4, 11));
    assert_eq!((loaded.session.last, loaded.session.last_at), (RecordNumber(17), 3));

    bed.commit(&[with_state(5, &"(:state 2)".repeat(10_000))]);
    let loaded = bed.reader().load("main", 0).unwrap();
    assert_eq!(loaded.checkpoint, Some((RecordNumber(22), "(:state 2)".repeat(10_000))));
    assert_eq!(loaded.tail, []);
    assert!(matches!(bed.reader().load("none", 0), Err(StoreError::NoSession(_))));
}

#[test]
fn receipts_survive_a_restart_count_for_a_day_and_are_bounded() {
    let Bed { mut store, dir } = Bed::with_sessions(&["main"]);
    store.commit(&[admitted("main", 1..4, 1000)]).unwrap();
    drop(store);
    let mut store = open(dir.path());
    let reader = store.reader().unwrap();
    let day = bridle_record::receipts::RECEIPT_AGE;
    let expected = [1, 2, 3].map(|seq| {
        let MessageReceipt { message, body } = receipt(seq);
        ReceiptRow { seq, at: 1000, message, body }
    });
    assert_eq!(reader.load("main", 1000 + day).unwrap().receipts, expected);
    assert_eq!(reader.load("main", 1001 + day).unwrap().receipts, []);

    store.commit(&[admitted("main", 4..4100, 2000)]).unwrap();
    let receipts = reader.load("main", 2000).unwrap().receipts;
    assert_eq!(receipts.len(), 4096);
    assert_eq!((receipts[0].seq, receipts[4095].seq), (4, 4099));
}

#[test]
fn receipts_are_told_apart_and_old_ones_give_way() {
    let mut bed = Bed::with_sessions(&["main", "side"]);
    let day = bridle_record::receipts::RECEIPT_AGE;
    let both = |seqs: std::ops::Range<u64>, at| {
        seqs.flat_map(|seq| ["main", "side"].map(|name| admitted(name, seq..seq + 1, at)))
            .collect::<Vec<_>>()
    };
    // In commits of one, of some, and of more than a block.
    for seqs in [1..2, 2..60, 60..1501] {
        bed.commit(&both(seqs, 1000));
    }
    bed.commit(&[admitted("side", 1501..1601, 1000)]);
    let side = bed.reader().load("side", 1000).unwrap().receipts;
    let seqs: Vec<_> = side.iter().map(|receipt| receipt.seq).collect();
    assert_eq!(seqs, (1..1601).collect::<Vec<_>>());
    assert!(side.iter().all(|row| row.message == receipt(row.seq).message));
    assert_eq!(bed.reader().load("main", 1000).unwrap().receipts.len(), 1500);

    bed.commit(&[admitted("main", 1501..1601, 1001 + day)]);
    for seqs in [1601..2400, 2400..3001] {
        bed.commit(&both(seqs, 1001 + day));
    }
    let kept = rusqlite::Connection::open(bed.file()).unwrap();
    let old = "SELECT count(*) FROM receipt WHERE at = 1000";
    let old: i64 = kept.query_row(old, [], |row| row.get(0)).unwrap();
    assert_eq!(old, 0, "what counts no more is dropped as new ones come");
    assert_eq!(bed.reader().load("main", 1001 + day).unwrap().receipts.len(), 1500);
}

#[test]
fn two_writers_see_each_other() {
    let mut bed = Bed::with_sessions(&["main"]);
    let mut other = open(bed.dir.path());
    for seq in (1..20).step_by(4) {
        bed.commit(&[turn("main", seq, "one")]);
        other.commit(&[turn("main", seq + 2, "two")]).unwrap();
    }
    assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().head, other.head().unwrap());
}
