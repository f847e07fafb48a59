//! The filter of system calls: a list of what is let through, so that calls of another numbering and
//! of kernels to come are refused. Installed last, by the inner helper, before the program starts.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{SetupFault, at};
use crate::control::SocketRule;

/// Highest number that is let through when nothing speaks against it: Linux 6.18.
const LAST_KNOWN_CALL: i64 = 470;

/// Calls refused with `EPERM`.
#[rustfmt::skip]
const REFUSED: &[c_long] = &[
    // Mounts and namespaces.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_unshare,
    libc::SYS_setns, libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig,
    libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr, OPEN_TREE_ATTR, libc::SYS_quotactl,
    libc::SYS_quotactl_fd, libc::SYS_swapon, libc::SYS_swapoff,
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp,
    libc::SYS_pidfd_getfd, libc::SYS_process_madvise, libc::SYS_perf_event_open,
    // Keys, programs in the kernel, faults handled by programs.
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_bpf,
    libc::SYS_userfaultfd, libc::SYS_memfd_secret,
    // The machine.
    libc::SYS_reboot, libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_syslog, libc::SYS_acct,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_adjtimex, libc::SYS_clock_adjtime,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_vhangup, libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // Files by handle instead of by path; all that happens in a file system.
    libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at, libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Messages of System V and POSIX reach other programs of the user where there is no namespace.
    libc::SYS_mknod, libc::SYS_mknodat,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Without an IPC namespace these reach other programs of the same user.
const SHARED_MEMORY: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
];

/// Calls that programs do without when the kernel does not have them.
const ABSENT: &[c_long] = &[
    // Its flags are behind a pointer: C libraries fall back to `clone`.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_memfd_create,
];

/// `open_tree_attr`, newer than the table of constants.
const OPEN_TREE_ATTR: c_long = 467;

/// Flags of `clone` that make a namespace.
#[rustfmt::skip]
const NAMESPACE_FLAGS: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWCGROUP | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC | libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNET | 0x80;

/// Bits of a mode that give rights to whoever runs the file.
const PRIVILEGE_BITS: u32 = libc::S_ISUID | libc::S_ISGID;

pub(super) fn install(sockets: SocketRule) -> Result<(), SetupFault> {
    let step = "filter of system calls";
    seccompiler::apply_filter(&absent().map_err(at(step))?).map_err(at(step))?;
    seccompiler::apply_filter(&refused(sockets).map_err(at(step))?).map_err(at(step))
}

fn absent() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = ABSENT.iter().map(|&call| (number(call), Vec::new())).collect();
    compile(rules, SeccompAction::Allow, SeccompAction::Errno(errno(libc::ENOSYS)))
}

fn refused(sockets: SocketRule) -> Result<BpfProgram, seccompiler::BackendError> {
    let apart = matches!(sockets, SocketRule::Own | SocketRule::Proxy);
    let mut refused: Vec<c_long> = [REFUSED, REFUSED_HERE].concat();
    if !apart {
        refused.extend(SHARED_MEMORY);
    }
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        (0..=LAST_KNOWN_CALL).map(|call| (call, Vec::new())).collect();
    for call in refused {
        rules.remove(&number(call));
    }
    let mut only = |call: c_long, chain: Option<Vec<SeccompRule>>| match chain {
        None => drop(rules.remove(&number(call))),
        Some(chain) => drop(rules.insert(number(call), chain)),
    };
    only(libc::SYS_clone, Some(vec![all([without(0, NAMESPACE_FLAGS.cast_unsigned())?])?]));
    only(libc::SYS_socket, socket_chain(sockets)?);
    only(libc::SYS_socketpair, Some(vec![all([equal(0, as_word(libc::AF_UNIX))?])?]));
    // Only to ask, or to leave the addresses of memory as they are, as debuggers and emulators do.
    let personalities = [0, 0x0004_0000, u64::from(u32::MAX)];
    let chain: Result<Vec<_>, _> =
        personalities.into_iter().map(|value| all([equal(0, value)?])).collect();
    only(libc::SYS_personality, Some(chain?));
    // What is typed into a terminal comes from a person.
    let typed = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCCONS];
    let not_typed: Result<Vec<_>, _> =
        typed.into_iter().map(|request| differs(1, request & 0xffff_ffff)).collect();
    only(libc::SYS_ioctl, Some(vec![SeccompRule::new(not_typed?)?]));
    only(libc::SYS_fchmod, Some(vec![all([without(1, PRIVILEGE_BITS)?])?]));
    only(libc::SYS_fchmodat, Some(vec![all([without(2, PRIVILEGE_BITS)?])?]));
    // `fchmodat2`.
    rules_for_mode(&mut rules, 452, 2)?;
    #[cfg(target_arch = "x86_64")]
    rules_for_mode(&mut rules, libc::SYS_chmod, 1)?;
    compile(rules, SeccompAction::Errno(errno(libc::EPERM)), SeccompAction::Allow)
}

fn rules_for_mode(
    rules: &mut BTreeMap<i64, Vec<SeccompRule>>,
    call: c_long,
    argument: u8,
) -> Result<(), seccompiler::BackendError> {
    rules.insert(number(call), vec![all([without(argument, PRIVILEGE_BITS)?])?]);
    Ok(())
}

/// Rules of `socket`; `None` refuses every one.
fn socket_chain(
    sockets: SocketRule,
) -> Result<Option<Vec<SeccompRule>>, seccompiler::BackendError> {
    const TYPE_MASK: u64 = 0xf;
    let (local, inet, inet6) =
        (as_word(libc::AF_UNIX), as_word(libc::AF_INET), as_word(libc::AF_INET6));
    Ok(match sockets {
        SocketRule::Own | SocketRule::Proxy => Some(vec![
            all([equal(0, local)?])?,
            all([equal(0, inet)?])?,
            all([equal(0, inet6)?])?,
            // Interfaces are listed by it; the namespace has none but the loopback.
            all([equal(0, as_word(libc::AF_NETLINK))?, equal(2, 0)?])?,
        ]),
        SocketRule::Tcp => {
            let stream = || {
                let operator = SeccompCmpOp::MaskedEq(TYPE_MASK);
                SeccompCondition::new(
                    1,
                    SeccompCmpArgLen::Dword,
                    operator,
                    as_word(libc::SOCK_STREAM),
                )
            };
            // Protocol 0 or TCP: MPTCP and SCTP are streams, too, that Landlock does not know.
            let tcp = as_word(libc::IPPROTO_TCP);
            Some(vec![
                all([equal(0, inet)?, stream()?, equal(2, 0)?])?,
                all([equal(0, inet)?, stream()?, equal(2, tcp)?])?,
                all([equal(0, inet6)?, stream()?, equal(2, 0)?])?,
                all([equal(0, inet6)?, stream()?, equal(2, tcp)?])?,
            ])
        }
        SocketRule::None => None,
    })
}

fn compile(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()
}

fn all<const N: usize>(
    conditions: [SeccompCondition; N],
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// None of the bits is set.
fn without(argument: u8, bits: u32) -> Result<SeccompCondition, seccompiler::BackendError> {
    let operator = SeccompCmpOp::MaskedEq(u64::from(bits));
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, 0)
}

fn as_word(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

#[allow(clippy::useless_conversion, reason = "a `c_long` has 32 bits elsewhere")]
fn number(call: c_long) -> i64 {
    i64::from(call)
}

fn errno(value: i32) -> u32 {
    value.cast_unsigned()
}
