//! The command line of secrets.

use bridle_jail::HostRule;
use clap::{Args, Subcommand};

use crate::settings::StateDir;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Keep a secret under a name, for the hosts that it may be sent to
    #[command(
        after_help = "Reads the secret from stdin; on a terminal you type it unseen. One newline at the end does not \
        count. A daemon that runs on this state directory uses it at once, and masks it in its record, log and answers \
        as `[secret NAME]`. A provider in `models.org` names it as `secret:NAME`.\n\n\
        Examples:\n  \
        echo s3cr3t-value | bridle secret set openai --host api.openai.com\n  \
        bridle secret set lan --host '*.home.example+private' < key"
    )]
    Set(SecretSetArgs),
    /// List secrets: names and hosts, never the secrets
    #[command(after_help = "Examples:\n  bridle secret list\n  bridle secret list --json")]
    List(SecretListArgs),
    /// Remove a secret; exit 66 if none has this name
    #[command(after_help = "Example:\n  bridle secret rm openai")]
    Rm(SecretRmArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SecretSetArgs {
    /// Name of the secret
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Host that it may be sent to: HOST, *.HOST, HOST:PORT, with `+private` if it leads to this network; repeatable
    #[arg(long = "host", value_name = "HOST", required = true, value_parser = HostRule::parse)]
    pub(crate) hosts: Vec<HostRule>,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct SecretListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct SecretRmArgs {
    /// Name of the secret, from `bridle secret list`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) state: StateDir,
}
