//! Captures put into strings and values, and the bounds of what comes out.

use bridle_sexp::{Value, read_one};

use super::{MAX_CAPTURED_DEPTH, MAX_EXPANDED, TemplateError, TemplateFiller, largest_reference};
use crate::script::pattern::PatternCapture;

fn value(text: &str) -> Value {
    read_one(text).unwrap().root().to_value()
}

/// Fills with `$1` a text and `$2` a list.
fn check(template: &str, expect: &str) {
    let list = value("(1 \"two\")");
    let mut filler =
        TemplateFiller::new(vec![PatternCapture::Text("one"), PatternCapture::Value(&list)]);
    assert_eq!(filler.value(&value(template)).map(|value| value.to_string()), Ok(expect.into()));
}

#[test]
fn strings_and_symbols() {
    check(r#""say $1 twice: $1""#, r#""say one twice: one""#);
    check(r#""$2""#, r#""(1 \"two\")""#);
    check("(:a $1 :b $2)", r#"(:a "one" :b (1 "two"))"#);
    check(r#""costs $$1, or $$""#, r#""costs $1, or $""#);
    check(r#""$ $x $0 $3 $""#, r#""$ $x $0 $3 $""#);
    check(r#""$12""#, r#""one2""#);
    check("($3 $12 $ x)", "($3 $12 $ x)");
    check("#(a (b $1) \"$1\")", "#(a (b \"one\") \"one\")");
    check("($1 . tail)", "(\"one\" . tail)");
    check("nil", "nil");
    check("(nil (nil) #())", "(nil (nil) #())");
}

#[test]
fn references_are_found_wherever_they_stand() {
    for (template, expect) in [
        ("(:a 1)", 0),
        (r#"(:a "x $1")"#, 1),
        (r#"(:a "$2 $1")"#, 2),
        ("(:a (b #($7)))", 7),
        (r#""$$9 $1""#, 1),
        (r#""$$$9""#, 9),
        ("$0", 0),
        ("$12", 0),
    ] {
        assert_eq!(largest_reference(&value(template)), expect, "{template}");
    }
}

#[test]
fn room_is_shared_by_a_draft() {
    let text = "x".repeat(MAX_EXPANDED / 2);
    let mut filler = TemplateFiller::new(vec![PatternCapture::Text(&text)]);
    assert!(filler.text("$1").is_ok());
    assert!(filler.value(&value("(:a $1)")).is_ok());
    assert_eq!(filler.text("$1"), Err(TemplateError::TooLong));
}

#[test]
fn a_capture_can_be_too_deep_for_a_value_but_not_for_text() {
    let nested = |depth: usize| value(&format!("{}1{}", "(".repeat(depth), ")".repeat(depth)));
    let (fits, deep) = (nested(MAX_CAPTURED_DEPTH), nested(MAX_CAPTURED_DEPTH + 1));
    assert!(TemplateFiller::new(vec![PatternCapture::Value(&fits)]).value(&value("$1")).is_ok());
    let mut filler = TemplateFiller::new(vec![PatternCapture::Value(&deep)]);
    assert_eq!(filler.value(&value("$1")), Err(TemplateError::TooDeep(1)));
    assert!(filler.text("$1").is_ok());
}
