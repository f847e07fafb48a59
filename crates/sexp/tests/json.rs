//! JSON text that is refused, and the depth at which both languages end.

use bridle_sexp::json::{from_json, to_json};
use bridle_sexp::{Value, read_one};

fn check(text: &str, expect: &str) {
    let got = match from_json(text) {
        Ok(value) => value.to_string(),
        Err(error) => format!("{} at {}", error.category(), error.place().offset),
    };
    assert_eq!(got, expect, "on `{text}`");
}

#[test]
fn what_is_not_json_is_refused() {
    check("", "empty at 0");
    check(" \n", "empty at 2");
    check("[1,]", "json at 3");
    check("{\"a\":1,}", "json at 7");
    check("{a:1}", "json at 1");
    check("[1 2]", "json at 3");
    check("[1}", "json at 2");
    check("1 2", "trailing at 2");
    check("01", "number at 0");
    check("-", "number at 0");
    check("1.", "number at 0");
    check("tru", "incomplete at 3");
    check("trux", "json at 0");
    check("[\"a", "incomplete at 3");
    check("\"\\ud800\"", "escape at 1");
    check("\"\\udc00\\ud800\"", "escape at 1");
    check("\"\\x41\"", "escape at 1");
    check("\"\\u00g0\"", "escape at 1");
    check("\"a\tb\"", "control at 2");
    check("\u{feff}1", "json at 0");
    check("\"\\ud83d\\ude00\"", "\"😀\"");
    check("-0", "-0.0");
}

#[test]
fn two_million_brackets_are_refused() {
    check(&"[".repeat(2_000_000), "limit-depth at 512");
    check(&"{\"#list\":[".repeat(200_000), "limit-depth at 5130");
    check(&"7".repeat(5000), "limit-digits at 0");
}

#[test]
fn the_deepest_value_survives() {
    for inner in ["nil", "sym", "#()", "(:object)", "1/2", "(a . b)"] {
        let levels = if inner.contains('(') { 511 } else { 512 };
        let text = format!("{}{inner}{}", "(".repeat(levels), ")".repeat(levels));
        let value = read_one(&text).expect("512 levels").root().to_value();
        let mut json = String::new();
        to_json(&value, &mut json);
        assert_eq!(from_json(&json), Ok(value.clone()), "with `{inner}`");
        json.clear();
        to_json(&Value::list([value]), &mut json);
        let error = from_json(&json).expect_err("513 levels");
        assert_eq!(error.category().as_str(), "limit-depth", "with `{inner}`");
    }
}
