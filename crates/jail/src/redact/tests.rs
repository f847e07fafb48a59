//! Secrets in every spelling, cut anywhere, beside each other, and none.

use std::borrow::Cow;
use std::sync::Arc;

use super::{SecretRedactor, StreamRedactor};

const KEY: &[u8] = b"p\"ss/w+rd \\42";

fn redactor() -> SecretRedactor {
    SecretRedactor::new([
        ("key", KEY),
        ("long", b"0123456789abcdef".as_slice()),
        ("part", b"01234567"),
    ])
}

fn check(text: &str, expect: &str) {
    assert_eq!(redactor().redact_text(text), expect, "{text}");
    for size in 1..=text.len() {
        let mut stream = StreamRedactor::new(Arc::new(redactor()));
        let mut out: Vec<u8> =
            text.as_bytes().chunks(size).flat_map(|it| stream.push(it)).collect();
        out.extend(stream.finish());
        assert_eq!(String::from_utf8(out).expect("text"), expect, "{text} in pieces of {size}");
    }
}

#[test]
fn each_spelling_is_masked() {
    check("a p\"ss/w+rd \\42 b", "a [secret key] b");
    check(r#"{"k":"p\"ss/w+rd \\42"}"#, r#"{"k":"[secret key]"}"#);
    check("?k=p%22ss%2Fw%2Brd%20%5C42&l=1", "?k=[secret key]&l=1");
    check("702273732f772b7264205c3432", "[secret key]");
    check("702273732F772B7264205C3432", "[secret key]");
    check("grüße 0123456 é 01234567é", "grüße 0123456 é [secret part]é");
    check("x 0123456789abcdef 01234567 y", "x [secret long] [secret part] y");
    check("0123456701234567", "[secret part][secret part]");
    check("nothing of it, 0123456", "nothing of it, 0123456");
}

/// What `printf '%s' "$user:$KEY" | base64` prints, for users of every length modulo three.
#[test]
fn base64_is_masked_wherever_the_secret_begins() {
    for text in ["cCJzcy93K3JkIFw0Mg==", "YTpwInNzL3crcmQgXDQy", "YWI6cCJzcy93K3JkIFw0Mg=="] {
        let out = redactor().redact_text(text).into_owned();
        assert!(out.contains("[secret key]"), "{text} {out}");
        // Four characters of the user, one that has bits of the secret, two that fill.
        assert!(out.len() <= "[secret key]".len() + 7, "only its edges are left: {out}");
    }
    check("OnAic3Mvdytyb", "OnAic3Mvdytyb");
    let slashes = SecretRedactor::new([("k", [0xfb, 0xff, 0xbf].repeat(4).as_slice())]);
    assert_eq!(slashes.redact_text("-_-_-_-_-_-_-_-_"), "[secret k]");
    assert_eq!(slashes.redact_text("+/+/+/+/+/+/+/+/"), "[secret k]");
}

#[test]
fn lines_are_masked_in_lisp_and_in_json() {
    let lines = SecretRedactor::new([("pem", b"one \"1\"\ntwo\t2".as_slice())]);
    assert_eq!(lines.redact_text("\"one \\\"1\\\"\ntwo\t2\""), "\"[secret pem]\"");
    assert_eq!(lines.redact_text(r#""one \"1\"\ntwo\t2""#), "\"[secret pem]\"");
}

#[test]
fn without_secrets_nothing_is_copied() {
    let none = SecretRedactor::default();
    assert!(none.is_empty());
    assert!(matches!(none.redact(b"text"), Cow::Borrowed(_)));
    assert!(matches!(redactor().redact(b"text"), Cow::Borrowed(_)));
    let mut stream = StreamRedactor::new(Arc::new(none));
    assert_eq!(stream.push(b"text"), b"text");
    assert!(stream.finish().is_empty());
}

#[test]
fn a_redactor_shows_no_secret() {
    assert!(!format!("{:?}", redactor()).contains("0123"));
}
