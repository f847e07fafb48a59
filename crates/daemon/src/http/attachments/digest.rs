//! `Digest` (RFC 3230) and `Content-Digest` (RFC 9530): what a shell says the hash of a body is.
//!
//! Used for uploads. A digest that cannot be checked is a fault, since whoever sends one counts on
//! it; of several, those that are known must fit.

use axum::http::HeaderMap;
use sha2::{Digest as _, Sha256, Sha512};

use bridle_sexp::byte_text::base64;

/// The older header, and the one of today: `SHA-256=..` and `sha-256=:..:`.
const HEADERS: [&str; 2] = ["digest", "content-digest"];

/// Digests of one request that are looked at: there are two ways to write two.
const MAX_DIGESTS: usize = 8;

/// A hash that a body must have, in base64.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpectedDigest {
    Sha256(String),
    Sha512(String),
}

impl ExpectedDigest {
    /// Tells whether these bytes have it.
    pub(super) fn fits(&self, bytes: &[u8]) -> bool {
        match self {
            ExpectedDigest::Sha256(text) => base64(&Sha256::digest(bytes)) == *text,
            ExpectedDigest::Sha512(text) => base64(&Sha512::digest(bytes)) == *text,
        }
    }
}

/// The hashes that the headers name.
///
/// # Errors
/// A header is there, and none of its digests can be checked.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Vec<ExpectedDigest>, ()> {
    let mut all = Vec::new();
    for (header, is_field) in HEADERS.into_iter().zip([false, true]) {
        for value in headers.get_all(header) {
            let text = value.to_str().map_err(|_| ())?;
            let found = text.split(',').take(MAX_DIGESTS).filter_map(|one| digest(one, is_field));
            let before = all.len();
            all.extend(found);
            if all.len() == before || all.len() > MAX_DIGESTS {
                return Err(());
            }
        }
    }
    Ok(all)
}

/// One digest, if it is of a kind that is known.
fn digest(text: &str, is_field: bool) -> Option<ExpectedDigest> {
    let (name, value) = text.trim().split_once('=')?;
    let value = match is_field {
        true => value.strip_prefix(':')?.strip_suffix(':')?,
        false => value,
    };
    match () {
        () if name.eq_ignore_ascii_case("sha-256") => {
            Some(ExpectedDigest::Sha256(value.to_owned()))
        }
        () if name.eq_ignore_ascii_case("sha-512") => {
            Some(ExpectedDigest::Sha512(value.to_owned()))
        }
        () => None,
    }
}

/// The hash of a file as `Content-Digest` says it.
pub(super) fn field(sha256: &[u8; 32]) -> String {
    format!("sha-256=:{}:", base64(sha256))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{ExpectedDigest, wanted};

    fn check(name: &'static str, value: &str, body: &str, expect: Option<bool>) {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        let got = wanted(&headers).ok();
        let got = got.map(|all| all.iter().all(|one: &ExpectedDigest| one.fits(body.as_bytes())));
        assert_eq!(got, expect, "{name}: {value}");
    }

    #[test]
    fn a_digest_fits_or_not_or_cannot_be_checked() {
        let hello = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";
        check("digest", &format!("SHA-256={hello}"), "hello", Some(true));
        check("digest", &format!("SHA-256={hello}"), "hell", Some(false));
        check("digest", &format!("md5=x,sha-256={hello}"), "hello", Some(true));
        check("content-digest", &format!("sha-256=:{hello}:"), "hello", Some(true));
        check("content-digest", &format!("sha-256=:{hello}:, sha-512=:x:"), "hello", Some(false));
        check("content-digest", &format!("sha-256={hello}"), "hello", None);
        check("digest", "md5=XUFAKrxLKna5cZ2REBfFkg==", "hello", None);
        check("digest", "", "hello", None);
        check("digest", &format!("sha-256={hello},").repeat(9), "hello", Some(true));
    }
}
