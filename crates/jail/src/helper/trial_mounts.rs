//! The probe of namespaces and overlay: done, not looked up, since a kernel may have them and a
//! container, a profile or a setting may refuse them.

use std::path::Path;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::thread::CapabilitySet;

use super::{INNER_ARGUMENT, SetupFault, at, rights};
use crate::control::{ControlChannel, HelperOrder, HelperReport};

/// Enters namespaces of its own: later steps of the probe are in them, which changes nothing.
pub(super) fn try_namespaces(scratch: &Path) -> Result<(), SetupFault> {
    let is_root = rustix::process::geteuid().is_root();
    rights::unshare(!is_root)?;
    if !is_root {
        rights::keep_over_exec(CapabilitySet::all())?;
    }
    let _ = scratch;
    Ok(())
}

/// Mounts a root with `/proc` and an overlay, in a child that is the first of a pid namespace.
pub(super) fn try_overlay(scratch: &Path) -> Result<(), SetupFault> {
    let (ours, theirs) = UnixStream::pair().map_err(at("pair of sockets"))?;
    let mut inner = Command::new("/proc/self/exe");
    inner.arg("__jail").arg(INNER_ARGUMENT).arg("probe").stdin(Stdio::from(OwnedFd::from(theirs)));
    let mut child = inner.spawn().map_err(at("start of the inner helper"))?;
    drop(inner);
    let mut channel = ControlChannel::new(ours);
    let order = HelperOrder::Probe { scratch: scratch.into() };
    let null = std::fs::File::open("/dev/null").map_err(at("/dev/null"))?;
    let answered = channel
        .send(&order, Some(std::os::fd::AsFd::as_fd(&null)))
        .and_then(|()| channel.receive::<HelperReport>());
    let _ = child.wait();
    match answered.map_err(at("probe"))? {
        Some((HelperReport::Started, _)) => Ok(()),
        Some((HelperReport::Refused { step, reason }, _)) => Err(SetupFault { step, reason }),
        _ => Err(at("probe")("the inner helper ended")),
    }
}
