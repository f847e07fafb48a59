//! Flags of `bridle chat` and of the relay at the other end of an ssh connection.

use clap::Args;

use super::PeerArgs;

/// Text behind the flags of `bridle chat`.
pub(super) const CHAT_HELP: &str = "Continues the session that was last used in this folder. The conversation stays in the \
    terminal's own scrollback. Answer approval requests with a key: a allows, A allows from now on, d denies, ? shows \
    the whole request. `/keys` lists the keys. When no daemon runs, one is started; it keeps running when you leave. \
    Over ssh the other host needs bridle installed, but no open port.\n\n\
    Examples:\n  \
    bridle chat\n  \
    bridle chat --new\n  \
    bridle chat ssh://me@host.example/work";

/// Text behind the flags of `bridle relay`.
pub(super) const RELAY_HELP: &str = "`bridle chat ssh://HOST` runs this there. It copies bytes both ways and exits when its input ends.\n\n\
    Example:\n  ssh host.example bridle relay";

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Session to open, or `ssh://USER@HOST:PORT/SESSION` for a daemon elsewhere, of which only the
    /// host is needed [default: the session that was used last in this folder]
    #[arg(value_name = "SESSION")]
    pub(crate) place: Option<String>,
    /// Session to open
    #[arg(long, value_name = "NAME", conflicts_with = "place")]
    pub(crate) session: Option<String>,
    /// Begin a new session
    #[arg(long, conflicts_with_all = ["session"])]
    pub(crate) new: bool,
    /// Begin with the list of sessions
    #[arg(long)]
    pub(crate) pick: bool,
    /// Do not start a daemon; wait for one
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Command on the other host, for ssh
    #[arg(long, value_name = "COMMAND", default_value = "bridle relay")]
    pub(crate) remote: String,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// Do not start a daemon
    #[arg(long)]
    pub(crate) no_start: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
