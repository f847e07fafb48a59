//! Which hosts may be asked: a short list that whoever runs the daemon writes.
//!
//! `example.org` is that host, `*.example.org` any host below it, `*` any host; `:PORT` behind it
//! permits one more port besides 80 and 443. That a host is on the list does not make it public:
//! [`address_rules`](super::address_rules) is asked all the same.

use std::fmt;
use std::str::FromStr;

use super::FetchRefusal;
use super::url::{check_host, port_of};

/// Entries of a list.
const MAX_ENTRIES: usize = 256;

/// Ports that need no mention.
const PORTS: [u16; 2] = [80, 443];

/// The hosts that may be asked; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<HostRule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRule {
    pattern: HostPattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    Below(Box<str>),
    Exactly(Box<str>),
}

/// A list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}`, expected `HOST`, `*.HOST` or `*`, with `:PORT` or without")]
pub struct InvalidHostList {
    entry: String,
}

impl AllowedHosts {
    /// Tells whether nothing may be asked at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks for a host, in lower case, and a port of it.
    pub(super) fn permit(&self, host: &str, port: u16) -> Result<(), FetchRefusal> {
        let mut named = self.0.iter().filter(|entry| entry.pattern.names(host)).peekable();
        if named.peek().is_none() {
            return Err(FetchRefusal::Host);
        }
        let is_open = PORTS.contains(&port) || named.any(|entry| entry.port == Some(port));
        if is_open { Ok(()) } else { Err(FetchRefusal::Port) }
    }
}

impl AllowedHosts {
    /// Whether an entry names this host and this port, both of them.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        let is_it = |entry: &HostRule| match &entry.pattern {
            HostPattern::Any => false,
            pattern => pattern.names(host) && entry.port == Some(port),
        };
        self.0.iter().any(is_it)
    }
}

impl HostPattern {
    fn names(&self, host: &str) -> bool {
        match self {
            HostPattern::Any => true,
            HostPattern::Exactly(name) => host == &**name,
            HostPattern::Below(name) => {
                host.strip_suffix(&**name).is_some_and(|rest| rest.ends_with('.'))
            }
        }
    }
}

impl FromStr for AllowedHosts {
    type Err = InvalidHostList;

    /// Reads entries with commas between them.
    fn from_str(text: &str) -> Result<AllowedHosts, InvalidHostList> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let all: Result<Vec<HostRule>, InvalidHostList> = entries
            .map(|entry| read(entry).ok_or_else(|| InvalidHostList { entry: entry.to_owned() }))
            .collect();
        all.and_then(|all| match all.len() <= MAX_ENTRIES {
            true => Ok(AllowedHosts(all)),
            false => Err(InvalidHostList { entry: format!("{} entries", all.len()) }),
        })
    }
}

impl fmt::Display for AllowedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (star, name) = match &entry.pattern {
                HostPattern::Any => ("*", ""),
                HostPattern::Below(name) => ("*.", &**name),
                HostPattern::Exactly(name) => ("", &**name),
            };
            match name.contains(':') {
                true => write!(f, "{comma}[{name}]")?,
                false => write!(f, "{comma}{star}{name}")?,
            }
            if let Some(port) = entry.port {
                write!(f, ":{port}")?;
            }
        }
        Ok(())
    }
}

fn read(entry: &str) -> Option<HostRule> {
    let entry = entry.to_ascii_lowercase();
    let (host, port) = match entry.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some("")))
        }
        None => {
            let (host, port) = entry.split_once(':').unwrap_or((&entry, ""));
            if entry.ends_with(':') {
                return None;
            }
            (host, Some(port))
        }
    };
    let port = match port? {
        "" => None,
        digits => Some(port_of(digits)?),
    };
    let pattern = match host {
        "*" => HostPattern::Any,
        _ => match host.strip_prefix("*.") {
            Some(name) => HostPattern::Below(checked(name)?),
            None => HostPattern::Exactly(checked(host)?),
        },
    };
    Some(HostRule { pattern, port })
}

fn checked(host: &str) -> Option<Box<str>> {
    check_host(host).ok().map(|()| host.into())
}

#[cfg(test)]
mod tests {
    use super::AllowedHosts;
    use crate::fetch::FetchRefusal;

    fn check(list: &str, host: &str, port: u16, expect: Result<(), FetchRefusal>) {
        let hosts: AllowedHosts = list.parse().unwrap();
        assert_eq!(hosts.permit(host, port), expect, "{list}: {host}:{port}");
    }

    #[test]
    fn a_host_is_named_itself_or_from_above() {
        check("example.org", "example.org", 443, Ok(()));
        check("example.org", "www.example.org", 443, Err(FetchRefusal::Host));
        check("example.org", "badexample.org", 443, Err(FetchRefusal::Host));
        check("*.example.org", "a.b.example.org", 80, Ok(()));
        check("*.example.org", "example.org", 443, Err(FetchRefusal::Host));
        check("*.example.org", "badexample.org", 443, Err(FetchRefusal::Host));
        check("a.org, EXAMPLE.org", "example.org", 443, Ok(()));
        check("*", "anything", 443, Ok(()));
        check("", "example.org", 443, Err(FetchRefusal::Host));
        check("[2606:4700::1]", "2606:4700::1", 443, Ok(()));
    }

    #[test]
    fn a_port_is_of_its_entry() {
        check("example.org", "example.org", 8443, Err(FetchRefusal::Port));
        check("example.org:8443", "example.org", 8443, Ok(()));
        check("example.org:8443", "example.org", 443, Ok(()));
        check("a.org:8443,example.org", "example.org", 8443, Err(FetchRefusal::Port));
        check("*:8443,example.org", "example.org", 8443, Ok(()));
    }

    #[test]
    fn what_is_no_list_is_refused_and_a_list_is_shown_as_it_is_read() {
        for bad in
            ["a b", "*.*", "http://a", "a:", "a:0", "a:70000", "a..b", "*a.org", "[::1", "1.2.3"]
        {
            assert!(bad.parse::<AllowedHosts>().is_err(), "{bad}");
        }
        assert!(vec!["a"; 257].join(",").parse::<AllowedHosts>().is_err());
        let list = "example.org,*.b.org:8443,*,[2606:4700::1]:8080";
        assert_eq!(list.parse::<AllowedHosts>().unwrap().to_string(), list);
    }
}
