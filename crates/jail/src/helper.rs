//! The child side, `bridle __jail`: the program started again, one process with one thread. As
//! *supervisor* it stands outside, holds the line to the daemon and ends everything when that breaks;
//! as *inner* helper it builds the jail around itself and starts the program.

mod descend;
mod filter;
mod inner;
mod loopback;
mod restrict;
mod rights;
mod supervise;
mod trial_mounts;
mod view;

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::control::ControlChannel;

/// Argument of the supervisor; what the inner helper gets, nobody else passes.
pub(crate) const INNER_ARGUMENT: &str = "inner";

/// Exit code when the helper could not even say what went wrong.
const BROKEN_LINE: u8 = 70;

/// Failed step of a helper.
#[derive(Debug)]
pub(crate) struct SetupFault {
    pub(crate) step: String,
    pub(crate) reason: String,
}

/// Names the step in which something failed.
pub(crate) fn at<E: std::fmt::Display>(step: impl Into<String>) -> impl FnOnce(E) -> SetupFault {
    let step = step.into();
    move |error| SetupFault { step, reason: error.to_string() }
}

/// Runs as helper, with the channel on stdin; returns the exit code. The arguments are those behind
/// the verb. Must be called before any thread is started.
#[must_use]
pub fn run_helper(arguments: &[OsString]) -> u8 {
    let Ok(line) = take_line() else { return BROKEN_LINE };
    let channel = ControlChannel::new(line);
    match arguments.first() {
        Some(argument) if argument == INNER_ARGUMENT => inner::run(channel),
        _ => supervise::run(channel),
    }
}

/// Closes whatever came in beside stdin, stdout and stderr, and takes the channel off stdin.
fn take_line() -> std::io::Result<UnixStream> {
    let mut strays = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        strays.extend(name.to_str().and_then(|text| text.parse::<i32>().ok()).filter(|&fd| fd > 2));
    }
    for stray in strays {
        // One of them was the folder that has just been read: already closed.
        let _ = nix::unistd::close(stray);
    }
    let copy: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(copy))
}
