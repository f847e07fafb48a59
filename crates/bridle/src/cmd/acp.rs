//! `bridle acp`: finds the daemon, or a way to start it, and hands standard input and output to the agent.

use std::error::Error as _;
use std::io::{self, BufReader};

use bridle_acp::{AcpError, AgentOptions};
use bridle_shell::client::{DaemonClient, DaemonTarget};

use super::launch::DaemonLaunch;
use super::record::print;
use super::talk::{find, is_named};
use crate::args::acp::AcpArgs;
use crate::exit::{BridleExit, CommandFailure};

pub(crate) fn run(args: AcpArgs) -> Result<BridleExit, CommandFailure> {
    // A daemon that somebody named is somebody else's to start.
    let launch = match args.no_start || is_named(&args.peer) {
        true => None,
        false => Some(DaemonLaunch::of(&args.peer.file)?),
    };
    let targets = find(args.peer)?;
    if args.setup {
        return set_up(&targets, launch.as_ref());
    }
    let options = AgentOptions {
        targets,
        launch: launch.map(|launch| {
            Box::new(move || launch.start()) as Box<dyn Fn() -> Result<(), String> + Send + Sync>
        }),
        takes_terminal: args.terminal,
        log: Box::new(io::stderr()),
    };
    bridle_acp::run(options, BufReader::new(io::stdin()), io::stdout()).map_err(|error| {
        let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        let exit = match error {
            AcpError::Read(_) | AcpError::Write(_) | AcpError::Start(_) => BridleExit::Io,
        };
        CommandFailure::new(exit, format!("{error}{source}"))
            .hint("your editor starts this command: docs/editors.md")
    })?;
    Ok(BridleExit::Ok)
}

/// Authentication in a terminal: the daemon runs, and a person knows what is left to choose.
fn set_up(
    targets: &[DaemonTarget],
    launch: Option<&DaemonLaunch>,
) -> Result<BridleExit, CommandFailure> {
    let mut text = String::new();
    let mut client = DaemonClient::connect_any(targets);
    if let (Err(_), Some(launch)) = (&client, launch) {
        launch.start().map_err(|why| CommandFailure::new(BridleExit::Unavailable, why))?;
        text.push_str(&format!("started a daemon; its log is {}\n", launch.log().display()));
        client = DaemonClient::connect_any(targets);
    }
    let client = client?;
    text.push_str(&format!("the daemon answers on {}\n", client.addr()));
    text.push_str("your editor's settings: docs/editors.md\n");
    text.push_str("your Org folder, if you have not chosen it: bridle init\n");
    print(&text)
}
