//! What is a secret, and what only looks like one. Examples are put together, so that no scanner of
//! others finds them in this file.

use std::path::Path;

use super::{SecretKind, find_secrets, is_env_file};

fn kinds(path: &str, text: &str) -> Vec<SecretKind> {
    find_secrets(Path::new(path), text.as_bytes()).into_iter().map(|it| it.kind).collect()
}

#[test]
fn formats_are_found() {
    let random = "q8Zr41LmPx7Tn2VwKd93HsYb6Rc0Jf5Gu1Ae";
    for (kind, text) in [
        (SecretKind::PrivateKey, format!("-----BEGIN {}PRIVATE KEY-----", "OPENSSH ")),
        (SecretKind::PrivateKey, format!("-----BEGIN {}KEY-----", "PRIVATE ")),
        (SecretKind::CloudKey, format!("AKIA{}", "QW7ERT5YUI4OPA2S")),
        (SecretKind::CloudKey, format!("AIza{}", &random[..35])),
        (SecretKind::ForgeToken, format!("ghp_{random}")),
        (SecretKind::ForgeToken, format!("glpat-{}", &random[..20])),
        (SecretKind::ModelKey, format!("sk-ant-{random}")),
        (SecretKind::ServiceToken, format!("xoxb-{}", &random[..24])),
        (SecretKind::ServiceToken, format!("sk_live_{}", &random[..24])),
        (SecretKind::UrlPassword, "postgres://me:q8Zr41Lm@db.internal/x".to_owned()),
        (SecretKind::Assignment, format!("api_key = \"{}\"", &random[..24])),
        (SecretKind::Assignment, format!("  \"password\": \"{}\",", &random[..16])),
    ] {
        assert_eq!(kinds("a.txt", &text), [kind], "{text}");
    }
    assert_eq!(kinds(".env", &format!("DB_PASSWORD={}", &random[..12])), [SecretKind::Assignment]);
    let found = find_secrets(Path::new("a"), format!("one\ntwo ghp_{random}\n").as_bytes());
    assert_eq!((found[0].line, found[0].place.0), (2, 8));
}

#[test]
fn prose_and_code_are_not_accused() {
    for text in [
        "the secretary keeps tokens in the tokenizer",
        "password: changeme-please-1",
        "token = os.environ[\"TOKEN\"]",
        "let secret = self.secrets.get(name)?;",
        "password=$PASSWORD1",
        "api_key: <your-key-here-1>",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "AKIAIOSFODNN7EXAMPLE",
        "commit 3f2b6c6a7fd6d72f9a0b",
        "fn secret_of(token: &SecretValue2) -> Result<u8>",
        "https://example.org:443/a@b",
        "token: HashMap<String2, Token>",
        "secret = \"aaaaaaaa1\"",
    ] {
        assert_eq!(kinds("a.rs", text), [], "{text}");
    }
}

#[test]
fn files_of_settings_are_known_by_name() {
    for (name, expect) in [
        (".env", true),
        ("x/.env.local", true),
        ("prod.env", true),
        (".env.example", false),
        ("env", false),
    ] {
        assert_eq!(is_env_file(Path::new(name)), expect, "{name}");
    }
}
