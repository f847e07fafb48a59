//! Flags of `bridle acp`.

use clap::Args;

use super::PeerArgs;

#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// Start the daemon, check it and list what is left to configure; for use in a terminal
    #[arg(long)]
    pub(crate) setup: bool,
    /// Do not start a daemon; wait for one
    #[arg(long)]
    pub(crate) no_start: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
