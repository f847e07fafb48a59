//! The tape, the canonical form and the printer on their own; whole messages are vectors.

use proptest::prelude::*;

use super::canonical::by_utf16;
use super::string::{is_special, plain};
use super::{Json, JsonDocument, JsonFault, JsonNode, JsonNumber, JsonObject, canonical};
use crate::openharness::{JsonShape as _, MessageLimits};

fn canonical_text(text: &str) -> String {
    let limits = MessageLimits::default();
    let document = JsonDocument::read(text.as_bytes(), &limits).unwrap();
    let mut out = String::new();
    canonical(document.root(), &[], &mut out);
    out
}

fn value(text: &str) -> Json {
    let document = JsonDocument::read(text.as_bytes(), &MessageLimits::default()).unwrap();
    document.root().to_json(64).unwrap()
}

#[test]
fn canonical_numbers_are_those_of_ecmascript() {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0e7", "0"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("1E21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("1e20", "100000000000000000000"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("1.5e-9", "1.5e-9"),
        ("-12.50", "-12.5"),
        ("333333333.33333329", "333333333.33333329"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.000000000000000000000000001", "1e-27"),
        ("9007199254740993", "9007199254740993"),
        ("1e99999999999999999999", "1e99999999999999999999"),
    ] {
        assert_eq!(canonical_text(text), expected, "{text}");
    }
}

#[test]
fn canonical_keys_are_in_the_order_of_utf16() {
    // U+1F40E is written with surrogates, which sort before U+FB33; in UTF-8 it sorts behind.
    let text = r#"{"\ufb33":1,"\ud83d\udc0e":2,"\u20ac":3,"\r":4,"1":5,"a":{"z":[],"b":{}}}"#;
    let expected = "{\"\\r\":4,\"1\":5,\"a\":{\"b\":{},\"z\":[]},\"\u{20ac}\":3,\"\u{1f40e}\":2,\"\u{fb33}\":1}";
    assert_eq!(canonical_text(text), expected);
}

#[test]
fn canonical_text_of_what_nests_deep() {
    let text = format!("{}{}", "[".repeat(90_000), "]".repeat(90_000));
    assert_eq!(canonical_text(&text), text);
}

#[test]
fn numbers_are_exact() {
    let number = |text| JsonNumber::checked(text);
    for (text, count) in [
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", Some(u64::MAX)),
        ("1e400", Some(u64::MAX)),
        ("1e99999999999999999999", Some(u64::MAX)),
        ("9007199254740993", Some(9_007_199_254_740_993)),
        ("0.5e1", Some(5)),
        ("0e-99999999999999999999", Some(0)),
        ("1e-99999999999999999999", None),
        ("-1", None),
        ("0.1", None),
    ] {
        assert_eq!(number(text).as_u64(), count, "{text}");
    }
    assert_eq!(number("1.99").floor(), Some(1));
    assert_eq!(number("0.5").floor(), Some(0));
    assert_eq!(number("-0.5").floor(), None);
    assert_eq!(JsonNumber::from_f64(0.25).unwrap().as_str(), "0.25");
    assert_eq!(JsonNumber::from_f64(f64::NAN), None);
}

#[test]
fn what_asks_for_a_capability() {
    for text in ["true", "1", "0.1", "\"x\"", "{}", "[]"] {
        assert!(value(text).is_truthy(), "{text}");
    }
    for text in ["false", "null", "0", "-0.0", "\"\""] {
        assert!(!value(text).is_truthy(), "{text}");
    }
}

#[test]
fn laid_out_for_people() {
    let text = value(r#"{"a":[1,{"b":null}],"c":{},"d":[]}"#).to_pretty();
    assert_eq!(
        text,
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}\n"
    );
}

#[test]
fn content_does_not_show_in_debug() {
    let value = value(r#"{"token":"OHCANARY","n":[7]}"#);
    assert_eq!(format!("{value:?}"), "an object");
    assert_eq!(format!("{:?}", value.as_object().unwrap()), "an object of 2");
}

#[test]
fn values_are_counted_with_their_keys() {
    let read = |values| {
        JsonDocument::read(br#"{"a":[1]}"#, &MessageLimits { values, ..MessageLimits::default() })
            .map(|_| ())
            .map_err(|broken| broken.fault)
    };
    assert_eq!(read(4), Ok(()));
    assert_eq!(read(3), Err(JsonFault::TooManyValues));
}

#[test]
fn a_later_value_of_a_key_takes_the_place_of_the_earlier() {
    let object = JsonObject::from_iter([("a", Json::from(1)), ("b", 2.into()), ("a", 3.into())]);
    assert_eq!(Json::Object(object).to_text(), r#"{"a":3,"b":2}"#);
}

#[test]
fn a_key_is_what_it_means() {
    let limits = MessageLimits::default();
    let text = r#"{"\u0061b":1,"a":{"ab":2},"":3,"ab\u0000":[4]}"#;
    let document = JsonDocument::read(text.as_bytes(), &limits).unwrap();
    let get = |key| document.root().get(key).map(JsonNode::source);
    assert_eq!(get("ab"), Some("1"));
    assert_eq!(get("a"), Some(r#"{"ab":2}"#));
    assert_eq!(get(""), Some("3"));
    assert_eq!(get("ab\0"), Some("[4]"));
    assert_eq!(get("b"), None);
    assert_eq!(document.root().get("a").unwrap().get("ab").unwrap().source(), "2");
    assert_eq!(document.root().get("ab").unwrap().get("x").map(JsonNode::source), None);
}

#[test]
fn the_second_of_two_equal_keys_is_named() {
    let broken =
        |text: &str| JsonDocument::read(text.as_bytes(), &MessageLimits::default()).unwrap_err();
    for (text, offset) in [
        (r#"{"a":1,"b":2,"a":3,"b":4}"#, 13),
        (r#"{"a":1,"\u0061":2}"#, 7),
        (r#"{"\u0061":1,"x":{},"a":2}"#, 19),
        (r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"h":1}"#, 49),
        (r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"g":1}"#, 43),
    ] {
        let found = broken(text);
        assert_eq!((found.fault, found.offset), (JsonFault::DuplicateKey, offset), "{text}");
    }
}

#[test]
fn a_long_text_is_written_once_and_copied() {
    let (text, other) = ("a line\n\u{1}\"".repeat(9), "b line\n\u{1}\"".repeat(9));
    let texts = [&text, &text, &other, &other, &text, "", ""];
    let entries = texts.iter().enumerate().map(|(n, text)| (n.to_string(), Json::from(*text)));
    let json = Json::object(entries.chain([("deep".to_owned(), Json::from(1))]));
    assert_eq!(value(&json.to_text()), json);
    assert_eq!(value(&json.to_pretty()), json);
    let other: serde_json::Value = serde_json::from_str(&json.to_text()).unwrap();
    assert_eq!(other["1"], text.as_str());
    assert_eq!(other["4"], text.as_str());
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_filter_map("finite", JsonNumber::from_f64).prop_map(Json::Number),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Json::object),
        ]
    })
}

/// Letters on both sides of what UTF-16 writes with surrogates, few enough to begin alike.
fn any_key() -> impl Strategy<Value = String> {
    let letters = ['a', 'b', '\u{7f}', '\u{80}', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}'];
    let letter = prop_oneof![prop::sample::select(letters.to_vec()), any::<char>()];
    prop::collection::vec(letter, 0..4).prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #[test]
    fn what_is_plain_ends_at_the_first_byte_that_is_not(
        bytes in prop::collection::vec(
            prop_oneof![8 => any::<u8>(), 1 => Just(b'"'), 60 => 0x20..=0xff_u8], 0..80),
    ) {
        let first = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len());
        prop_assert_eq!(plain(&bytes), first);
    }

    #[test]
    fn keys_have_the_order_of_utf16(one in any_key(), other in any_key()) {
        let expected = one.encode_utf16().cmp(other.encode_utf16());
        prop_assert_eq!(by_utf16(&one, &other), expected, "{:?} {:?}", one, other);
    }

    #[test]
    fn counts_are_their_digits(count in prop_oneof![any::<u64>(), 0..1000_u64, Just(u64::MAX)]) {
        prop_assert_eq!(count.to_text(), count.to_string());
    }

    #[test]
    fn what_is_written_reads_back(json in any_json()) {
        prop_assert_eq!(&value(&json.to_text()), &json);
        prop_assert_eq!(&value(&json.to_pretty()), &json);
        let other: serde_json::Value = serde_json::from_str(&json.to_text()).unwrap();
        let back = value(&other.to_string());
        prop_assert_eq!(canonical_text(&back.to_text()), canonical_text(&other.to_string()));
    }

    #[test]
    fn the_canonical_text_is_its_own(json in any_json()) {
        let text = canonical_text(&json.to_text());
        prop_assert_eq!(canonical_text(&text), text.clone());
        prop_assert_eq!(canonical_text(&json.to_pretty()), text);
    }
}
