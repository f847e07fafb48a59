//! Namespaces, ids and capabilities of the helpers. Rights exist only between the supervisor and the
//! end of the inner helper's work; the program never has any.

use std::fs;

use nix::sched::{CloneFlags, unshare as unshare_namespaces};
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::{SetupFault, at};

/// Makes the namespaces, with the same uid and gid inside.
pub(super) fn unshare(user_namespace: bool) -> Result<(), SetupFault> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut flags = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if user_namespace {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    unshare_namespaces(flags).map_err(at("unshare"))?;
    if user_namespace {
        fs::write("/proc/self/setgroups", "deny").map_err(at("setgroups"))?;
        let uid = uid.as_raw();
        let gid = gid.as_raw();
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).map_err(at("uid map"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).map_err(at("gid map"))?;
    }
    Ok(())
}

/// Lets the rights of the user namespace survive the start of the inner helper.
pub(super) fn keep_over_exec(wanted: CapabilitySet) -> Result<(), SetupFault> {
    let sets = rustix::thread::capabilities(None).map_err(at("capabilities"))?;
    let kept = sets.permitted & wanted;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
    rustix::thread::set_capabilities(None, sets).map_err(at("capabilities"))?;
    for capability in kept.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)
            .map_err(at("ambient capabilities"))?;
    }
    Ok(())
}

/// Gives all rights away for good: bounding, ambient and own sets; root is a user like others.
pub(super) fn give_up(identity: Option<(u32, u32)>) -> Result<(), SetupFault> {
    let step = "capabilities";
    let sets = rustix::thread::capabilities(None).map_err(at(step))?;
    rustix::thread::clear_ambient_capability_set().map_err(at(step))?;
    if sets.effective.contains(CapabilitySet::SETPCAP) {
        let bits = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        rustix::thread::set_capabilities_secure_bits(bits).map_err(at("secure bits"))?;
        for capability in CapabilitySet::all().iter() {
            if rustix::thread::capability_is_in_bounding_set(capability).unwrap_or(false) {
                rustix::thread::remove_capability_from_bounding_set(capability)
                    .map_err(at("bounding set"))?;
            }
        }
    }
    if let Some((uid, gid)) = identity {
        change_identity(uid, gid)?;
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(at(step))?;
    rustix::thread::set_no_new_privs(true).map_err(at("no-new-privs"))
}

/// Becomes another user; this process has one thread, so the thread is the process.
fn change_identity(uid: u32, gid: u32) -> Result<(), SetupFault> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_groups(&[]).map_err(at("groups"))?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(at("gid"))?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(at("uid"))
}
