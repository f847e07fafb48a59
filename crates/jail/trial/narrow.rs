//! The same trials where a container lets nothing be unshared or mounted: a filter of system calls as
//! default containers have it, laid over this process and all that it starts.

use std::collections::BTreeMap;

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::world::text;

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    narrow().map_err(text)?;
    match words {
        ["escapes", rest @ ..] => crate::escapes::run(rest),
        ["programs", rest @ ..] => crate::programs::run(rest),
        ["commands"] => crate::commands::run(),
        ["soak", rest @ ..] => crate::soak::run(rest),
        ["bench", rest @ ..] => crate::bench::run(rest),
        other => Err(format!("no trial `{}` in a narrow container", other.join(" "))),
    }
}

/// Refuses `unshare`, `mount`, `setns`, and `clone` with a flag for a namespace.
fn narrow() -> Result<(), seccompiler::Error> {
    let namespaces = u64::from((0x7c02_0000_u32) | 0x0200_0000);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in [
        libc::SYS_unshare,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_setns,
        libc::SYS_pivot_root,
    ] {
        rules.insert(call, Vec::new());
    }
    // One rule for each bit: any of them is refused.
    let bits = (0..32).map(|bit| 1_u64 << bit).filter(|bit| namespaces & bit != 0);
    let chain: Result<Vec<_>, _> = bits
        .map(|bit| {
            let operator = SeccompCmpOp::MaskedEq(bit);
            let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, bit)?;
            SeccompRule::new(vec![condition])
        })
        .collect();
    rules.insert(libc::SYS_clone, chain?);
    apply(rules, libc::EPERM)?;
    // With its flags behind a pointer; C libraries fall back to `clone`.
    apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<(), seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)
}
