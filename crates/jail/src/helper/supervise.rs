//! The supervisor: one for each run, outside of the jail. Makes the namespaces, starts the inner
//! helper, waits for whichever comes first (the end, the deadline, a cancel, the death of the
//! daemon), and leaves nothing of the run alive.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use rustix::thread::CapabilitySet;

use super::{INNER_ARGUMENT, SetupFault, at, descend, restrict, rights, trial_mounts};
use crate::control::{ControlChannel, HelperOrder, HelperReport, RunEnd, RunPlan};
use crate::layer::KernelFacts;

pub(super) fn run(mut line: ControlChannel) -> u8 {
    let Ok(Some((order, stdin))) = line.receive::<HelperOrder>() else {
        return super::BROKEN_LINE;
    };
    let report = match order {
        HelperOrder::Probe { scratch } => HelperReport::Probed(probe(scratch.as_ref())),
        HelperOrder::Run(plan) => match supervise(&mut line, &plan, stdin) {
            Ok(end) => HelperReport::Ended(end),
            Err(SetupFault { step, reason }) => HelperReport::Refused { step, reason },
        },
    };
    match line.send(&report, None) {
        Ok(()) => 0,
        Err(_) => super::BROKEN_LINE,
    }
}

/// Tries everything, the irreversible last: this process ends anyway.
fn probe(scratch: &std::path::Path) -> KernelFacts {
    let mut facts =
        KernelFacts { root: rustix::process::geteuid().is_root(), ..Default::default() };
    let mut note = |what: &str, result: Result<(), SetupFault>| match result {
        Ok(()) => true,
        Err(fault) => {
            facts.reasons.push(format!("{what}: {} failed, {}", fault.step, fault.reason));
            false
        }
    };
    let namespaces = note("namespaces", trial_mounts::try_namespaces(scratch));
    let overlay = namespaces && note("overlay", trial_mounts::try_overlay(scratch));
    (facts.namespaces, facts.overlay) = (namespaces, overlay);
    facts.landlock_abi = restrict::probe();
    facts.seccomp = match super::filter::install(crate::control::SocketRule::Own) {
        Ok(()) => true,
        Err(fault) => {
            facts.reasons.push(format!("seccomp: {}", fault.reason));
            false
        }
    };
    facts
}

fn supervise(
    line: &mut ControlChannel,
    plan: &RunPlan,
    stdin: Option<OwnedFd>,
) -> Result<RunEnd, SetupFault> {
    let stdin = stdin.ok_or_else(|| at("stdin")("no descriptor came with the order"))?;
    let deadline = Instant::now() + Duration::from_millis(plan.deadline_ms);
    // Whatever a program leaves behind comes to us, and so can be ended.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(at("subreaper"))?;
    if let Some(view) = &plan.view {
        enter_namespaces(view.user_namespace)?;
    }
    let (ours, theirs) = UnixStream::pair().map_err(at("pair of sockets"))?;
    let mut inner = Command::new("/proc/self/exe");
    inner.arg("__jail").arg(INNER_ARGUMENT).env_clear().stdin(Stdio::from(OwnedFd::from(theirs)));
    let child = inner.spawn().map_err(at("start of the inner helper"))?;
    drop(inner);
    let mut run = SupervisedRun { line, inner: ControlChannel::new(ours), child, deadline };
    let end = run.watch(plan, &stdin);
    run.end_everything(plan.view.is_some());
    end
}

/// Makes the namespaces of the children and of this process; rights for the inner helper stay in the
/// new user namespace.
fn enter_namespaces(user_namespace: bool) -> Result<(), SetupFault> {
    rights::unshare(user_namespace)?;
    if user_namespace {
        rights::keep_over_exec(CapabilitySet::all())?;
    }
    Ok(())
}

struct SupervisedRun<'l> {
    line: &'l mut ControlChannel,
    inner: ControlChannel,
    child: Child,
    deadline: Instant,
}

impl SupervisedRun<'_> {
    fn watch(&mut self, plan: &RunPlan, stdin: &OwnedFd) -> Result<RunEnd, SetupFault> {
        let pid = rustix::process::Pid::from_child(&self.child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(at("pidfd"))?;
        self.inner.send(plan, Some(stdin.as_fd())).map_err(at("order to the inner helper"))?;
        let mut is_inner_open = true;
        let mut told = None;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(RunEnd::TimedOut);
            }
            let mut polled = vec![
                PollFd::new(&pidfd, PollFlags::IN),
                PollFd::from_borrowed_fd(self.line.descriptor(), PollFlags::IN),
            ];
            if is_inner_open {
                polled.push(PollFd::from_borrowed_fd(self.inner.descriptor(), PollFlags::IN));
            }
            let timeout = rustix::event::Timespec::try_from(left).map_err(at("deadline"))?;
            match poll(&mut polled, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(at("poll"))?,
            };
            let is_ready: Vec<bool> = polled.iter().map(|it| !it.revents().is_empty()).collect();
            if is_ready[1] {
                // A byte is a cancel, the end of the stream the daemon's death: the same to us.
                return Ok(RunEnd::Cancelled);
            }
            if is_ready.get(2) == Some(&true) {
                is_inner_open = self.hand_on(&mut told)?;
                continue;
            }
            if is_ready[0] {
                return self.ended(told);
            }
        }
    }

    /// Takes one report of the inner helper, which is inside the jail and may lie. `false` at its end.
    fn hand_on(&mut self, told: &mut Option<RunEnd>) -> Result<bool, SetupFault> {
        let Ok(Some(received)) = self.inner.receive::<HelperReport>() else {
            return Ok(false);
        };
        match received {
            (HelperReport::Refused { step, reason }, _) => Err(SetupFault { step, reason }),
            (HelperReport::Ended(end), _) => {
                *told = Some(end);
                Ok(true)
            }
            (report @ (HelperReport::Started | HelperReport::NotStarted { .. }), _) => {
                self.line.send(&report, None).map_err(at("report"))?;
                Ok(true)
            }
            (report @ HelperReport::Listening, Some(listener)) => {
                self.line.send(&report, Some(listener.as_fd())).map_err(at("report"))?;
                Ok(true)
            }
            (HelperReport::Listening | HelperReport::Probed(_), _) => {
                Err(at("report")("a report that nobody asked for"))
            }
        }
    }

    fn ended(&mut self, told: Option<RunEnd>) -> Result<RunEnd, SetupFault> {
        let status = self.child.wait().map_err(at("wait"))?;
        Ok(match (told, status.code(), status.signal()) {
            (Some(end), _, _) => end,
            (None, Some(code), _) => RunEnd::Exited(code),
            (None, None, signal) => RunEnd::Signaled(signal.unwrap_or(0)),
        })
    }

    /// Leaves nothing alive. The end of the first process of a pid namespace takes all others along;
    /// without one they are looked for until none is left.
    fn end_everything(&mut self, is_apart: bool) {
        // Already gone is as good.
        let _ = self.child.kill();
        if !is_apart {
            descend::end_descendants();
        }
        let _ = self.child.wait();
        let _ = reap_rest();
    }
}

fn reap_rest() -> io::Result<()> {
    while rustix::process::wait(rustix::process::WaitOptions::NOHANG)?.is_some() {}
    Ok(())
}
