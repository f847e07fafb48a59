//! A text opens in its own place and nowhere else.

use super::{SALT_BYTES, SealLabel, SealPlace, SessionKey, is_destroyed};

#[test]
fn opens_only_where_it_was_sealed() {
    let key = SessionKey::new().unwrap();
    let salt = [7; SALT_BYTES];
    let place = SealPlace { label: SealLabel::Body, number: 5, salt: &salt };
    let sealed = key.seal(place, b"text".to_vec());
    assert_eq!(sealed.len(), 4 + super::TAG_BYTES);
    assert_eq!(key.open(place, sealed.clone()).as_deref(), Some(&b"text"[..]));
    let others = [
        SealPlace { label: SealLabel::State, ..place },
        SealPlace { number: 6, ..place },
        SealPlace { salt: &[8; SALT_BYTES], ..place },
    ];
    for other in others {
        assert_eq!(key.open(other, sealed.clone()), None);
    }
    assert_eq!(SessionKey::new().unwrap().open(place, sealed.clone()), None);
    for byte in 0..sealed.len() {
        let mut edited = sealed.clone();
        edited[byte] ^= 1;
        assert_eq!(key.open(place, edited), None, "byte {byte}");
    }
    assert_eq!(key.open(place, sealed[..3].to_vec()), None);
}

#[test]
fn is_the_published_cipher() {
    // ChaCha20-Poly1305 of RFC 8439 under the derived key; sealed by version 0.10.1 of the crate
    // `chacha20poly1305`, so that records that it wrote can be read.
    let key = SessionKey::from_bytes(&[9; 32]).unwrap();
    let place = SealPlace { label: SealLabel::Body, number: 5, salt: &[7; SALT_BYTES] };
    let sealed: String =
        key.seal(place, b"text".to_vec()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sealed, "d83fa089c7c5933e3dafbd0496fd4c68e6a51d60");
}

#[test]
fn a_mask_is_of_its_place_and_undoes_itself() {
    let key = SessionKey::new().unwrap();
    let place = SealPlace { label: SealLabel::Receipt, number: 5, salt: &[7; SALT_BYTES] };
    let masked = |place| {
        let mut hashes = [1; super::MASK_BYTES];
        key.mask(place, &mut hashes);
        hashes
    };
    let mut hashes = masked(place);
    assert_ne!(hashes, masked(SealPlace { number: 6, ..place }));
    assert_ne!(hashes, masked(SealPlace { salt: &[8; SALT_BYTES], ..place }));
    key.mask(place, &mut hashes);
    assert_eq!(hashes, [1; super::MASK_BYTES]);
}

#[test]
fn zero_means_destroyed() {
    assert!(SessionKey::from_bytes(&[0; 32]).unwrap().is_destroyed());
    assert!(!SessionKey::new().unwrap().is_destroyed());
    assert!(SessionKey::from_bytes(&[1; 31]).is_none());
    assert!(is_destroyed(&[0; SALT_BYTES]) && !is_destroyed(&[1; SALT_BYTES]));
}
