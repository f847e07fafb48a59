//! The address of an engine: `http://host:port/path` or `https://..`.
//!
//! Read by the command line; the kit asks for other paths of the same server with [`TargetUrl::beside`].

use std::fmt;
use std::str::FromStr;

/// Port of `http`.
const HTTP: u16 = 80;

/// Port of `https`.
const HTTPS: u16 = 443;

/// Address that requests are posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    /// Whether the connection is encrypted.
    pub is_tls: bool,
    /// Name or number, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path, from its first `/`.
    pub path: String,
}

/// A text that is no address of an engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// The address begins with another scheme.
    #[error("expected `http://` or `https://`")]
    Scheme,
    /// There is no host, or something that cannot stand in one.
    #[error("expected a host after the scheme, without a user name")]
    Host,
    /// The port is no number of 16 bits.
    #[error("expected a port from 1 to 65535")]
    Port,
    /// A letter that must be escaped.
    #[error("expected a path of visible ASCII, without `#`")]
    Path,
}

impl TargetUrl {
    /// Host and port, as a `Host` header has them.
    pub fn authority(&self) -> String {
        let is_usual = self.port == if self.is_tls { HTTPS } else { HTTP };
        let host = self.bracketed();
        if is_usual { host } else { format!("{host}:{}", self.port) }
    }

    /// A path below this one.
    pub fn beside(&self, name: &str) -> String {
        format!("{}/{name}", self.path.trim_end_matches('/'))
    }

    /// Tells whether the engine is on this machine.
    pub fn is_local(&self) -> bool {
        self.host == "localhost"
            || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

impl FromStr for TargetUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<TargetUrl, InvalidUrl> {
        let (is_tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(InvalidUrl::Scheme),
        };
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = match authority.strip_prefix('[').and_then(|it| it.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(InvalidUrl::Host)?)),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:_".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(InvalidUrl::Host);
        }
        let port = match port {
            None => {
                if is_tls {
                    HTTPS
                } else {
                    HTTP
                }
            }
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(InvalidUrl::Port)?,
        };
        if !path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err(InvalidUrl::Path);
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(TargetUrl { is_tls, host: host.to_owned(), port, path })
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidUrl, TargetUrl};

    #[test]
    fn an_address_has_one_reading() {
        let shown = |text: &str| text.parse::<TargetUrl>().map(|url| url.to_string());
        assert_eq!(shown("http://h:80/x").unwrap(), "http://h/x");
        assert_eq!(shown("https://[::1]:8443").unwrap(), "https://[::1]:8443/");
        assert_eq!(shown("http://h?a=b").unwrap(), "http://h/?a=b");
        assert_eq!(shown("h:80"), Err(InvalidUrl::Scheme));
        assert_eq!(shown("http://u@h/"), Err(InvalidUrl::Host));
        assert_eq!(shown("http://h:0/"), Err(InvalidUrl::Port));
        assert_eq!(shown("http://h/a b"), Err(InvalidUrl::Path));
        let url: TargetUrl = "http://127.0.0.1:8788/v1/openharness/".parse().unwrap();
        assert_eq!(url.beside("cancel"), "/v1/openharness/cancel");
        assert!(url.is_local());
    }
}
