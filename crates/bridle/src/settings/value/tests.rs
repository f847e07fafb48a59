//! Texts and what they mean, kind by kind.

use std::time::Duration;

use super::{Kind, Value};

fn check(kind: Kind, text: &str, expected: Value) {
    assert_eq!(kind.parse(text), Ok(expected), "{text}");
}

fn refuse(kind: Kind, text: &str, why: &str) {
    assert_eq!(kind.parse(text), Err(why.to_owned()), "{text}");
}

#[test]
fn listeners() {
    check(Kind::Listen, "off", Value::Off);
    check(Kind::Listen, "127.0.0.1:0", Value::Word("127.0.0.1:0".into()));
    check(Kind::Listen, "[::1]:9105", Value::Word("[::1]:9105".into()));
    refuse(Kind::Listen, "9105", "expected HOST:PORT or `off`, got `9105`");
    refuse(Kind::Listen, "/a/b", "expected HOST:PORT or `off`, got `/a/b`");
}

#[test]
fn paths() {
    check(Kind::Path, "a/b", Value::Path("a/b".into()));
    check(Kind::PathOrOff, "off", Value::Off);
    refuse(Kind::Path, "", "expected a path, got nothing");
    refuse(Kind::Path, "~/x", "expected a whole path, got `~/x`: `~` means nothing here");
}

#[test]
fn numbers_and_times() {
    check(Kind::Bytes, "65536", Value::Number(65536));
    check(Kind::Bytes, "64KiB", Value::Number(65536));
    check(Kind::Bytes, "2 MiB", Value::Number(2 << 20));
    refuse(Kind::Bytes, "64kb", "expected bytes such as `65536`, `64KiB` or `16MiB`, got `64kb`");
    assert!(Kind::Bytes.parse("99999999999999999GiB").is_err());
    assert!(Kind::Bytes.parse("0").is_err());
    check(Kind::BytesOrOff, "64KiB", Value::Number(65536));
    check(Kind::BytesOrOff, "off", Value::Off);
    assert!(Kind::Bytes.parse("off").is_err());
    check(Kind::Span, "30", Value::Span(Duration::from_secs(30)));
    check(Kind::Span, "500ms", Value::Span(Duration::from_millis(500)));
    check(Kind::Span, "2m", Value::Span(Duration::from_secs(120)));
    refuse(Kind::Span, "soon", "expected a time such as `30s`, `500ms` or `2m`, got `soon`");
    refuse(Kind::Count, "0", "expected a whole number above 0, got `0`");
}

#[test]
fn rates() {
    let rate = bridle_daemon::Rate { per_second: 20, burst: 100 };
    check(Kind::RateOrOff, "20/100", Value::Rate(rate));
    check(Kind::RateOrOff, "off", Value::Off);
    for bad in ["", "20", "0/1", "1/0", "-1/5", "20/100/3", "1000001/1", "20 / 100"] {
        assert!(Kind::RateOrOff.parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn secrets_are_one_byte_a_character() {
    check(Kind::Secret, "clé", Value::Secret(b"cl\xe9".to_vec()));
    refuse(Kind::Secret, "ключ", "expected characters up to U+00FF, got one above");
}

#[test]
fn words_and_keys() {
    check(Kind::Bool, "TRUE", Value::Bool(true));
    refuse(Kind::Bool, "yes", "expected `true` or `false`, got `yes`");
    refuse(Kind::OneOf(&["a", "b"]), "c", "expected one of `a`, `b`, got `c`");
    check(
        Kind::Keys,
        "laptop=/k/1, phone=/k/2",
        Value::Keys(vec![("laptop".into(), "/k/1".into()), ("phone".into(), "/k/2".into())]),
    );
    refuse(Kind::Keys, "a=/1,a=/2", "key id `a` is there twice");
    refuse(Kind::Keys, "a", "expected ID=FILE, got `a`");
    check(
        Kind::LogFilter,
        "info,bridle_daemon=trace",
        Value::Word("info,bridle_daemon=trace".into()),
    );
    refuse(Kind::LogFilter, "a=loud", "expected a level or TARGET=LEVEL pairs, got `a=loud`");
}

#[test]
fn thinkers() {
    check(Kind::Thinker, "builtin", Value::Word("builtin".into()));
    check(Kind::Thinker, "script:a/b.lisp", Value::Word("script:a/b.lisp".into()));
    for text in ["", "script:", "model", "script"] {
        refuse(Kind::Thinker, text, &format!("expected `builtin` or `script:FILE`, got `{text}`"));
    }
}

#[test]
fn origins_are_exact_and_stand_in_a_list() {
    let parse = |text: &str| Kind::Origins.parse(text);
    let expected =
        ["https://app.example.org", "http://localhost:3000"].map(|it| it.parse().unwrap());
    let found = parse("https://app.example.org, http://localhost:3000").unwrap();
    assert_eq!(found, Value::Origins(expected.into()));
    assert_eq!(parse("").unwrap(), Value::Origins(Vec::new()));
    let why = parse("https://app.example.org,*").unwrap_err();
    assert!(why.contains("no wildcard") && why.ends_with("got `*`"), "{why}");
}
