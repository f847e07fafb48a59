//! The reader on texts of one line each: what a node says, and what is refused.

use bridle_sexp::{
    Category, Dialect, Kind, Limits, Progress, Reader, Tape, Value, canonical, read_one,
};

/// Reads `text` and gives its canonical text, or the error's.
fn check(dialect: Dialect, text: &str, expect: &str) {
    let got = match Reader::new().dialect(dialect).read_one(text) {
        Ok(tree) => {
            let mut out = String::new();
            canonical(tree.root(), &mut out);
            assert_eq!(out, tree.root().to_value().to_string(), "canonical and print on `{text}`");
            out
        }
        Err(error) => {
            let place = error.place();
            format!("{} at {}", error.category(), place.offset)
        }
    };
    assert_eq!(got, expect, "on `{text}`");
}

#[test]
fn lists_and_tails() {
    let check = |text, expect| check(Dialect::Lisp, text, expect);
    check("(a . (b . (c . d)))", "(a b c . d)");
    check("(a . nil)", "(a)");
    check("(a . #(nil))", "(a . #(nil))");
    check("(a . ())", "(a)");
    check("(a . 'b)", "(a quote b)");
    check("`(a . ,b)", "(quasiquote (a unquote b))");
    check("(a . (b . 'c))", "(a b quote c)");
    check("(a . ''b)", "(a quote (quote b))");
    check("(a . b c)", "dot at 7");
    check("(a . b . c)", "dot at 7");
    check("(a . (b) c)", "dot at 9");
    check("(a . ( . b))", "dot at 7");
    check("(a . )", "dot at 5");
    check("(a . (b . ))", "dot at 10");
    check("(. a)", "dot at 1");
    check("#(a . b)", "dot at 4");
    check("')", "unbalanced at 1");
    check("(a]", "unbalanced at 2");
    check("[a)", "unbalanced at 2");
    check("(a . (b]", "unbalanced at 7");
    check("#'()", "(function nil)");
    check("``,,a", "(quasiquote (quasiquote (unquote (unquote a))))");
    check("`,@x", "comma at 1");
    check("`(,,a)", "comma at 3");
    check(
        "(\"s\" [\"abc\" 0 3 (f b)] #(\"abc\" 0 3 (f b)))",
        "(\"s\" [\"abc\" 0 3 (f b)] #(\"abc\" 0 3 (f b)))",
    );
    check("[\"s\" 0 1]", "#(\"s\" 0 1)");
}

#[test]
fn symbols() {
    let lisp = |text, expect| check(Dialect::Lisp, text, expect);
    lisp("|foo|", "\\f\\o\\o");
    lisp("a#b", "a\\#b");
    lisp("?a", "\\?a");
    lisp("|12|", "\\12");
    lisp("1||", "\\1");
    lisp("nil||", "nil");
    lisp(".||", "\\.");
    lisp("||", "||");
    lisp(":||", ":||");
    lisp("cl::car", "cl::car");
    lisp("a:b:c", "package at 0");
    lisp("|a:b|", "\\a\\:\\b");
    lisp("#:1", "#:\\1");
    lisp(":1", ":1");
    lisp("(a\u{a0}b)", "control at 2");
    lisp("|a\u{a0}b|", "\\a\\\u{a0}\\b");
    lisp("|a\u{1}b|", "control at 2");
    let emacs = |text, expect| check(Dialect::Emacs, text, expect);
    emacs(":HEADER-ARGS:PYTHON", ":HEADER-ARGS\\:PYTHON");
    emacs("##", "||");
    emacs("a|b", "a\\|b");
    emacs(":", ":||");
    emacs("foo:", "foo\\:");
    emacs("?a", "#\\a");
    emacs("?\\C-a", "#\\Soh");
    emacs("?ab", "character at 0");
}

#[test]
fn plist_access_ignores_case() {
    let tree = read_one("(:type :health-check :ID 7 :id 8)").unwrap();
    let root = tree.root();
    assert!(root.get("TYPE").unwrap().is_keyword("Health-Check"));
    assert_eq!(root.get("id").unwrap().as_i64(), Some(7));
    assert_eq!(root.get_exact("id").unwrap().as_i64(), Some(8));
    assert_eq!(root.pairs().unwrap().count(), 3);
}

#[test]
fn two_million_parens_are_refused() {
    let error = read_one(&"(".repeat(2_000_000)).unwrap_err();
    assert_eq!(error.to_string(), "limit-depth at 1:513 (byte 512): expected at most `512` levels");
    let error = read_one(&"'".repeat(100_000)).unwrap_err();
    assert_eq!(error.category(), Category::LimitDepth);
    let limits = Limits { depth: usize::MAX, ..Limits::default() };
    let error = Reader::new().limits(limits).read_one(&"(a . ".repeat(10_000)).unwrap_err();
    assert_eq!(error.place().offset, 5 * 4096);
}

#[test]
fn the_tape_is_used_again() {
    let mut tape = Tape::new();
    for _ in 0..3 {
        let Ok(Progress::Done(tree)) = Reader::new().read_into("(a \"b\") rest", &mut tape) else {
            panic!("expected a tree");
        };
        assert_eq!(tree.consumed(), 7);
        assert_eq!(tree.root().kind(), Kind::List);
        tape = tree.into_tape();
    }
    assert!(matches!(Reader::new().read_into("(a", &mut tape), Ok(Progress::Incomplete)));
}

#[test]
fn limits_below_the_usual_ones_hold() {
    let limits = Limits { depth: 2, atom_bytes: 8, elements: 5, integer_digits: 3 };
    let category = |text: &str| {
        let read = Reader::new().limits(limits).read_one(text);
        read.map_or_else(|error| error.category().as_str(), |_| "accept")
    };
    assert_eq!(category("(123 12345678"), "limit-digits");
    assert_eq!(category("(123 -999 1/999)"), "accept");
    assert_eq!(category("#xFFFF"), "limit-digits");
    assert_eq!(category("(abcdefgh :bcdefgh)"), "accept");
    assert_eq!(category("abcdefghi"), "limit-atom");
    assert_eq!(category(":bcdefghi"), "limit-atom");
    assert_eq!(category("(1 2 3 4 5)"), "limit-elements");
    assert_eq!(category("(\"longer than eight\")"), "accept");
    assert_eq!(category("(('a))"), "limit-depth");
}

#[test]
fn protocol_keys_match_by_name_whatever_protects_their_case() {
    for source in ["(:type 1)", "(:TYPE 1)", "(:|type| 1)", "(:\\t\\y\\p\\e 1)", "(:Ty|PE| 1)"] {
        let tree = read_one(source).unwrap();
        assert_eq!(tree.root().get("type").and_then(|node| node.as_i64()), Some(1), "{source}");
        assert_eq!(tree.root().to_value().get("type"), Some(&Value::int(1)), "{source}");
    }
    let tree = read_one("(:|ty pe| 1 :types 2)").unwrap();
    assert!(tree.root().get("type").is_none());
}
