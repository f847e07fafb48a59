//! Tokens: the same for the same text, and nothing but themselves.

use std::os::unix::fs::PermissionsExt as _;

use super::{KEY_FILE, OpenedToken, SealError, TokenSealer};

#[test]
fn a_token_is_read_by_who_has_the_key_and_by_nobody_else() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let token = TokenSealer::open(one.path()).unwrap().seal("(:run 7)").unwrap();
    let again = TokenSealer::open(one.path()).unwrap();
    let OpenedToken { text, nonce } = again.unseal(&token).unwrap();
    assert_eq!(text, "(:run 7)");
    assert!(token.starts_with(&nonce));
    assert_eq!(again.seal("(:run 7)").unwrap(), token);
    assert_ne!(again.seal("(:run 8)").unwrap()[..24], token[..24]);
    assert!(!token.contains("run"));
    assert_eq!(TokenSealer::open(other.path()).unwrap().unseal(&token), None);
}

#[test]
fn every_bit_counts() {
    let dir = tempfile::tempdir().unwrap();
    let seals = TokenSealer::open(dir.path()).unwrap();
    let token = seals.seal("(:run 7)").unwrap();
    for at in 0..token.len() {
        for bit in 0..7 {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let flipped = String::from_utf8(bytes).unwrap();
            assert_eq!(seals.unseal(&flipped), None, "byte {at} bit {bit}");
        }
    }
    for bad in ["", "0", "00", &token[..token.len() - 2], &format!("{token}00"), "\u{e9}\u{e9}"] {
        assert_eq!(seals.unseal(bad), None, "{bad}");
    }
}

#[test]
fn the_key_is_private_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    TokenSealer::open(dir.path()).unwrap();
    let path = dir.path().join(KEY_FILE);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&path, "short\n").unwrap();
    assert!(matches!(TokenSealer::open(dir.path()), Err(SealError::Damaged)));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(TokenSealer::open(dir.path()), Err(SealError::File(_))));
}
