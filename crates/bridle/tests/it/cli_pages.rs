//! Help, completions and manual pages.

use crate::harness::{Home, pipe};

#[test]
fn help_lists_commands_and_exit_codes() {
    let help = pipe(&["--help"], "");
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for word in [
        "up",
        "health",
        "send",
        "token",
        "tap",
        "sexp",
        "frame",
        "schema",
        "config",
        "completions",
        "man",
    ] {
        assert!(help.stdout.contains(&format!("\n  {word} ")), "{word}");
    }
    assert!(help.stdout.contains("  65  bad input"), "{}", help.stdout);
    let nothing = pipe(&[], "");
    assert_eq!(nothing.code, 2);
}

#[test]
fn version_names_the_program() {
    pipe(&["--version"], "").prints(&format!("bridle {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn unknown_flags_are_usage_errors() {
    let done = pipe(&["up", "--max-frames", "9"], "");
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(done.stderr.contains("'--max-frame'"), "{}", done.stderr);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = pipe(&["completions", shell], "");
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{shell}");
        assert!(done.stdout.contains("unknown-unit"), "{shell}");
    }
}

#[test]
fn manual_pages() {
    let page = pipe(&["man"], "");
    assert!(page.stdout.contains(".TH bridle 1"), "{}", page.stdout);
    assert!(page.stdout.contains("Exit codes"), "{}", page.stdout);
    let home = Home::new();
    let dir = home.path("share/man1");
    home.run(&["man", &dir]).prints("");
    for page in ["bridle.1", "bridle-up.1", "bridle-frame-decode.1"] {
        assert!(std::path::Path::new(&dir).join(page).exists(), "{page}");
    }
    let file = home.write("file", "");
    assert_eq!(home.run(&["man", &file]).code, 73);
}

#[test]
fn the_schema_of_openharness() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openharness.schema.json");
    pipe(&["schema", "openharness"], "").prints(&std::fs::read_to_string(golden).unwrap());
    let root = |direction: &str, lenient: &[&str]| {
        let arguments = [&["schema", "openharness", "--direction", direction], lenient].concat();
        let done = pipe(&arguments, "");
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
        serde_json::from_str::<serde_json::Value>(&done.stdout).unwrap()
    };
    let request = root("request", &[]);
    assert_eq!(request["$ref"], "#/$defs/requestMessage");
    assert_eq!(request["$defs"]["responseMessage"], serde_json::Value::Null);
    assert_eq!(root("response", &[])["$ref"], "#/$defs/responseMessage");
    let words = &root("request", &["--lenient"])["$defs"]["privacyTier"];
    assert_eq!((&words["type"], &words["enum"]), (&"string".into(), &serde_json::Value::Null));
    assert_eq!(pipe(&["schema", "openharness", "--direction", "sideways"], "").code, 2);
}
