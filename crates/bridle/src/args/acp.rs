//! Flags of `bridle acp`.

use clap::Args;

use super::PeerArgs;

#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// For a person on a terminal: start the daemon, check it, and say what is left to choose
    #[arg(long)]
    pub(crate) setup: bool,
    /// Do not start a daemon; wait for one
    #[arg(long)]
    pub(crate) no_start: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
