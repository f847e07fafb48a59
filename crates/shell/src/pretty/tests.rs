//! Forms and how they look.

use super::{ColorChoice, ControlStyle, LayoutStyle, write};

fn check(text: &str, style: &LayoutStyle, expected: &str) {
    let tree = bridle_sexp::read_one(text).unwrap();
    let mut out = String::new();
    write(tree.root(), style, &mut out);
    assert_eq!(out, expected);
}

fn narrow(width: usize) -> LayoutStyle {
    LayoutStyle { width, ..LayoutStyle::default() }
}

#[test]
fn what_fits_stays_on_one_line() {
    check("( :a\n 1   :b (2 . 3) )", &narrow(40), "(:a 1 :b (2 . 3))");
    check("#( 1 [2  3] 'x )", &narrow(40), "#(1 [2 3] 'x)");
    check("nil", &narrow(1), "nil");
}

#[test]
fn property_lists_break_by_key() {
    let text = "(:type :EVENT :payload (:sensor :user-prompt :text \"hello there\"))";
    let expected =
        "(:type :EVENT\n :payload (:sensor :user-prompt\n           :text \"hello there\"))";
    check(text, &narrow(40), expected);
}

#[test]
fn other_lists_break_by_element() {
    check("(alpha beta gamma)", &narrow(10), "(alpha\n beta\n gamma)");
    check("(alpha beta . gamma)", &narrow(10), "(alpha\n beta\n . gamma)");
    check("[alpha beta gamma]", &narrow(10), "[alpha\n beta\n gamma]");
}

#[test]
fn values_far_to_the_right_go_to_their_own_line() {
    let text = format!("(:{} (1 2 3))", "k".repeat(50));
    let expected = format!("(:{}\n  (1 2 3))", "k".repeat(50));
    check(&text, &narrow(55), &expected);
}

#[test]
fn strings_with_newlines_are_kept() {
    check("(:a \"x\ny\" :b 1)", &narrow(80), "(:a \"x\ny\"\n :b 1)");
}

#[test]
fn controls_become_pictures_and_atoms_get_colors() {
    let tame = LayoutStyle { controls: ControlStyle::Picture, ..LayoutStyle::default() };
    check("\"a\u{1b}[2Jb\u{9b}\"", &tame, "\"a\u{241b}[2Jb<U+009B>\"");
    let colored = LayoutStyle { color: ColorChoice::Always, ..LayoutStyle::default() };
    check("(:a 1)", &colored, "(\u{1b}[36m:a\u{1b}[0m \u{1b}[33m1\u{1b}[0m)");
}

#[test]
fn indent_is_on_every_line() {
    let style = LayoutStyle { indent: 2, width: 10, ..LayoutStyle::default() };
    check("(alpha beta)", &style, "  (alpha\n   beta)");
}

#[test]
fn deep_forms_do_not_need_a_deep_stack() {
    let text = format!("{}x{}", "(a ".repeat(500), ")".repeat(500));
    let tree = bridle_sexp::read_one(&text).unwrap();
    let mut out = String::new();
    write(tree.root(), &narrow(20), &mut out);
    assert_eq!(bridle_sexp::read_one(&out).unwrap().root().to_value(), tree.root().to_value());
}
