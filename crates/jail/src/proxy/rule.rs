//! Grants of hosts: a name, or all names below one, with a port; never an address, never a part of a
//! label.

use std::fmt;

use super::address::is_address_literal;

/// Longest name of a host.
const MAX_HOST_BYTES: usize = 253;

/// Ports that a grant without a port is for.
const WEB_PORTS: [u16; 2] = [80, 443];

/// Reach of a grant into private networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum AddressReach {
    Public,
    Private,
}

/// Grant of one host, or of all below a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    name: String,
    is_wildcard: bool,
    port: Option<u16>,
    reach: AddressReach,
}

impl HostRule {
    /// Reads `example.org`, `*.example.org`, `example.org:8443`, each with `+private` behind it when
    /// the name may lead to an address of this machine or network.
    ///
    /// # Errors
    ///
    /// Text that is none of these is refused, addresses and `*` alone included.
    pub fn parse(text: &str) -> Result<HostRule, String> {
        let (rest, reach) = match text.strip_suffix("+private") {
            Some(rest) => (rest, AddressReach::Private),
            None => (text, AddressReach::Public),
        };
        let (host, port) = match rest.rsplit_once(':') {
            None => (rest, None),
            Some((host, port)) => {
                let port = port.parse::<u16>().ok().filter(|port| *port > 0);
                (host, Some(port.ok_or_else(|| format!("`{text}` has no port behind its colon"))?))
            }
        };
        let (name, is_wildcard) = match host.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (host, false),
        };
        let name = normalize(name).ok_or_else(|| format!("`{text}` is not the name of a host"))?;
        if is_wildcard && !name.contains('.') {
            return Err(format!("`{text}` is too wide: name at least two labels"));
        }
        Ok(HostRule { name, is_wildcard, port, reach })
    }

    /// Whether the grant is for this host and port.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let Some(host) = normalize(host) else { return false };
        let is_port = match self.port {
            Some(only) => only == port,
            None => WEB_PORTS.contains(&port),
        };
        let is_host = if self.is_wildcard {
            host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.name
        };
        is_port && is_host
    }

    pub(super) fn allows_private(&self) -> bool {
        self.reach == AddressReach::Private
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.is_wildcard { "*." } else { "" };
        write!(f, "{star}{}", self.name)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(if self.allows_private() { "+private" } else { "" })
    }
}

/// Name in lower case without a final dot; `None` for what is no name.
pub(super) fn normalize(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let is_name = host.len() <= MAX_HOST_BYTES && host.split('.').all(is_label);
    (is_name && !is_address_literal(&host)).then_some(host)
}
