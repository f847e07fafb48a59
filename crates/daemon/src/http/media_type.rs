//! Content negotiation: the media type of a request's body and the ones its sender accepts.
//!
//! Every handler with a JSON body asks [`is_json`]; [`post`](super::post) asks [`accepts`] for the
//! form of the response.

use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};

/// Media ranges that include JSON.
pub(super) const JSON_RANGES: [&str; 3] = ["*/*", "application/*", "application/json"];

/// Media range of a stream of events.
pub(super) const EVENT_STREAM_RANGES: [&str; 1] = ["text/event-stream"];

/// Weights that exclude the media type before them.
const ZERO_WEIGHTS: [&str; 4] = ["q=0", "q=0.0", "q=0.00", "q=0.000"];

/// Tells whether a body is declared as JSON in UTF-8 without a content coding.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    // Nothing is decompressed here.
    let is_plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_plain) {
        return false;
    }
    if kind == "application/json" {
        return true;
    }
    let mut parts = kind.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let is_json = essence.eq_ignore_ascii_case("application/json")
        || (begins(essence, "application/") && ends(essence, "+json"));
    let charsets = parts.filter_map(|part| part.split_once('='));
    let mut charsets = charsets.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    is_json
        && charsets.all(|(_, value)| value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"))
}

/// Tells whether a text begins with another, whatever the case.
fn begins(text: &str, start: &str) -> bool {
    let first = text.as_bytes().get(..start.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(start.as_bytes()))
}

/// Tells whether a text ends with another, whatever the case.
fn ends(text: &str, end: &str) -> bool {
    let from = text.len().checked_sub(end.len());
    let last = from.and_then(|from| text.as_bytes().get(from..));
    last.is_some_and(|last| last.eq_ignore_ascii_case(end.as_bytes()))
}

/// Tells whether a shell accepts one of these media ranges; a shell without `Accept` takes JSON.
pub(super) fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|range| !range.is_empty())
        .peekable();
    if ranges.peek().is_none() {
        return types == JSON_RANGES;
    }
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let is_none = |part| ZERO_WEIGHTS.iter().any(|none: &&str| none.eq_ignore_ascii_case(part));
        let is_refused = parts.any(is_none);
        types.iter().any(|range| range.eq_ignore_ascii_case(kind)) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
    use axum::http::{HeaderMap, HeaderValue};

    use super::{EVENT_STREAM_RANGES, JSON_RANGES, accepts, is_json};

    #[test]
    fn the_type_of_a_body_is_json_in_utf8() {
        let check = |kind: &'static str| {
            is_json(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]))
        };
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/vnd.x+json;charset=\"utf-8\"",
        ] {
            assert!(check(good), "{good}");
        }
        for bad in
            ["text/plain", "application/x-www-form-urlencoded", "application/json;charset=l1"]
        {
            assert!(!check(bad), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
        let coded = |coding: &'static str| {
            let kind = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
            is_json(&HeaderMap::from_iter([
                kind,
                (CONTENT_ENCODING, HeaderValue::from_static(coding)),
            ]))
        };
        assert!(coded("identity"));
        assert!(!coded("gzip") && !coded("identity, gzip") && !coded(""));
    }

    #[test]
    fn what_a_shell_accepts_must_include_json() {
        let check = |accept: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            accepts(&headers, &JSON_RANGES)
        };
        for good in ["*/*", "application/*", "text/html, application/json;q=0.5", ""] {
            assert!(check(good), "{good}");
        }
        for bad in ["text/html", "application/json;q=0", "image/png, text/*"] {
            assert!(!check(bad), "{bad}");
        }
        assert!(accepts(&HeaderMap::new(), &JSON_RANGES));
        assert!(!accepts(&HeaderMap::new(), &EVENT_STREAM_RANGES));
    }
}
