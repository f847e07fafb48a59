//! What differs is found, and nothing else; what is shown can be applied.

use proptest::prelude::*;

use super::{changes, lines, unified};

fn check(old: Option<&str>, new: Option<&str>, expect: &str) {
    let diff = unified("n.org", old.map(str::as_bytes), new.map(str::as_bytes));
    assert_eq!(String::from_utf8_lossy(&diff), expect);
}

#[test]
fn diffs_for_people() {
    check(Some("a\n"), Some("a\n"), "");
    let head = "--- a/n.org\n+++ b/n.org\n";
    check(Some("a\nb\n"), Some("a\nc\n"), &format!("{head}@@ -1,2 +1,2 @@\n a\n-b\n+c\n"));
    check(Some(""), Some("a\n"), &format!("{head}@@ -0,0 +1,1 @@\n+a\n"));
    check(None, Some("a\n"), "--- /dev/null\n+++ b/n.org\n@@ -0,0 +1,1 @@\n+a\n");
    check(Some("a\n"), None, "--- a/n.org\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
    let last = "\\ No newline at end of file\n";
    check(Some("a"), Some("a\n"), &format!("{head}@@ -1,1 +1,1 @@\n-a\n{last}+a\n"));
    check(Some("a\r\nb"), Some("a\nb"), &format!("{head}@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n{last}"));
    let (far, near): (String, String) = (("a\n").repeat(9), ("a\n").repeat(6));
    let old = format!("x\n{far}y\n");
    let new = format!("X\n{far}Y\n");
    let expect =
        format!("{head}@@ -1,4 +1,4 @@\n-x\n+X\n a\n a\n a\n@@ -8,4 +8,4 @@\n a\n a\n a\n-y\n+Y\n");
    check(Some(&old), Some(&new), &expect);
    let diff = unified("n", Some(format!("x\n{near}y").as_bytes()), Some(near.as_bytes()));
    assert_eq!(diff.windows(2).filter(|pair| pair == b"@@").count(), 2, "one hunk");
}

#[test]
fn names_that_could_be_taken_for_a_part_of_the_diff_are_quoted() {
    let diff = unified("a\n+++ b", Some(b"x"), Some(b"y"));
    assert!(diff.starts_with(b"--- \"a/a\\012+++ b\"\n+++ \"b/a\\012+++ b\"\n"));
}

#[test]
fn texts_that_share_too_little_differ_as_a_whole() {
    let text = |word: &str| {
        (0..2000).map(|number| format!("{word}{number}\n=\n")).collect::<String>().into_bytes()
    };
    let (old, new) = (text("a"), text("b"));
    let found = changes(&old, &new);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].old.clone(), found[0].new.clone()), (0..3999, 0..3999));
}

#[test]
fn texts_that_differ_a_lot_are_held_together_by_lines_that_each_has_once() {
    let text = |word: &str, kept: &str| -> Vec<u8> {
        let line = |number: usize| match number % 3 {
            0 => format!("{kept}{number}\n"),
            _ => format!("{word}{number}\n"),
        };
        (0..9000).map(line).collect::<String>().into_bytes()
    };
    let found = changes(&text("a", "kept"), &text("b", "kept"));
    assert_eq!(found.len(), 3000);
    assert!(found.iter().all(|it| it.old.len() == 2 && it.old == it.new));
    // What moved is not common, and the rest is.
    let (old, new) = (text("a", "kept"), text("b", "kept"));
    let moved = [b"kept0\n", &new[new.len() / 2..], &new[6..new.len() / 2]].concat();
    let found = changes(&old, &moved);
    assert!(found.len() > 1000, "{}", found.len());
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    const LINES: [&[u8]; 6] = [b"a\n", b"b\n", b"\n", b"\xff\r\n", b"c\n", b"end"];
    let line = prop::sample::select(LINES.to_vec());
    prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn the_changes_lead_from_one_text_to_the_other(old in text(), new in text()) {
        let (a, b) = (lines(&old), lines(&new));
        let (mut made, mut at, mut end) = (Vec::new(), 0, 0);
        for (index, change) in changes(&old, &new).into_iter().enumerate() {
            prop_assert!(index == 0 || change.old.start > at, "a common line between two changes");
            prop_assert_eq!(change.old.start - at, change.new.start - end);
            made.extend_from_slice(&a[at..change.old.start]);
            made.extend_from_slice(&b[change.new.clone()]);
            prop_assert!(!change.old.is_empty() || !change.new.is_empty());
            (at, end) = (change.old.end, change.new.end);
        }
        made.extend_from_slice(&a[at..]);
        prop_assert_eq!(made.concat(), new);
    }
}
