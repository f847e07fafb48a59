//! Arguments of `bridle sandbox`.

use clap::{Args, Subcommand};

/// Questions about the jail.
#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Show what the sandbox guarantees here, and what a command starts
    #[command(after_help = "Examples:\n  \
        bridle sandbox explain\n  \
        bridle sandbox explain -- env A=1 git status\n  \
        bridle sandbox explain --script 'cd src && make'")]
    Explain(Explain),
}

/// Command or script to explain.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Script for `/bin/sh` instead of a command
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub(crate) script: Option<String>,
    /// Program and arguments
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}
