//! The command line of what sessions have planned.

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use super::PeerArgs;

/// Longest time until a run, and between two of them: 366 days.
const MAX_SPAN_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

/// `bridle schedule`: without a verb it lists them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScheduleCommand {
    #[command(subcommand)]
    pub(crate) verb: Option<ScheduleVerb>,
    #[command(flatten)]
    pub(crate) list: ScheduleListing,
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleListing {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleVerb {
    /// List the schedules of sessions: next run, interval, end
    #[command(after_help = "Examples:\n  \
        bridle schedule list\n  \
        bridle schedule list --json")]
    List(ScheduleListing),
    /// Add a schedule: a prompt that is sent to its session later, once or repeatedly
    #[command(
        after_help = "A schedule of the same name is replaced. --cron has five fields: minute, hour, day of the month, month, \
        day of the week (0 is Sunday), with `*`, ranges (`1-5`), steps (`*/15`) and lists (`1,15`); or a word such as @daily. \
        On a day on which clocks are set forward, a run in the hour that is skipped happens when the clock is set; on a \
        day on which they are set back, a run in the hour that comes twice happens the first time. An expression that \
        fits in every hour goes by real time.\n\n\
        Examples:\n  \
        bridle schedule add brief --cron '0 7 * * 1-5' --zone Europe/Berlin 'what is on today?'\n  \
        bridle schedule add tea --in 4min 'the tea is ready'\n  \
        bridle schedule add inbox --every 2h --missed skip --session mail '/triage'"
    )]
    Add(ScheduleAddition),
    /// Remove a schedule; exit 66 if no schedule has this name
    #[command(after_help = "Examples:\n  \
        bridle schedule rm tea\n  \
        bridle schedule rm tea --session work")]
    Rm(ScheduleChoice),
    /// Have a schedule wait until it is resumed
    #[command(after_help = "Example:\n  bridle schedule pause tea")]
    Pause(ScheduleChoice),
    /// Have a paused schedule go on; runs that passed meanwhile do not happen
    #[command(after_help = "Example:\n  bridle schedule resume tea")]
    Resume(ScheduleChoice),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("when").required(true))]
pub(crate) struct ScheduleAddition {
    /// Name, unique in its session
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Prompt that the session is told
    #[arg(value_name = "TEXT", required_unless_present = "payload")]
    pub(crate) words: Vec<String>,
    /// Run at the times of this cron expression
    #[arg(long, value_name = "EXPR", group = "when")]
    pub(crate) cron: Option<String>,
    /// Run again and again after this time, at least 1min
    #[arg(long, value_name = "TIME", group = "when", value_parser = span)]
    pub(crate) every: Option<Duration>,
    /// Run once after this time: 90s, 15min, 2h, 3d
    #[arg(long = "in", value_name = "TIME", group = "when", value_parser = span)]
    pub(crate) after: Option<Duration>,
    /// Time zone of --cron [default: that of the daemon's machine]
    #[arg(long, value_name = "ZONE", requires = "cron", conflicts_with_all = ["every", "after"])]
    pub(crate) zone: Option<String>,
    /// Treatment of runs that were missed because the daemon did not run
    #[arg(long, value_name = "WHAT", value_parser = ["once", "skip"], default_value = "once")]
    pub(crate) missed: String,
    /// End after this many runs
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: Option<u32>,
    /// Session that is told; created if missing
    #[arg(long, value_name = "SESSION", default_value = "main")]
    pub(crate) session: String,
    /// Tell the session this payload, a plist with a `:sensor`, instead of a prompt
    #[arg(long, value_name = "PLIST", conflicts_with = "words", allow_hyphen_values = true)]
    pub(crate) payload: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScheduleChoice {
    /// Name of the schedule, from `bridle schedule`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Session of the schedule; needed if several sessions use the name
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

/// Reads a time such as `4min`.
fn span(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis: Option<u64> = match unit {
        "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    millis
        .and_then(|millis| number.parse::<u64>().ok()?.checked_mul(millis))
        .filter(|millis| (1..=MAX_SPAN_MS).contains(millis))
        .map(Duration::from_millis)
        .ok_or_else(|| {
            format!(
                "expected a time such as `90s`, `15min`, `2h` or `3d`, at most 366d, got `{text}`"
            )
        })
}
