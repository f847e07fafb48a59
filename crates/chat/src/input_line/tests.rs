//! Keys of readline on texts with wide and joined letters.

use super::{CursorMove, InputLine};

/// Does what the letters say, then compares; `|` is the cursor.
fn check(before: &str, act: impl Fn(&mut InputLine), after: &str) {
    let mut line = InputLine::default();
    let (head, tail) = before.split_once('|').expect("a cursor");
    line.set(&format!("{head}{tail}"));
    line.cursor = head.chars().count();
    act(&mut line);
    let (mut text, cursor) = line.shown();
    text.insert(cursor, '|');
    assert_eq!(text, after, "{before}");
}

#[test]
fn movements() {
    check("ab|", |it| it.go(CursorMove::Left), "a|b");
    check("é👩\u{200d}👧|", |it| it.go(CursorMove::Left), "é|👩\u{200d}👧");
    check("|👩\u{200d}👧x", |it| it.go(CursorMove::Right), "👩\u{200d}👧|x");
    check("e\u{301}|", |it| it.delete(CursorMove::Left), "|");
    check("one two|", |it| it.go(CursorMove::WordLeft), "one |two");
    check("|one two", |it| it.go(CursorMove::WordRight), "one| two");
    check("a\nb|c", |it| it.go(CursorMove::LineStart), "a\n|bc");
    check("a|b\nc", |it| it.go(CursorMove::LineEnd), "ab|\nc");
    check("ab\ncd|", |it| assert!(it.go_row(false)), "ab|\ncd");
    check("abc|\nd", |it| assert!(it.go_row(true)), "abc\nd|");
    check("ab|", |it| assert!(!it.go_row(false)), "ab|");
}

#[test]
fn killing_and_yanking() {
    check("one two|", InputLine::kill_to_blank, "one |");
    check("/a/b c|", |it| it.kill(CursorMove::LineStart), "|");
    check("one| two", |it| it.kill(CursorMove::LineEnd), "one|");
    let twice = |it: &mut InputLine| {
        it.kill(CursorMove::LineStart);
        it.yank();
        it.yank();
    };
    check("日本|", twice, "日本日本|");
    check("ab|", InputLine::transpose, "ba|");
    check("a|b", InputLine::transpose, "ba|");
    check("|ab", InputLine::transpose, "|ab");
}

#[test]
fn words_for_completion() {
    check("see @sr|", |it| it.replace_word("@src/main.rs "), "see @src/main.rs |");
    let mut line = InputLine::default();
    line.set("/he");
    assert!(line.is_first_word());
    line.set("a /he");
    assert!(!line.is_first_word());
    assert_eq!(line.word_before(), "/he");
}

#[test]
fn long_pastes_are_notes_and_sent_in_full() {
    let mut line = InputLine::default();
    let long = "x\n".repeat(50);
    assert!(line.paste(&long));
    assert_eq!(line.shown().0, "[pasted 50 lines, 100 bytes]");
    assert_eq!(line.text(), long);
    line.delete(CursorMove::Left);
    assert!(line.is_empty());
    assert!(line.paste("a\r\nb\u{1b}[2J"));
    assert_eq!(line.text(), "a\nb[2J");
    assert!(!line.paste(&"y".repeat(2 << 20)));
    assert_eq!(line.text().len(), 1 << 20);
}
