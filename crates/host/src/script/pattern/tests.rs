//! What fits what, what is captured, and that hostile pairs cost no more than their length.

use bridle_sexp::{Value, read_one};

use super::{MAX_MATCHED_KEYS, MAX_MATCHED_TEXT, PatternCapture, fits, text_fits, wildcards};

fn value(text: &str) -> Value {
    read_one(text).unwrap().root().to_value()
}

/// The captures as text, joined with `|`; `no` when it does not fit.
fn check(pattern: &str, payload: &str, expect: &str) {
    let (pattern, payload) = (value(pattern), value(payload));
    let mut captures = Vec::new();
    let got = if fits(&pattern, &payload, &mut captures) {
        let texts: Vec<String> = captures
            .iter()
            .map(|capture| match capture {
                PatternCapture::Text(text) => (*text).to_owned(),
                PatternCapture::Value(value) => value.to_string(),
            })
            .collect();
        assert_eq!(texts.len(), wildcards(&pattern), "wildcards of {pattern}");
        texts.join("|")
    } else {
        "no".to_owned()
    };
    assert_eq!(got, expect, "{pattern} against {payload}");
}

#[test]
fn strings() {
    check(r#""help""#, r#""help""#, "");
    check(r#""help""#, r#""  HELP  ""#, "");
    check(r#""help""#, r#""helper""#, "no");
    check(r#""""#, r#""  ""#, "");
    check(r#""""#, r#""x""#, "no");
    check(r#""*""#, r#""anything at all""#, "anything at all");
    check(r#""*""#, r#""""#, "");
    check(r#""deploy *""#, r#""Deploy the site""#, "the site");
    check(r#""deploy *""#, r#""deploy""#, "no");
    check(r#""* please""#, r#""stop please""#, "stop");
    check(r#""copy * to *""#, r#""copy a to b to c""#, "a|b to c");
    check(r#""a*b*c""#, r#""abc""#, "|");
    check(r#""a*b*c""#, r#""acb""#, "no");
    check(r#""ab*ba""#, r#""aba""#, "no");
    check(r#""**""#, r#""xy""#, "|xy");
    check(r#""2 \\* *""#, r#""2 * 3""#, "3");
    check(r#""2 \\* *""#, r#""2 x 3""#, "no");
    check(r#""grüß *""#, r#""GRüß Ädam""#, "Ädam");
    check(r#""x*""#, ":x", "no");
    check(r#""x *""#, r#"#("x y" 0 1 (face bold))"#, "y");
}

#[test]
fn plists_by_key_in_any_order_and_case() {
    check("(:sensor :heartbeat)", "(:SENSOR :HEARTBEAT :unix-time 3)", "");
    check("(:sensor :heartbeat)", "(:sensor :other)", "no");
    check("(:sensor :heartbeat)", "(:payload (:sensor :heartbeat))", "no");
    check(r#"(:a "x*" :b *)"#, r#"(:B (1 2) :A "xy")"#, "y|(1 2)");
    check("(:a (:b (:c *)))", "(:a (:z 1 :b (:c 7)))", "7");
    check("(:a nil)", "(:b 1)", "");
    check("(:a nil)", "(:a nil)", "");
    check("(:a nil)", "(:a 1)", "no");
    check("(:a 1)", "nil", "no");
    check("(:a 1)", "(:a 1 :a 2)", "");
    check("(:a 2)", "(:a 1 :a 2)", "no");
}

#[test]
fn other_values() {
    check("(:n 3)", "(:n 3)", "");
    check("(:n 3)", "(:n 4)", "no");
    check("(:l (1 * 3))", "(:l (1 2 3))", "2");
    check("(:l (1 * 3))", "(:l (1 2 3 4))", "no");
    check("(:v #(1 *))", "(:v #(1 x))", "x");
    check("(:v #(1 *))", "(:v (1 x))", "no");
    check("(:d (a . b))", "(:d (a . b))", "");
    check("(:d (a . b))", "(:d (a . c))", "no");
    check("(:t t)", "(:t t)", "");
    check("(:t t)", "(:t 1)", "no");
    check("*", "nil", "nil");
}

#[test]
fn text_that_is_too_long_fits_only_a_lone_wildcard() {
    let limit = format!("a{}", "x".repeat(MAX_MATCHED_TEXT - 1));
    assert!(text_fits("a*", &limit, &mut Vec::new()));
    let longer = limit + "x";
    assert!(!text_fits("a*", &longer, &mut Vec::new()));
    assert!(text_fits("*", &longer, &mut Vec::new()));
    assert!(text_fits(&longer, &longer, &mut Vec::new()));
}

#[test]
fn keys_far_behind_are_not_looked_at() {
    let with_key_at = |place: usize| {
        let before = (0..place).flat_map(|_| [Value::keyword("x"), Value::Nil]);
        Value::list(before.chain([Value::keyword("a"), Value::int(1)]))
    };
    let pattern = value("(:a 1)");
    assert!(fits(&pattern, &with_key_at(MAX_MATCHED_KEYS - 1), &mut Vec::new()));
    assert!(!fits(&pattern, &with_key_at(MAX_MATCHED_KEYS), &mut Vec::new()));
}

/// Each wildcard multiplies the work of a matcher that tries all places: with nine of them over
/// 64 KiB it would not end in the lifetime of the machine.
#[test]
fn many_wildcards_over_long_text_end() {
    let text = "a".repeat(MAX_MATCHED_TEXT);
    assert!(!text_fits("a*a*a*a*a*a*a*a*a*b", &text, &mut Vec::new()));
    assert!(!text_fits("*ab*ab*ab*ab*ab*ab*ab*ab*", &text, &mut Vec::new()));
    let half = "a".repeat(MAX_MATCHED_TEXT / 2);
    assert!(!text_fits(&format!("*{half}b*"), &text, &mut Vec::new()));
    assert!(text_fits(&format!("*{half}*"), &text, &mut Vec::new()));
}

#[test]
fn a_payload_as_deep_as_the_reader_allows() {
    let deep = |leaf: &str, depth: usize| {
        value(&format!("{}{leaf}{}", "(:a ".repeat(depth), ")".repeat(depth)))
    };
    assert!(fits(&deep("*", 60), &deep("1", 510), &mut Vec::new()));
    assert!(!fits(&deep("1", 500), &deep("2", 500), &mut Vec::new()));
}
