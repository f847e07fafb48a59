//! The binary: arguments, settings, exit codes. What the commands do is in `bridle-shell` (all
//! that knows only the protocol) and `bridle-daemon` (`up`).

mod args;
mod cmd;
mod exit;
mod json;
mod log;
mod settings;

use std::io::Write as _;
use std::process::ExitCode;

use bridle_shell::screen::neutral_block;
use clap::FromArgMatches as _;

/// Half of the time of a request was spent in the allocator of the system, see
/// `docs/decisions/0010-allocator.md`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // The helper of a jail: started by the daemon, with the channel as its stdin, and never by people.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|verb| verb == cmd::jail::HELPER_VERB) {
        return ExitCode::from(bridle_jail::run_helper(&arguments.collect::<Vec<_>>()));
    }
    // The catalog of prices, asked by the daemon; it keeps much memory, and so ends.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == bridle_model_host::PRICES_VERB) {
        return cmd::prices();
    }
    let read = args::groups::command().try_get_matches();
    let cli = match read.and_then(|matches| args::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    match cmd::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if failure.exit() != exit::BridleExit::Ok {
                // When stderr is gone too, the exit code is all that is left to say.
                let text = failure.to_string();
                let _ = std::io::stderr().lock().write_all(neutral_block(&text).as_bytes());
            }
            failure.exit().into()
        }
    }
}

/// Tells what is wrong with a command line, or its help. What was typed is repeated there, so it is made visible.
fn refused(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let neutral = neutral_block(&text);
    if neutral == text {
        error.exit();
    }
    // When stderr is gone too, the exit code is all that is left to say.
    let _ = std::io::stderr().lock().write_all(neutral.as_bytes());
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}
