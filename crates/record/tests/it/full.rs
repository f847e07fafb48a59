//! No space: commits fail whole, reads go on, and it works again once there is space.

use bridle_record::{RecordStore, StoreError, StoreOptions};

use crate::support::{Bed, turn};

#[test]
fn a_full_disk_refuses_and_recovers() {
    let mut bed = Bed::with_sessions(&["a"]);
    let size = std::fs::metadata(bed.file()).unwrap().len().max(200_000);
    bed.store.limit_bytes(Some(size)).unwrap();
    let body = "x".repeat(3000);
    let mut seq = 1;
    let error = loop {
        match bed.store.commit(&[turn("a", seq, &body), turn("a", seq + 2, &body)]) {
            Ok(_) => seq += 4,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert!(seq > 1, "some fit");
    let kept = bed.store.head().unwrap();
    for _ in 0..3 {
        let again = bed.store.commit(&[turn("a", seq, &body), turn("a", seq + 2, &body)]);
        assert!(matches!(again, Err(StoreError::Full)));
        assert_eq!(bed.store.head().unwrap(), kept);
        assert_eq!(bed.reader().verify(None, &mut |_, _| ()).unwrap().head, kept);
    }
    bed.store.limit_bytes(None).unwrap();
    bed.commit(&[turn("a", seq, &body), turn("a", seq + 2, &body)]);
    let verified = bed.reader().verify(Some(kept), &mut |_, _| ()).unwrap();
    assert_eq!(verified.head.number.0, kept.number.0 + 10);
}

#[test]
fn a_limit_can_be_set_from_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { max_bytes: Some(100_000) };
    let mut store = RecordStore::open(dir.path(), &options).unwrap();
    store.commit(&[crate::support::begin("a")]).unwrap();
    let large = turn("a", 1, &"x".repeat(100_000));
    assert!(matches!(store.commit(&[large]), Err(StoreError::Full)));
    store.commit(&[turn("a", 1, "small")]).unwrap();
}
