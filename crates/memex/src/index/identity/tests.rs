//! Texts before and after, and which heading of the one is which of the other.

use super::{HeadingFace, pair};
use crate::index::file_sheet::{FileSheet, SheetItem};
use crate::index::rules::ReadRules;

/// Titles of now, each with the one of before behind an arrow.
fn check(before: &str, after: &str, expect: &str) {
    let read = |text: &str| FileSheet::read("x.org", text.as_bytes(), &ReadRules::default());
    let (old, new) = (read(before), read(after));
    let old_faces: Vec<HeadingFace<'_>> = old.items.iter().map(SheetItem::face).collect();
    let new_faces: Vec<HeadingFace<'_>> = new.items.iter().map(SheetItem::face).collect();
    let pairs = pair(&old_faces, &new_faces);
    let mut seen: Vec<usize> = pairs.iter().flatten().copied().collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), pairs.iter().flatten().count(), "two became one");
    let line = |index: usize| new.items[index].place.line;
    let told: Vec<String> = (1..pairs.len())
        .map(|index| match pairs[index] {
            Some(old_index) => format!("{}<{}", line(index), old.items[old_index].place.line),
            None => format!("{}<new", line(index)),
        })
        .collect();
    assert_eq!(told.join(" "), expect, "{before} -> {after}");
}

#[test]
fn what_did_not_change_is_what_it_was() {
    check("* A\n* B\n", "* A\n* B\n", "1<1 2<2");
    check("* A\n* A\n* A\n", "* A\n* A\n* A\n", "1<1 2<2 3<3");
    check("", "* A\n", "1<new");
    check("* A\n", "", "");
}

#[test]
fn headings_come_go_and_change_places() {
    check("* A\n* B\n", "* New\n* A\n* B\n", "1<new 2<1 3<2");
    check("* A\n* B\n* C\n", "* A\n* C\n", "1<1 2<3");
    check("* A\n* B\n", "* B\n* A\n", "1<2 2<1");
    check("* A\n** X\n* B\n", "* A\n* B\n** X\n", "1<1 2<3 3<2");
}

#[test]
fn text_and_titles_change() {
    check("* A\none\n* B\n", "* A\ntwo\n* B\n", "1<1 3<3");
    check("* A\none\n* B\n", "* Z\none\n* B\n", "1<1 3<3");
    check("* A\n* B\n* C\n", "* A\n* Z\n* C\n", "1<1 2<2 3<3");
    check("* TODO A\n* B\n", "* DONE A\n* B\n", "1<1 2<2");
    check("* A\none\n* B\n* C\n", "* B\n* C\n* A\ntwo\n", "1<3 2<4 3<1");
}

#[test]
fn an_id_says_more_than_all_else() {
    let with = |title: &str, id: &str| format!("* {title}\n:PROPERTIES:\n:ID: {id}\n:END:\n");
    let before = with("A", "1") + &with("B", "2");
    check(&before, &(with("B", "1") + &with("A", "2")), "1<1 5<5");
    check(&before, &(with("B", "2") + &with("A", "1")), "1<5 5<1");
    check(&before, &(with("A", "3") + &with("B", "2")), "1<new 5<5");
    check("* A\n", &with("A", "1"), "1<1");
}

#[test]
fn many_of_the_same_name_never_become_one() {
    let same = "* Note\n".repeat(50);
    let pairs: Vec<String> = (1..=50).map(|line| format!("{line}<{line}")).collect();
    check(&same, &same, &pairs.join(" "));
    let fewer = "* Note\n".repeat(49);
    check(&same, &fewer, &pairs[..49].join(" "));
}
