//! Which addresses of the internet protocols anybody could reach, and which lead inside.
//!
//! Asked for every address before a connection is made to it. What is not known to be public is
//! not: registries of special addresses grow, and one that is missing here must not be a way in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not for everybody: first address, and bits that are the same.
const SPECIAL_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by a provider's customers
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // this machine
    (Ipv4Addr::new(168, 63, 129, 16), 32), // a cloud's own services, on a public address
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // this link; clouds keep their metadata here
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments; one more place for metadata
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // relays of 6to4
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(192, 175, 48, 0), 24),  // servers for private addresses
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, and broadcast
];

/// The part of IPv6 that is given out to everybody. Outside of it are this machine, this link, private
/// networks, multicast, and every way to write an address of IPv4 (mapped, compatible, translated).
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Networks within it that are not for everybody.
const SPECIAL_V6: [(Ipv6Addr, u32); 5] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments; Teredo holds IPv4
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4 holds IPv4
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // servers for private addresses
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// The end of an address that holds one of IPv4 (ISATAP), with either value of its universal bit.
const ISATAP: [u32; 2] = [0x0000_5efe, 0x0200_5efe];

/// Tells whether an address is one that anybody on the internet could reach.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| within_v4(address, *network)),
        IpAddr::V6(address) => {
            let [_, _, _, _, a, b, _, _] = address.segments();
            let holds_v4 = ISATAP.contains(&(u32::from(a) << 16 | u32::from(b)));
            within_v6(address, GLOBAL_V6)
                && !holds_v4
                && !SPECIAL_V6.iter().any(|network| within_v6(address, *network))
        }
    }
}

fn within_v4(address: Ipv4Addr, (network, bits): (Ipv4Addr, u32)) -> bool {
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    (address.to_bits() ^ network.to_bits()) & mask == 0
}

fn within_v6(address: Ipv6Addr, (network, bits): (Ipv6Addr, u32)) -> bool {
    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    (address.to_bits() ^ network.to_bits()) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn the_edges_of_every_network() {
        let check =
            |text: &str, expect| assert_eq!(is_public(text.parse().unwrap()), expect, "{text}");
        for (inside, outside) in [
            ("0.255.255.255", "1.0.0.0"),
            ("10.0.0.0", "9.255.255.255"),
            ("10.255.255.255", "11.0.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.0"),
            ("127.255.255.255", "128.0.0.0"),
            ("168.63.129.16", "168.63.129.17"),
            ("169.254.169.254", "169.253.255.255"),
            ("172.16.0.0", "172.15.255.255"),
            ("172.31.255.255", "172.32.0.0"),
            ("192.0.0.192", "192.0.1.0"),
            ("192.0.2.255", "192.0.3.0"),
            ("192.88.99.1", "192.88.100.0"),
            ("192.168.255.255", "192.169.0.0"),
            ("192.175.48.1", "192.175.49.0"),
            ("198.19.255.255", "198.20.0.0"),
            ("198.51.100.1", "198.51.101.0"),
            ("203.0.113.1", "203.0.114.0"),
            ("224.0.0.1", "223.255.255.255"),
            ("255.255.255.255", "93.184.216.34"),
            ("::", "2000::1"),
            ("::1", "2606:4700::1111"),
            ("::ffff:93.184.216.34", "2a00:1450::1"),
            ("::93.184.216.34", "2003::1"),
            ("64:ff9b::5db8:d822", "2001:200::1"),
            ("64:ff9b:1::1", "2001:4860:4860::8888"),
            ("100::1", "3ffe::1"),
            ("2001::1", "2001:200::"),
            ("2001:1ff:ffff::", "2001:db7::1"),
            ("2001:db8::1", "2001:db9::1"),
            ("2002:5db8:d822::1", "2003::"),
            ("2620:4f:8000::1", "2620:4f:8001::1"),
            ("3fff:fff::1", "3fff:1000::1"),
            ("fc00::1", "2400::5efe"),
            ("fd00:ec2::254", "2a00::5efd:a00:1"),
            ("fe80::1", "2a00::1"),
            ("fec0::1", "2a01::1"),
            ("ff02::1", "2a02::1"),
            ("2a00::5efe:10.0.0.1", "2a00::5eff:10.0.0.1"),
            ("2a00::200:5efe:10.0.0.1", "2a00::201:5efe:10.0.0.1"),
            ("4000::1", "3fff:ffff::1"),
        ] {
            check(inside, false);
            check(outside, true);
        }
    }
}
