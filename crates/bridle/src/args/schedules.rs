//! The command line of what sessions have planned.

use clap::{Args, Subcommand};

use super::PeerArgs;

/// `bridle schedules`: without a verb it lists them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SchedulesCommand {
    #[command(subcommand)]
    pub(crate) verb: Option<SchedulesVerb>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesVerb {
    /// Remove a schedule; exit 66 if no schedule has this name
    #[command(after_help = "Examples:\n  \
        bridle schedules rm tea\n  \
        bridle schedules rm tea --session work")]
    Rm(ScheduleRemoval),
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleRemoval {
    /// Name of the schedule, from `bridle schedules`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Session of the schedule; needed if several sessions use the name
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
