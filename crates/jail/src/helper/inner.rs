//! The inner helper: builds the jail around itself, gives its rights away and starts the program. In
//! namespaces it stays as their first process, takes in orphans and reports the end; without them
//! the program takes its place.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal, WaitOptions};

use super::{BROKEN_LINE, SetupFault, at, filter, loopback, restrict, rights, view};
use crate::control::{
    ControlChannel, HelperOrder, HelperReport, RunEnd, RunPlan, SocketRule, ViewMount, ViewPlan,
};

/// Exit code of an inner helper that has reported why.
const REPORTED: u8 = 71;

pub(super) fn run(mut line: ControlChannel) -> u8 {
    let died_alone = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_err();
    if std::env::args_os().nth(3).is_some() {
        return probe(&mut line);
    }
    let Ok(Some((plan, Some(stdin)))) = line.receive::<RunPlan>() else { return BROKEN_LINE };
    if died_alone {
        return refuse(&mut line, at("death signal")("the kernel refused it"));
    }
    match start(&mut line, &plan, stdin) {
        Ok(code) => code,
        Err(fault) => refuse(&mut line, fault),
    }
}

fn refuse(line: &mut ControlChannel, fault: SetupFault) -> u8 {
    let SetupFault { step, reason } = fault;
    match line.send(&HelperReport::Refused { step, reason }, None) {
        Ok(()) => REPORTED,
        Err(_) => BROKEN_LINE,
    }
}

/// Builds a small view with an overlay, to see whether the kernel lets it.
fn probe(line: &mut ControlChannel) -> u8 {
    let Ok(Some((HelperOrder::Probe { scratch }, _))) = line.receive() else { return BROKEN_LINE };
    match try_view(Path::new(&scratch)) {
        Ok(()) => line.send(&HelperReport::Started, None).map_or(BROKEN_LINE, |()| 0),
        Err(fault) => refuse(line, fault),
    }
}

fn try_view(scratch: &Path) -> Result<(), SetupFault> {
    let make = |name: &str| {
        let path = scratch.join(name);
        fs::create_dir_all(&path).map_err(at("folder of the probe")).map(|()| path)
    };
    let (base, lower, store) = (make("base")?, make("lower")?, make("store")?);
    make("store/upper")?;
    make("store/work")?;
    let plan = ViewPlan {
        base: base.into(),
        user_namespace: true,
        mounts: vec![
            ViewMount::Inert { source: lower.clone().into(), target: "/inert".into() },
            ViewMount::Overlay { lower: lower.into(), store: store.into(), target: "/over".into() },
        ],
    };
    view::enter(&plan)?;
    loopback::switch_on()?;
    fs::write("/over/file", b"x").map_err(at("write into an overlay"))
}

fn start(line: &mut ControlChannel, plan: &RunPlan, stdin: OwnedFd) -> Result<u8, SetupFault> {
    rustix::process::setsid().map_err(at("session"))?;
    // The mode of new files is the program's own business, within the usual mask.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let mut env = plan.env.clone();
    if let Some(view) = &plan.view {
        view::enter(view)?;
        loopback::switch_on()?;
        if plan.sockets == SocketRule::Proxy {
            env.extend(listen(line)?);
        }
    }
    limit(plan)?;
    rights::give_up(plan.identity)?;
    // The change of identity takes the signal of the supervisor's death away.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(at("death signal"))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at("dumps"))?;
    std::env::set_current_dir(&plan.cwd).map_err(at(format!("folder `{}`", plan.cwd.display())))?;
    let program = look_up(&plan.argv[0], &env);
    restrict::confine(plan)?;
    filter::install(plan.sockets)?;
    line.send(&HelperReport::Started, None).map_err(at("report"))?;
    let Some(program) = program else {
        let reason = "no such program in its PATH".to_owned();
        line.send(&HelperReport::NotStarted { reason }, None).map_err(at("report"))?;
        return Ok(REPORTED);
    };
    let mut command = Command::new(program);
    command
        .arg0(&plan.argv[0])
        .args(&plan.argv[1..])
        .env_clear()
        .envs(env)
        .stdin(Stdio::from(stdin));
    if plan.view.is_some() { Ok(stay(line, command)) } else { Ok(give_way(line, command)) }
}

/// A listener in the namespace of the run, whose descriptor goes out to the proxy.
fn listen(line: &mut ControlChannel) -> Result<Vec<(OsString, OsString)>, SetupFault> {
    let step = "listener of the proxy";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(at(step))?;
    let address = listener.local_addr().map_err(at(step))?;
    line.send(&HelperReport::Listening, Some(listener.as_fd())).map_err(at(step))?;
    let url = OsString::from(format!("http://{address}"));
    let names =
        ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
    let mut env: Vec<_> = names.iter().map(|name| (name.into(), url.clone())).collect();
    for name in ["no_proxy", "NO_PROXY"] {
        env.push((name.into(), "localhost,127.0.0.1,::1".into()));
    }
    Ok(env)
}

fn limit(plan: &RunPlan) -> Result<(), SetupFault> {
    let limits = &plan.limits;
    let each = [
        (Resource::Core, 0),
        (Resource::Data, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Memlock, 8 << 20),
        (Resource::Nproc, limits.processes),
    ];
    for (resource, wanted) in each {
        let ceiling = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = Some(wanted.min(ceiling));
        rustix::process::setrlimit(resource, Rlimit { current: value, maximum: value })
            .map_err(at(format!("limit of {resource:?}")))?;
    }
    Ok(())
}

/// Path of a program: as it is when it has a slash, else the first of the `PATH` of the run. `None`
/// when there is no such file; whether it may be executed, the system says.
fn look_up(program: &OsString, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Path::new(program).exists().then(|| program.into());
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value)?;
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Stays as the first process of the namespace until the program ends.
fn stay(line: &mut ControlChannel, mut command: Command) -> u8 {
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let reason = error.to_string();
            let _ = line.send(&HelperReport::NotStarted { reason }, None);
            return REPORTED;
        }
    };
    drop(command);
    let program = rustix::process::Pid::from_child(&child);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                let end = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => RunEnd::Exited(code),
                    (None, Some(signal)) => RunEnd::Signaled(signal),
                    (None, None) => continue,
                };
                return line.send(&HelperReport::Ended(end), None).map_or(BROKEN_LINE, |()| 0);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return BROKEN_LINE,
        }
    }
}

/// Lets the program take the place of this process.
fn give_way(line: &mut ControlChannel, mut command: Command) -> u8 {
    let reason = command.exec().to_string();
    let _ = line.send(&HelperReport::NotStarted { reason }, None);
    REPORTED
}
