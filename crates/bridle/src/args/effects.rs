//! Arguments of `bridle project`, `actuators` and `diff`.

use clap::{Args, ValueHint};

use super::PeerArgs;

/// Session of `bridle ask` and `bridle send` unless another is named.
const MAIN_SESSION: &str = "main";

#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// Folder to work in; without it, print the current project
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<String>,
    /// Commit changes by bridle on refs/bridle/agent of its git repository too, or stop that
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    pub(crate) git: Option<String>,
    /// Session that works there
    #[arg(long, value_name = "SESSION", default_value = MAIN_SESSION)]
    pub(crate) session: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ActuatorsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Record of the commit, from `bridle effects`
    #[arg(value_name = "RECORD")]
    pub(crate) record: u64,
    /// Only these files, by their paths in the project
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
