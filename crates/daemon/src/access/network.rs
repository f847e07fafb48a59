//! The part of an address that one peer cannot change at will, and what peers are counted by.
//!
//! Counts for each peer are kept by [`PeerSource`]: by `pairing` for wrong codes, by `seats` for
//! connections, by `rate` for messages. `http` counts credentials that are not good by [`PeerNetwork`].

use std::net::IpAddr;

/// All of four bytes, half of sixteen: whoever has one address of IPv6 has the rest of its /64, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerNetwork(u64);

impl PeerNetwork {
    /// The network of an address.
    pub(crate) fn of(address: IpAddr) -> PeerNetwork {
        match address.to_canonical() {
            // Four bytes and no more: no IPv6 network of the internet begins with 32 zeros.
            IpAddr::V4(address) => PeerNetwork(u64::from(address.to_bits())),
            IpAddr::V6(address) => {
                let half = u64::try_from(address.to_bits() >> 64);
                PeerNetwork(half.unwrap_or(u64::MAX))
            }
        }
    }
}

/// Key under which an unknown peer is counted: its user where the system names it, else its network.
/// Programs of one user cannot use up what another user of the same machine may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerSource {
    /// Programs of one user on this machine.
    Uid(u32),
    /// Peers of one network.
    Network(PeerNetwork),
}

impl PeerSource {
    /// Makes the key of a peer at `address` whose socket belongs to `uid`, if that is known.
    pub(crate) fn of(uid: Option<u32>, address: IpAddr) -> PeerSource {
        uid.map_or_else(|| PeerSource::Network(PeerNetwork::of(address)), PeerSource::Uid)
    }
}

#[cfg(test)]
mod tests {
    use super::PeerNetwork;

    #[test]
    fn an_address_counts_for_its_network() {
        let of = |text: &str| PeerNetwork::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_ne!(of("192.0.2.7"), of("192.0.2.8"));
    }
}
