//! `bridle sexp`: what it prints and how it refuses.

use crate::harness::pipe;

#[test]
fn prints_the_exact_source() {
    pipe(&["sexp"], "  ( :A  1\n :b |x y| ) \n").prints("( :A  1\n :b |x y| )\n");
}

#[test]
fn prints_the_canonical_spelling() {
    pipe(&["sexp", "--canonical"], "( :A  #x10 NIL (b . (c)) )").prints("(:A 16 nil (b c))\n");
}

#[test]
fn prints_for_people() {
    let form = format!("(:a {0} :b (1 2))", "x".repeat(95));
    let expected = format!("(:a {0}\n :b (1 2))\n", "x".repeat(95));
    pipe(&["sexp", "--pretty"], form).prints(&expected);
}

#[test]
fn json_goes_both_ways() {
    let json = r#"{"a":[1,2.5,null,true,{}],"b":"x\ny"}"#;
    let form = pipe(&["sexp", "--from-json"], json);
    assert_eq!((form.code, form.stderr.as_str()), (0, ""));
    pipe(&["sexp", "--json"], form.stdout).prints(&format!("{json}\n"));
}

#[test]
fn bad_text_names_category_and_place() {
    pipe(&["sexp"], "(:a\n  1 é #.x)")
        .fails(65, "read-eval at 2:7 (byte 11): reading runs no code\n    1 é #.x)\n        ^\n");
    for (text, start) in [
        ("(a", "incomplete at 1:3 (byte 2): "),
        ("", "empty at 1:1 (byte 0): "),
        ("a b", "trailing at 1:3 (byte 2): "),
        (")", "unbalanced at 1:1 (byte 0): "),
    ] {
        let done = pipe(&["sexp"], text);
        assert_eq!((done.code, done.stdout.as_str()), (65, ""), "{text}");
        assert!(done.stderr.starts_with(start), "{text}: {}", done.stderr);
    }
}

#[test]
fn bad_json_names_its_place() {
    let done = pipe(&["sexp", "--from-json"], "{\n\"a\": }");
    assert_eq!(done.code, 65);
    assert!(done.stderr.starts_with("json at 2:6 (byte 7): "), "{}", done.stderr);
}

#[test]
fn invalid_utf8_has_the_same_shape() {
    pipe(&["sexp"], b"(:a\n \"\xff\")")
        .fails(65, "invalid-utf8 at 2:3 (byte 6): expected UTF-8, got byte `0xff`\n   \"\n    ^\n");
}

#[test]
fn dialects_and_comments_are_asked_for() {
    pipe(&["sexp", "--canonical", "--dialect", "emacs"], r#"[?a "x\ty"]"#)
        .prints("#(#\\a \"x\ty\")\n");
    pipe(&["sexp", "--comments"], "; note\n(a) ; more\n").prints("(a)\n");
    let refused = pipe(&["sexp"], "; note\n(a)");
    assert_eq!(refused.code, 65);
    assert!(refused.stderr.starts_with("comment at 1:1 (byte 0): "), "{}", refused.stderr);
}

#[test]
fn two_million_parentheses_are_an_error_and_no_crash() {
    let done = pipe(&["sexp"], "(".repeat(2_000_000));
    assert_eq!(done.code, 65);
    assert!(done.stderr.starts_with("limit-depth at 1:513 (byte 512): "), "{}", done.stderr);
}

#[test]
fn flags_that_contradict_are_usage_errors() {
    assert_eq!(pipe(&["sexp", "--json", "--canonical"], "a").code, 2);
    assert_eq!(pipe(&["sexp", "--from-json", "--comments"], "1").code, 2);
}
