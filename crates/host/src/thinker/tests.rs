//! The choice of a thinker as text, both ways.

use super::ThinkerChoice;

#[test]
fn texts() {
    for (text, expect) in [
        ("models", "models"),
        ("builtin", "builtin"),
        ("BUILTIN", "builtin"),
        ("script:demo.script", "script:demo.script"),
        ("Script:/a:b", "script:/a:b"),
        ("script:", "thinker `script:`, expected `models`, `builtin` or `script:FILE`"),
        ("model:x", "thinker `model:x`, expected `models`, `builtin` or `script:FILE`"),
        ("", "thinker ``, expected `models`, `builtin` or `script:FILE`"),
    ] {
        let got = match text.parse::<ThinkerChoice>() {
            Ok(choice) => choice.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expect);
    }
}
