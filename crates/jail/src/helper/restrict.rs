//! Landlock: what may be read and written, ports, signals and abstract sockets. The second wall in
//! *full*, the first in *copy*; in both it holds for every descendant and cannot be taken off.

use std::ffi::OsString;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::FileType;

use super::{SetupFault, at};
use crate::control::{RunPlan, SocketRule};

/// Version that the kernel has; 0 is none. Restricts this process as a side effect.
pub(super) fn probe() -> u32 {
    let created = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    match created.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            let known = effective_abi as i32;
            u32::try_from(kernel_abi.unwrap_or(known)).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Restricts this process to what the plan lets it see; everything must be enforced as probed.
pub(super) fn confine(plan: &RunPlan) -> Result<(), SetupFault> {
    let step = "Landlock";
    let abi = known_abi(plan.landlock_abi);
    let all = AccessFs::from_all(abi);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .map_err(at(step))?;
    let no_sockets = plan.sockets == SocketRule::None;
    if no_sockets && plan.landlock_abi >= 4 {
        rules = rules.handle_access(AccessNet::from_all(abi)).map_err(at(step))?;
    }
    if plan.landlock_abi >= 6 {
        rules = rules.scope(Scope::from_all(abi)).map_err(at(step))?;
    }
    let mut rules = rules.create().map_err(at(step))?;
    let read = AccessFs::from_read(abi);
    let write = all
        & !(AccessFs::MakeChar | AccessFs::MakeBlock)
        & !(if abi >= ABI::V5 { BitFlags::from(AccessFs::IoctlDev) } else { BitFlags::EMPTY });
    for (paths, access) in [(&plan.readable, read), (&plan.writable, write)] {
        for path in paths {
            let Some(rule) = rule_of(path, access, abi)? else { continue };
            rules = rules.add_rule(rule).map_err(at(format!("{step} on `{}`", path.display())))?;
        }
    }
    let status = rules.restrict_self().map_err(at(step))?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(at(step)(format!("expected to be enforced in full, got {:?}", status.ruleset)));
    }
    Ok(())
}

/// Rule for a file or folder; a path that is not there needs none.
fn rule_of(
    path: &OsString,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<Option<PathBeneath<PathFd>>, SetupFault> {
    let Ok(opened) = PathFd::new(path) else { return Ok(None) };
    let stat =
        rustix::fs::fstat(&opened).map_err(at(format!("Landlock on `{}`", path.display())))?;
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(abi) };
    Ok(Some(PathBeneath::new(opened, access)))
}

fn known_abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        // Later ones add logging and rights that the layers do not build on.
        _ => ABI::V6,
    }
}
