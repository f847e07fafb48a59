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
    /// Offer the editor's terminals to the agent: not jailed, no undo, and each use is judged by your policies
    #[arg(long)]
    pub(crate) terminal: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
