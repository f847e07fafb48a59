//! What markup looks like, and that text without markup is left alone.

use super::{last_lines, lines};
use crate::style::ColorUse;

fn plain(text: &str, columns: usize) -> Vec<String> {
    lines(text, columns).iter().map(super::super::style::StyledLine::plain).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(plain(text, 80), expected, "{text}");
}

fn check_ansi(text: &str, expected: &str) {
    let mut out = String::new();
    for line in lines(text, 80) {
        line.write(ColorUse::Ansi, &mut out);
    }
    assert_eq!(out, expected, "{text}");
}

#[test]
fn blocks() {
    check("# Title\n\ntext", &["Title", "", "text"]);
    check("** Title\ntext", &["** Title", "text"]);
    check("* item\n  - inner\n3. third", &["• item", "  • inner", "3. third"]);
    check("```rust\nlet *x* = 1;\n```\nafter", &["let *x* = 1;", "after"]);
    check("#+begin_src sh\nls */\n#+end_src\nx", &["ls */", "x"]);
    check("> said", &["│ said"]);
    check("---", &[&"─".repeat(40)]);
    check("```\nnever closed", &["never closed"]);
}

#[test]
fn emphasis_and_code() {
    check_ansi("a **b** c", "a \u{1b}[1mb\u{1b}[0m c");
    check_ansi("`x*y*z`", "\u{1b}[36mx*y*z\u{1b}[0m");
    check_ansi("#+title: x\na /b/", "#+title: xa \u{1b}[3mb\u{1b}[0m");
    for text in ["2 * 3 * 4", "snake_case_name", "a*b*c", "**", "_", "`", "a/b/c"] {
        check_ansi(text, text);
    }
}

#[test]
fn links_say_where_they_lead() {
    check("see [docs](https://example.org/a).", &["see docs (https://example.org/a)."]);
    check("see https://example.org/a.", &["see https://example.org/a."]);
    check("[[https://example.org][here]]", &["here (https://example.org)"]);
    check("# A\n[[file:a.org::*B][b]], [c](d)", &["A", "b (file:a.org::*B), c (d)"]);
    check("[x](javascript:alert)", &["x (javascript:alert)"]);
}

#[test]
fn tables_are_aligned_where_they_fit() {
    let table = "| a | 日本 |\n|---|---|\n| long | x |";
    check(table, &["a    │ 日本", "─────┼─────", "long │ x"]);
    assert_eq!(plain(table, 6), ["| a | 日本 |", "|---|---|", "| long | x |"]);
}

#[test]
fn the_end_of_a_long_text_keeps_its_code_block() {
    let text = "a\n```\nb *c*\nd *e*\n```\nf";
    let shown: Vec<String> =
        last_lines(text, 3, 80).iter().map(super::super::style::StyledLine::plain).collect();
    assert_eq!(shown, ["d *e*", "f"]);
    assert_eq!(last_lines("a\nb", 9, 80).len(), 2);
}
