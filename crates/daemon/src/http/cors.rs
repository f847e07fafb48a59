//! Web pages of other origins: what a browser asks before it lets them in, and what it wants to
//! read with every answer (CORS).
//!
//! `serve` asks here before and after the router. Whether a request is let in at all is the gate's
//! business, and pages whose origin is not a setting are refused there; this only tells the browser
//! of a page that is let in. There is no wildcard, and cookies are never asked for: who asks is
//! known by a token, or by the socket.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;

use super::auth::HttpPeer;

/// Methods that are served somewhere.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST");

/// Headers of a request that mean something here, beyond those that every page may send.
const ASKED: HeaderValue = HeaderValue::from_static(
    "authorization, content-digest, content-type, idempotency-key, last-event-id, traceparent, \
     x-correlation-id, x-request-id",
);

/// Headers of an answer that a page may read, beyond those that every page may.
const TOLD: HeaderValue = HeaderValue::from_static(
    "content-digest, idempotency-replayed, location, retry-after, traceparent, www-authenticate, \
     x-correlation-id, x-request-id",
);

/// Seconds for which a browser need not ask again: a setting that is taken back counts soon.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// A browser asks whether a page of the network may reach this machine.
const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");

/// Page that the settings name.
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

const TRUE: HeaderValue = HeaderValue::from_static("true");

/// The page that asks, if one does and may.
#[derive(Debug)]
pub(super) struct RequestingPage {
    origin: Option<HeaderValue>,
}

impl RequestingPage {
    /// Looks who asks.
    pub(super) fn of(peer: &HttpPeer, headers: &HeaderMap) -> RequestingPage {
        let origin = headers.get(ORIGIN);
        RequestingPage { origin: origin.filter(|_| peer.check(headers).is_ok()).cloned() }
    }

    /// Answers what a browser asks by itself before it sends a request of the page.
    pub(super) fn preflight(&self, request: &Parts) -> Option<Response> {
        let is_asked = request.method == Method::OPTIONS
            && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !is_asked || self.origin.is_none() {
            return None;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ASKED);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if request.headers.get(ASKS_PRIVATE) == Some(&TRUE) {
            headers.insert(ALLOWS_PRIVATE, TRUE);
        }
        Some(response)
    }

    /// Lets the page read an answer. Caches learn that others may get another one.
    pub(super) fn mark(self, headers: &mut HeaderMap) {
        headers.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = self.origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, TOLD);
        }
    }
}
