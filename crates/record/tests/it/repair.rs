//! Repairing: whichever byte of the file is wrong, what can be read before it is kept, the damaged file stays, and
//! the record can be written again.

use std::fs;
use std::path::Path;

use bridle_record::repair::{inspect, repair};
use bridle_record::{RecordReader, StoreError};

use crate::support::{Bed, all, begin, by, open, raw, turn};

/// A record of 64 turns in two sessions, with a large body, a forgotten session and records compacted; its bytes.
fn sample() -> Vec<u8> {
    let mut bed = Bed::with_sessions(&["a", "gone", "b"]);
    bed.commit(&[turn("gone", 1, "secret"), turn("a", 1, &"x".repeat(9000))]);
    bed.store.forget_session("gone", &by(9)).unwrap();
    bed.store.compact(&by(9)).unwrap();
    for at in 1..32 {
        bed.commit(&[turn("a", 2 * at + 1, "text"), turn("b", 2 * at - 1, "other text")]);
    }
    let Bed { store, dir } = bed;
    drop(store);
    fs::read(dir.path().join("record.db")).unwrap()
}

fn is_whole(dir: &Path) -> bool {
    RecordReader::open(dir).and_then(|it| it.verify(None, &mut |_, _| ())).is_ok()
}

#[test]
fn flipped_bytes_anywhere_leave_a_prefix_that_is_whole() {
    let good = sample();
    let intact = tempfile::tempdir().unwrap();
    fs::write(intact.path().join("record.db"), &good).unwrap();
    let before = all(&RecordReader::open(intact.path()).unwrap());
    let (mut damaged, mut cut) = (0, 0);
    for at in (0..100).step_by(3).chain((100..good.len()).step_by(good.len() / 60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = good.clone();
        bytes[at] ^= 0x41;
        fs::write(dir.path().join("record.db"), &bytes).unwrap();
        if is_whole(dir.path()) {
            continue;
        }
        damaged += 1;
        let looked = match inspect(dir.path()) {
            // The byte says which version it is: the way out is another bridle.
            Err(StoreError::Newer { .. } | StoreError::Older { .. }) => continue,
            looked => looked.unwrap(),
        };
        assert_eq!(
            fs::read(dir.path().join("record.db")).unwrap(),
            bytes,
            "{at}: looking changes nothing"
        );
        let report = repair(dir.path(), &by(77)).unwrap();
        assert!(report.fault.is_some(), "{at}");
        assert_eq!((looked.kept, looked.last_known), (report.kept, report.last_known), "{at}");
        let aside = report.aside.as_ref().unwrap();
        assert_eq!(fs::read(aside).unwrap(), bytes, "{at}: the original is kept");
        assert!(is_whole(dir.path()), "{at}");
        let after = all(&RecordReader::open(dir.path()).unwrap());
        let kept = usize::try_from(report.kept.number.0).unwrap();
        for record in
            after.iter().filter(|it| it.number <= report.kept.number && it.body.text().is_some())
        {
            assert!(before.contains(record), "{at}: {record:?}");
        }
        assert_eq!(&*after.last().unwrap().kind, "repaired", "{at}");
        cut += usize::from(report.lost() > 0);
        // It goes on, and a second repair finds nothing to do.
        let mut store = open(dir.path());
        store.commit(&[begin("later"), turn("later", 1, "x")]).unwrap();
        drop(store);
        assert!(is_whole(dir.path()), "{at}: {kept}");
        assert_eq!(repair(dir.path(), &by(78)).unwrap().fault, None, "{at}");
    }
    assert!(damaged >= 20 && cut >= 5, "{damaged} {cut}");
}

#[test]
fn a_key_that_is_wrong_loses_bodies_and_not_records() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("record.db"), sample()).unwrap();
    raw(dir.path())
        .execute("UPDATE session_key SET key = randomblob(32) WHERE session = 1", [])
        .unwrap();
    let head = open(dir.path()).head().unwrap();
    let report = repair(dir.path(), &by(77)).unwrap();
    assert_eq!((report.kept, report.lost()), (head, 0));
    assert_eq!(report.unreadable, 161, "all of `a`");
    assert!(is_whole(dir.path()));
    let records = all(&RecordReader::open(dir.path()).unwrap());
    let readable = |name: &str| {
        records.iter().filter(|it| &*it.session == name && it.body.text().is_some()).count()
    };
    assert_eq!((readable("a"), readable("b")), (0, 156));
}
