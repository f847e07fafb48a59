//! Bodies that share a part: kept once, read whole, forgotten together.

use bridle_record::{
    AppendRefusal, NewRecord, RecordAppend, RecordBody, RecordCause, RecordNumber, SharedPart,
};

use crate::record_pages;
use crate::support::{Bed, WHO, all, begin, by, open};

const HEAD: &str = "(:proposals ((:payload (";
const SAID: &str = "(:answers 1 :payload (:status :success ";

/// A proposal and what was said of it, with a text of their own between the same words.
fn turn(session: &str, seq: u64, text: &str, shared: bool) -> RecordAppend {
    let at = i64::try_from(seq).unwrap();
    let proposed = format!("{HEAD}:text {text:?}) :explanation \"why\")))");
    let said = format!("{SAID}:text {text:?}))");
    let bytes = said.len() - SAID.len() - 2;
    let part = SharedPart { from: HEAD.len(), with: 2, at: SAID.len(), bytes };
    let mut consulted = NewRecord::new(session, "consulted", at, WHO, proposed);
    consulted.shared = shared.then_some(part);
    let because = |draft: NewRecord| draft.caused_by(RecordCause::Earlier(0));
    let drafts = vec![
        consulted,
        because(NewRecord::new(session, "decided", at, WHO, "(:verdict :allow)")),
        because(NewRecord::new(session, "say", at, WHO, said)).numbered(seq),
    ];
    RecordAppend { drafts, ..RecordAppend::default() }
}

fn bodies(bed: &Bed) -> Vec<Option<String>> {
    bed.all().iter().map(|record| record.body.text().map(str::to_owned)).collect()
}

fn stored_bytes(bed: &Bed) -> usize {
    record_pages::all(&bed.raw())
        .iter()
        .map(|(_, entries)| record_pages::write(entries).len())
        .sum()
}

/// Texts that are short, longer than a record page, longer than what is kept in a row, and not of one byte a letter.
fn texts() -> [String; 5] {
    [
        "é\u{1f600}".repeat(20),
        "x".repeat(80),
        "y".repeat(3900),
        "z".repeat(100_000),
        "ö".repeat(2100),
    ]
}

#[test]
fn what_is_shared_is_read_whole_and_kept_once() {
    let (mut apart, mut together) = (Bed::with_sessions(&["a"]), Bed::with_sessions(&["a"]));
    for (seq, text) in (1..).zip(texts()) {
        apart.commit(&[turn("a", seq, &text, false)]);
        together.commit(&[turn("a", seq, &text, true)]);
    }
    assert_eq!(bodies(&apart), bodies(&together));
    let blobs = |bed: &Bed| -> i64 {
        bed.raw().query_row("SELECT count(*) FROM blob", [], |row| row.get(0)).unwrap()
    };
    assert_eq!((blobs(&apart), blobs(&together)), (4, 2));
    assert!(stored_bytes(&together) + 3900 < stored_bytes(&apart));
    let verified = together.reader().verify(None, &mut |_, _| ()).unwrap();
    assert_eq!((verified.head.number, verified.erased), (RecordNumber(16), 0));
    // Each by itself, and what a session goes on from.
    for (record, body) in (1..).zip(bodies(&apart)) {
        let record = together.reader().record(RecordNumber(record)).unwrap().unwrap();
        assert_eq!(record.body.text(), body.as_deref());
    }
    assert_eq!(together.reader().load("a", 9).unwrap().tail.len(), 16);
}

#[test]
fn what_is_forgotten_is_forgotten_where_it_was_shared() {
    let mut bed = Bed::with_sessions(&["a"]);
    bed.commit(&[turn("a", 1, &"secret ".repeat(20), true)]);
    bed.commit(&[turn("a", 2, &"other ".repeat(20), true)]);
    bed.store.forget_record(RecordNumber(4), None, &by(9)).unwrap();
    let erased: Vec<u64> = bed
        .all()
        .iter()
        .filter(|record| record.body == RecordBody::Erased)
        .map(|record| record.number.0)
        .collect();
    assert_eq!(erased, [2, 4], "what was said, and that it was proposed");
    assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().erased, 2);
    // The other way round, what was said stays.
    bed.store.forget_record(RecordNumber(5), None, &by(9)).unwrap();
    let said = bed.reader().record(RecordNumber(7)).unwrap().unwrap();
    assert!(said.body.text().unwrap().contains("other other"));
    assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().erased, 3);
}

#[test]
fn a_salt_that_is_gone_without_a_word_is_told_of_the_first_that_needs_it() {
    let mut bed = Bed::with_sessions(&["a"]);
    bed.commit(&[turn("a", 1, &"text ".repeat(20), true)]);
    let salts: Vec<u8> = bed
        .raw()
        .query_row("SELECT salts FROM salt WHERE first = 2", [], |row| row.get(0))
        .unwrap();
    let cut = [&salts[..32], &[0; 16]].concat();
    bed.raw().execute("UPDATE salt SET salts = ?1 WHERE first = 2", [cut]).unwrap();
    let found = bed.reader().verify(None, &mut |_, _| ()).unwrap_err();
    assert_eq!(found.to_string(), "record 2 cannot be opened, and no `forgot` record says why");
}

/// Whichever of the two is changed, it is the one that is named.
#[test]
fn an_edited_record_is_named_and_not_one_that_shares_with_it() {
    let mut bed = Bed::with_sessions(&["a"]);
    bed.commit(&[turn("a", 1, &"text ".repeat(20), true)]);
    bed.commit(&[turn("a", 2, &"z".repeat(9000), true)]);
    let good = record_pages::all(&bed.raw());
    let whole = || bed.reader().verify(None, &mut |_, _| ());
    let verify = || whole().unwrap_err().to_string();
    for index in 1..7 {
        record_pages::change(&bed.raw(), |entries| entries[index].body[3] ^= 1);
        let edited = format!("record {} was edited: its hash does not match", index + 1);
        assert_eq!(verify(), edited);
        record_pages::change(&bed.raw(), |entries| entries[index].body[3] ^= 1);
    }
    assert_eq!(record_pages::all(&bed.raw()), good);
    // What was said is missing, of another session, or has lost its blob.
    record_pages::change(&bed.raw(), |entries| drop(entries.remove(3)));
    assert_eq!(verify(), "record 4 is missing");
    bed.raw().execute("DELETE FROM record WHERE first > 1", []).unwrap();
    for (first, entries) in &good[1..] {
        let row = rusqlite::params![first, record_pages::write(entries)];
        bed.raw().execute("INSERT INTO record VALUES (?1, ?2)", row).unwrap();
    }
    whole().unwrap();
    bed.raw().execute("DELETE FROM blob", []).unwrap();
    assert_eq!(verify(), "record 7 has lost its body, or another stands in its place");
}

#[test]
fn what_is_not_there_is_not_shared() {
    let good = turn("a", 1, &"text ".repeat(20), true);
    let shared = good.drafts[0].shared.unwrap();
    let wrong = [
        SharedPart { from: shared.from + 1, ..shared },
        SharedPart { at: shared.at - 1, ..shared },
        SharedPart { bytes: shared.bytes + 2, ..shared },
        SharedPart { from: usize::MAX, ..shared },
        SharedPart { at: usize::MAX, ..shared },
        SharedPart { bytes: usize::MAX, ..shared },
        SharedPart { with: 0, ..shared },
        SharedPart { with: 1, ..shared },
        SharedPart { with: 3, ..shared },
    ];
    let mut bed = Bed::with_sessions(&["a", "b"]);
    for shared in wrong {
        let mut append = good.clone();
        append.drafts[0].shared = Some(shared);
        assert_eq!(bed.refusal(append), AppendRefusal::Shared { draft: 0 }, "{shared:?}");
    }
    let mut chained = good.clone();
    chained.drafts.push(NewRecord { seq: Some(2), ..chained.drafts[2].clone() });
    chained.drafts[2].shared = Some(SharedPart { from: shared.at, with: 3, ..shared });
    assert_eq!(bed.refusal(chained), AppendRefusal::Shared { draft: 0 });
    let mut of_another = good.clone();
    of_another.drafts[2].session = "b".into();
    assert_eq!(bed.refusal(of_another), AppendRefusal::Shared { draft: 0 });
    bed.commit(&[good]);
    assert_eq!(bed.all().len(), 5);
}

/// Several in one commit, of several sessions, so that record pages end between the two.
#[test]
fn leaves_may_end_between_what_is_shared() {
    let mut bed = Bed::with_sessions(&["a", "b"]);
    for seq in 1..40_u64 {
        let text = format!("{seq} ").repeat(40 + usize::try_from(seq).unwrap() * 30);
        bed.commit(&[
            turn("a", seq, &text, true),
            begin(&format!("s{seq}")),
            turn("b", seq, &text, true),
        ]);
    }
    let apart = record_pages::all(&bed.raw()).iter().any(|(_, entries)| {
        entries.last().is_some_and(|last| last.kind == b"consulted" || last.kind == b"decided")
    });
    assert!(apart, "the case is there");
    let store = open(bed.dir.path());
    let records = all(&store.reader().unwrap());
    let proposed = records.iter().filter(|record| &*record.kind == "consulted");
    for record in proposed {
        let said = &records[usize::try_from(record.number.0).unwrap() + 1];
        let text =
            said.body.text().unwrap().strip_prefix(SAID).unwrap().strip_suffix("))").unwrap();
        let told = record.body.text().unwrap();
        assert!(told.starts_with(HEAD) && told.contains(text), "{told}");
    }
    store.reader().unwrap().verify(None, &mut |_, _| ()).unwrap();
}
