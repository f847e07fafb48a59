//! The sealed file: kept, opened, refused, bound to hosts, and without a trace of the secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use zeroize::Zeroizing;

use super::{SealKey, SealedSecrets, SecretError, SecretValue};
use crate::proxy::HostRule;

const SECRET: &[u8] = b"s3cr3t-value";

fn hosts(text: &str) -> Vec<HostRule> {
    vec![HostRule::parse(text).expect(text)]
}

fn check_key(key: &SealKey, wrong: &SealKey) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secrets");
    let mut secrets = SealedSecrets::open(&path, key).expect("an empty one");
    secrets.set("model", SecretValue::new(SECRET.to_vec()), hosts("api.example.org")).expect("set");
    secrets
        .set("other", SecretValue::new(b"eight-by".to_vec()), hosts("*.example.net"))
        .expect("set");
    secrets.remove("other").expect("removed");
    let sealed = fs::read(&path).expect("the file");
    assert!(!sealed.windows(5).any(|it| SECRET.starts_with(it) || b"model" == it));
    assert_eq!(fs::metadata(&path).expect("it").permissions().mode() & 0o777, 0o600);
    let again = SealedSecrets::open(&path, key).expect("opened");
    assert_eq!(again.list().map(|(name, _)| name).collect::<Vec<_>>(), ["model"]);
    assert_eq!(
        again.for_host("model", "api.example.org", 443).expect("for its host").reveal(),
        SECRET
    );
    assert!(matches!(
        again.for_host("model", "evil.example.org", 443),
        Err(SecretError::WrongHost { .. })
    ));
    assert!(matches!(
        again.for_host("model", "api.example.org", 8080),
        Err(SecretError::WrongHost { .. })
    ));
    assert!(matches!(again.for_host("none", "api.example.org", 443), Err(SecretError::Unknown(_))));
    assert!(!format!("{again:?} {:?}", SecretValue::new(SECRET.to_vec())).contains("s3cr"));
    assert!(matches!(SealedSecrets::open(&path, wrong), Err(SecretError::NotOpened)));
    for place in [0, 8, 20, 30, 50, sealed.len() - 1] {
        let mut torn = sealed.clone();
        torn[place] ^= 1;
        fs::write(&path, &torn).expect("written");
        assert!(
            matches!(SealedSecrets::open(&path, key), Err(SecretError::NotOpened)),
            "byte {place}"
        );
    }
    fs::write(&path, &sealed[..20]).expect("written");
    assert!(matches!(SealedSecrets::open(&path, key), Err(SecretError::NotOpened)));
}

#[test]
fn a_key_file_opens_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong");
    fs::write(&wrong, [7; 32]).expect("written");
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o600)).expect("set");
    check_key(&SealKey::File(folder.path().join("key")), &SealKey::File(wrong));
}

#[test]
fn a_key_file_that_others_read_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    fs::write(&key, [7; 32]).expect("written");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("set");
    let opened = SealedSecrets::open(&folder.path().join("s"), &SealKey::File(key));
    assert!(matches!(opened, Err(SecretError::KeyExposed { mode: 0o640, .. })));
}

#[test]
fn what_is_no_secret_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = SealKey::File(folder.path().join("key"));
    let mut secrets = SealedSecrets::open(&folder.path().join("s"), &key).expect("empty");
    let value = || SecretValue::new(SECRET.to_vec());
    for (name, value, hosts) in [
        ("", value(), hosts("a.example")),
        ("a b", value(), hosts("a.example")),
        ("ok", SecretValue::new(Vec::new()), hosts("a.example")),
        ("ok", SecretValue::new(b"7-bytes".to_vec()), hosts("a.example")),
        ("ok", value(), Vec::new()),
    ] {
        assert!(matches!(secrets.set(name, value, hosts), Err(SecretError::Invalid(_))), "{name}");
    }
}

#[test]
fn a_passphrase_opens_it() {
    let phrase = |text: &str| SealKey::Passphrase(Zeroizing::new(text.to_owned()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secrets");
    let mut secrets = SealedSecrets::open(&path, &phrase("one")).expect("an empty one");
    secrets.set("a", SecretValue::new(SECRET.to_vec()), hosts("a.example")).expect("set");
    let again = SealedSecrets::open(&path, &phrase("one")).expect("opened");
    assert_eq!(again.for_host("a", "a.example", 443).expect("it").reveal(), SECRET);
    assert!(matches!(SealedSecrets::open(&path, &phrase("two")), Err(SecretError::NotOpened)));
}
