//! `bridle up`: the daemon in the foreground.
//!
//! Turns settings into a running daemon, prints the ready line, waits for a signal. What the
//! daemon does is in `bridle-daemon`.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bridle_daemon::{BoundAddresses, DaemonEnd, DaemonError};
use bridle_history::StoreError;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{BridleExit, CommandFailure};
use crate::log;
use crate::settings::{self, GivenFlags, ResolvedSettings};

/// Exit code of a process that a signal ended, as a shell reports it: 128 and the signal's number.
const ENDED_BY_SIGINT: i32 = 130;
const ENDED_BY_SIGTERM: i32 = 143;

pub(crate) fn run(given: &GivenFlags) -> Result<BridleExit, CommandFailure> {
    let settings = ResolvedSettings::resolve(given)?;
    let mut config = settings.to_daemon()?;
    let (filter, format) = settings.log();
    let secrets = Arc::new(settings.secret_store()?);
    log::start(filter, format, &secrets);
    log::mask_panics(Arc::clone(&secrets));
    config.secrets = Some(secrets);
    for name in settings::stray_variables() {
        tracing::warn!(%name, "unknown variable is ignored; `bridle config show` lists the known");
    }
    for doubt in settings.doubts() {
        tracing::warn!("{doubt}");
    }
    if let Some(file) = &settings.file {
        tracing::info!(file = %file.display(), "settings file read");
    }
    // Now and not later: the runtime starts threads.
    bridle_daemon::make_room(&config);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // Its threads judge by policies, which may be nested.
    let runtime = runtime.enable_all().thread_stack_size(bridle_loop::JUDGE_STACK_BYTES).build();
    let runtime = runtime.map_err(|error| no_start("the runtime", &error))?;
    let stdout_is_taken = config.stdio || config.stdio_json;
    let end = runtime.block_on(async {
        let stop = wait_for_signal().map_err(|error| no_start("watching for signals", &error))?;
        let ready = |bound: &BoundAddresses| {
            // Text says it once, on stdout; collectors of JSON read stderr alone.
            if format == log::LogFormat::Json {
                tracing::info!(%bound, "ready");
            }
            announce(bound, stdout_is_taken);
        };
        bridle_daemon::run(config, ready, stop).await.map_err(|error| failure(&error))
    })?;
    // A blocked read of stdin must not keep the process: it has nothing left to do.
    runtime.shutdown_background();
    match end {
        DaemonEnd::Stopped => Ok(BridleExit::Ok),
        DaemonEnd::Restart => Err(start_anew()),
    }
}

/// Puts the program that is installed now in the place of this process, with the same arguments. Comes back only when
/// it cannot.
fn start_anew() -> CommandFailure {
    let own = std::env::current_exe().unwrap_or_default();
    // What the system says of a file that was replaced since.
    let path = own.to_string_lossy();
    let own = path.strip_suffix(" (deleted)").map_or(own.clone(), PathBuf::from);
    tracing::info!(program = %own.display(), "starting anew");
    let mut arguments = std::env::args_os();
    let mut next = std::process::Command::new(&own);
    if let Some(name) = arguments.next() {
        next.arg0(name);
    }
    let error = next.args(arguments).exec();
    CommandFailure::because(BridleExit::Software, "cannot start anew", &error)
        .hint("start it again: bridle up")
}

fn no_start(what: &str, error: &std::io::Error) -> CommandFailure {
    CommandFailure::because(BridleExit::Software, format!("cannot start: {what}"), error)
        .hint("check the limits on processes and open files: ulimit -a")
}

/// Says that every listener accepts. Scripts wait for this line.
fn announce(bound: &BoundAddresses, stdout_is_taken: bool) {
    let line = format!("ready {bound}\n");
    // Nobody may be reading; the daemon serves all the same.
    let _ = if stdout_is_taken {
        std::io::stderr().lock().write_all(line.as_bytes())
    } else {
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes()).and_then(|()| out.flush())
    };
}

/// Completes at the first SIGTERM or SIGINT. From then on, another one ends the process at once.
fn wait_for_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => tracing::info!("SIGTERM: stopping; send it again to stop at once"),
            _ = int.recv() => tracing::info!("SIGINT: stopping; send it again to stop at once"),
        }
        tokio::spawn(async move {
            let code = tokio::select! {
                _ = term.recv() => ENDED_BY_SIGTERM,
                _ = int.recv() => ENDED_BY_SIGINT,
            };
            std::process::exit(code);
        });
    })
}

/// Explains why the daemon did not start, with the way out.
fn failure(error: &DaemonError) -> CommandFailure {
    let (exit, hint) = match error {
        DaemonError::Locked { .. } => (
            BridleExit::Temporary,
            "stop the other daemon, or give this one its own directory: --state DIR",
        ),
        DaemonError::Tcp { .. } => {
            (BridleExit::Unavailable, "choose another port, or any free one: --tcp 127.0.0.1:0")
        }
        DaemonError::Http { .. } => (
            BridleExit::Unavailable,
            "choose another port, or turn HTTP off: --http 127.0.0.1:0 or --http off",
        ),
        DaemonError::Unix { .. }
        | DaemonError::UnixInUse { .. }
        | DaemonError::NotASocket { .. } => (
            BridleExit::Unavailable,
            "choose another path, or turn it off: --unix PATH or --unix off",
        ),
        DaemonError::State { .. } => {
            (BridleExit::CannotCreate, "name a directory you own: --state DIR")
        }
        DaemonError::Thinker(_) => {
            (BridleExit::Config, "choose another with --thinker, or fix the file")
        }
        DaemonError::Record(StoreError::Behind { .. } | StoreError::RepairInterrupted) => (
            BridleExit::Data,
            "restore record.db from a backup, or continue with what is there: `bridle record repair`",
        ),
        DaemonError::Record(StoreError::Damaged(_)) => (
            BridleExit::Data,
            "restore a backup, or salvage it: `bridle record repair --dry-run` shows what can be kept",
        ),
        DaemonError::Record(_) => (
            BridleExit::Io,
            "check the free disk space and the owner of the state directory; `bridle log verify` \
             checks the record",
        ),
        DaemonError::Stdio(_) | DaemonError::Random(_) | DaemonError::Thread(_) => {
            (BridleExit::Io, "check the process limits: ulimit -a")
        }
        _ => (BridleExit::Config, "`bridle config show` shows the source of each value"),
    };
    CommandFailure::because(exit, "cannot start", error).hint(hint)
}
