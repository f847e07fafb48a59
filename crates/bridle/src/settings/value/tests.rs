//! Texts and what they mean, kind by kind.

use std::time::Duration;

use super::{SettingKind, SettingValue};

fn check(kind: SettingKind, text: &str, expected: SettingValue) {
    assert_eq!(kind.parse(text), Ok(expected), "{text}");
}

fn refuse(kind: SettingKind, text: &str, why: &str) {
    assert_eq!(kind.parse(text), Err(why.to_owned()), "{text}");
}

#[test]
fn listeners() {
    check(SettingKind::Listen, "off", SettingValue::Off);
    check(SettingKind::Listen, "127.0.0.1:0", SettingValue::Word("127.0.0.1:0".into()));
    check(SettingKind::Listen, "[::1]:9105", SettingValue::Word("[::1]:9105".into()));
    refuse(SettingKind::Listen, "9105", "expected HOST:PORT or `off`, got `9105`");
    refuse(SettingKind::Listen, "/a/b", "expected HOST:PORT or `off`, got `/a/b`");
}

#[test]
fn paths() {
    check(SettingKind::Path, "a/b", SettingValue::Path("a/b".into()));
    check(SettingKind::PathOrOff, "off", SettingValue::Off);
    refuse(SettingKind::Path, "", "expected a path, got nothing");
    refuse(SettingKind::Path, "~/x", "expected an absolute path, got `~/x`: `~` is not expanded");
}

#[test]
fn numbers_and_times() {
    check(SettingKind::Bytes, "65536", SettingValue::Number(65536));
    check(SettingKind::Bytes, "64KiB", SettingValue::Number(65536));
    check(SettingKind::Bytes, "2 MiB", SettingValue::Number(2 << 20));
    refuse(
        SettingKind::Bytes,
        "64kb",
        "expected bytes such as `65536`, `64KiB` or `16MiB`, got `64kb`",
    );
    assert!(SettingKind::Bytes.parse("99999999999999999GiB").is_err());
    assert!(SettingKind::Bytes.parse("0").is_err());
    check(SettingKind::BytesOrOff, "64KiB", SettingValue::Number(65536));
    check(SettingKind::BytesOrOff, "off", SettingValue::Off);
    assert!(SettingKind::Bytes.parse("off").is_err());
    check(SettingKind::Span, "30", SettingValue::Span(Duration::from_secs(30)));
    check(SettingKind::Span, "500ms", SettingValue::Span(Duration::from_millis(500)));
    check(SettingKind::Span, "2m", SettingValue::Span(Duration::from_secs(120)));
    refuse(SettingKind::Span, "soon", "expected a time such as `30s`, `500ms` or `2m`, got `soon`");
    refuse(SettingKind::Count, "0", "expected a whole number above 0, got `0`");
}

#[test]
fn rates() {
    let rate = bridle_daemon::EventRate { per_second: 20, burst: 100 };
    check(SettingKind::RateOrOff, "20/100", SettingValue::Rate(rate));
    check(SettingKind::RateOrOff, "off", SettingValue::Off);
    for bad in ["", "20", "0/1", "1/0", "-1/5", "20/100/3", "1000001/1", "20 / 100"] {
        assert!(SettingKind::RateOrOff.parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn secrets_are_one_byte_a_character() {
    check(SettingKind::Secret, "clé", SettingValue::Secret(b"cl\xe9".to_vec()));
    refuse(SettingKind::Secret, "ключ", "expected characters up to U+00FF, got one above");
}

#[test]
fn words_and_keys() {
    check(SettingKind::Bool, "TRUE", SettingValue::Bool(true));
    refuse(SettingKind::Bool, "yes", "expected `true` or `false`, got `yes`");
    refuse(SettingKind::OneOf(&["a", "b"]), "c", "expected one of `a`, `b`, got `c`");
    check(
        SettingKind::Keys,
        "laptop=/k/1, phone=/k/2",
        SettingValue::Keys(vec![("laptop".into(), "/k/1".into()), ("phone".into(), "/k/2".into())]),
    );
    refuse(SettingKind::Keys, "a=/1,a=/2", "duplicate key id `a`");
    refuse(SettingKind::Keys, "a", "expected ID=FILE, got `a`");
    check(
        SettingKind::LogFilter,
        "info,bridle_daemon=trace",
        SettingValue::Word("info,bridle_daemon=trace".into()),
    );
    refuse(
        SettingKind::LogFilter,
        "a=loud",
        "expected a level or TARGET=LEVEL pairs, got `a=loud`",
    );
}

#[test]
fn thinkers() {
    check(SettingKind::Thinker, "models", SettingValue::Word("models".into()));
    check(SettingKind::Thinker, "builtin", SettingValue::Word("builtin".into()));
    check(SettingKind::Thinker, "script:a/b.lisp", SettingValue::Word("script:a/b.lisp".into()));
    for text in ["", "script:", "model", "script"] {
        refuse(
            SettingKind::Thinker,
            text,
            &format!("expected `models`, `builtin` or `script:FILE`, got `{text}`"),
        );
    }
}

#[test]
fn origins_are_exact_and_stand_in_a_list() {
    let parse = |text: &str| SettingKind::Origins.parse(text);
    let expected =
        ["https://app.example.org", "http://localhost:3000"].map(|it| it.parse().unwrap());
    let found = parse("https://app.example.org, http://localhost:3000").unwrap();
    assert_eq!(found, SettingValue::Origins(expected.into()));
    assert_eq!(parse("").unwrap(), SettingValue::Origins(Vec::new()));
    let why = parse("https://app.example.org,*").unwrap_err();
    assert!(why.contains("no wildcard") && why.ends_with("got `*`"), "{why}");
}
