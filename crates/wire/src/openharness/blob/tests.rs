//! What counts as a file inside a message.

use super::{decoded_bytes, is_blob};

#[test]
fn sizes() {
    for (text, bytes) in [
        ("QUJD", Some(3)),
        ("QUI=", Some(3)),
        ("a-_9", Some(3)),
        ("0a0b", Some(2)),
        ("data:text/plain,abc", Some(3)),
        ("data:,%41%42c", Some(3)),
        ("DATA:image/png;BASE64,QUJD", Some(3)),
        ("two words", None),
        ("a.b", None),
        ("QUJD===", None),
        ("=QUJD", None),
        ("QUJD\nQUJD", None),
        ("data:", None),
        ("\u{4e2d}", None),
    ] {
        assert_eq!(decoded_bytes(text), bytes, "{text}");
    }
}

#[test]
fn lines_of_one_length() {
    let line = "QUJD".repeat(19);
    assert_eq!(decoded_bytes(&format!("{line}\r\n{line}\nQUI=")), Some(117));
    assert_eq!(decoded_bytes(&format!("{line}\nQUI=\n{line}")), None);
    assert_eq!(decoded_bytes(&format!("{line}\n{line}QUJD")), None);
}

#[test]
fn only_above_the_limit() {
    assert!(!is_blob(&"QUJD".repeat(10), 30));
    assert!(is_blob(&"QUJD".repeat(11), 30));
    assert!(!is_blob("", 0));
}
