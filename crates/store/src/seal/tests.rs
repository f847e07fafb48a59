//! A text opens in its own place and nowhere else.

use super::{Label, Place, SALT, SessionKey, is_destroyed};

#[test]
fn opens_only_where_it_was_sealed() {
    let key = SessionKey::new().unwrap();
    let salt = [7; SALT];
    let place = Place { label: Label::Body, number: 5, salt: &salt };
    let sealed = key.seal(place, b"text".to_vec());
    assert_eq!(sealed.len(), 4 + super::TAG);
    assert_eq!(key.open(place, sealed.clone()).as_deref(), Some(&b"text"[..]));
    let others = [
        Place { label: Label::State, ..place },
        Place { number: 6, ..place },
        Place { salt: &[8; SALT], ..place },
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
fn zero_means_destroyed() {
    assert!(SessionKey::from_bytes(&[0; 32]).unwrap().is_destroyed());
    assert!(!SessionKey::new().unwrap().is_destroyed());
    assert!(SessionKey::from_bytes(&[1; 31]).is_none());
    assert!(is_destroyed(&[0; SALT]) && !is_destroyed(&[1; SALT]));
}
