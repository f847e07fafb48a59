//! The store: shared by two, changed under each other's feet, damaged, and without a file.

use std::fs;
use std::path::Path;

use super::{SECRETS_FILE, SECRETS_KEY_FILE, SecretStore};
use crate::proxy::HostRule;
use crate::sealed::{SealKey, SecretError, SecretValue};

fn store(state: &Path) -> SecretStore {
    SecretStore::new(state, SealKey::File(state.join(SECRETS_KEY_FILE)))
}

fn set(store: &SecretStore, name: &str, value: &str) -> bool {
    let hosts = vec![HostRule::parse("api.example.org").expect("a host")];
    store.set(name, SecretValue::new(value.as_bytes().to_vec()), hosts).expect("set")
}

fn value(store: &SecretStore, name: &str) -> Result<String, SecretError> {
    let found = store.for_host(name, "api.example.org", 443)?;
    Ok(String::from_utf8(found.reveal().to_vec()).expect("text"))
}

#[test]
fn one_process_sees_what_another_changed() {
    let state = tempfile::tempdir().expect("a folder");
    let (daemon, command) = (store(state.path()), store(state.path()));
    assert!(matches!(value(&daemon, "a"), Err(SecretError::Unknown(_))));
    assert!(daemon.redactor().is_empty() && daemon.list().expect("none").is_empty());
    assert!(!state.path().join(SECRETS_KEY_FILE).exists(), "reading makes no key");
    assert!(!set(&command, "a", "first-value"));
    assert_eq!(value(&daemon, "a").expect("there"), "first-value");
    assert!(set(&command, "a", "second-value"));
    assert_eq!(value(&daemon, "a").expect("there"), "second-value");
    assert_eq!(daemon.redactor().redact_text("second-value"), "[secret a]");
    assert_eq!(daemon.redactor().redact_text("first-value"), "[secret a]", "it may still be shown");
    command.remove("a").expect("removed");
    assert!(matches!(value(&daemon, "a"), Err(SecretError::Unknown(_))));
    assert_eq!(daemon.redactor().redact_text("second-value"), "[secret a]");
    assert!(matches!(command.remove("a"), Err(SecretError::Unknown(_))));
}

#[test]
fn another_host_gets_nothing() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path());
    set(&store, "a", "first-value");
    let refused = store.for_host("a", "evil.example", 443);
    assert!(matches!(refused, Err(SecretError::WrongHost { .. })));
}

#[test]
fn a_damaged_file_gives_no_secret_and_still_masks_the_known() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path());
    set(&store, "a", "first-value");
    assert_eq!(value(&store, "a").expect("there"), "first-value");
    fs::write(state.path().join(SECRETS_FILE), "bridle").expect("damaged");
    assert!(matches!(value(&store, "a"), Err(SecretError::NotOpened)));
    assert!(matches!(store.list(), Err(SecretError::NotOpened)));
    assert_eq!(store.redactor().redact_text("first-value"), "[secret a]");
}

#[test]
fn many_writers_lose_nothing() {
    let state = tempfile::tempdir().expect("a folder");
    std::thread::scope(|scope| {
        for at in 0..8 {
            let path = state.path();
            scope.spawn(move || set(&store(path), &format!("s{at}"), "some-value"));
        }
    });
    assert_eq!(store(state.path()).list().expect("all").len(), 8);
}
