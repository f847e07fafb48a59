//! Names that are close, and the example that must stay readable by its own reader.

use super::{closest, example, line_at};

#[test]
fn misspelt_names_find_their_setting() {
    assert_eq!(closest("tpc"), Some("tcp"));
    assert_eq!(closest("max_frame"), Some("max-frame"));
    assert_eq!(closest("unknown-unit"), Some("oacp.unknown-unit"));
    assert_eq!(closest("hmac.enforced"), Some("hmac.enforce"));
    assert_eq!(closest("zzz"), None);
}

#[test]
fn lines_count_from_one() {
    assert_eq!(line_at("a\nb\nc", 0), 1);
    assert_eq!(line_at("a\nb\nc", 2), 2);
    assert_eq!(line_at("a\nb\nc", 99), 3);
}

#[test]
fn the_example_is_toml_also_without_its_comment_marks() {
    let text = example();
    toml::de::DeTable::parse(&text).unwrap();
    let bare: Vec<&str> = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") => rest,
            _ => line,
        })
        .collect();
    toml::de::DeTable::parse(&bare.join("\n")).unwrap();
}
