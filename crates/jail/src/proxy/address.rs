//! Addresses: what is one although it looks like a name, and which belong to this machine or network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a host is an address in any notation that some resolver takes: `127.1`, `0x7f000001`,
/// `2130706433`, `[::1]`. The last label of a name is never a number.
pub(super) fn is_address_literal(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<IpAddr>().is_ok() || bare.contains(':') {
        return true;
    }
    let last = bare.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let is_hex = last
        .strip_prefix("0x")
        .or_else(|| last.strip_prefix("0X"))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hex || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether an address is not one of the public network.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Unspecified, loopback, IPv4 in the last bits, mapped or not.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => {
            (high == 0 && low <= 1) || embedded(high, low) || parts[5] == 0
        }
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, ..] => true,
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, documentation, ORCHID.
        [0x2001, 0 | 0xdb8 | 0x10..=0x2f, ..] => true,
        [first, ..] => first & 0xe000 != 0x2000,
    }
}
