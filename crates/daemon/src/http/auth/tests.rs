//! Which requests are let in by what they say about where they come from.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

use super::{ConnectionKind, HttpPeer};

fn is_let_in(pairs: &[(axum::http::HeaderName, &str)]) -> bool {
    is_let_in_by(ConnectionKind::Plain, pairs)
}

fn is_let_in_by(way: ConnectionKind, pairs: &[(axum::http::HeaderName, &str)]) -> bool {
    let (remote, local) = ("127.0.0.1:50000".parse().unwrap(), "127.0.0.1:8788".parse().unwrap());
    let peer = HttpPeer::new(remote, local, way);
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
    }
    peer.check(&headers).is_ok()
}

#[test]
fn only_this_machine_is_a_host() {
    for host in ["127.0.0.1:8788", "localhost:8788", "LOCALHOST:8788", "[::1]:8788", "localhost"] {
        assert!(is_let_in(&[(HOST, host)]), "{host}");
    }
    for host in
        ["evil.example", "evil.example:8788", "127.0.0.1:80", "127.0.0.1.evil.example:8788", ""]
    {
        assert!(!is_let_in(&[(HOST, host)]), "{host}");
    }
    assert!(!is_let_in(&[]));
    assert!(!is_let_in(&[(HOST, "localhost:8788"), (HOST, "evil.example")]));
}

#[test]
fn a_host_that_was_good_makes_no_other_good() {
    let ends = ("127.0.0.1:50000".parse().unwrap(), "127.0.0.1:8788".parse().unwrap());
    let peer = HttpPeer::new(ends.0, ends.1, ConnectionKind::Plain);
    let check = |host: &'static str, good: bool| {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
        assert_eq!(peer.check(&headers).is_ok(), good, "{host}");
    };
    for _ in 0..2 {
        check("evil.example:8788", false);
        check("localhost:8788", true);
        check("127.0.0.1:8788", true);
        check("localhost:80", false);
    }
}

#[test]
fn only_the_same_origin_may_ask() {
    let host = (HOST, "localhost:8788");
    assert!(is_let_in(&[host.clone(), (ORIGIN, "http://localhost:8788")]));
    for origin in [
        "null",
        "https://localhost:8788",
        "http://localhost:3000",
        "http://127.0.0.1:8788",
        "http://evil.example",
        "http://localhost:8788.evil.example",
    ] {
        assert!(!is_let_in(&[host.clone(), (ORIGIN, origin)]), "{origin}");
    }
}

#[test]
fn with_tls_the_certificate_says_which_host_it_is() {
    let host = (HOST, "home.example.org");
    let check = |origin, good: bool| {
        let found = is_let_in_by(ConnectionKind::Tls(None), &[host.clone(), (ORIGIN, origin)]);
        assert_eq!(found, good, "{origin}");
    };
    check("https://home.example.org", true);
    check("http://home.example.org", false);
    check("https://evil.example", false);
}

#[test]
fn an_origin_of_the_settings_is_let_in_alone() {
    let ends = ("127.0.0.1:50000".parse().unwrap(), "127.0.0.1:8788".parse().unwrap());
    let known = ["https://app.example.org".parse().unwrap()];
    let peer = HttpPeer::new(ends.0, ends.1, ConnectionKind::Plain).letting_in(known.into());
    let check = |origins: &[&'static str], good: bool| {
        let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        for origin in origins {
            headers.append(ORIGIN, HeaderValue::from_static(origin));
        }
        assert_eq!(peer.check(&headers).is_ok(), good, "{origins:?}");
    };
    check(&["https://app.example.org"], true);
    check(&["http://localhost"], true);
    check(&["https://app.example.org", "https://app.example.org"], false);
    check(&["https://app.example.org:8443"], false);
    check(&["https://APP.example.org"], false);
}
