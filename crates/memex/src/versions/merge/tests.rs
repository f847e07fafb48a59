//! Changes that are apart come together exactly; changes of the same lines are left to people.

use proptest::prelude::*;

use super::{MergeResult, merge};

/// `expect` is the merged text, or nothing for a conflict.
fn check(base: &str, now: &str, target: &str, expect: Option<&str>) {
    let merged = merge(base.as_bytes(), now.as_bytes(), target.as_bytes());
    match (&merged, expect) {
        (MergeResult::Clean(text), Some(expect)) => {
            assert_eq!(String::from_utf8_lossy(text), expect, "{base:?} {now:?} {target:?}");
        }
        (MergeResult::Conflicts(_), None) => {}
        _ => panic!("{base:?} {now:?} {target:?}: {merged:?}"),
    }
}

#[test]
fn both_sides_in_small() {
    check("a\nb\nc\n", "a\nb\nC\n", "A\nb\nc\n", Some("A\nb\nC\n"));
    check("a\nb\nc\n", "A\nb\nc\n", "A\nb\nc\n", Some("A\nb\nc\n"));
    check("a\nb\n", "A\nb\n", "x\nb\n", None);
    // Lines that touch each other are different lines.
    check("a\nb\n", "A\nb\n", "a\nB\n", Some("A\nB\n"));
    check("a\nb\n", "A\nB\n", "A\nb\n", Some("A\nB\n"));
    check("a\nb\n", "A\nB\n", "a\nx\n", None);
    check("a\nx\nb\n", "a\nx\ny\nb\n", "a\nb\n", Some("a\ny\nb\n"));
    check("a\nx\nb\n", "a\ny\nx\nb\n", "a\nb\n", Some("a\ny\nb\n"));
    // Into the midst of what goes.
    check("a\nx\nX\nb\n", "a\nx\ny\nX\nb\n", "a\nb\n", None);
    // At the same point.
    check("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", None);
    check("a\nb\n", "a\nx\nb\n", "a\nx\nb\n", Some("a\nx\nb\n"));
    check("", "x\n", "y\n", None);
    // What is wanted is there already, and more.
    check("a\nb\n", "A\nx\nb\n", "A\nb\n", Some("A\nx\nb\n"));
    check("a\nb\n", "b\n", "A\nb\n", None);
    check("a\n", "", "a\nb\n", Some("b\n"));
    check("a\n", "", "A\n", None);
}

#[test]
fn bytes_are_bytes() {
    check("a\r\nb\r\n", "a\r\nB\r\n", "A\r\nb\r\n", Some("A\r\nB\r\n"));
    check("a\nb", "a\nb\n", "A\nb", Some("A\nb\n"));
    check("a\nb", "a\nb\n", "a\nB", None);
    let merged = merge(b"\xff\nb\n\x80", b"\xfe\nb\n\x80", b"\xff\nb\n\x81");
    assert_eq!(merged, MergeResult::Clean(b"\xfe\nb\n\x81".to_vec()));
}

#[test]
fn a_conflict_says_where_and_what() {
    let merged = merge(b"a\nb\nc\n", b"n\na\nB\nc\n", b"a\nx\nc\n");
    let MergeResult::Conflicts(found) = merged else { panic!("{merged:?}") };
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, 3);
    assert_eq!(
        (&*found[0].base, &*found[0].now, &*found[0].target),
        (&b"b\n"[..], &b"B\n"[..], &b"x\n"[..])
    );
}

/// What becomes of one line of the base.
#[derive(Clone, Debug)]
enum Fate {
    Kept,
    Now(Vec<u8>),
    Wanted(Vec<u8>),
}

/// Each line of the base is changed by one side at most; unlike lines, so that it is clear which is which.
fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        4 => Just(0_u8),
        1 => Just(1),
        1 => Just(2),
        1 => Just(3),
        1 => Just(4),
    ];
    prop::collection::vec(fate, 1..60).prop_map(|fates| {
        let line = |side: &str, number: usize| format!("{side} {number}\n").into_bytes();
        let made = fates.into_iter().enumerate().map(|(number, fate)| match fate {
            1 => Fate::Now(line("now", number)),
            2 => Fate::Wanted(line("wanted", number)),
            3 => Fate::Now(Vec::new()),
            4 => Fate::Wanted(Vec::new()),
            _ => Fate::Kept,
        });
        made.collect()
    })
}

proptest! {
    #[test]
    fn changes_of_different_lines_come_together_exactly(fates in fates()) {
        let side = |pick: fn(&Fate) -> Option<&Vec<u8>>| -> Vec<u8> {
            let lines = fates.iter().enumerate();
            let line = |(number, fate)| {
                pick(fate).cloned().unwrap_or_else(|| format!("base {number}\n").into_bytes())
            };
            lines.map(line).collect::<Vec<_>>().concat()
        };
        let base = side(|_| None);
        let now = side(|fate| if let Fate::Now(line) = fate { Some(line) } else { None });
        let target = side(|fate| if let Fate::Wanted(line) = fate { Some(line) } else { None });
        let both = side(|fate| match fate {
            Fate::Now(line) | Fate::Wanted(line) => Some(line),
            Fate::Kept => None,
        });
        prop_assert_eq!(merge(&base, &now, &target), MergeResult::Clean(both.clone()));
        prop_assert_eq!(merge(&base, &target, &now), MergeResult::Clean(both));
    }

    #[test]
    fn one_side_alone_is_taken_as_it_is(base in ".{0,80}", now in ".{0,80}") {
        let (base, now) = (base.replace('x', "\n"), now.replace('x', "\n"));
        let (base, now) = (base.as_bytes(), now.as_bytes());
        prop_assert_eq!(merge(base, now, base), MergeResult::Clean(now.to_vec()));
        prop_assert_eq!(merge(base, base, now), MergeResult::Clean(now.to_vec()));
        prop_assert_eq!(merge(base, now, now), MergeResult::Clean(now.to_vec()));
    }
}
