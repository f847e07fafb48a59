//! Arguments of the commands for every day: `bridle capture`, `agenda` and `search`.

use clap::{Args, ValueHint};

use super::PeerArgs;

#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// Text of the note, its first line the title; `-` or nothing reads stdin
    #[arg(value_name = "TEXT")]
    pub(crate) words: Vec<String>,
    /// Template: a heading of this title in `templates.org`
    #[arg(long, short = 't', value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// File of the Org folder [default: the template's, else inbox.org]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<String>,
    /// Only show what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not start a daemon when none runs
    #[arg(long)]
    pub(crate) no_start: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgendaArgs {
    /// Today, which is the default
    #[arg(long, conflicts_with_all = ["week", "from", "to"])]
    pub(crate) day: bool,
    /// Today and the six days after it
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub(crate) week: bool,
    /// First day: 2026-11-15, today, tomorrow, or +7 [default: today]
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Last day, as for --from [default: the first day]
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Print one JSON object per entry
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the index in this state directory, without a daemon
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words or a question
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) words: Vec<String>,
    /// Take the text for a question: any of its words, best first
    #[arg(long, short = 'q', conflicts_with = "all_words")]
    pub(crate) question: bool,
    /// Take the text for words: all of them must be there
    #[arg(long = "words", short = 'w')]
    pub(crate) all_words: bool,
    /// Say for each result why it was found
    #[arg(long)]
    pub(crate) why: bool,
    /// Print at most this many results
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) limit: u32,
    /// Print the answer as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the index in this state directory, without a daemon
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OverviewArgs {
    /// Show again whenever something changed, until interrupted
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// Print one JSON object; with --watch one per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}
