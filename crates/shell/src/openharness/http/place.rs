//! Where an Engine is: an address such as `http://127.0.0.1:8788` or `unix:/run/bridle.http`, taken
//! apart once.

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Path of an engine, unless its address names another.
pub const PATH: &str = "/v1/openharness";

/// Prefix of the address of a Unix socket.
const UNIX: &str = "unix:";

/// The host of an Engine behind a Unix socket.
const LOCALHOST: &str = "localhost";

/// Address of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineUrl {
    /// Whether with TLS.
    pub https: bool,
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Host and port as they were written.
    pub authority: String,
    /// The path.
    pub path: String,
    /// The Unix socket to connect to, instead of host and port.
    pub socket: Option<PathBuf>,
}

/// A text that is no address of an Engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the address of an Engine, expected one such as `http://127.0.0.1:8788`")]
pub struct InvalidEngineUrl(String);

impl EngineUrl {
    /// An Engine behind a Unix socket of this machine.
    pub fn of_socket(socket: &Path) -> EngineUrl {
        EngineUrl {
            https: false,
            host: LOCALHOST.to_owned(),
            port: 80,
            authority: LOCALHOST.to_owned(),
            path: PATH.to_owned(),
            socket: Some(socket.to_path_buf()),
        }
    }

    /// Returns the address as people know it.
    pub fn shown(&self) -> String {
        match &self.socket {
            Some(socket) => format!("{UNIX}{}", socket.display()),
            None => self.authority.clone(),
        }
    }

    /// Tells whether it is this machine.
    pub fn is_local(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1")
    }
}

impl FromStr for EngineUrl {
    type Err = InvalidEngineUrl;

    fn from_str(text: &str) -> Result<EngineUrl, InvalidEngineUrl> {
        read(text).ok_or_else(|| InvalidEngineUrl(text.chars().take(200).collect()))
    }
}

fn read(text: &str) -> Option<EngineUrl> {
    if let Some(path) = text.strip_prefix(UNIX) {
        return (!path.is_empty()).then(|| EngineUrl::of_socket(Path::new(path)));
    }
    let (https, rest) = match text.split_once("://")? {
        ("http", rest) => (false, rest),
        ("https", rest) => (true, rest),
        _ => return None,
    };
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"@?#\\\"<>".contains(&byte);
    if !rest.bytes().all(is_plain) {
        return None;
    }
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_port = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port {
        Some(port) => Some(port).filter(is_port)?.parse().ok()?,
        None if https => 443,
        None => 80,
    };
    if host.is_empty() || port == 0 || (host.contains(':') && !authority.starts_with('[')) {
        return None;
    }
    let path = if matches!(path, "" | "/") { PATH } else { path };
    Some(EngineUrl {
        https,
        host: host.to_owned(),
        port,
        authority: authority.to_owned(),
        path: path.to_owned(),
        socket: None,
    })
}

#[cfg(test)]
mod tests {
    use super::EngineUrl;

    #[test]
    fn addresses() {
        for (text, https, host, port, path) in [
            ("http://127.0.0.1:8788", false, "127.0.0.1", 8788, "/v1/openharness"),
            ("https://gw.example.org/", true, "gw.example.org", 443, "/v1/openharness"),
            ("http://[::1]:80/harness/v1", false, "::1", 80, "/harness/v1"),
            ("http://localhost", false, "localhost", 80, "/v1/openharness"),
        ] {
            let place: EngineUrl = text.parse().unwrap();
            let got = (place.https, place.host.as_str(), place.port, place.path.as_str());
            assert_eq!(got, (https, host, port, path), "{text}");
        }
        let socket: EngineUrl = "unix:/run/b.http".parse().unwrap();
        assert_eq!(socket.shown(), "unix:/run/b.http");
        assert_eq!((socket.authority.as_str(), socket.is_local()), ("localhost", true));
    }

    #[test]
    fn what_is_no_address() {
        for text in [
            "",
            "127.0.0.1:8788",
            "ftp://x",
            "http://",
            "http://:80",
            "http://a:b",
            "http://a:99999",
            "http://a:0",
            "http://user:word@host",
            "http://host/?token=x",
            "http://host/a b",
            "http://host/\r\nX: y",
            "http://::1/",
            "unix:",
            "http://[nine]/",
            "http://[::1]x",
        ] {
            assert!(text.parse::<EngineUrl>().is_err(), "{text}");
        }
    }
}
