//! A file that ended its loader, tried again: in a process of its own, which may end.

use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

use bridle_daemon::policy_load::LoadMarker;
use bridle_loop::PolicyHash;

use super::source::SourceText;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Frees a text that is in quarantine if it does not end the process that loads it; tells whether it was there.
pub(super) fn free(source: &SourceText, given: &GivenFlags) -> Result<bool, CommandFailure> {
    let Ok(state) = ResolvedSettings::resolve(given)?.state() else { return Ok(false) };
    let marker = LoadMarker::of_state(&state);
    if !marker.is_left_for(PolicyHash::of(&source.text)) {
        return Ok(false);
    }
    let status = try_apart(&source.text).map_err(|error| {
        CommandFailure::because(
            BridleExit::Software,
            "cannot load the file in a separate process",
            &error,
        )
        .hint("it stays in quarantine; change it and run `bridle policy install`")
    })?;
    if let Some(signal) = status.signal() {
        let what = format!("{}: loading it crashes the process with signal {signal}", source.name);
        return Err(CommandFailure::new(BridleExit::Data, what).hint(
            "it stays in quarantine, and the built-in policies apply; simplify it, and please report this",
        ));
    }
    marker.clear().map_err(|error| {
        CommandFailure::because(
            BridleExit::CannotCreate,
            "cannot release the file from quarantine",
            &error,
        )
        .hint("run this as the user of the daemon")
    })?;
    Ok(true)
}

/// Checks a text in another process.
fn try_apart(text: &str) -> io::Result<ExitStatus> {
    let mut checks = Command::new(std::env::current_exe()?);
    checks.args(["policy", "check", "--alone", "-"]).stdin(Stdio::piped());
    let mut child = checks.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who has ended takes nothing more, and its status says how.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait()
}
