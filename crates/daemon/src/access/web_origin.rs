//! The origin of a web page, as a browser names it: scheme, host and port, nothing else.
//!
//! Settings list the origins whose pages may ask over HTTP; `http` compares them byte for byte with
//! what a browser sends. So a spelling that no browser uses is refused here: it would allow nobody,
//! and nobody would see why.

use std::fmt;
use std::str::FromStr;

/// Longest origin in bytes: the longest name of a host with room for a scheme and a port.
const MAX_ORIGIN: usize = 320;

/// Origin of a web page: `https://app.example.org`, `http://localhost:3000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(Box<str>);

/// A text that is no origin, or none that can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected SCHEME://HOST or SCHEME://HOST:PORT, {0}")]
pub struct InvalidOrigin(&'static str);

impl WebOrigin {
    /// The text that a browser sends.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WebOrigin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<WebOrigin, InvalidOrigin> {
        if text == "null" {
            return Err(InvalidOrigin("and `null` is any page that hides where it is from"));
        }
        if text.contains('*') {
            return Err(InvalidOrigin("each by itself: there is no wildcard"));
        }
        if text.len() > MAX_ORIGIN {
            return Err(InvalidOrigin("and shorter"));
        }
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(InvalidOrigin("in lower case, as browsers send it"));
        }
        let (scheme, rest) = text.split_once("://").ok_or(InvalidOrigin("with its scheme"))?;
        let (host, port) = split_port(rest);
        let default = match scheme {
            "http" => Some("80"),
            "https" => Some("443"),
            _ => None,
        };
        if port.is_some() && port == default {
            return Err(InvalidOrigin("without the port that the scheme has anyway"));
        }
        if !is_scheme(scheme) || !is_host(host) || !port.is_none_or(is_port) {
            return Err(InvalidOrigin("and nothing behind it"));
        }
        Ok(WebOrigin(text.into()))
    }
}

/// Parts `host:port`; the colons of an IPv6 address are inside brackets.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

fn is_scheme(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_part)
}

fn is_host(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !text.is_empty() && text.bytes().all(is_part),
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0 && port.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::WebOrigin;

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for good in [
            "http://localhost:3000",
            "https://app.example.org",
            "http://[::1]:8080",
            "http://[::1]",
            "chrome-extension://abcdefghijklmnop",
            "tauri://localhost",
        ] {
            assert_eq!(good.parse::<WebOrigin>().map(|it| it.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn what_no_browser_sends_and_what_anybody_can_is_refused() {
        for (bad, why) in [
            ("null", "hides"),
            ("*", "wildcard"),
            ("https://*.example.org", "wildcard"),
            ("HTTPS://app.example.org", "lower case"),
            ("app.example.org", "scheme"),
            ("https://app.example.org/", "nothing behind"),
            ("https://app.example.org/page", "nothing behind"),
            ("https://app.example.org:443", "the port that the scheme has"),
            ("http://localhost:80", "the port that the scheme has"),
            ("http://localhost:0", "nothing behind"),
            ("http://localhost:070", "nothing behind"),
            ("http://localhost:", "nothing behind"),
            ("http://[::1", "nothing behind"),
            ("http://", "nothing behind"),
            ("://x", "nothing behind"),
            ("https://user@app.example.org", "nothing behind"),
            ("https://app.example.org#x", "nothing behind"),
            ("https://b\u{fc}ro.example", "nothing behind"),
            ("", "scheme"),
            (&format!("https://{}", "a".repeat(400)), "shorter"),
        ] {
            let error = bad.parse::<WebOrigin>().unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
