//! Addresses of providers: `http` or `https`, host, port, path. No name, password, query or fragment: a key in an
//! address would be in every log.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Address of a server, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProviderAddress {
    /// Whether the connection is encrypted.
    pub scheme: AddressScheme,
    /// Host in lower case; an IPv6 address without brackets.
    pub host: String,
    /// Port, if one is written.
    pub port: Option<u16>,
    /// Path, empty or with a slash before it.
    pub path: String,
}

/// Scheme of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressScheme {
    /// Not encrypted.
    Http,
    /// Encrypted.
    Https,
}

impl ProviderAddress {
    /// Reads an address; the error is what to write instead.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("http", rest)) => (AddressScheme::Http, rest),
            Some(("https", rest)) => (AddressScheme::Https, rest),
            _ => return Err("write an address such as `https://api.example.org/v1`"),
        };
        let (server, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if server.contains('@') {
            return Err(
                "write the address without a name or password, and the key's source as `:KEY:`",
            );
        }
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\\\"<>%".contains(&byte);
        if rest.contains(['?', '#']) || !path.bytes().all(is_plain) {
            return Err("write the address without query, fragment and escapes");
        }
        if path.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err("write the address without `..`");
        }
        let (host, port) = split_port(server).ok_or("write the host as `HOST` or `HOST:PORT`")?;
        let path = path.trim_end_matches('/').to_owned();
        Ok(Self { scheme, host, port, path })
    }

    /// Whether the host is this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }

    /// Whether the host can only be one of the user's own networks.
    pub(super) fn is_private(&self) -> bool {
        let own = [".local", ".lan", ".internal", ".home.arpa", ".localhost"];
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
            Ok(IpAddr::V6(ip)) => {
                ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
            }
            Err(_) => !self.host.contains('.') || own.iter().any(|end| self.host.ends_with(end)),
        }
    }
}

/// Host in lower case and port.
fn split_port(server: &str) -> Option<(String, Option<u16>)> {
    if let Some(rest) = server.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let host = host.parse::<Ipv6Addr>().ok()?.to_string();
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port_number(port)?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    let (host, port) = match server.split_once(':') {
        Some((host, port)) => (host, Some(port_number(port)?)),
        None => (server, None),
    };
    is_host(host).then(|| (host.to_ascii_lowercase(), port))
}

fn port_number(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok().filter(|port| *port > 0))?
}

/// Whether the text is a name or an IPv4 address.
pub(super) fn is_host(text: &str) -> bool {
    let in_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label =
        |label: &str| !label.is_empty() && label.len() <= 63 && label.bytes().all(in_label);
    text.len() <= 253 && text.split('.').all(is_label)
}

impl fmt::Display for ProviderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            AddressScheme::Http => "http",
            AddressScheme::Https => "https",
        };
        let is_v6 = self.host.contains(':');
        let (open, close) = if is_v6 { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::ProviderAddress;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, shown) in [
            ("https://api.example.org/v1/", "https://api.example.org/v1"),
            ("HTTP://x", ""),
            ("http://LOCALHOST:11434/v1", "http://localhost:11434/v1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://127.0.0.1", "http://127.0.0.1"),
            ("https://a:b@x/v1", ""),
            ("https://x/v1?key=1", ""),
            ("https://x/../v1", ""),
            ("https://x:0/v1", ""),
            ("https://x:99999", ""),
            ("https://x:+1", ""),
            ("https://", ""),
            ("https://a..b", ""),
            ("https://exa mple", ""),
            ("ftp://x", ""),
            ("x.org/v1", ""),
        ] {
            let read = ProviderAddress::parse(text).map(|address| address.to_string());
            assert_eq!(read.unwrap_or_default(), shown, "{text}");
        }
    }

    #[test]
    fn own_networks_are_known_by_their_names_and_numbers() {
        let is_private = |host: &str| {
            let address = ProviderAddress::parse(&format!("http://{host}")).unwrap();
            (address.is_loopback(), address.is_private())
        };
        assert_eq!(is_private("127.0.0.1"), (true, true));
        assert_eq!(is_private("localhost"), (true, true));
        assert_eq!(is_private("[::1]"), (true, true));
        assert_eq!(is_private("192.168.1.5"), (false, true));
        assert_eq!(is_private("nas.local"), (false, true));
        assert_eq!(is_private("gpu"), (false, true));
        assert_eq!(is_private("api.openai.com"), (false, false));
        assert_eq!(is_private("8.8.8.8"), (false, false));
    }
}
