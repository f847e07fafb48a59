//! The loopback of a new network namespace, which begins switched off: one message to the kernel.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use super::{SetupFault, at};

/// `RTM_NEWLINK` for the interface with index 1: flags up, changed flags up.
fn message() -> Vec<u8> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LOOPBACK_INDEX: i32 = 1;
    const UP: u32 = 1;
    let mut bytes = Vec::with_capacity(32);
    bytes.extend(32_u32.to_ne_bytes());
    bytes.extend(NEW_LINK.to_ne_bytes());
    bytes.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    // Family, padding and device type: any.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK_INDEX.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes
}

pub(super) fn switch_on() -> Result<(), SetupFault> {
    let step = "loopback";
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .map_err(at(step))?;
    send(&socket, &message(), SendFlags::empty()).map_err(at(step))?;
    let mut answer = [0_u8; 1024];
    let (_, length) = recv(&socket, &mut answer, RecvFlags::empty()).map_err(at(step))?;
    // Header of 16 bytes, then the error of the acknowledgement: zero is well.
    match answer.get(16..20) {
        Some([0, 0, 0, 0]) if length >= 20 => Ok(()),
        _ => Err(at(step)("the kernel refused to switch it on")),
    }
}
