//! Where a daemon is. Parsed from `--addr`, from the environment and from settings.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonAddress {
    /// `HOST:PORT`; the host may be a name.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected HOST:PORT, [IPV6]:PORT, unix:PATH or a path with a slash, got `{0}`")]
pub struct InvalidAddress(String);

impl FromStr for DaemonAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<DaemonAddress, InvalidAddress> {
        let refuse = || InvalidAddress(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err(refuse())
            } else {
                Ok(DaemonAddress::Unix(path.into()))
            };
        }
        if text.contains('/') {
            return Ok(DaemonAddress::Unix(text.into()));
        }
        let rest = text.strip_prefix("tcp:").unwrap_or(text);
        let (host, port) = rest.rsplit_once(':').ok_or_else(refuse)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        // A bare `::1:9105` could mean two things; brackets say which.
        let host_ok = match bracketed {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '[', ']', ' ']),
        };
        if host_ok && port.parse::<u16>().is_ok() && port.bytes().all(|b| b.is_ascii_digit()) {
            Ok(DaemonAddress::Tcp(rest.to_owned()))
        } else {
            Err(refuse())
        }
    }
}

impl fmt::Display for DaemonAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DaemonAddress::Tcp(address) => f.write_str(address),
            DaemonAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DaemonAddress;

    fn check(text: &str, printed: Option<&str>) {
        let parsed = text.parse::<DaemonAddress>().ok().map(|addr| addr.to_string());
        assert_eq!(parsed.as_deref(), printed, "{text}");
    }

    #[test]
    fn addresses() {
        check("127.0.0.1:9105", Some("127.0.0.1:9105"));
        check("tcp:127.0.0.1:9105", Some("127.0.0.1:9105"));
        check("localhost:9105", Some("localhost:9105"));
        check("[::1]:9105", Some("[::1]:9105"));
        check("/run/bridle.sock", Some("unix:/run/bridle.sock"));
        check("unix:here.sock", Some("unix:here.sock"));
        check("./here.sock", Some("unix:./here.sock"));
    }

    #[test]
    fn not_addresses() {
        for text in ["", "9105", ":9105", "::1:9105", "host:", "host:99999", "host:+1", "unix:"] {
            check(text, None);
        }
    }
}
