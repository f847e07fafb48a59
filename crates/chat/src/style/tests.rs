//! Rows fit, whatever the letters; nothing of a text reaches the terminal as a command.

use super::{ColorUse, StyledLine, TextSpan, TextStyle};

fn check_rows(text: &str, columns: usize, expected: &[&str]) {
    let rows = StyledLine::of(text, TextStyle::PLAIN).rows(columns);
    let rows: Vec<String> = rows.iter().map(|row| row.plain().trim_end().to_owned()).collect();
    assert_eq!(rows, expected, "{text} in {columns}");
}

#[test]
fn lines_break_between_words_and_inside_long_ones() {
    check_rows("one two three", 7, &["one two", "three"]);
    check_rows("one two three", 80, &["one two three"]);
    check_rows("abcdefghij", 4, &["abcd", "efgh", "ij"]);
    check_rows("日本語 テキスト", 6, &["日本語", "テキス", "ト"]);
    check_rows("日本", 3, &["日", "本"]);
    check_rows("👩\u{200d}👧👩\u{200d}👧", 2, &["👩\u{200d}👧", "👩\u{200d}👧"]);
    check_rows("日本", 1, &["日", "本"]);
    check_rows("", 5, &[""]);
}

#[test]
fn a_hanging_indent_stands_before_each_further_row() {
    let mut line = StyledLine::of("- one two three", TextStyle::PLAIN);
    line.hang = 2;
    let rows: Vec<String> = line.rows(8).iter().map(StyledLine::plain).collect();
    assert_eq!(rows, ["- one ", "  two ", "  three"]);
}

#[test]
fn a_cut_line_says_so() {
    let line = StyledLine::of("日本語", TextStyle::PLAIN);
    assert_eq!(line.cut(6).plain(), "日本語");
    assert_eq!(line.cut(5).plain(), "日本…");
    assert_eq!(line.cut(4).plain(), "日…");
    assert_eq!(line.cut(0).plain(), "");
}

fn written(span: TextSpan, colors: ColorUse) -> String {
    let mut out = String::new();
    StyledLine { spans: vec![span], ..StyledLine::default() }.write(colors, &mut out);
    out
}

#[test]
fn links_are_made_of_safe_addresses_only() {
    let link =
        |address: &str| written(TextSpan::linked("x", TextStyle::PLAIN, address), ColorUse::Ansi);
    assert_eq!(
        link("https://example.org/"),
        "\u{1b}]8;;https://example.org/\u{1b}\\x\u{1b}]8;;\u{1b}\\"
    );
    for address in [
        "javascript:alert(1)",
        "https://a b",
        "https://a\u{1b}\\",
        "https://a\u{7}",
        "https://é",
        "ssh://host",
        "https:",
    ] {
        assert_eq!(link(address), "x", "{address:?}");
    }
    assert_eq!(link(&format!("https://{}", "a".repeat(3_000))), "x");
}

#[test]
fn no_color_leaves_attributes() {
    let style = TextStyle { bold: true, ..TextStyle::colored(super::AnsiColor::Red) };
    assert_eq!(written(TextSpan::new("x", style), ColorUse::Ansi), "\u{1b}[1;31mx\u{1b}[0m");
    assert_eq!(written(TextSpan::new("x", style), ColorUse::None), "\u{1b}[1mx\u{1b}[0m");
}
