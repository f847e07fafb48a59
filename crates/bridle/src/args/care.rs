//! The command line of what keeps an installation well: `doctor`, `setup`, `backup`, `restore`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::PeerArgs;
use crate::settings::StateDir;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired without losing anything: permissions, a missing directory, a daemon that does not run
    #[arg(long)]
    pub(crate) fix: bool,
    /// Print one JSON object with every check
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Folder to write, which must not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Also copy the keys of tokens and secrets; whoever has the backup can then use them
    #[arg(long)]
    pub(crate) with_keys: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Folder that `bridle backup` wrote
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Only check that the backup is whole: every file, the record's hash chain
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Org folder to use as memory, made if missing, or `none`; asked for if not given
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) memex: Option<String>,
    /// Policies: those that are built in, or a file of your own to edit; asked for if not given
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyWish>,
    /// Ask nothing; keep what is not given as it is
    #[arg(long)]
    pub(crate) yes: bool,
    /// Do not start a daemon
    #[arg(long)]
    pub(crate) no_start: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// Policies to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PolicyWish {
    /// Those that are built in, which change with the program
    BuiltIn,
    /// A copy of them in a file of your own
    Own,
}
