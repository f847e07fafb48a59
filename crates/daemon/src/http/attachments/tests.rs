//! Types, references and what a browser may do with a file.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};

use super::{DEFAULT_MEDIA_TYPE, is_inert, is_kind, kind_of};

#[test]
fn a_type_has_two_halves_and_perhaps_parameters() {
    for good in ["text/plain", "text/plain; charset=utf-8", "application/vnd.x+json", "a/b"] {
        assert!(is_kind(good), "{good}");
    }
    let long = format!("a/{}", "b".repeat(254));
    for bad in ["", "text", "text/", "/plain", "te xt/plain", "text/pl\"ain", "a/b/c", &long] {
        assert!(!is_kind(bad), "{bad}");
    }
    let mut headers = HeaderMap::new();
    assert_eq!(&*kind_of(&headers).unwrap(), DEFAULT_MEDIA_TYPE);
    headers.append(CONTENT_TYPE, HeaderValue::from_static("a/b"));
    assert_eq!(&*kind_of(&headers).unwrap(), "a/b");
    headers.append(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    assert!(kind_of(&headers).is_err(), "two types are none");
}

#[test]
fn what_could_run_is_no_more_than_bytes() {
    for inert in ["text/plain", "image/png", "application/pdf", "audio/ogg"] {
        assert!(is_inert(inert), "{inert}");
    }
    for active in
        ["text/html", "TEXT/HTML;x", "image/svg+xml", "application/xhtml+xml", "text/javascript"]
    {
        assert!(!is_inert(active), "{active}");
    }
}
