//! URL of a fetch, read in one way only.
//!
//! Called for every address, redirects included. Programs differ on what they make of an address that
//! is odd, and whoever checks one thing and asks another is led astray; so what is odd is refused
//! rather than mended: no credentials, no escapes in a host, no numbers but four plain ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::FetchRefusal;
use super::address_rules::is_public;
use super::hosts::AllowedHosts;

/// Bytes of a host name, and of one of its labels, as DNS has them.
const MAX_HOST: usize = 253;
const MAX_LABEL: usize = 63;

/// Addresses of a host that are looked at; more are no ordinary host.
const MAX_ADDRESSES: usize = 32;

/// Scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlScheme {
    /// In the clear.
    Http,
    /// With TLS.
    Https,
}

impl UrlScheme {
    /// Returns the default port.
    pub fn port(self) -> u16 {
        match self {
            UrlScheme::Http => 80,
            UrlScheme::Https => 443,
        }
    }

    /// Returns the beginning of a URL of this scheme.
    pub fn prefix(self) -> &'static str {
        match self {
            UrlScheme::Http => "http://",
            UrlScheme::Https => "https://",
        }
    }
}

/// URL that was read and permitted; its host is not yet looked up.
#[derive(Clone, PartialEq, Eq)]
pub struct FetchUrl {
    pub(super) scheme: UrlScheme,
    /// In lower case; an address of IPv6 without its brackets.
    pub(super) host: Box<str>,
    pub(super) port: u16,
    /// Path and query; begins with a slash.
    pub(super) path: Box<str>,
}

impl std::fmt::Debug for FetchUrl {
    /// Shows the scheme alone; host and path may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl FetchUrl {
    /// Reads an address, and asks whether its host and port are permitted.
    ///
    /// # Errors
    /// The URL cannot be read in one way only, or its host or port is not permitted.
    pub fn read(address: &str, hosts: &AllowedHosts) -> Result<FetchUrl, FetchRefusal> {
        let (scheme, rest) = scheme_of(address)?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(FetchRefusal::Address);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (host, port) = split_authority(authority)?;
        let host = host.to_ascii_lowercase();
        check_host(&host)?;
        let port = port.unwrap_or(scheme.port());
        hosts.permit(&host, port)?;
        let tail = tail.split('#').next().unwrap_or_default();
        let path = if tail.starts_with('/') { tail.into() } else { format!("/{tail}").into() };
        Ok(FetchUrl { scheme, host: host.into(), port, path })
    }

    /// Returns the target of a redirect from here.
    ///
    /// # Errors
    /// The target cannot be read in one way only, is not permitted, or leads from `https` to `http`.
    pub fn follow(&self, location: &str, hosts: &AllowedHosts) -> Result<FetchUrl, FetchRefusal> {
        let origin = || format!("{}{}", self.scheme.prefix(), self.authority());
        let has_scheme = || {
            let first = location.find([':', '/', '?', '#']);
            first.is_some_and(|at| location.as_bytes().get(at) == Some(&b':'))
        };
        let address = if let Some(rest) = location.strip_prefix("//") {
            format!("{}{rest}", self.scheme.prefix())
        } else if location.starts_with('/') {
            format!("{}{location}", origin())
        } else if has_scheme() {
            location.to_owned()
        } else {
            let path = self.path.split('?').next().unwrap_or_default();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{}{folder}/{location}", origin())
        };
        let next = FetchUrl::read(&address, hosts)?;
        let is_weaker = (self.scheme, next.scheme) == (UrlScheme::Https, UrlScheme::Http);
        if is_weaker { Err(FetchRefusal::Downgrade) } else { Ok(next) }
    }

    /// Returns the host if it is an IP address already.
    pub fn literal(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Returns the name to look up.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the addresses to connect to, of those that the host has.
    ///
    /// # Errors
    /// There is none; or one of them is not public, in which case the others are not tried: a name
    /// that leads to both is meant to.
    pub fn pin(&self, addresses: &[IpAddr]) -> Result<Vec<SocketAddr>, FetchRefusal> {
        if addresses.is_empty() {
            return Err(FetchRefusal::NoAddress);
        }
        if addresses.len() > MAX_ADDRESSES || !addresses.iter().all(|one| is_public(*one)) {
            return Err(FetchRefusal::NotPublic);
        }
        Ok(addresses.iter().map(|address| SocketAddr::new(*address, self.port)).collect())
    }

    /// Returns host and port, as a request writes them.
    pub(super) fn authority(&self) -> String {
        let host = match self.literal() {
            Some(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.to_string(),
        };
        match self.port == self.scheme.port() {
            true => host,
            false => format!("{host}:{}", self.port),
        }
    }
}

fn scheme_of(address: &str) -> Result<(UrlScheme, &str), FetchRefusal> {
    for scheme in [UrlScheme::Http, UrlScheme::Https] {
        let prefix = scheme.prefix();
        let begin = address.get(..prefix.len());
        if begin.is_some_and(|begin| begin.eq_ignore_ascii_case(prefix)) {
            return Ok((scheme, &address[prefix.len()..]));
        }
    }
    Err(FetchRefusal::Scheme)
}

/// Splits `host:port`; an address of IPv6 loses its brackets.
fn split_authority(authority: &str) -> Result<(&str, Option<u16>), FetchRefusal> {
    if authority.contains('@') {
        return Err(FetchRefusal::Credential);
    }
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']').ok_or(FetchRefusal::Address)?;
            host.parse::<Ipv6Addr>().map_err(|_| FetchRefusal::Address)?;
            (host, rest)
        }
        None => {
            let at = authority.find(':').unwrap_or(authority.len());
            let (host, rest) = authority.split_at(at);
            (host, rest)
        }
    };
    let port = match rest.strip_prefix(':') {
        Some(digits) => Some(port_of(digits).ok_or(FetchRefusal::Address)?),
        None if rest.is_empty() => None,
        None => return Err(FetchRefusal::Address),
    };
    Ok((host, port))
}

/// A port: digits alone, as short as they can be.
pub(super) fn port_of(digits: &str) -> Option<u16> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    if is_plain { digits.parse().ok() } else { None }
}

/// Checks a host in lower case: a name, four plain numbers, or an address of IPv6.
pub(super) fn check_host(host: &str) -> Result<(), FetchRefusal> {
    if host.contains(':') {
        return host.parse::<Ipv6Addr>().map(|_| ()).map_err(|_| FetchRefusal::Address);
    }
    let is_label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(allowed)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if host.len() > MAX_HOST || !host.split('.').all(is_label) {
        return Err(FetchRefusal::Address);
    }
    // Old parsers take anything for an address that ends like a number: octal, hex, one big one.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(is_hex);
    match is_number && host.parse::<Ipv4Addr>().is_err() {
        true => Err(FetchRefusal::Address),
        false => Ok(()),
    }
}
